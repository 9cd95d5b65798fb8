"""Independent computations of every recipe's results, mostly by a loop over the samples.

Each recipe has a function of its name, with `_` for `-`, whose argument is the dict of names that
the program defined. `recipe_runner.py` calls it in an interpreter without persample and possibly
without one of the frameworks, so frameworks are imported inside the functions.
"""

import numpy as np


def close(one, other) -> None:
    """Assert that two arrays have the same shape and, to float32's rounding, equal entries."""
    one, other = np.asarray(one), np.asarray(other)
    assert one.shape == other.shape, f"shapes {one.shape} and {other.shape}"
    assert np.allclose(one, other, rtol=1e-5, atol=1e-6), f"{one} and {other}"


def nothing(names) -> None:
    """Check nothing, because the program has its own check."""


# PyTorch: backward() for each sample alone.


def trained(model):
    """Return {name: parameter} for the parameters that are not frozen."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def torch_loop(model, losses):
    """Yield, for each loss, {parameter name: gradient as a NumPy array}."""
    names, parameters = zip(*trained(model).items(), strict=True)
    import torch

    for loss in losses:
        grads = torch.autograd.grad(loss, parameters)
        yield {k: g.numpy() for k, g in zip(names, grads, strict=True)}


def classified(names):
    """Yield the cross-entropy of each sample as a tensor, from the model's logits by formula."""
    for x, y in zip(names["x"], names["y"], strict=True):
        logits = names["model"](x[None])[0]
        yield logits.exp().sum().log() - logits[y]


def stacked(rows):
    """Return {name: rows} from an iterable of {name: row}, one for each sample."""
    rows = list(rows)
    return {k: np.stack([row[k] for row in rows]) for k in rows[0]}


def row_norms(rows):
    """Return the norm of each sample's gradient over all parameters together, (B,)."""
    return np.sqrt(sum((r.reshape(len(r), -1) ** 2).sum(1) for r in rows.values()))


def torch_func(names):
    wanted = stacked(torch_loop(names["model"], classified(names)))
    assert names["rows"].keys() == wanted.keys()
    for name, rows in wanted.items():
        close(names["rows"][name], rows)


def torch_hooks(names):
    import torch

    model = names["model"]
    with torch.no_grad():
        model(names["x"])  # hooks that stay do no harm, and change no rows
    recorded = {name: p.rows.numpy() for name, p in trained(model).items()}
    for name, rows in stacked(torch_loop(model, classified(names))).items():
        close(recorded[name], rows)
        close(model.get_parameter(name).grad, rows.sum(0))


def torch_norms(names):
    import torch

    model = names["model"]
    with torch.no_grad():
        model(names["x"])
    close(names["norms"], row_norms(stacked(torch_loop(model, classified(names)))))
    refused = ""
    try:
        model(names["x"][None]).sum().backward()
    except AssertionError as error:
        refused = str(error)
    close("several positions" in refused, True)  # a batch of sequences is no batch of vectors


def torch_clipped(names):
    model = names["model"]
    rows = stacked(torch_loop(model, classified(names)))
    factors = np.minimum(1, 1 / row_norms(rows))
    assert 0 < (factors < 1).sum() < len(factors), "some rows are clipped and some are not"
    close(names["factors"], factors)
    for name, p in trained(model).items():
        close(p.grad, sum(w * row for w, row in zip(factors, rows[name], strict=True)))


def torch_chunks(names):
    pairs = zip(names["x"], names["y"], strict=True)
    losses = (((names["model"](x) - y) ** 2).mean() for x, y in pairs)
    for name, rows in stacked(torch_loop(names["model"], losses)).items():
        close(names["rows"][name], rows)


def torch_check(names):
    found = zip(trained(names["model"]), names["rows"], strict=True)
    wanted = stacked(torch_loop(names["model"], classified(names)))
    for name, rows in found:
        close(rows.numpy(), wanted[name])


def squared_errors(names, x, y):
    """Return a linear model's rows of squared errors, by formula: those of weight and of bias."""
    weight = names["model"].weight.detach().double().numpy()[0]
    bias = names["model"].bias.item()
    x, y = x.double().numpy(), y.double().numpy()[:, 0]
    errors = 2 * (x @ weight + bias - y)
    return errors[:, None] * x, errors


def torch_list(names):
    parts = [squared_errors(names, x, y) for x, y in names["episodes"]]
    close(names["model"].weight.grad[0], np.mean([w.mean(0) for w, _ in parts], 0))
    close(names["model"].bias.grad[0], np.mean([b.mean() for _, b in parts]))
    pairs = [((names["model"](x) - y) ** 2).mean().item() for x, y in names["episodes"]]
    close(names["average"], np.mean(pairs))


def torch_accumulate(names):
    weight, bias = squared_errors(names, names["x"], names["y"])
    close(names["model"].weight.grad[0], weight.mean(0))
    close(names["model"].bias.grad[0], bias.mean())


# The two that add up a mean gradient, for a model that is not theirs.


def mean_of(names, losses):
    """Assert that `.grad` is the mean of the gradients of ``losses``, and None where frozen."""
    for name, rows in stacked(torch_loop(names["model"], losses)).items():
        close(names["model"].get_parameter(name).grad, rows.mean(0))
    frozen = [p for p in names["model"].parameters() if not p.requires_grad]
    assert all(p.grad is None for p in frozen)


def torch_list_of_any(names):
    mean_of(names, (((names["model"](x) - y) ** 2).mean() for x, y in names["episodes"]))


def torch_accumulate_of_any(names):
    pairs = zip(names["x"], names["y"], strict=True)
    mean_of(names, (((names["model"](x[None]) - y) ** 2).mean() for x, y in pairs))


# JAX: formulas in NumPy, for one sample after the other.


def in_double(tree):
    """Return the tree with its arrays as NumPy arrays in float64."""
    import jax

    return jax.tree.map(lambda a: np.asarray(a, float), tree)


def jax_tree(names):
    params, rows = in_double(names["params"]), in_double(names["rows"])
    w, b, v, c = (params[k][p] for k in ("hidden", "out") for p in ("w", "b"))
    assert rows.keys() == params.keys()
    for i, (x, y) in enumerate(zip(*in_double((names["x"], names["y"])), strict=True)):
        h = np.tanh(w @ x + b)
        z_bar = v @ h + c - y
        a_bar = z_bar * v * (1 - h**2)
        close(rows["out"]["b"][i], z_bar)
        close(rows["out"]["w"][i], z_bar * h)
        close(rows["hidden"]["b"][i], a_bar)
        close(rows["hidden"]["w"][i], np.outer(a_bar, x))


def jax_apply(names):
    params, rows = in_double(names["params"]), in_double(names["rows"])
    first, last = params["Dense_0"], params["Dense_1"]
    for i, (x, y) in enumerate(zip(in_double(names["x"]), names["y"], strict=True)):
        h = np.tanh(x @ first["kernel"] + first["bias"])
        z = np.exp(h @ last["kernel"] + last["bias"])
        z_bar = z / z.sum() - np.eye(2)[int(y)]
        a_bar = (last["kernel"] @ z_bar) * (1 - h**2)
        close(rows["Dense_1"]["bias"][i], z_bar)
        close(rows["Dense_1"]["kernel"][i], np.outer(h, z_bar))
        close(rows["Dense_0"]["bias"][i], a_bar)
        close(rows["Dense_0"]["kernel"][i], np.outer(x, a_bar))


def jax_chunks(names):
    w, b = (in_double(names["params"][k]) for k in ("w", "b"))
    x, y = in_double((names["x"], names["y"]))
    wanted = [
        abs(w @ np.tanh(one) + b - target) * np.sqrt((np.tanh(one) ** 2).sum() + 1)
        for one, target in zip(x, y, strict=True)
    ]
    close(names["norms"], wanted)


def jax_td(names):
    close(names["updates"], [1.8 * np.array([2, 1, -2]), 0.3 * np.array([1, 3, 1])])


def jax_trace(names):
    """Check the TD(0) update against a loop over transitions with finite differences."""
    params = {k: np.array(v, dtype=float) for k, v in names["params"].items()}
    value = lambda s: params["out"] @ np.tanh(params["hidden"] @ s)  # noqa: E731
    update = dict.fromkeys(params, 0.0)
    given = [np.asarray(names[key]) for key in ("s", "r", "s_next", "done")]
    for s, r, reached, done in zip(*given, strict=True):
        delta = r + 0.9 * (1 - done) * value(reached) - value(s)
        for name in params:
            update[name] = update[name] + delta * slopes(lambda s=s: value(s), params[name]) / 2
    for name in params:
        assert np.allclose(names["update"][name], update[name], atol=1e-6)


# NumPy: difference quotients of each sample's loss, with respect to every number.


def slopes(loss, parameter, step=1e-6):
    """Return central differences of loss() for each entry of an array that it reads."""
    found = np.empty(parameter.shape)
    for place in np.ndindex(parameter.shape):
        kept = parameter[place]
        parameter[place] = kept + step
        up = loss()
        parameter[place] = kept - step
        found[place] = (up - loss()) / (2 * step)
        parameter[place] = kept
    return found


def numpy_linear(names):
    W, b = names["W"], names["b"]
    for i, (x, y) in enumerate(zip(names["x"], names["y"], strict=True)):

        def loss(x=x, y=y):
            return sum((W[k] @ x + b[k] - y[k]) ** 2 for k in range(len(b))) / 2

        close(names["rows_W"][i], slopes(loss, W))
        close(names["rows_b"][i], slopes(loss, np.asarray(b)))


def numpy_two_layers(names):
    W1, b1, W2, b2 = parameters = [np.array(names[k], float) for k in ("W1", "b1", "W2", "b2")]
    for i, (x, y) in enumerate(zip(names["x"], names["y"], strict=True)):

        def loss(x=x, y=y):
            z = np.exp(W2 @ np.tanh(W1 @ x + b1) + b2)
            return -np.log(z[y] / z.sum())

        close(names["losses"][i], loss())
        for rows, parameter in zip(names["rows"], parameters, strict=True):
            close(rows[i], slopes(loss, parameter))

"""The error index quotes real messages: each is provoked and compared with the page."""

import copy
import random
import re
from functools import partial
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import persample as ps
from support.cases import rewards, states, theta
from support.error_triggers import TRIGGERS, message
from support.errors_page import CURES, PAGE
from support.precision import enable_x64
from support.tolerances import assert_close

# A quotation is the line below its name; what varies is … there, outside the code.
QUOTES = re.findall(r"^% quote: (\S+)\n(.+)$", PAGE, re.MULTILINE)
CODE = re.compile(r"``(.+?)``|`([^`]+)`")
# The versions whose words the page quotes, as it says; others word some messages differently.
QUOTED = {"torch": "2.13", "jax": "0.10"}
NOT_PROVOKED = {
    "Expected all tensors to be on the same device",
    "CUDA out of memory",
    "Cannot mutate",
    "Per sample gradient is not initialized. Not updated in backward pass?",
}


def parts(line):
    """Return the code spans of a line that quotes a message, without its introduction."""
    said = line.removeprefix("### ")
    if not line.startswith("### ") and re.search(", an? `", said):
        said = said.partition(": ")[2]  # where the message comes from, and its kind
    return [one or two for one, two in CODE.findall(said) if "(...)" not in (one or two)]


def section(name):
    """Return the text of the entry with the quotation of this name."""
    start = PAGE.index(f"% quote: {name}\n")
    is_heading = PAGE[start:].split("\n")[1].startswith("#")
    entry = PAGE[start if is_heading else PAGE.rindex("\n###", 0, start) :]
    return re.split(r"^(?:### |## |\(no-message\))", entry, flags=re.MULTILINE)[1]


def test_the_page_is_complete():
    """Check that each message with a trigger is quoted once, and that headings are messages."""
    names = [name for name, _ in QUOTES]
    assert f"PyTorch {QUOTED['torch']}, JAX {QUOTED['jax']}" in PAGE
    assert set(names) == set(TRIGGERS)
    assert len(set(names)) == len(names) == PAGE.count("% quote: ")
    unprovoked = re.findall(r"^% not provoked: (.+)\n### `\1", PAGE, re.MULTILINE)
    assert set(unprovoked) == NOT_PROVOKED
    named = sum(line.startswith("### ") for _, line in QUOTES)
    assert named + len(unprovoked) == PAGE.count("\n### ")


@pytest.mark.parametrize(("name", "line"), QUOTES, ids=[name for name, _ in QUOTES])
def test_a_heading_is_part_of_the_real_message(name, line):
    framework = name.partition(".")[0]
    if framework in QUOTED and not version(framework).startswith(QUOTED[framework]):
        pytest.skip(f"the page quotes {framework} {QUOTED[framework]}")
    kind, text = message(name)
    fixed = [re.escape(part) for part in parts(line)]
    assert sum(map(len, fixed)) >= 20
    assert re.search(".*".join(fixed), " ".join(text.split()))
    assert f"`{kind}`" in section(name)
    chapter = re.findall(r"^## (.+)$", PAGE[: PAGE.index(f"% quote: {name}\n")], re.MULTILINE)[-1]
    assert chapter.lower().startswith({"torch": "pytorch"}.get(framework, framework))


def torch_words():
    """Return the namespace for the page's PyTorch cures: a model, data, losses."""
    torch.manual_seed(0)
    nn, F = torch.nn, torch.nn.functional
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    x, y = torch.from_numpy(states.copy()), torch.from_numpy(rewards.copy())
    weight = model[0].weight
    theta = torch.ones(3, dtype=torch.float64, requires_grad=True)
    theta.grad = torch.ones_like(theta)
    h = 2 * torch.ones(3, dtype=torch.float64, requires_grad=True)
    words = {"torch": torch, "nn": nn, "F": F, "ps": ps, "copy": copy, "model": model, "x": x}
    words |= {"vmap": torch.vmap, "grad": torch.func.grad, "y": y, "weight": weight, "h": h}
    words |= {"other": torch.ones(2, requires_grad=True), "device": "cpu", "theta": theta}
    words |= {"loss": lambda theta, x, y: ((theta * x).sum() - y) ** 2, "hidden": h}
    words |= {"losses": (model(x).squeeze(1) - y) ** 2, "results": list(model(x).flatten())}
    words |= {"loss_a": (h * h).sum(), "loss_b": h.sum(), "partial": partial}
    return words


def jax_words():
    words = {"jax": jax, "jnp": jnp, "theta": jnp.asarray(theta), "x": jnp.asarray(states)}
    return words | {"y": jnp.asarray(rewards), "loss": lambda theta, x, y: (x @ theta - y) ** 2}


def numpy_words():
    words = {"np": np, "ps": ps, "engine": ps.engine, "theta": theta, "x": states, "y": rewards}
    words |= {"loss": ps.squared_loss, "rows_of": ps.per_sample_grad(ps.squared_loss)}
    return words | {"partial": partial, "rng": np.random.default_rng(0)}


@pytest.mark.parametrize(("head", "code"), CURES, ids=range(len(CURES)))
def test_a_cure_is_short_and_runs(head, code):
    words = {"JAX": jax_words, "persample": numpy_words}.get(head.partition(":")[0], torch_words)
    if "record" in head:
        words = torch_words
    if "nnx." in code:
        pytest.importorskip("flax")
    torch._dynamo.reset()
    with enable_x64(True):
        exec(code, words())
    assert len(code.splitlines()) <= 4
    assert max(map(len, code.splitlines())) <= 79


# The last section's table: what happens without a message.
def test_func_grad_fills_no_grad():
    x = torch.tensor(2.0, requires_grad=True)
    assert torch.func.grad(lambda x: x * x)(x) == 4
    assert x.grad is None


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_where_lets_an_infinite_derivative_through(backend):
    module = ps.backend(backend)

    def root(x, harmless):
        xp = ps.array_namespace(x)
        inside = xp.where(x > 0, x, xp.ones_like(x)) if harmless else x
        return xp.where(x > 0, xp.sqrt(inside), xp.zeros_like(x))

    zero = module.asarray(0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert np.isnan(ps.to_numpy(module.grad(partial(root, harmless=False))(zero)))
    assert_close(ps.to_numpy(module.grad(partial(root, harmless=True))(zero)), 0.0)


def test_the_derivative_of_a_step_is_zero_and_the_cures_have_another():
    x = torch.tensor([-1.2, -2.7])
    slope = lambda f: torch.func.grad(lambda x: f(x).sum())(x).unique().tolist()  # noqa: E731
    assert [slope(f) for f in (torch.round, torch.sign, torch.relu)] == 3 * [[0.0]]
    rounded = lambda x: x + (x.round() - x).detach()  # noqa: E731
    assert torch.equal(rounded(x), x.round())
    assert slope(rounded) == [1.0]
    assert slope(torch.nn.functional.leaky_relu) == pytest.approx([0.01])


def test_flatten_under_vmap_keeps_the_first_axis_of_a_sample():
    x, flatten = torch.arange(60.0).view(5, 3, 4), torch.nn.Flatten()
    assert torch.equal(torch.vmap(flatten)(x), x)
    assert torch.equal(torch.vmap(lambda one: flatten(one[None])[0])(x), flatten(x))
    assert f"({5 * 3}x4 and 12x2)" in message("torch.matrix-shapes")[1]


def test_a_step_before_backward_follows_the_batch_before():
    w = torch.zeros(1, requires_grad=True)
    optimizer, moved = torch.optim.SGD([w], lr=1.0), []
    for slope in (1.0, 10.0, 100.0):
        before = w.item()
        optimizer.step()
        optimizer.zero_grad()
        (slope * w).sum().backward()
        moved.append(before - w.item())
    assert moved == [0.0, 1.0, 10.0]


def test_one_key_gives_every_sample_the_same_mask():
    key = jax.random.key(0)
    mask = lambda x, key: jax.random.bernoulli(key, 0.5, x.shape)  # noqa: E731
    x = jnp.ones((4, 20))
    same, own = jax.vmap(mask, (0, None))(x, key), jax.vmap(mask)(x, jax.random.split(key, 4))
    assert [len(np.unique(masks, axis=0)) for masks in (same, own)] == [1, 4]


@pytest.mark.parametrize("draw", [np.random.default_rng(0).random, random.Random(0).random])
def test_all_samples_share_a_draw_of_numpy_or_python_and_jit_keeps_it(draw):
    scaled = lambda x: draw() * x  # noqa: E731
    for vmap, ones in ((torch.vmap, torch.ones(5)), (jax.vmap, jnp.ones(5))):
        found = [set(vmap(scaled)(ones).tolist()) for _ in range(2)]
        assert [len(drawn) for drawn in found] == [1, 1]
        assert found[0] != found[1]
        own = torch.rand(5, generator=torch.Generator().manual_seed(0)).numpy()
        own = type(ones)(own) if vmap is torch.vmap else jnp.asarray(own)
        assert len(set(vmap(lambda x, drawn: drawn * x)(ones, own).tolist())) == 5
    compiled = jax.jit(jax.vmap(scaled))
    assert len({drawn for _ in range(3) for drawn in compiled(jnp.ones(5)).tolist()}) == 1


def test_a_penalty_on_rows_needs_their_graph():
    """Compare the gradient that the page recommends with finite differences of record's norms."""
    words = torch_words()
    model, x, y = (words[name] for name in ("model", "x", "y"))

    def total(moved):
        """Return the mean loss plus the squared norms of a record, at a changed weight."""
        with torch.no_grad():
            model[0].weight[1, 2] += moved
        with ps.record(model) as record:
            losses = (model(x).squeeze(1) - y) ** 2
            record.backward(losses, retain_graph=True)
        assert not record.squared_norms().requires_grad
        return (losses.mean() + record.squared_norms().sum()).item()

    exec(next(code for _, code in CURES if "rows.values())).backward()" in code), words)
    slope = (total(1e-5) - total(-2e-5)) / 2e-5
    assert model[0].weight.grad[1, 2].item() == pytest.approx(slope, rel=1e-6)


def test_a_hook_of_the_optimiser_runs_in_backward_and_not_where_grad_is_written():
    w = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0)

    def step(p):
        optimizer.step()
        optimizer.zero_grad()

    w.register_post_accumulate_grad_hook(step)
    (3 * w).sum().backward()
    assert w.item() == -3
    for left in (1.0, 2.0):
        w.grad = torch.ones(1) if w.grad is None else w.grad + 1
        assert (w.item(), w.grad.item()) == (-3, left)
    step(w)
    assert (w.item(), w.grad) == (-5, None)


def test_a_clipped_sum_runs_the_hook_of_the_optimiser():
    model = torch.nn.Linear(1, 1, bias=False)
    before, optimizer = model.weight.item(), torch.optim.SGD(model.parameters(), lr=1.0)
    model.weight.register_post_accumulate_grad_hook(lambda p: optimizer.step())
    with ps.record(model) as record:
        record.backward(model(torch.tensor([[3.0], [0.5]]))[:, 0])
    record.add_clipped_sum(1.0)
    assert model.weight.item() == pytest.approx(before - 1.5)


def test_equal_samples_and_averages_hide_wrong_rows():
    right = ps.per_sample_grad(ps.squared_loss)
    wrong = lambda theta, x, y: right(theta, x[:1], y[:1]).repeat(len(x), axis=0)  # noqa: E731
    twice, rows = (theta, states[[0, 0]], rewards[[0, 0]]), right(theta, states, rewards)
    assert_close(wrong(*twice), right(*twice))
    assert np.abs(wrong(theta, states, rewards) - rows).max() > 0.1
    over_batch = lambda theta, x, y: ps.squared_loss(theta, x, y) / len(states)  # noqa: E731
    assert_close(ps.per_sample_grad(over_batch)(theta, states, rewards) * len(states), rows)

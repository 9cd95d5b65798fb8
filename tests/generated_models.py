"""Calls of record put together at random: models, losses, wrong use.

The oracle is torch.autograd.grad(losses[i], parameters) on the graph of the recorded pass, so the
same dropout and no second forward pass.
"""

import contextlib
import copy
import warnings
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from model_blocks import BLOCKS, Made, embedded
from outcomes import Outcome, Wrong, judged
from torch import nn
from torch.utils.checkpoint import checkpoint

import persample as ps

# Relative to the norm of the sample's gradient; sums in another order differ by rounding.
TOLERANCES = {torch.float64: 1e-8, torch.float32: 2e-4, torch.bfloat16: 6e-2}
UNKNOWN = object()  # what the rows would be without a special value, where samples mix
WORDS, LARGEST = 7, 4000  # kinds of tokens; numbers of a sample's activations


class Model(nn.Module):
    """Blocks one after the other; what comes out is read by a loss."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.Sequential(*blocks)

    def forward(self, x):
        return self.blocks(x)


def built(rng: Any, size: int):
    """Return (model, make inputs, words): a random chain of blocks that runs."""
    kind = str(rng.choice(["vector", "vector", "sequence", "sequence", "image", "tokens"]))
    # Often as many positions as samples: shapes then mislead.
    t = size if size > 1 and rng.random() < 0.5 else int(rng.choice([3, 4, 5]))
    shapes = {"vector": (int(rng.choice([3, 4, size])),), "sequence": (t, 4), "image": (2, 6, 5)}
    shape = shapes.get(kind, (t,))
    if kind == "tokens":
        make = lambda count: torch.randint(0, WORDS, (count, *shape))  # noqa: E731
        blocks = [embedded(rng, WORDS, t)]
    else:
        make = lambda count: torch.randn(count, *shape)  # noqa: E731
        blocks = []
    names = [type(b).__name__ for b in blocks]
    wanted = len(blocks) + int(rng.integers(1, 5))
    probe = make(size)
    for block in blocks:
        probe = block(probe).detach()
    for _ in range(40):
        if len(blocks) >= wanted:
            break
        table = BLOCKS.get(probe.ndim - 1)
        if table is None:
            break
        maker = table[int(rng.integers(len(table)))]
        block = maker(rng, tuple(probe.shape[1:]))
        if block is None:
            continue
        try:
            after = block(probe).detach()
        except ValueError:  # such as a norm of one number
            continue
        if len(after) != size or not after[0].numel() or after[0].numel() > LARGEST:
            continue
        if not after.is_floating_point():
            continue
        blocks.append(block)
        names.append(maker.__name__)
        probe = after
    model = Model(blocks)
    if not any(p.requires_grad for p in model.parameters()):
        model.blocks.append(Made(lambda m, x: x * m.g, g=nn.Parameter(torch.tensor(1.3))))
        names.append("a number")
    # Some change their state each time that they run, so that a second run is another.
    changing = any(getattr(m, "max_norm", None) for m in model.modules())
    changing = changing or "weight_norm" in names  # spectral_norm is one of them
    if rng.random() < 0.06 and not changing:
        inner = model.blocks
        model.blocks = Made(lambda m, x: checkpoint(m.b, x, use_reentrant=False), b=inner)
        names.append("checkpointed as a whole")
    return model, make, f"{kind} {shape}: {', '.join(names)}"


# Losses: (B,) from the model's output. Weights and masks inside a sample are the loss's own.
def squared(y, model):
    target = torch.randn_like(y)
    return ((y - target) ** 2).flatten(1).mean(1)


def crossed(y, model):
    flat = y.flatten(1)
    return F.cross_entropy(flat, torch.randint(0, flat.shape[1], (len(flat),)), reduction="none")


def tokens_that_count(y, model):
    flat = y.flatten(1)
    mask = torch.rand_like(flat) < 0.6
    return (flat.sin() * mask).sum(1) / mask.sum(1).clamp(min=1)


def weighted(y, model):
    weights = torch.rand(len(y)) + 0.2
    return weights.to(y.dtype) / weights.sum() * y.flatten(1).tanh().sum(1)


def some_zero(y, model):
    return (torch.arange(len(y)) % 2).to(y.dtype) * y.flatten(1).pow(2).sum(1)


def penalised(y, model):
    penalty = sum((p**2).sum() for p in model.parameters() if p.requires_grad)
    return y.flatten(1).cos().mean(1) + 0.01 * penalty


def penalised_by_sample(y, model):
    penalty = sum((p**2).sum() for p in model.parameters() if p.requires_grad)
    return y.flatten(1).cos().mean(1) * (1 + 0.01 * penalty)


def contrastive(y, model):
    flat = F.normalize(y.flatten(1), dim=1)
    return F.cross_entropy(flat @ flat.T, torch.arange(len(flat)), reduction="none")


def listed(y, model):
    return torch.stack([row.flatten().tanh().sum() for row in y])


LOSSES = [squared, squared, crossed, tokens_that_count, weighted, some_zero, penalised]
LOSSES += [penalised_by_sample, contrastive, listed]


def oracle(losses, parameters):
    """Return name -> (B, *shape), by autograd, loss by loss, on the recorded graph."""
    alone = [
        torch.autograd.grad(
            loss, list(parameters.values()), retain_graph=True, materialize_grads=True
        )
        for loss in losses
    ]
    return {
        name: torch.stack([g[k].to_dense() for g in alone]) for k, name in enumerate(parameters)
    }


def near(what, actual, expected, tolerance, whole=None, clean=None):
    """Raise Wrong unless every sample's part agrees, relative to the norm of its gradient.

    In the oracle 0 times NaN spreads NaN from one sample to others; where the record says better,
    it must say what is right without the special value: ``clean``.
    """
    if actual.shape != expected.shape:
        raise Wrong(f"{what}: shape {tuple(actual.shape)}, needed {tuple(expected.shape)}")
    a, b = (x.to(actual.dtype).double().reshape(len(x), -1) for x in (actual, expected))
    if clean is not None:
        better = torch.isfinite(a).all(1) & ~torch.isfinite(b).all(1)
        b = torch.where(
            better[:, None], (a if clean is UNKNOWN else clean.double()).reshape(b.shape), b
        )
    broken = ~torch.isfinite(b).all(1)
    if not torch.equal(broken, ~torch.isfinite(a).all(1)):
        found = (~torch.isfinite(a).all(1)).nonzero()[:, 0].tolist()
        needed = broken.nonzero()[:, 0].tolist()
        raise Wrong(f"{what}: not finite in samples {found}, needed in {needed}")
    scale = torch.linalg.vector_norm(b, dim=1)
    scale = scale if whole is None else torch.maximum(scale, 1e-2 * whole)
    error = torch.linalg.vector_norm(a - b, dim=1)
    wrong = (error > tolerance * scale + 1e-12) & ~broken
    if wrong.any():
        i = int(wrong.nonzero()[0])
        raise Wrong(f"{what}, sample {i}: off by {error[i] / scale[i]:.2g} of {scale[i]:.2g}")


def check_record(rng, record, expected, tolerance, clean=None):
    """Compare everything that a record tells with the oracle's rows."""
    size = len(next(iter(expected.values())))
    flat = torch.cat([g.double().reshape(size, -1) for g in expected.values()], 1)
    whole = torch.linalg.vector_norm(flat, dim=1)
    rows = record.rows()
    for name, needed in expected.items():
        near(
            f"row of {name}",
            *(rows[name], needed, tolerance, torch.nan_to_num(whole, 0, 0)),
            clean and clean[name],
        )
        if rows[name].dtype != needed.dtype:
            raise Wrong(f"row of {name} is {rows[name].dtype}, needed {needed.dtype}")
    if not torch.isfinite(flat).all() or clean:
        return
    near("squared norms", record.squared_norms()[:, None], whole[:, None] ** 2, 2 * tolerance)
    max_norm = float(whole.median()) or 1.0
    weights = (max_norm / whole.clamp(min=1e-300)).clamp(max=1)
    clipped = record.clipped_sum(max_norm)
    total = float(whole.clamp(max=max_norm).sum())
    for name, needed in expected.items():
        summed = torch.tensordot(weights, needed.double(), 1)
        whole_sum = torch.tensor([1e3 * total], dtype=torch.float64)
        near(f"clipped sum of {name}", clipped[name][None], summed[None], tolerance, whole_sum)
    if rng.random() < 0.5:
        moments = record.moments()
        scale = torch.stack([1e3 * (whole**2).mean()])
        for name, needed in expected.items():
            second = (needed.double() ** 2).mean(0)[None]
            near(
                f"second moment of {name}",
                moments.second_moment[name][None],
                second,
                2 * tolerance,
                scale,
            )
    if rng.random() < 0.5:
        gram = record.gram()
        scale = 1e3 * whole * whole.max()
        near("gram", gram, flat @ flat.T, 2 * tolerance, scale)
    if rng.random() < 0.5:
        step = int(rng.integers(1, size + 2))
        parts = [{k: x.clone() for k, x in part.items()} for part in record.chunks(step)]
        for name, needed in expected.items():
            together = torch.cat([part[name] for part in parts])
            near(f"chunks of {name}", together, needed, tolerance, whole)


def recorded(rng: Any) -> Outcome:
    """A random model and loss, twice."""
    size = int(rng.choice([1, 2, 3, 4, 6]))
    dtype = [torch.float64, torch.float64, torch.float32][int(rng.integers(3))]
    model, make, words = built(rng, size)
    if dtype == torch.float32 and "group_norm" in words:
        dtype = torch.float64  # of two equal numbers: their difference is rounding, 300 times
    model.to(dtype)
    loss_of = LOSSES[int(rng.integers(len(LOSSES)))]
    cast = bool(rng.random() < 0.1) and dtype == torch.float32
    cast = cast and not any(isinstance(m, nn.Bilinear) for m in model.modules())  # not in PyTorch
    kind = str(rng.choice(["losses", "losses", "losses", "reduction", "special"]))
    tolerance = TOLERANCES[torch.bfloat16 if cast else dtype]
    what = (
        f"{words}; {loss_of.__name__}, B = {size}, {dtype}{', autocast' if cast else ''}, {kind}"
    )
    run = {"losses": _by_losses, "reduction": _by_reduction, "special": _by_losses}[kind]
    special, mixed = kind == "special", "coupled" in words or loss_of is contrastive
    options = loss_of, cast, tolerance, special, mixed
    return judged(what, partial(run, rng, model, make, size, dtype, *options))


def _by_losses(rng, model, make, size, dtype, loss_of, cast, tolerance, special, mixed):
    parameters = {k: p for k, p in model.named_parameters() if p.requires_grad}
    state, seed = copy.deepcopy(model.state_dict()), int(rng.integers(2**31))
    for turn in range(2):
        x = make(size)
        x = x.to(dtype) if x.is_floating_point() else x
        expected = clean = None
        if special and turn == int(rng.integers(2)) and x.is_floating_point():
            torch.manual_seed(seed)
            clean = oracle(_losses(model, x, loss_of, cast), parameters)
            if mixed:  # the value reaches all samples
                clean = dict.fromkeys(clean, UNKNOWN)
            model.load_state_dict(state)
            spoil(rng, x)
            torch.manual_seed(seed)
        with ps.record(model) as record:
            losses = _losses(model, x, loss_of, cast)
            record.backward(losses, retain_graph=True, accumulate=turn == 0)
        expected = oracle(losses, parameters)
        check_record(rng, record, expected, tolerance, clean)
        if turn == 0 and clean is None:
            _check_gradients(parameters, expected, tolerance)
        model.zero_grad()


def _losses(model, x, loss_of, cast):
    with torch.autocast("cpu", torch.bfloat16, enabled=cast):
        return loss_of(model(x), model)


def spoil(rng, x):
    """Put a special value into one sample."""
    values = [float("nan"), float("inf"), 0.0, 1e20, 1e-20]
    x[int(rng.integers(len(x)))].view(-1)[0] = values[int(rng.integers(len(values)))]


def _check_gradients(parameters, expected, tolerance):
    """The sum of the rows is in .grad, as after losses.sum().backward()."""
    whole = max(float(torch.linalg.vector_norm(g.double())) for g in expected.values())
    for name, p in parameters.items():
        summed = expected[name].double().sum(0)
        given = torch.zeros_like(summed) if p.grad is None else p.grad.to_dense().double()
        if not torch.isfinite(summed).all():
            continue
        if not float(torch.linalg.vector_norm(given - summed)) <= 3 * tolerance * (whole + 1e-3):
            raise Wrong(f".grad of {name} is not the sum of the rows")


def _by_reduction(rng, model, make, size, dtype, loss_of, cast, tolerance, special, mixed):
    parameters = {k: p for k, p in model.named_parameters() if p.requires_grad}
    reduction = str(rng.choice(["mean", "sum"]))
    x = make(size)
    x = x.to(dtype) if x.is_floating_point() else x
    with ps.record(model, reduction=reduction) as record:
        losses = _losses(model, x, loss_of, cast)
        loss = losses.mean() if reduction == "mean" else losses.sum()
        loss.backward(retain_graph=True)
    if loss_of is contrastive and size > 1:  # each loss depends on all outputs
        raise Wrong("a mean of losses that depend on other samples was not refused")
    check_record(rng, record, oracle(losses, parameters), tolerance)
    return None


# Wrong use: all must be refused.
def scalar_loss(rng, model, x, size):
    with ps.record(model) as record:
        record.backward(model(x).mean())


def many_losses(rng, model, x, size):
    with ps.record(model) as record:
        record.backward(model(x).flatten(1)[:, :1])


def without_gradient(rng, model, x, size):
    with ps.record(model) as record, torch.no_grad():
        record.backward(model(x).flatten(1).sum(1))


def detached(rng, model, x, size):
    with ps.record(model) as record:
        record.backward(model(x).detach().flatten(1).sum(1))


def array_of_numpy(rng, model, x, size):
    with ps.record(model) as record:
        record.backward(model(x).detach().numpy())


def twice(rng, model, x, size):
    with ps.record(model) as record:
        record.backward(model(x).flatten(1).sum(1))
        record.backward(model(x).flatten(1).sum(1))


def read_before(rng, model, x, size):
    with ps.record(model) as record:
        model(x)
    record.rows()


def empty_batch(rng, model, x, size):
    with ps.record(model) as record:
        record.backward(model(x).flatten(1).sum(1)[:0])


def frozen_model(rng, model, x, size):
    model.requires_grad_(False)
    with ps.record(model) as record:
        record.backward(model(x).flatten(1).sum(1))


def of_another_model(rng, model, x, size):
    other = nn.Linear(2, 1).to(x.dtype if x.is_floating_point() else torch.float32)
    with ps.record(model) as record:
        record.backward(other(torch.randn(size, 2, dtype=other.weight.dtype))[:, 0])


def no_model(rng, model, x, size):
    things = [None, model.forward, "model", 3, nn.Linear, list(model.parameters()), {}]
    with ps.record(things[int(rng.integers(len(things)))]) as record:
        record.backward(model(x).flatten(1).sum(1))


def wrong_reduction(rng, model, x, size):
    things = ["none", "batchmean", "", 1, True, torch.mean]
    with ps.record(model, reduction=things[int(rng.integers(len(things)))]):
        model(x).sum().backward()


def both_ways(rng, model, x, size):
    with ps.record(model, reduction="mean") as record:
        record.backward(model(x).flatten(1).sum(1))


def batch_norm_in_training(rng, model, x, size):
    made = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(x[0].numel()), nn.Linear(x[0].numel(), 2))
    x = x.to(torch.float32)
    with ps.record(made) as record:
        record.backward(made(torch.cat([x, x + 1])).sum(1))


def complex_model(rng, model, x, size):
    made = nn.Linear(2, 2).to(torch.complex64)
    with ps.record(made) as record:
        record.backward(made(torch.randn(size, 2, dtype=torch.complex64)).abs().sum(1))


def lazy_model(rng, model, x, size):
    made = nn.LazyLinear(2)
    with ps.record(made) as record:
        record.backward(made(torch.randn(size, 2)).sum(1))


def wrong_max_norm(rng, model, x, size):
    values = [0, -1.0, float("nan"), "1", None, True, torch.tensor([1.0, 2.0])]
    with ps.record(model) as record:
        record.backward(model(x).flatten(1).sum(1))
    record.clipped_sum(values[int(rng.integers(len(values)))])


def wrong_chunks(rng, model, x, size):
    values = [0, -1, 1.5, "2", True, None]
    with ps.record(model) as record:
        record.backward(model(x).flatten(1).sum(1))
    list(record.chunks(values[int(rng.integers(len(values)))]))


def wrong_out(rng, model, x, size):
    with ps.record(model) as record:
        record.backward(model(x).flatten(1).sum(1))
    rows = record.rows()
    name = next(iter(rows))
    wrong = [
        {},
        {**rows, name: rows[name][None]},
        {**rows, name: rows[name].half()},
        {**rows, name: rows[name].numpy()},
        {**rows, name: None},
        {**rows, "other": rows[name]},
        [rows[name]],
        rows[name],
        "rows",
    ]
    record.rows(out=wrong[int(rng.integers(len(wrong)))])


def changed_in_place(rng, model, x, size):
    made = nn.Sequential(nn.Linear(3, 3, dtype=torch.float64))
    x = torch.randn(size + 1, 3, dtype=torch.float64)
    with ps.record(made) as record:
        record.backward(made(x).tanh().sum(1))
    x += 1
    record.rows()


def check_without_graph(rng, model, x, size):
    with ps.record(model) as record:
        record.backward(model(x).flatten(1).sum(1))
    record.check()


def no_such_sample(rng, model, x, size):
    with ps.record(model) as record:
        record.backward(model(x).flatten(1).sum(1), retain_graph=True)
    record.check((size,))


def reentrant(rng, model, x, size):
    made = Made(
        lambda m, x: m.b(checkpoint(m.a, m.c(x), use_reentrant=True)),
        **{name: nn.Linear(3, 3) for name in "abc"},
    )
    with ps.record(made) as record:
        record.backward(made(torch.randn(size + 1, 3)).sum(1))


MISUSES = [
    *(scalar_loss, many_losses, without_gradient, detached, array_of_numpy, twice, read_before),
    *(empty_batch, frozen_model, of_another_model, no_model, wrong_reduction, both_ways),
    *(batch_norm_in_training, complex_model, lazy_model, wrong_max_norm, wrong_chunks),
    *(wrong_out, changed_in_place, check_without_graph, no_such_sample, reentrant),
]


def misused(rng: Any) -> Outcome:
    """A call that has no rows."""
    size = int(rng.choice([1, 2, 3, 4]))
    model, make, words = built(rng, size)
    misuse = MISUSES[int(rng.integers(len(MISUSES)))]
    model.eval()
    run = partial(misuse, rng, model, make(size), size)
    return judged(f"{misuse.__name__}, B = {size}; {words}", run, must_refuse=True)


def checked(rng: Any) -> Outcome:
    """record.check() of a model that does not mix its samples."""
    size = int(rng.choice([2, 3, 4]))
    model, make, words = built(rng, size)
    model.double().eval()
    x = make(size)
    x = x.double() if x.is_floating_point() else x

    def run():
        with ps.record(model) as record:
            record.backward(squared(model(x), model), retain_graph=True)
        worst = record.check((0, size - 1))
        if not max(worst.values()) < 1e-6:
            raise Wrong(f"check: {worst}")

    return judged(f"check, B = {size}; {words}", run)


@contextlib.contextmanager
def quiet():
    """No warnings: they concern nested tensors, deprecated layers and the like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield

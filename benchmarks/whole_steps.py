"""Whole training steps: the floor by hand, the contenders beside it, and how they are measured.

The floor is a program written for the model's layers: a forward hook on each layer that keeps its
input a and its output; the gradients d of the summed losses with respect to those outputs, from
one call of `torch.autograd.grad`; and the shortest closed form of each layer. Row i of a layer is
the gradient of sample i's loss with respect to the layer's parameters. These do not require grad,
so autograd computes no gradients for them. Where `.grad` is wanted too, each layer computes it
from its own data: the sum of its rows where they are formed, else one more product.

Deliberately left out: every check, layers that are called twice or share a parameter, samples that
depend on each other, numbers that overflow. Memory is not counted: where the rows of a layer are
the shortest way to its norms, they are kept for the clipped sum.
"""

import argparse
import gc
import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial

import common
import contenders
import numpy as np
import torch
from contenders import MAX_NORM, Case
from networks import Added
from torch import Tensor, nn

ORDINARY = "ordinary pass"
Batches = Iterator[tuple[Tensor, Tensor]]
# Name -> whether the sum is wanted or the norms alone, and whether `.grad` is.
WANTED = {
    "squared norms": (False, False),
    "squared norms, .grad too": (False, True),
    "clipped sum": (True, False),
    "clipped sum, .grad too": (True, True),
}
# Weights c, (B,), of the rows in a sum; None where all are 1.
Weights = Tensor | None
# What a layer gives: (B,) its part of the squared norms, and a function from several weights to
# sum_i c_i g_i: for each of its parameters as many sums.
Parts = tuple[Tensor, Callable[[list[Weights]], list]]


def squared(rows: Tensor) -> Tensor:
    """Return the squared norm of each row, (B,), from rows (B, ...)."""
    return torch.linalg.vector_norm(rows.flatten(1), dim=1).square()


def from_rows(*rows: Tensor) -> Parts:
    """Return `Parts` from rows, (B, *shape) per parameter; sums take a matrix product each."""

    def sums(weights: list[Weights]) -> list:
        if weights == [None]:
            return [[r.sum(0)] for r in rows]
        c = torch.stack([torch.ones(len(rows[0])) if c is None else c for c in weights])
        return [(c @ r.flatten(1)).view(-1, *r.shape[1:]) for r in rows]

    return sum(map(squared, rows)), sums


def from_products(a: Tensor, d: Tensor, squares: Tensor, bias: bool) -> Parts:
    """Return `Parts` without rows; a weighted sum is one matrix product.

    Its factors are the weighted cotangents d (B T, n) and the inputs a (B T, m).
    """
    T = len(d) // len(squares)

    def sums(weights: list[Weights]) -> list:
        every = [d if c is None else c.repeat_interleave(T)[:, None] * d for c in weights]
        return [[d.T @ a for d in every], *([[d.sum(0) for d in every]] if bias else [])]

    return squares, sums


def linear(layer: nn.Linear, a: Tensor, d: Tensor) -> Parts:
    """One position per sample: a (B, m), d (B, n). A row is d_i a_i^T, so |g_i| = |d_i| |a_i|."""
    if a.dim() == 3:
        return linear_at_positions(layer, a, d)
    of_a, of_d = torch.linalg.vecdot(a, a), torch.linalg.vecdot(d, d)
    squares = of_a * of_d if layer.bias is None else torch.addcmul(of_d, of_a, of_d)
    return from_products(a, d, squares, layer.bias is not None)


def linear_at_positions(layer: nn.Linear, a: Tensor, d: Tensor) -> Parts:
    """T positions per sample: a (B, T, m), d (B, T, n). A row is sum_t d_it a_it^T.

    A norm takes T^2 (m + n) multiplications per sample from products of pairs of positions, and T
    m n from the row. The shorter of the two is taken for clipped sums as well (measured: rows are
    ahead at T = 64 and pairs at T = 16, for widths of 64 to 256).
    """
    (_, T, m), n = a.shape, d.shape[2]
    bias = [] if layer.bias is None else [d.sum(1)]
    if m * n <= T * (m + n):
        return from_rows(d.mT @ a, *bias)
    squares = ((a @ a.mT) * (d @ d.mT)).sum((1, 2)) + sum(map(squared, bias))
    return from_products(a.flatten(0, 1), d.flatten(0, 1), squares, bool(bias))


def convolution(layer: nn.Conv2d, a: Tensor, d: Tensor) -> Parts:
    """Rows: d_i (n, T) times the T windows of a_i (c, height, width); no padding, no dilation.

    The windows are copied for four samples at a time, which stay in the cache: measured against
    `torch.nn.functional.unfold` and against PyTorch's own gradient of a weight for each sample.
    """
    (high, wide), (down, right) = layer.kernel_size, layer.stride
    rows = []
    for few, cotangents in zip(a.split(4), d.flatten(2).split(4), strict=True):
        windows = few.unfold(2, high, down).unfold(3, wide, right).permute(0, 1, 4, 5, 2, 3)
        rows.append(cotangents @ windows.reshape(len(few), -1, cotangents.shape[2]).mT)
    return from_rows(torch.cat(rows).view(len(a), *layer.weight.shape), d.sum((2, 3)))


def layer_norm(layer: nn.LayerNorm, a: Tensor, d: Tensor) -> Parts:
    """Rows: sum_t d_it * normalised a_it, and sum_t d_it; a and d are (B, T, m)."""
    normalised = nn.functional.layer_norm(a, layer.normalized_shape, eps=layer.eps)
    return from_rows((d * normalised).sum(1), d.sum(1))


def embedding(layer: nn.Embedding, a: Tensor, d: Tensor) -> Parts:
    """Rows, (B, words, m): equal tokens of a sample, a (B, T), are added before squaring.

    This is the shortest way for a small vocabulary. For a large one, number the pairs of sample
    and word that occur (`torch.unique`), and add into one vector for each pair.
    """
    words, m = layer.weight.shape
    places = (a + words * torch.arange(len(a))[:, None]).flatten()
    rows = d.new_zeros(len(a) * words, m).index_add_(0, places, d.flatten(0, 1))
    return from_rows(rows.view(len(a), words, m))


def added(layer: Added, a: Tensor, d: Tensor) -> Parts:
    """Rows of an array that is added to each sample: the cotangents d themselves."""
    return from_rows(d)


PARTS = {
    Added: added,
    nn.Linear: linear,
    nn.Conv2d: convolution,
    nn.LayerNorm: layer_norm,
    nn.Embedding: embedding,
}


def watch(model: nn.Module) -> list[tuple]:
    """Return a list to which every layer with parameters adds (name, layer, input, output)."""
    seen: list[tuple] = []

    def keep(name, layer, inputs, output):
        if not output.requires_grad:  # the first layers of a model that is not to have `.grad`
            output.requires_grad_()
        seen.append((name, layer, inputs[0], output))

    for name, layer in model.named_modules():
        if type(layer) in PARTS:
            layer.register_forward_hook(partial(keep, name))
    return seen


def floor(case: Case, clip: bool, grad: bool, max_norm: float = MAX_NORM) -> Callable:
    """Return call(x, y): squared norms (B,), or with ``clip`` name -> clipped sum.

    With ``grad`` the call fills `.grad` too. The default batch is the case's.
    """
    model, (x, y) = case.model().requires_grad_(False), case.batch()
    seen = watch(model)

    def call(x: Tensor = x, y: Tensor = y):
        with torch.no_grad():
            found = parts_of(case, model, seen, x, y)
            return answer(found, clip, grad, max_norm)

    call.model = model
    return call


def parts_of(case: Case, model: nn.Module, seen: list[tuple], x: Tensor, y: Tensor) -> list:
    """Run both passes; return (name, layer, its parts) for each layer with parameters."""
    seen.clear()
    with torch.enable_grad():
        loss = case.losses(model(x), y).sum()
        cotangents = torch.autograd.grad(loss, [output for *_, output in seen])
    return [
        (name, layer, PARTS[type(layer)](layer, a, d))
        for (name, layer, a, _), d in zip(seen, cotangents, strict=True)
    ]


def answer(found: list, clip: bool, grad: bool, max_norm: float):
    """Return squared norms (B,) over all parameters, or with ``clip`` name -> clipped sum.

    With ``grad`` also write the sums of the rows to `.grad`.
    """
    squares = torch.stack([squares for *_, (squares, _) in found]).sum(0)
    weights = [(max_norm / squares.sqrt()).clamp(max=1)] if clip else []
    weights += [None] if grad else []
    clipped = {}
    for name, layer, (_, sums) in found if weights else []:
        for (key, p), several in zip(layer.named_parameters(), sums(weights), strict=True):
            if grad:
                p.grad = several[-1]
            if clip:
                clipped[f"{name}.{key}"] = several[0]
    return clipped if clip else squares


def clipped(rows: dict[str, Tensor], max_norm: float = MAX_NORM) -> dict[str, Tensor]:
    """Return name -> clipped sum of the rows, each scaled to a norm of at most ``max_norm``."""
    return weighted(rows, (max_norm / squared_norms(rows).sqrt()).clamp(max=1))


def weighted(rows: dict[str, Tensor], c: Tensor) -> dict[str, Tensor]:
    """Return name -> sum_i c_i g_i."""
    return {name: (c @ r.flatten(1)).view(r.shape[1:]) for name, r in rows.items()}


def squared_norms(rows: dict[str, Tensor]) -> Tensor:
    """Return (B,): the squared norms of rows, over all parameters."""
    return sum(map(squared, rows.values()))


def compare(who: str, found, expected, tolerance: float) -> None:
    """Raise AssertionError unless shapes agree, and numbers up to ``tolerance`` x the largest."""
    pairs = [(found, expected)]
    if isinstance(expected, dict):
        pairs = [(found[name], expected[name]) for name in expected]
    for one, other in pairs:
        error = (one.detach() - other).abs().max()
        if one.shape != other.shape or not error <= tolerance * other.abs().max():
            raise AssertionError(f"{who}: differs by {float(error):.2g}")


def rows_by_loop(case: Case, model: nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """Return name -> rows, (B, *shape), by one backward pass for each sample."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    each = [
        torch.autograd.grad(case.losses(model(x[i : i + 1]), y[i : i + 1]).sum(), parameters)
        for i in range(len(x))
    ]
    return {
        name: torch.stack(own) for name, own in zip(names, zip(*each, strict=True), strict=True)
    }


def check(case: Case, tolerance: float = 1e-10) -> None:
    """Compare the floor of five samples with a loop, in float64: each layer, then the whole.

    The bound is the median norm, so some samples are clipped and others are not. Raise
    AssertionError if they differ.
    """
    few = case.of_size(5)
    x, y = few.batch()
    x = x.double() if x.is_floating_point() else x
    torch.set_default_dtype(torch.float64)
    try:
        rows = rows_by_loop(few, few.model(), x, y)
        limit = float(squared_norms(rows).sqrt().median())
        model = few.model().requires_grad_(False)
        for name, layer, (squares, _) in parts_of(few, model, watch(model), x, y):
            own = {key: rows[f"{name}.{key}"] for key, _ in layer.named_parameters()}
            compare(f"squared norms of {name}", squares, squared_norms(own), tolerance)
        for name, (clip, grad) in WANTED.items():
            call = floor(few, clip, grad, limit)
            expected = clipped(rows, limit) if clip else squared_norms(rows)
            compare(name, call(x, y), expected, tolerance)
            for key, p in call.model.named_parameters():
                if not grad and p.grad is not None:
                    raise AssertionError(f"{name}: {key} has a .grad")
                if grad:
                    compare(f"{name}: .grad", p.grad, rows[key].sum(0), tolerance)
    finally:
        torch.set_default_dtype(torch.float32)


def of_rows(read: Callable, builder: Callable) -> Callable:
    """Return a builder of calls that apply ``read`` to the rows of another builder's call."""

    def built(case: Case) -> Callable:
        call = builder(case)
        return lambda x, y: read(call(x, y))

    return built


def fill(case: Case) -> Callable:
    """Return call(x, y) that fills buffers as large as the rows: with a pass, a lower bound."""
    call = contenders.fill(case)

    def write(x: Tensor, y: Tensor) -> None:
        call()

    return write


# Quantity -> contender -> builder. Opacus' backward passes fill `.grad` too (ghost clipping puts
# the clipped sum there); torch.func's has no `.grad`.
CONTENDERS = {
    "squared norms": {
        "floor": partial(floor, clip=False, grad=False),
        "floor, .grad too": partial(floor, clip=False, grad=True),
        "persample": contenders.norms,
        "persample, .grad too": contenders.norms_and_grad,
        "Opacus hooks, .grad too": of_rows(squared_norms, contenders.opacus_hooks),
        "torch.func vmap(grad)": of_rows(squared_norms, contenders.torch_vmap),
    },
    "clipped sum": {
        "floor": partial(floor, clip=True, grad=False),
        "floor, .grad too": partial(floor, clip=True, grad=True),
        "persample": contenders.clipped,
        "persample, .grad too": contenders.clipped_and_grad,
        "Opacus ghost clipping": contenders.opacus_ghost,
        "Opacus hooks, .grad too": of_rows(clipped, contenders.opacus_hooks),
        "torch.func vmap(grad)": of_rows(clipped, contenders.torch_vmap),
    },
    "rows": {
        "writing them, no pass": fill,
        "persample, warm": contenders.warm,
        "persample, fresh": contenders.fresh,
        "Opacus hooks, .grad too": contenders.opacus_hooks,
        "torch.func vmap(grad)": contenders.torch_vmap,
    },
}


def fixed(case: Case, rng: np.random.Generator) -> Batches:
    return itertools.repeat(case.batch())


def warm_up(case: Case, quantity: str, calls: dict, batches: Batches) -> None:
    """Run every call on two batches; raise AssertionError if an answer is wrong by more than 1e-3.

    Norms and clipped sums are compared with the floor. Rows are summed with weights that differ
    from sample to sample, and compared with one backward pass of the losses' weighted sum.
    """
    expected_of = (
        weighted_sum if quantity == "rows" else floor(case, quantity == "clipped sum", False)
    )
    for x, y in itertools.islice(batches, 2):
        expected = expected_of(case, x, y) if quantity == "rows" else expected_of(x, y)
        for name, call in calls.items():
            answer = call(x, y)
            if isinstance(answer, dict) and quantity == "rows":
                answer = weighted(answer, weights_of(len(x)))
            if answer is not None:  # what only writes
                compare(f"{quantity}: {name}", answer, expected, 1e-3)


def weights_of(count: int) -> Tensor:
    return torch.arange(1.0, count + 1) / count


def weighted_sum(case: Case, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """Return name -> sum_i w_i g_i, from one backward pass."""
    model = case.model()
    (weights_of(len(x)) * case.losses(model(x), y)).sum().backward()
    return {name: p.grad for name, p in model.named_parameters()}


def measure(
    calls: dict, batches: Batches, steps: int, seconds: float, clock: Callable = time.perf_counter
) -> dict:
    """Return contender -> mean time of a step, in ordinary passes and in ms, and number of steps.

    A contender runs at most ``steps`` steps, and at least ten if they take over ``seconds`` s.
    """
    names, times, order = list(calls), {name: [] for name in calls}, np.random.default_rng(1)
    for x, y in itertools.islice(batches, steps):
        running = [name for name in names if sum(times[name]) < seconds or len(times[name]) < 10]
        if not running or running == [ORDINARY]:
            break
        for name in order.permutation(names):
            if name in running or name == ORDINARY:
                start = clock()
                calls[name](x, y)
                times[name].append(clock() - start)
    ordinary, found = times[ORDINARY], {}
    for name, own in times.items():
        found[name] = {
            "passes": round(sum(own) / sum(ordinary[: len(own)]), 3),
            "ms": round(1e3 * sum(own) / len(own), 3),
            "steps": len(own),
        }
    return found


def measured(
    case: Case,
    quantity: str,
    builders: dict,
    batches: Batches,
    options: argparse.Namespace,
    clock: Callable = time.perf_counter,
) -> dict:
    """Return contender -> result of `measure` after a warm-up, or the reason why it cannot run."""
    calls, absent = contenders.build(builders, case)
    warm_up(case, quantity, calls, batches)
    calls = {ORDINARY: contenders.ordinary(case)} | calls
    calls[ORDINARY](*next(batches))
    found = measure(calls, batches, options.steps, options.seconds, clock) | absent
    del calls
    gc.collect()  # hooks make cycles, which would keep rows
    return found


def head(what: str) -> dict:
    """Return the header of a result, with the number of threads and empty ``cases``."""
    start = common.head(what, "numpy", "torch", "opacus")
    return start | {"threads": torch.get_num_threads(), "cases": {}}

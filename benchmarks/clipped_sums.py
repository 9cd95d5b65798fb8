"""Time and memory of norms and clipped sums in JAX without forming all rows, and of others.

    python benchmarks/clipped_sums.py --opacus PYTHON --save

Each loss is written for one sample. Every call is compiled and runs on one core; its time is the
least of several, relative to the ordinary pass (`jit(value_and_grad)` of the mean loss over the
same batch), which takes turns with it. Also stored: the temporary memory that XLA allocates beyond
arguments and results, in MiB, and the seconds that compiling took. Run it where nothing else runs.
The scan over microbatches is the simplest program with bounded memory, and runs at several sizes.
optax and jax_privacy are measured where they are installed, Opacus by the Python given to
``--opacus``, whose environment has it.
"""

import json
import math
import os
import subprocess
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("OMP_NUM_THREADS", "1")
if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import common
import jax
import jax.numpy as jnp
import numpy as np

import persample as ps

RESULT = common.RESULTS / "clipped_sums.json"
MICROBATCHES = (1, 2, 4, 8, 16, 32)
SECONDS = 1.5  # of repeats, at most
MAX_NORM = 1.0


def normal(rng: np.random.Generator, *shape: int, fan: int = 0) -> jax.Array:
    return jnp.asarray(rng.normal(size=shape) / math.sqrt(fan or shape[0]), "float32")


def scores_loss(scores: jax.Array, label: jax.Array) -> jax.Array:
    return jax.nn.logsumexp(scores) - scores[label]


def mlp(rng: np.random.Generator, sizes: tuple, batch: int) -> tuple:
    pairs = zip(sizes, sizes[1:], strict=False)
    parameters = [(normal(rng, m, n), jnp.zeros(n)) for m, n in pairs]

    def loss(parameters, x, label):
        for weight, bias in parameters[:-1]:
            x = jax.nn.relu(x @ weight + bias)
        weight, bias = parameters[-1]
        return scores_loss(x @ weight + bias, label)

    x = normal(rng, batch, sizes[0], fan=1)
    return loss, parameters, (x, jnp.arange(batch) % sizes[-1])


def cnn(rng: np.random.Generator, batch: int) -> tuple:
    parameters = {
        "first": normal(rng, 5, 5, 1, 16, fan=25),
        "second": normal(rng, 5, 5, 16, 32, fan=400),
        "hidden": normal(rng, 7 * 7 * 32, 100),
        "last": normal(rng, 100, 10),
    }

    def convolved(x, kernel):
        dims = "NHWC", "HWIO", "NHWC"
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=dims)
        x = jax.nn.relu(x)
        n, height, width, channels = x.shape
        return x.reshape(n, height // 2, 2, width // 2, 2, channels).max((2, 4))

    def loss(p, x, label):
        x = convolved(convolved(x[None, :, :, None], p["first"]), p["second"]).reshape(-1)
        return scores_loss(jax.nn.relu(x @ p["hidden"]) @ p["last"], label)

    return loss, parameters, (normal(rng, batch, 28, 28, fan=1), jnp.arange(batch) % 10)


def gpt(rng: np.random.Generator, vocabulary: int, layers: int, length: int, batch: int) -> tuple:
    width, heads = 128, 4
    layer = lambda: {  # noqa: E731
        "qkv": normal(rng, width, 3 * width),
        "out": normal(rng, width, width),
        "up": normal(rng, width, 4 * width),
        "down": normal(rng, 4 * width, width),
    }
    parameters = {
        "tokens": normal(rng, vocabulary, width, fan=width),
        "places": normal(rng, length, width, fan=width),
        "layers": [layer() for _ in range(layers)],
    }

    def normed(x):
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def loss(p, text):
        x = p["tokens"][text[:-1]] + p["places"]
        mask = jnp.tril(jnp.ones((length, length), bool))
        for layer in p["layers"]:
            q, k, v = jnp.split((normed(x) @ layer["qkv"]).reshape(length, heads, -1), 3, axis=-1)
            weights = jnp.einsum("thc,shc->hts", q, k) / math.sqrt(q.shape[-1])
            weights = jax.nn.softmax(jnp.where(mask, weights, -jnp.inf))
            x = x + jnp.einsum("hts,shc->thc", weights, v).reshape(length, width) @ layer["out"]
            x = x + jax.nn.gelu(normed(x) @ layer["up"]) @ layer["down"]
        logits = normed(x) @ p["tokens"].T
        scores = jnp.take_along_axis(logits, text[1:, None], 1)[:, 0]
        return (jax.nn.logsumexp(logits, axis=-1) - scores).mean()

    texts = rng.integers(0, vocabulary, (batch, length + 1))
    return loss, parameters, (jnp.asarray(texts, "int32"),)


def gru(rng: np.random.Generator, length: int, batch: int) -> tuple:
    inputs, width = 16, 64
    parameters = {
        "input": normal(rng, inputs, 3 * width),
        "state": normal(rng, width, 3 * width),
        "last": normal(rng, width, 10),
    }

    def loss(p, xs, label):
        def step(h, x):
            a, b = jnp.split(x @ p["input"], [2 * width]), jnp.split(h @ p["state"], [2 * width])
            reset, update = jnp.split(jax.nn.sigmoid(a[0] + b[0]), 2)
            new = jnp.tanh(a[1] + reset * b[1])
            return update * h + (1 - update) * new, None

        h, _ = jax.lax.scan(step, jnp.zeros(width), xs)
        return scores_loss(h @ p["last"], label)

    x = normal(rng, batch, length, inputs, fan=1)
    return loss, parameters, (x, jnp.arange(batch) % 10)


CASES = {
    "MLP 784-256-10, B = 256": partial(mlp, sizes=(784, 256, 10), batch=256),
    "MLP 3 x 1024, B = 64": partial(mlp, sizes=(1024, 1024, 1024, 1024), batch=64),
    "CNN 28 x 28, B = 128": partial(cnn, batch=128),
    "GPT, 4 layers, T = 64, B = 16": partial(gpt, vocabulary=512, layers=4, length=64, batch=16),
    "GPT, vocabulary 4,096, B = 16": partial(gpt, vocabulary=4096, layers=2, length=64, batch=16),
    "GRU, T = 32, B = 32": partial(gru, length=32, batch=32),
}


def ordinary(loss: Callable) -> Callable:
    """Return the baseline: a function that computes the mean loss and its gradient."""

    def mean_loss(parameters, *batch):
        return jax.vmap(loss, (None, *[0] * len(batch)))(parameters, *batch).mean()

    return jax.value_and_grad(mean_loss)


def by_rows(loss: Callable) -> Callable:
    """Return clipped(parameters, *batch): the sum of the clipped rows, by vmap(grad)."""

    def clipped(parameters, *batch):
        rows = jax.vmap(jax.grad(loss), (None, *[0] * len(batch)))(parameters, *batch)
        squares = sum((x**2).reshape(len(x), -1).sum(1) for x in jax.tree.leaves(rows))
        factors = jnp.minimum(1, MAX_NORM / jnp.sqrt(squares))
        return jax.tree.map(lambda x: jnp.tensordot(factors, x, axes=1), rows)

    return clipped


def by_scan(loss: Callable, size: int) -> Callable:
    """Return clipped(parameters, *batch): `by_rows` of ``size`` samples, summed in a scan."""
    part = by_rows(loss)

    def clipped(parameters, *batch):
        cut = jax.tree.map(lambda x: x.reshape(-1, size, *x.shape[1:]), batch)
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        add = lambda total, few: (jax.tree.map(jnp.add, total, part(parameters, *few)), None)  # noqa: E731
        return jax.lax.scan(add, zeros, cut)[0]

    return clipped


def by_optax(loss: Callable) -> Callable:
    """Return clipped(parameters, *batch), by optax.per_example_global_norm_clip of all rows."""
    optax = import_module("optax")

    def clipped(parameters, *batch):
        rows = jax.vmap(jax.grad(loss), (None, *[0] * len(batch)))(parameters, *batch)
        leaves, structure = jax.tree.flatten(rows)
        sums, _ = optax.per_example_global_norm_clip(leaves, MAX_NORM)
        return structure.unflatten(sums)

    return clipped


def by_jax_privacy(loss: Callable, size: int | None = None) -> Callable:
    """Return clipped(parameters, *batch), by jax_privacy with microbatches of ``size``."""
    clipping = import_module("jax_privacy").clipped_grad
    count = loss.__code__.co_argcount

    def clipped(parameters, *batch):
        f = clipping(
            loss, l2_clip_norm=MAX_NORM, batch_argnums=tuple(range(1, count)),
            keep_batch_dim=False, microbatch_size=size,
        )  # fmt: skip
        return f(parameters, *batch)

    return clipped


def contenders(loss: Callable, batch: int) -> dict[str, Callable]:
    """Return name -> function of parameters and batch, not yet compiled."""
    clipped = ps.clipped_grad_sum(loss)
    sizes = [n for n in MICROBATCHES if n < batch]
    found = {
        "norms": ps.per_sample_norms(loss),
        "clipped sum": lambda *given: clipped(*given, max_norm=MAX_NORM),
        "vmap(grad), then clip": by_rows(loss),
        **{f"scan, {n}": by_scan(loss, n) for n in sizes},
    }
    if installed("optax"):
        found["optax"] = by_optax(loss)
    if installed("jax-privacy"):
        found["jax_privacy"] = by_jax_privacy(loss)
        found.update({f"jax_privacy, {n}": by_jax_privacy(loss, n) for n in sizes})
    return found


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def compiled(f: Callable, given: tuple) -> tuple[Callable, float, float]:
    """Return (call without arguments, compile time in s, temporary memory in MiB)."""
    start = time.perf_counter()
    program = jax.jit(f).lower(*given).compile()
    seconds = time.perf_counter() - start
    memory = program.memory_analysis().temp_size_in_bytes / 2**20
    return partial(program, *given), seconds, memory


def least(call: Callable, other: Callable) -> float:
    """Return the least time of ``call`` over the least time of ``other``; the two take turns."""
    times: dict = {call: [], other: []}
    start = time.perf_counter()
    while len(times[other]) < 3 or time.perf_counter() - start < SECONDS:
        for each, found in times.items():
            before = time.perf_counter()
            jax.block_until_ready(each())
            found.append(time.perf_counter() - before)
        if len(times[other]) >= 200:
            break
    return min(times[call]) / min(times[other])


def largest_difference(tree: Any, other: Any) -> float:
    pairs = zip(jax.tree.leaves(tree), jax.tree.leaves(other), strict=True)
    return max(float(jnp.abs(x - y).max() / jnp.abs(y).max()) for x, y in pairs)


def measure(make: Callable) -> dict:
    loss, parameters, batch = make(np.random.default_rng(0))
    size, given = len(batch[0]), (parameters, *batch)
    one, _, own = compiled(ordinary(loss), given)
    expected = by_rows(loss)(*given)
    found: dict = {"ordinary pass": {"temporaries": round(own, 1)}}
    for name, f in contenders(loss, size).items():
        call, seconds, memory = compiled(f, given)
        result = call()
        if name != "norms":
            result = result[0] if isinstance(result, tuple) and len(result) == 2 else result
            assert largest_difference(result, expected) < 1e-3, name
        found[name] = {
            "passes": round(least(call, one), 2),
            "temporaries": round(memory, 1),
            "compiling": round(seconds, 1),
        }
        print(name, found[name], flush=True)
    return found


def by_opacus(python: str) -> tuple[dict, dict]:
    """Return {case: time of Opacus' clipped sum in ordinary passes of PyTorch}, and versions."""
    command = [python, str(common.RESULTS.with_name("clipped_sums_opacus.py"))]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(printed)
    return found["cases"], found["versions"]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--only", default="", help="the cases whose name begins so")
    parser.add_argument("--opacus", metavar="PYTHON", help="a Python that has Opacus")
    arguments = parser.parse_args()
    cases = {}
    for name, make in CASES.items():
        if name.startswith(arguments.only):
            print(name, flush=True)
            cases[name] = measure(make)
    versions = {p: installed(p) for p in ("jax", "optax", "jax-privacy")}
    today = date.today().isoformat()
    if arguments.only and RESULT.exists():  # the cases of one day may be measured one by one
        before = json.loads(RESULT.read_text(encoding="utf-8"))
        if before["date"] == today:
            cases, versions = before["cases"] | cases, before["versions"] | versions
    if arguments.opacus:
        passes, more = by_opacus(arguments.opacus)
        versions |= more
        for name, n in passes.items():
            cases.setdefault(name, {})["Opacus, in passes of PyTorch"] = {"passes": n}
            print(name, "Opacus", n)
    stored = {
        "date": today,
        "device": "CPU, one core, float32",
        "versions": {p: v for p, v in versions.items() if v},
        "cases": cases,
    }
    common.finish(stored, RESULT, arguments.save)


if __name__ == "__main__":
    main()

"""Per-sample gradients: hand-written NumPy, the engine, JAX and PyTorch, side by side in one run.

`ps.per_sample_grad(loss, jit=True)` runs with NumPy's arrays and with JAX's; its overhead over
`engine.jit` and `jax.jit` is printed in microseconds. Every contender computes the same rows from
the same numbers and is compared with the hand-written program. The contenders take turns in a
random order in every round, so that noise hits all alike. One thread each.

    python benchmarks/engine.py [--quick] [--save]
"""

import os

# One thread for each library; the variables are read when it is loaded.
ONE = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
ONE["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ.update(ONE)

import datetime  # noqa: E402
import platform  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402

import common  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from optree import tree_map  # noqa: E402

import persample as ps  # noqa: E402

RESULTS = common.RESULTS / "engine.json"
SLICE = 5e-4  # seconds that one turn lasts at least


def mlp_loss(params, x, y):
    """Return the cross-entropy of one sample under a tanh network; y is its label."""
    xp = ps.array_namespace(params)
    *hidden, (w, b) = params
    for layer, bias in hidden:
        x = xp.tanh(xp.matmul(x, layer) + bias)
    return ps.cross_entropy_loss(xp.matmul(x, w) + b, y)


def td_by_hand(theta, s, r, s_next):
    delta = r + s_next @ theta - s @ theta
    return -delta[:, None] * s


def mlp_by_hand(params, x, y):
    inputs = [x]
    for w, b in params[:-1]:
        inputs.append(np.tanh(inputs[-1] @ w + b))
    z = inputs[-1] @ params[-1][0] + params[-1][1]
    p = np.exp(z - z.max(1, keepdims=True))
    delta, rows = p / p.sum(1, keepdims=True), []
    delta[np.arange(len(y)), y] -= 1
    for (w, _), h in zip(params[::-1], inputs[::-1], strict=True):
        rows.append((h[:, :, None] * delta[:, None, :], delta))
        if h is not x:
            delta = delta @ w.T * (1 - h * h)
    return rows[::-1]


def td(batch, d):
    def data(rng):
        s, s_next = rng.normal(size=(2, batch, d))
        return rng.normal(size=d), s, rng.normal(size=batch), s_next

    return ps.td_loss, td_by_hand, (None, 0, 0, 0), data


def mlp(batch, *sizes):
    def data(rng):
        pairs = list(zip(sizes[:-1], sizes[1:], strict=True))
        params = [(rng.normal(size=p) / p[0] ** 0.5, rng.normal(size=p[1])) for p in pairs]
        return params, rng.normal(size=(batch, sizes[0])), np.arange(batch) % sizes[-1]

    return mlp_loss, mlp_by_hand, (None, 0, 0), data


ROWS = {
    "TD(0) B=1 d=3": td(1, 3),
    "TD(0) B=1024 d=3": td(1024, 3),
    "TD(0) B=1024 d=64": td(1024, 64),
    "MLP 784-256-10 B=256": mlp(256, 784, 256, 10),
    "MLP 1024-1024-1024-10 B=32": mlp(32, 1024, 1024, 1024, 10),
}
COMPILED = {"engine.jit", "per_sample_grad", "jax.jit", "per_sample_grad, JAX", "torch.compile"}
OVER = {"per_sample_grad": "engine.jit", "per_sample_grad, JAX": "jax.jit"}


def contenders(loss, by_hand, in_axes, arrays):
    """Return name -> function of no arguments that computes the rows and waits for them."""
    to_torch = tree_map(lambda x: torch.from_numpy(x), arrays)
    to_jax = tree_map(jnp.asarray, arrays)
    engine = ps.engine.vmap(ps.engine.grad(loss), in_axes)
    compiled = ps.engine.jit(engine)
    jax_rows = jax.jit(jax.vmap(jax.grad(loss), in_axes))
    rows_of = ps.per_sample_grad(loss, in_axes, jit=True)
    torch_rows = torch.func.vmap(torch.func.grad(loss), in_axes)
    torch._dynamo.reset()
    inductor = torch.compile(torch_rows, fullgraph=True)
    return {
        "hand NumPy": lambda: by_hand(*arrays),
        "engine": lambda: engine(*arrays),
        "engine.jit": lambda: compiled(*arrays),
        "per_sample_grad": lambda: rows_of(*arrays),
        "jax.jit": lambda: jax.block_until_ready(jax_rows(*to_jax)),
        "per_sample_grad, JAX": lambda: jax.block_until_ready(rows_of(*to_jax)),
        "torch.func": lambda: torch_rows(*to_torch),
        "torch.compile": lambda: inductor(*to_torch),
    }


def seconds(f, repeats=1):
    start = time.perf_counter()
    for _ in range(repeats):
        f()
    return (time.perf_counter() - start) / repeats


def agree(a, b, dtype):
    """Raise AssertionError unless two trees of rows agree within 1e-3 (float32) or 1e-9."""
    tolerance = 1e-3 if dtype == "float32" else 1e-9

    def same(x, y):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)

    tree_map(same, a, b)


def measure(row, dtype, rounds, skip):
    """Return three dicts name -> seconds: median and least time of a call, and the first call's.

    A contender that raises RuntimeError, or an error of torch.compile, is left out, and named.
    """
    loss, by_hand, in_axes, data = ROWS[row]
    real = lambda x: x.astype(dtype) if x.dtype.kind == "f" else x  # noqa: E731, labels stay
    arrays = tree_map(real, data(np.random.default_rng(0)))
    runs, first, expected = contenders(loss, by_hand, in_axes, arrays), {}, by_hand(*arrays)
    for name in [name for name in runs if name not in skip]:
        try:
            first[name] = seconds(runs[name])
            agree(runs[name](), expected, dtype)
        except (RuntimeError, torch._dynamo.exc.TorchDynamoException) as error:
            print(f"  {name} left out: {str(error).splitlines()[0]}")
            first.pop(name, None)
    del expected
    runs = {name: runs[name] for name in first}
    repeats = {name: max(1, int(SLICE / seconds(f, 3))) for name, f in runs.items()}
    times, shuffle = {name: [] for name in runs}, np.random.default_rng(1).permutation
    for _ in range(rounds):
        for name in shuffle(list(runs)):  # nobody always follows the same neighbour
            times[name].append(seconds(runs[name], repeats[name]))
    medians = {name: statistics.median(t) for name, t in times.items()}
    return medians, {name: min(t) for name, t in times.items()}, first


def show(row, dtype, medians, least, first):
    """Print one line for each contender: median, least, ratios to hand-written, first call.

    The least of many turns is the time least disturbed by other programs.
    """
    unit, scale = ("us", 1e6) if medians["hand NumPy"] < 1e-3 else ("ms", 1e3)
    print(f"\n{row}, {dtype}")
    for name, t in medians.items():
        ratio, best = t / medians["hand NumPy"], least[name] / least["hand NumPy"]
        start = f"   first call {first[name] * 1e3:8.1f} ms" if name in COMPILED else ""
        if name in OVER and OVER[name] in medians:
            start += f"   {1e6 * (t - medians[OVER[name]]):+.1f} us over {OVER[name]}"
        times = f"{t * scale:9.1f} {unit}   {ratio:6.2f} x hand, least {best:6.2f} x"
        print(f"  {name:25} {times}{start}")


def machine():
    """Return date, machine, threads and versions."""
    versions = {m.__name__: m.__version__ for m in (np, jax, torch)}
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "threads": "one for NumPy, JAX and PyTorch",
        "python": platform.python_version(),
        **versions,
    }


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, no torch.compile")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    jax.config.update("jax_enable_x64", True)
    report = {"about": machine(), "rows": []}
    print(", ".join(f"{key} {value}" for key, value in report["about"].items()))
    skip = {"torch.compile"} if arguments.quick else set()
    for row in [row for row in ROWS if arguments.only in row]:
        rounds = (100 if row.startswith("TD") else 20) // (4 if arguments.quick else 1)
        for dtype in ("float32", "float64"):
            medians, least, first = measure(row, dtype, rounds, skip)
            show(row, dtype, medians, least, first)
            first = {name: t for name, t in first.items() if name in COMPILED}
            times = {"median_s": medians, "least_s": least, "first_call_s": first}
            report["rows"].append({"row": row, "dtype": dtype, **times})
    if arguments.save:
        RESULTS.parent.mkdir(exist_ok=True)
        common.store(report, RESULTS)


if __name__ == "__main__":
    main()

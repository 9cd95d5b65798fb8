"""What chunk_size saves: the peak memory of rows, computed whole and 16 samples at a time.

    python benchmarks/chunks.py --save

Two networks, float32. In "large rows" (784-1024-10, 100 samples) the rows take most of the memory,
in "large activations" (20 layers of 16 x 16, used at 1,024 positions, 128 samples) the
intermediate values. Stored: MiB by which the peak memory of a separate process grows in its second
call, after freed memory has been returned to the system (Linux), and MiB of the rows.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import common
import numpy as np

import persample as ps

RESULT, CHUNK = common.RESULTS / "chunks.json", 16


def by_vmap(loss, chunk_size, jit):
    from torch.func import grad, vmap

    return vmap(grad(loss), in_dims=(None, 0), chunk_size=chunk_size)


# name -> (backend, what makes the function of a batch, with jit or without)
WAYS = {
    "NumPy": ("numpy", ps.per_sample_grad, False),
    "NumPy, jit": ("numpy", ps.per_sample_grad, True),
    "PyTorch": ("torch", ps.per_sample_grad, False),
    "torch.vmap": ("torch", by_vmap, False),
    "JAX": ("jax", ps.per_sample_grad, False),
    "JAX, jit": ("jax", ps.per_sample_grad, True),
}


def loss_of_one(weights, x):
    """Return the sum of squared outputs of a tanh network; x is (d,) or (d, positions)."""
    xp = ps.array_namespace(weights)
    for w in weights:
        x = xp.tanh(xp.matmul(w, x))
    return xp.sum(x**2)


def network(name: str) -> tuple:
    """Return a list of weights and x, (B, ...), as float32 NumPy arrays."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: (rng.normal(size=shape) / 10).astype("float32")  # noqa: E731
    if name == "large rows":
        return [draw(1024, 784), draw(10, 1024)], draw(100, 784)
    return [draw(16, 16) for _ in range(20)], draw(128, 16, 1024)


def grown(way: str, name: str, chunk_size: int | None) -> tuple[float, float]:
    """Return MiB by which a second call raises this process's peak memory, and MiB of the rows."""
    backend, make, jit = WAYS[way]
    own = ps.backend(backend)
    given = own.tree_map(own.asarray, network(name))
    rows_of = make(loss_of_one, chunk_size=chunk_size, jit=jit)
    own.to_numpy(rows_of(*given)[0][0])  # compiles, and waits
    time.sleep(0.5)  # until JAX has let these rows go
    before = common.peak_anew()
    rows = rows_of(*given)
    own.to_numpy(rows[0][0])
    peak, size = common.peak() - before, sum(4 * np.prod(g.shape) for g in rows)
    return round(peak / 1024, 1), round(size / 2**20, 1)


def apart(*arguments) -> tuple[float, float]:
    """Return the result of `grown` in a separate process."""
    program = f"import chunks, json; print(json.dumps(chunks.grown(*{arguments!r})))"
    run, there = [sys.executable, "-c", program], Path(__file__).parent
    return tuple(
        json.loads(subprocess.run(run, cwd=there, capture_output=True, check=True).stdout)
    )


def main() -> None:
    save = common.parser(__doc__).parse_args().save
    stored = common.head("peak memory of rows, whole and in chunks: MiB", "numpy", "torch", "jax")
    for name in ("large rows", "large activations"):
        stored[name] = {}
        for way in WAYS:
            whole, rows = apart(way, name, None)
            parts, _ = apart(way, name, CHUNK)
            stored[name] |= {"rows": rows, way: {"whole": whole, "in chunks": parts}}
            print(f"{name:18} {way:10} rows {rows:6}   whole {whole:7}   in chunks {parts:7}")
    if save:
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()

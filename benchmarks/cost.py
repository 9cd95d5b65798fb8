"""What norms, clipped sums and rows cost: the code that the page on cost shows, beside its peers.

    python benchmarks/cost.py --save

The page's network (784-256-10, ReLU), 256 samples, float32, two threads. Each way does its whole
step, forward and backward pass included, and returns norms, one clipped sum (C = 1) or all rows.

- passes: in each round every way runs once unmeasured, then measured (`medians` in common.py);
  medians over the rounds, in ordinary passes. "memory kept" is `vmap` once more, in a process
  whose C library keeps freed memory (SETTINGS in common.py).
- memory (Linux): MiB by which the peak memory of a separate process grows at the whole batch,
  after a call with two samples and after freed memory has been returned to the system.

The page's functions are read from the notebook. requirements.txt beside this file lists the peers.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import common
import contenders
import torch
from common import SETTINGS, medians, peak, peak_anew
from contenders import MAX_NORM, Case

ROOT = Path(__file__).resolve().parents[1]
PAGE, RESULT = ROOT / "chapters/11_cost.ipynb", common.RESULTS / "cost.json"
CASE = Case((784, 256, 10), 256)


@cache
def shown() -> dict:
    """Run the page's untagged code cells up to "## Which"; return the names, less `rows`."""
    names: dict = {}
    for cell in json.loads(PAGE.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if "## Which" in source:
            break
        if cell["cell_type"] == "code" and not cell["metadata"].get("tags"):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(source, names)  # the book's own page
    del names["rows"]
    return names


def of_page(call):
    """Return a builder of the call ``call(page, x, y)``; ``page`` is the result of `shown`."""

    def build(case: Case):
        page, (x, y) = shown(), case.batch()
        return lambda: call(page, x, y)

    return build


def compiled_loop(case: Case):
    page, (x, y) = shown(), case.batch()
    one = torch.compile(torch.func.grad(page["loss_of_one"]))

    def call():
        rows = [one(page["params"], *sample) for sample in zip(x, y, strict=True)]
        return {k: torch.stack([row[k] for row in rows]) for k in page["params"]}

    return call


def in_jax(clip: bool):
    """Return a builder of a compiled loop over the samples: the clipped sum, or all rows."""

    def build(case: Case):
        jax, loss, arguments = contenders._jax_problem(case)
        np, one = jax.numpy, jax.grad(loss)

        def clipped(params, x, y):
            def add(total, sample):
                row = one(params, *sample)
                norm = np.sqrt(sum((g**2).sum() for g in row.values()))
                w = np.minimum(1, MAX_NORM / norm)
                return {k: total[k] + w * g for k, g in row.items()}, None

            return jax.lax.scan(add, {k: 0 * p for k, p in params.items()}, (x, y))[0]

        def rows(params, x, y):
            return jax.lax.map(lambda sample: one(params, *sample), (x, y))

        run = jax.jit(clipped if clip else rows)
        return lambda: jax.block_until_ready(run(*arguments))

    return build


WAYS = {
    "ordinary": of_page(lambda p, x, y: p["ordinary"](x, y)),
    "norms, page": of_page(
        lambda p, x, y: p["norms_of"](p["errors_and_inputs"](p["model"], x, y))
    ),
    "norms, record": contenders.norms,
    "clipped, page": of_page(lambda p, x, y: p["clipped_sum"](p["model"], x, y, MAX_NORM)),
    "clipped, record": contenders.clipped,
    "clipped, Opacus": contenders.opacus_ghost,
    "clipped, JAX loop": in_jax(clip=True),
    "clipped, chunks": of_page(lambda p, x, y: p["clipped_in_chunks"](x, y, MAX_NORM, 32)),
    "rows, written": contenders.fill,
    "rows, record": contenders.warm,
    "rows, vmap": of_page(lambda p, x, y: p["by_vmap"](p["params"], x, y)),
    "rows, JAX vmap": contenders.jax_jit,
    "rows, JAX loop": in_jax(clip=False),
    "rows, compiled loop": compiled_loop,
    "rows, loop": of_page(lambda p, x, y: p["by_loop"](x, y)),
    "rows, Opacus": contenders.opacus_hooks,
}


def passes(names: list, rounds: int = 15) -> dict:
    torch.set_num_threads(2)
    times = medians({name: WAYS[name](CASE) for name in names}, rounds)
    return {name: round(ms / times["ordinary"], 3) for name, ms in times.items()}


def grown(name: str) -> float:
    WAYS[name](CASE.of_size(2))()
    call = WAYS[name](CASE)
    if "JAX" in name:
        call()  # compiles
    before = peak_anew()
    call()
    call()
    return round((peak() - before) / 1024, 1)


def apart(expression: str, **environment: str):
    """Return the value of an expression of this module, evaluated in a separate process."""
    program = f"import cost, json; print(json.dumps(cost.{expression}))"
    run, there = [sys.executable, "-c", program], Path(__file__).parent
    env = os.environ | environment
    done = subprocess.run(run, env=env, cwd=there, capture_output=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    save = common.parser(__doc__).parse_args().save
    warnings.simplefilter("ignore")  # the peers' own
    stored = common.head("norms, clipped sums and rows: passes, MiB", "torch", "jax", "opacus")
    stored["passes"] = passes(list(WAYS))
    kept = apart("passes(['ordinary', 'rows, vmap'])", **SETTINGS["kept memory"])
    stored["passes"]["rows, vmap, memory kept"] = kept["rows, vmap"]
    stored["memory"] = {name: apart(f"grown({name!r})") for name in WAYS if "written" not in name}
    for name, of in stored["passes"].items():
        print(f"{name:24} {of:7.2f} passes {stored['memory'].get(name, ''):>7} MiB")
    if save:
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()

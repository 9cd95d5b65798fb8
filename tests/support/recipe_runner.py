"""Run programs where persample cannot be imported, each in its own namespace.

    python -I recipe_runner.py CHECKS < jobs.json > results.json

It imports nothing of the book. A job has the `source` of a program; `check`, the name of a
function in the file CHECKS that is called with the dict of names the program defined; and
`double`, whether to compute in double precision. A result has the program's printed output, and
the traceback of the program or the check.
"""

import contextlib
import io
import json
import runpy
import sys
import traceback


def forbid(name: str) -> None:
    """Make every import of a module fail, as if it were not installed."""
    for known in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[known]
    sys.modules[name] = None  # what makes `import` raise


def compute_in_double(on: bool) -> None:
    """Set the default precision of the imported frameworks to double or single."""
    if torch := sys.modules.get("torch"):
        torch.set_default_dtype(torch.float64 if on else torch.float32)
    if jax := sys.modules.get("jax"):
        jax.config.update("jax_enable_x64", on)


def run(job: dict, checks: dict) -> dict:
    """Run a job's program, then its check from ``checks``; return the result (see above)."""
    printed, names = io.StringIO(), {"__name__": "__main__"}
    compute_in_double(job.get("double", False))
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(job["source"], job["check"], "exec"), names)
        checks[job["check"]](names)
    except Exception:
        return {"printed": printed.getvalue(), "error": traceback.format_exc()}
    return {"printed": printed.getvalue(), "error": ""}


def main() -> None:
    forbid("persample")
    checks = runpy.run_path(sys.argv[1])
    json.dump([run(job, checks) for job in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()

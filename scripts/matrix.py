"""Run the unit tests with the oldest and the newest packages that pyproject.toml allows.

    python scripts/matrix.py [--which oldest] [python3.12 ...]

Each Python gets two environments of its own under _build: one with the lowest version of each
package that pyproject.toml names, one with the highest. They are removed after the run. What
cannot be had (an interpreter, a wheel) is reported with its reason. The notebooks and the tests
marked as slow are not run: the digits of the first belong to the versions in requirements.txt.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import figures

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build" / "matrix"
PYTHONS = ("3.11", "3.12", "3.13")
RESOLUTION = {"oldest": "lowest-direct", "newest": "highest"}
# These test the book and its tools, which have versions of their own.
BOOK = ("build", "figures", "front_door", "guards", "matrix", "mutate", "notebooks", "pages")
BOOK += ("portable", "style", "tamper")
DEPRECATIONS = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
SHOWN = ("numpy", "array-api-compat", "torch", "jax", "matplotlib", "gymnasium")


class NotHad(Exception):
    """Says why an environment could not be made."""


def required() -> list[str]:
    """Return what pyproject.toml requires, extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    return project["dependencies"] + [name for extra in extras for name in extra]


def test_tools() -> list[str]:
    """Return what the unit tests need, in the versions of requirements-dev.txt."""
    text = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    names = r"^(?:pytest|pytest-xdist|hypothesis|array-api-strict|nbval|pillow|threadpoolctl)=="
    return [line for line in text.splitlines() if re.match(names, line)]


def reason(said: str) -> str:
    """Return what uv said of a failure, without the addresses and paths of one machine."""
    _, _, error = said.rpartition("error:")
    return re.sub(r"`?(?:\w+://|/)[^\s`]*/[^\s`]*`?", "...", " ".join(error.split()))[:200]


def uv(*arguments: str) -> str:
    """Run uv, which comes with the development environment; return what it printed."""
    find = os.environ.get("PIP_FIND_LINKS", "")  # where pip looks for wheels, uv looks too
    env = os.environ | ({"UV_FIND_LINKS": find} if find else {})
    command = [sys.executable, "-m", "uv", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHad(reason(done.stderr) or f"uv ended with {done.returncode}")
    return done.stdout.strip()


def make(python: str, which: str, folder: Path) -> Path:
    """Make an environment and return its Python.

    Raises
    ------
    NotHad
        There is no such interpreter, or no wheel for it.
    """
    uv("venv", "--quiet", "--clear", "--python", python, str(folder))
    inside = folder / "bin" / "python"
    # Both are installed in one go, so that no tool moves a package afterwards. Wheels alone: a
    # version that has to be built from source is no version that a reader can be expected to use.
    uv(
        *("pip", "install", "--quiet", "--python", str(inside), "--only-binary", ":all:"),
        *("--resolution", RESOLUTION[which], *required(), *test_tools()),
    )
    uv("pip", "install", "--quiet", "--python", str(inside), "--no-deps", "-e", str(ROOT))
    return inside


def versions(inside: Path) -> dict[str, str]:
    """Return the versions that an environment holds of the packages that matter."""
    listed = dict(
        line.split("==")
        for line in uv("pip", "freeze", "--python", inside).splitlines()
        if "==" in line
    )
    return {name: listed[name].split("+")[0] for name in SHOWN if name in listed}


def unit_tests(inside: Path) -> tuple[int, int, str]:
    """Run the unit tests; return how many passed, how many failed, and the end of the output."""
    ignored = [f"--ignore={path}" for name in BOOK for path in ROOT.glob(f"tests/test_{name}*.py")]
    # What a package says of another one's future is not ours to mend, least of all in old ones.
    old = [f"-Wdefault::{name}" for name in DEPRECATIONS]
    done = subprocess.run(
        [
            *(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"),
            *(*old, *ignored, "tests", "src"),
        ],
        cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stdout.strip().splitlines()[-1:] or [done.stderr[-300:]]
    count = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", last[0])}
    failed = count.get("failed", 0) + count.get("error", 0)
    end = "\n".join(
        line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERR"))
    )
    return count.get("passed", 0), failed or int(done.returncode != 0), end


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", default=PYTHONS, help="interpreters or versions")
    parser.add_argument("--which", choices=RESOLUTION, help="one end of the versions only")
    options = parser.parse_args()
    rows, bad = [], 0
    for python in options.pythons or PYTHONS:
        for which in [options.which] if options.which else RESOLUTION:
            folder, start = BUILD / f"{Path(python).name}-{which}", time.perf_counter()
            try:
                inside = make(python, which, folder)
                held = versions(inside)
                run = [inside, "-c", "import platform; print(platform.python_version())"]
                number = subprocess.check_output(run, text=True).strip()
                passed, failed, end = unit_tests(inside)
            except NotHad as error:
                row = {"python": Path(python).name, "packages": which, "not had": str(error)}
                print(f"Python {row['python']}, {which}: not had: {error}", flush=True)
            else:
                row = {"python": number, "packages": which, "versions": held}
                row |= {"passed": passed, "failed": failed}
                bad += failed
                shown = ", ".join(f"{name} {at}" for name, at in held.items())
                print(
                    f"Python {number}, {which} ({shown}): {passed} passed, {failed} failed,"
                    f" {time.perf_counter() - start:.0f} s",
                    flush=True,
                )
                print(end, end="\n" if end else "", flush=True)
            rows.append(row)
            shutil.rmtree(folder, ignore_errors=True)
    if not options.which:
        figures.store("matrix", "make matrix", summary(rows), environments=rows)
        figures.write()
    return 1 if bad or all("not had" in row for row in rows) else 0


def summary(rows: list[dict]) -> list[tuple[str, str]]:
    """Return one pair for each environment: what it holds, and what its tests said."""
    pairs = []
    for row in rows:
        name = f"Python {row['python']}, {row['packages']}"
        if "not had" in row:
            pairs.append((name, f"not had: {row['not had'][:120]}"))
            continue
        held = ", ".join(f"{package} {at}" for package, at in row["versions"].items())
        pairs.append((f"{name}: {held}", f"{row['passed']} passed, {row['failed']} failed"))
    return pairs


if __name__ == "__main__":
    sys.exit(main())

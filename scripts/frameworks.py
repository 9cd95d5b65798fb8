"""Run the programs of all frameworks, each in its own environment, and store the results.

    python scripts/frameworks.py                     all of them (make frameworks)
    python scripts/frameworks.py --only tensorflow   one; the others' stored results stay
    python scripts/frameworks.py --keep-times        time nothing; keep the stored times

Each framework has a program in `benchmarks/frameworks/` and, if the book's own environment lacks
it, a requirements file beside it. Results are stored with versions and date, or with the reason
why a framework cannot be installed. Timing needs a machine on which nothing else runs.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "benchmarks" / "frameworks"
STORED = ROOT / "benchmarks" / "results" / "frameworks.json"
PYTHON = "3.11"  # the newest for which Chainer's NumPy has wheels
NAMES = {
    "numpy_engine": "NumPy, this book's engine",
    "pytorch": "PyTorch",
    "jax": "JAX",
    "mindspore": "MindSpore",
    "tensorflow": "TensorFlow",
    "pytensor": "PyTensor (Theano)",
    "mlx": "MLX",
    "autograd": "HIPS autograd",
    "chainer": "Chainer",
    "keras": "Keras 3",
    "tinygrad": "tinygrad",
}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "GLOG_v": "4", "CHAINER_WARN_VERSION_MISMATCH": "0"}
QUIET |= {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD += ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
QUIET |= dict.fromkeys(ONE_THREAD, "1")
MOST_SECONDS = 900


def uv(*arguments: str) -> None:
    """Run uv with these arguments; raise CalledProcessError if it fails."""
    subprocess.run([sys.executable, "-m", "uv", *arguments], check=True)


def environment(name: str, folder: Path) -> str:
    """Return the path of the Python that runs a program; make its environment if needed."""
    requirements = PROGRAMS / f"requirements-{name}.txt"
    if not requirements.exists():
        return sys.executable
    inside = str(folder / name / "bin" / "python")
    uv("venv", "--quiet", "--clear", "--python", PYTHON, str(folder / name))
    pip = ("pip", "install", "--quiet", "--python", inside)
    lines = [line.split("#")[0].strip() for line in requirements.read_text().splitlines()]
    # Chainer comes as source alone, and is built with what the lines before it have installed.
    built = [line for line in lines if line.startswith("chainer")]
    uv(*pip, *[line for line in lines if line and line not in built])
    if built:
        uv(*pip, "--no-build-isolation", *built)
    return inside


def run(name: str, folder: Path) -> dict:
    """Return the results of a framework's program, or {"not had": why it is not installed}.

    Raise RuntimeError if the program fails.
    """
    try:
        python = environment(name, folder)
    except subprocess.CalledProcessError as error:
        return {"not had": f"uv ended with {error.returncode}"}
    done = subprocess.run(
        [python, str(PROGRAMS / f"with_{name}.py")],
        cwd=folder,
        env=os.environ | QUIET,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name}:\n" + "\n".join(done.stderr.splitlines()[-15:]))
    return json.loads(done.stdout.strip().splitlines()[-1]) | {"date": today()}


def today() -> str:
    return datetime.date.today().isoformat()


def timed(name: str, found: dict, before: dict) -> dict:
    """Return ``found`` with the date and machine of its times, or with the times of ``before``.

    The times of ``before`` are used if nothing was timed (--keep-times); raise RuntimeError if
    they are of another version. A program without times is returned unchanged.
    """
    if "times" not in found:  # a program that times nothing
        return found
    if found["times"]:
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
        return found | {"timed": {"date": today(), "machine": machine}}
    if found["version"] != before.get("version"):
        raise RuntimeError(
            f"{name}: the stored times are those of version {before.get('version')}, and this is "
            f"{found['version']}: measure them (without --keep-times, on a quiet machine)"
        )
    return found | {key: before[key] for key in before if key.startswith("time")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=NAMES, help="one framework")
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-frameworks")
    parser.add_argument("--keep-times", action="store_true", help="keep the times that are stored")
    options = parser.parse_args()
    if options.keep_times:
        os.environ["KEEP_TIMES"] = "yes"  # for the programs
    options.folder.mkdir(parents=True, exist_ok=True)
    stored = json.loads(STORED.read_text()) if STORED.exists() else {"frameworks": {}}
    for name in [options.only] if options.only else NAMES:
        found = timed(name, run(name, options.folder), stored["frameworks"].get(name, {}))
        stored["frameworks"][name] = {"name": NAMES[name]} | found
        print(f"{NAMES[name]:28} {found.get('version') or 'not had: ' + found['not had']}")
    STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return int(any("not had" in found for found in stored["frameworks"].values()))


if __name__ == "__main__":
    sys.exit(main())

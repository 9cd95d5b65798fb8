"""Run every notebook and the numeric tests on simulated machines; the digits must not differ.

    python scripts/portable.py [--only oldest] [--workers 2]

Libraries choose their kernels by the processor's features, and the last bits of a result depend on
that choice. Each entry of `settings` forces one choice by environment variables. Entries without
effect on this machine are skipped: the libraries' own reports and some results are compared first,
in a separate process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from notebook_rules import chapters

ROOT = Path(__file__).resolve().parents[1]
# Tests whose outcome hangs on what a library computes. The others read files or build pages.
NUMERIC = ("backends", "engine_*", "generated_*", "record*", "losses", "per_sample*")
NUMERIC += ("statistics", "tape")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# The libraries' own reports, and digests of some results.
PROBE = """
import hashlib, json, warnings
warnings.simplefilter("ignore")
import jax, numpy as np, threadpoolctl, torch
from jax import numpy as jnp
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

jax.config.update("jax_enable_x64", True)
draw = np.random.default_rng(0).normal
a, b = draw(size=(50, 133)), draw(size=(133, 47))
s, t, image = torch.tensor(a), torch.tensor(b), torch.tensor(draw(size=(2, 4, 16, 16)))
weight = torch.tensor(draw(size=(4, 4, 3, 3)))
jitted = jax.jit(lambda a, b: (a @ b, jnp.exp(a), jnp.tanh(a), (jnp.tanh(a) * a + a).sum(1)))
arrays = [a @ b, a @ b[:, 0], np.exp(a), np.tanh(a), a.sum(1), s @ t, s.exp(), s.tanh(), s.sum(1)]
arrays += [torch.conv2d(image.float(), weight.float()), *jitted(a, b)]
arrays += jitted(a.astype("f4"), b.astype("f4"))
kept = ("internal_api", "architecture", "num_threads")
libraries = [[str(pool.get(key)) for key in kept] for pool in threadpoolctl.threadpool_info()]
print("\\n" + json.dumps({
    "libraries": sorted(libraries),
    "numpy features": [name for name in __cpu_dispatch__ if __cpu_features__[name]],
    "torch": [torch.backends.cpu.get_cpu_capability(), torch.get_num_threads()],
    "digits": [hashlib.sha256(np.asarray(x).tobytes()).hexdigest()[:8] for x in arrays],
}))
"""


def settings(features: list[str]) -> dict[str, dict[str, str]]:
    """Return {machine: environment variables}, disabling some of NumPy's ``features``."""
    cores = ("Haswell", "SkylakeX", "Zen", "Sandybridge", "Prescott", "ARMV8", "NEOVERSEN1")
    baseline = {"NPY_DISABLE_CPU_FEATURES": " ".join(features)} if features else {}
    oldest = {
        "OPENBLAS_CORETYPE": "Prescott",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
    }
    kept = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"}
    return {
        "as it is": {},
        **{f"OpenBLAS {core}": {"OPENBLAS_CORETYPE": core} for core in cores},
        "NumPy at its baseline": baseline,
        "PyTorch default": {"ATEN_CPU_CAPABILITY": "default"},
        "PyTorch AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
        "oneDNN AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2"},
        "MKL AVX2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
        "XLA AVX": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX"},
        "XLA AVX2": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"},
        "2 threads": dict.fromkeys(THREADS, "2"),
        "4 threads": dict.fromkeys(THREADS, "4"),
        "large pages": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
        "memory from the heap": kept,
        # What `make check` runs: all of it at once.
        "all kernels at their oldest, 1 thread": baseline | oldest | dict.fromkeys(THREADS, "1"),
    }


# These change the alignment of arrays, which no library reports.
UNSEEN = ("as it is", "large pages", "memory from the heap")


def environment(env: dict[str, str]) -> dict[str, str]:
    """Return this process's environment with the variables of all settings replaced by ``env``."""
    ours = {name for row in settings(["X86_V4"]).values() for name in row}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {"JAX_PLATFORMS": "cpu", "PYTEST_ADDOPTS": ""} | env


def state(env: dict[str, str]) -> dict:
    """Return the results of PROBE with these variables, or {"refused": error} if it fails."""
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(
        command, env=environment(env), capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"refused": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def compare(
    files: Iterable[Path], env: dict[str, str], workers: str = "0", root: Path = ROOT
) -> tuple[int, list[str]]:
    """Run notebooks and test files with these variables.

    Return (how many notebook cells and tests ran, names of those that failed). Raise RuntimeError
    with the end of pytest's output if none ran or pytest itself failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-m", "not slow and not site"]
        command += ["-n", workers, "--dist", "loadfile", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, f"--junitxml={report}", *map(str, files)],
            cwd=root,
            # PyTorch's cache of compiled code does not depend on the kernels: use a new one.
            env=environment(env) | {"TORCHINDUCTOR_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1) or not report.exists():
            raise RuntimeError("\n".join((done.stdout + done.stderr).splitlines()[-20:]))
        cases = list(ElementTree.parse(report).iter("testcase"))
    ran = [case for case in cases if case.find("skipped") is None]
    failed = [case for case in ran if len(case.findall("failure") + case.findall("error"))]
    return len(ran), [f"{case.get('classname')} {case.get('name')}".strip() for case in failed]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="settings whose name contains this")
    parser.add_argument("--half", action="store_true", help="every second notebook, and no tests")
    parser.add_argument("--workers", default="0", help="processes beside this one (pytest -n)")
    options = parser.parse_args()
    files = chapters(ROOT)[:: 2 if options.half else 1]
    if not options.half:
        files += {path for name in NUMERIC for path in ROOT.glob(f"tests/library/test_{name}.py")}
    own = state({})
    seen, ran, different = {}, 0, 0
    for name, env in settings(own["numpy features"]).items():
        if options.only not in name:
            continue
        now = state(env) if name not in UNSEEN else {"unseen": name}
        same = "as it is" if now == own else next((n for n in seen if seen[n] == now), "")
        if why := now.get("refused") or (same and f"the same as {same}"):
            print(f"{name}: skipped, {why}", flush=True)
            continue
        seen[name] = now
        count, failed = compare(files, env, options.workers)
        ran, different = ran + 1, different + len(failed)
        print(f"{name}: {count} cells and tests, {len(failed)} differ", *failed, sep="\n    ")
        sys.stdout.flush()
    return int(different or not ran)


if __name__ == "__main__":
    sys.exit(main())

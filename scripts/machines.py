"""Simulated machines: environment variables that make the libraries compute as elsewhere.

A library asks the processor what it can do and chooses its kernels accordingly; the last bits of
a result depend on the choice. Each row of `settings` forces one. What a process then runs with
is asked of the libraries themselves, in a process of its own: a variable that a library passes
over in silence simulates nothing, and must not count as passed.
"""

import json
import os
import re
import subprocess
import sys
from typing import NamedTuple


class Setting(NamedTuple):
    name: str
    env: dict[str, str]  # what is set before Python starts
    looks_at: str  # the entry of `state` that must differ from this machine's own
    small: bool = False  # belongs to the short version of `make portable`


def settings(own: dict) -> list[Setting]:
    """Return every simulated machine.

    Parameters
    ----------
    own : the `state` of a process without any setting. NumPy is told to leave out features by
        name, and refuses names it does not know, so they are taken from here.
    """
    features = own["NumPy features"]
    avx512 = [name for name in features if name.startswith("AVX512") or name == "X86_V4"]
    rows = [
        Setting(f"OpenBLAS {core}", {"OPENBLAS_CORETYPE": core}, "OpenBLAS kernels")
        for core in ("Haswell", "SkylakeX", "Zen", "Sandybridge", "Prescott")
        + ("ARMV8", "NEOVERSEN1")
    ]
    without = {"NPY_DISABLE_CPU_FEATURES": " ".join(avx512)} if avx512 else {}
    baseline = {"NPY_DISABLE_CPU_FEATURES": " ".join(features)} if features else {}
    oldest = baseline | {
        "OPENBLAS_CORETYPE": "Prescott",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
    }
    kept = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"}
    return [
        *rows,
        Setting("NumPy without AVX-512", without, "NumPy features"),
        Setting("NumPy at its baseline", baseline, "NumPy features", small=True),
        Setting("PyTorch default", {"ATEN_CPU_CAPABILITY": "default"}, "PyTorch kernels"),
        Setting("PyTorch AVX2", {"ATEN_CPU_CAPABILITY": "avx2"}, "PyTorch kernels"),
        Setting("oneDNN SSE4.1", {"ONEDNN_MAX_CPU_ISA": "SSE41"}, "oneDNN kernels"),
        Setting("oneDNN AVX2", {"ONEDNN_MAX_CPU_ISA": "AVX2"}, "oneDNN kernels"),
        Setting("MKL SSE4.2", {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}, "MKL kernels"),
        Setting("MKL AVX2", {"MKL_ENABLE_INSTRUCTIONS": "AVX2"}, "MKL kernels"),
        Setting("XLA AVX", {"XLA_FLAGS": "--xla_cpu_max_isa=AVX"}, "XLA digits"),
        Setting("XLA AVX2", {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}, "XLA digits"),
        Setting("1 thread", _threads(1), "threads", small=True),
        Setting("2 threads", _threads(2), "threads"),
        Setting("4 threads", _threads(4), "threads"),
        Setting("large pages", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, "large pages"),
        Setting("kept memory", kept, "memory from the heap"),
        Setting("all kernels at their oldest", oldest, "NumPy features", small=True),
    ]


def _threads(number: int) -> dict[str, str]:
    """Return the variables that give every library this many threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(names, str(number)) | {"MKL_DYNAMIC": "FALSE"}


# What a process is asked about its libraries. It runs under the setting and prints one line.
NUMPY_PROBE = """
import ctypes, hashlib, json, os, re, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import numpy as np
import threadpoolctl
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

def digest(*arrays):
    return hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arrays)).hexdigest()[:8]

def flags_of(address):
    # The flags that the kernel keeps for the piece of memory at an address.
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= address < int(found[2], 16)
            name = line.split()[-1]
        elif inside and line.startswith("VmFlags:"):
            return name, line.split()[1:]
    return "", []

state = {}
found = threadpoolctl.threadpool_info()
of = {pool["internal_api"]: pool for pool in found}
state["OpenBLAS kernels"] = of.get("openblas", {}).get("architecture")
state["threads"] = {"NumPy": of.get("openblas", {}).get("num_threads")}
state["NumPy features"] = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
if Path("/proc/self/smaps").exists() and hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
    malloc = ctypes.CDLL(None).malloc
    malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    name, flags = flags_of(malloc(64 << 20) + (8 << 20))
    state["large pages"] = "hg" in flags
    state["memory from the heap"] = name == "[heap]"
draw = np.random.default_rng(0).normal
a, b = draw(size=(50, 133)), draw(size=(133, 47))
state["digits of NumPy"] = digest(a @ b, a @ b[:, 0], np.exp(a), np.tanh(a), a.sum(1))
"""
FRAMEWORKS_PROBE = """
try:
    import torch
    state["PyTorch kernels"] = torch.backends.cpu.get_cpu_capability()
    state["threads"]["PyTorch"] = torch.get_num_threads()
    s, t = torch.tensor(a), torch.tensor(b)
    state["digits of PyTorch"] = digest(s @ t, s.exp(), s.tanh(), s.sum(1))
    image = torch.ones(2, 16, 32, 32)
    torch.mkldnn_convolution(image, torch.ones(16, 16, 3, 3), None, [1, 1], [1, 1], [1, 1], 1)
except (ImportError, RuntimeError, AttributeError):
    pass
try:
    import jax
    jax.config.update("jax_enable_x64", True)
    from jax import numpy as jnp
    shown = jax.jit(lambda a, b: (a @ b, jnp.exp(a), jnp.tanh(a), (jnp.tanh(a) * a + a).sum(1)))
    state["XLA digits"] = digest(*shown(a, b), *shown(a.astype("f4"), b.astype("f4")))
except ImportError:
    pass
"""
MKL = re.compile(
    r"^MKL_VERBOSE .* architecture (.+?),? (?:enabled|instructions|Lnx|Win)", re.MULTILINE
)
ONEDNN = re.compile(r"^onednn_verbose.*,cpu,isa:(.+)$", re.MULTILINE)


def environment(env: dict[str, str]) -> dict[str, str]:
    """Return this process's environment with a setting's variables in place of its own."""
    ours = {name for row in settings({"NumPy features": ["X86_V4"]}) for name in row.env}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {"JAX_PLATFORMS": "cpu", "PYTEST_ADDOPTS": ""} | env


def state(env: dict[str, str], frameworks: bool = True) -> dict:
    """Return what the libraries say of themselves in a process with these variables.

    Parameters
    ----------
    env : the variables of a setting
    frameworks : whether to ask PyTorch and JAX too, which takes seconds

    Raises
    ------
    RuntimeError
        The libraries refuse the setting; the text is the last line they said.
    """
    probe = NUMPY_PROBE + FRAMEWORKS_PROBE * frameworks
    verbose = {"MKL_VERBOSE": "1", "ONEDNN_VERBOSE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", f"{probe}\nprint('\\nstate', json.dumps(state))"],
        env=environment(env) | verbose,
        capture_output=True,
        text=True,
        check=False,
    )
    line = re.search(r"^state (.*)$", done.stdout, re.MULTILINE)
    if done.returncode or not line:
        said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise RuntimeError(said)
    found = json.loads(line[1])
    for name, pattern in {"MKL kernels": MKL, "oneDNN kernels": ONEDNN}.items():
        match = pattern.search(done.stdout)
        found[name] = match[1] if match else None
    return found


def effect(setting: Setting, own: dict, seen: dict[str, dict]) -> tuple[str, str]:
    """Return what a setting changed here, or "" and why there is nothing to run.

    Parameters
    ----------
    own : the state without any setting
    seen : name -> state of the settings before this one; this one's state is added
    """
    if not setting.env:
        return "", "this processor has no such features"
    try:
        now = state(setting.env)
    except RuntimeError as error:
        return "", f"refused: {error}"
    key = setting.looks_at
    if now.get(key) is None:
        return "", "the library is not part of this installation"
    if now[key] == own[key]:
        return "", f"changes nothing here: {key} {describe(own[key])} without it as well"
    for name, before in seen.items():
        if now == before:
            return "", f"the same as {name} here: {key} {describe(now[key])}"
    seen[setting.name] = now
    return f"{key} {describe(now[key])}", ""


def describe(value: object) -> str:
    """Return a value of `state` in a few words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    acronym = re.search(r"\(Intel\(R\) ([\w.+-]+)\)", str(value))
    return acronym[1] if acronym else str(value)

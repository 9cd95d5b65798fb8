"""Time calls in turn, and say on what: medians, settings of memory, peaks, machine, versions."""

import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch
from contenders import Case

# What the C library does with large blocks decides what fresh memory costs (Linux, glibc).
SETTINGS = {
    "default": {},
    "large pages": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    "kept memory": {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"},
}


def build(builders: dict, case: Case) -> tuple[dict, dict]:
    """Return name -> call of those that can run, and name -> why of those that cannot."""
    calls, absent = {}, {}
    for name, builder in builders.items():
        try:
            calls[name] = builder(case)
        except ImportError as error:
            absent[name] = f"not installed ({error.name})"
        except NotImplementedError:
            absent[name] = "no such layers"
    return calls, absent


def seconds(call, repeat: int) -> float:
    finish()
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    finish()
    return (time.perf_counter() - start) / repeat


def finish() -> None:
    """Wait until a GPU, if there is one, has done what it was asked to do."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def medians(calls: dict, rounds: int) -> dict:
    """Return name -> median of the milliseconds of one call; a round runs every call."""
    repeats, samples = {}, {name: [] for name in calls}
    for name, call in calls.items():
        call()  # compiles, and makes what will be used again
        call()
        repeats[name] = max(1, min(100, int(0.01 / seconds(call, 1))))
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(0.05)  # until the threads of the one before no longer spin
            call()
            samples[name].append(seconds(call, repeats[name]))
    return {name: round(1e3 * statistics.median(times), 4) for name, times in samples.items()}


def peak() -> int:
    """Return this process's largest memory so far, in KiB (getrusage has the parent's as well)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def machine(device: str = "cpu") -> str:
    """Return what the times were measured on."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def installed(package: str) -> str:
    try:
        return version(package).split("+")[0]
    except PackageNotFoundError:
        return "not installed"


def in_settings(script: str, only: str | None) -> None:
    """Run a script again, with its arguments, in each setting of memory or in one."""
    for name in [only] if only else SETTINGS:
        run = [sys.executable, script, *sys.argv[1:], "--inside", name]
        subprocess.run(run, env=os.environ | SETTINGS[name], check=True)

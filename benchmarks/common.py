"""What the programs share: the argument ``--save``, storing, timing, memory, machine, versions."""

import argparse
import ctypes
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
# What the C library does with large blocks decides what fresh memory costs (Linux, glibc).
SETTINGS = {
    "default": {},
    "large pages": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    "kept memory": {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"},
}


def parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the first line of a docstring and the argument ``--save``."""
    made = argparse.ArgumentParser(description=doc.partition("\n")[0])
    made.add_argument("--save", action="store_true", help=f"store the result in {RESULTS.name}/")
    return made


def in_settings(script: str, only: str | None) -> None:
    """Run a script again, with its arguments, in each setting of memory or in one."""
    for name in [only] if only else SETTINGS:
        run = [sys.executable, script, *sys.argv[1:], "--inside", name]
        subprocess.run(run, env=os.environ | SETTINGS[name], check=True)


def in_setting(path: Path, setting: str) -> Path:
    """Return where the result of one setting of memory is stored."""
    ending = "" if setting == "default" else f"_{setting.replace(' ', '_')}"
    return path.with_stem(path.stem + ending)


def store(result: dict, path: Path) -> None:
    """Write a result as JSON."""
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def finish(result: dict, path: Path, save: bool) -> None:
    """Print a result as JSON; with ``save`` store it as well."""
    print(json.dumps(result, indent=1))
    if save:
        store(result, path)


def head(what: str, *packages: str, device: str = "cpu") -> dict:
    """Return what a stored result begins with."""
    return {
        "what": what,
        "date": datetime.date.today().isoformat(),
        "machine": machine(device),
        "versions": {package: installed(package) for package in packages},
    }


def machine(device: str) -> str:
    """Return what the times were measured on."""
    if device == "cuda":
        import torch

        return torch.cuda.get_device_name()
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def installed(package: str) -> str:
    try:
        return version(package).split("+")[0]
    except PackageNotFoundError:
        return "not installed"


def seconds(call, repeat: int) -> float:
    """Return the time of one call, averaged over ``repeat`` calls in a row."""
    wait_for_gpu()
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    wait_for_gpu()
    return (time.perf_counter() - start) / repeat


def wait_for_gpu() -> None:
    """Wait until a GPU, if there is one, has done what it was asked to do."""
    import torch

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


def peak_anew() -> int:
    """Give freed memory back, let the peak of this process begin anew, and return it in KiB."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return peak()

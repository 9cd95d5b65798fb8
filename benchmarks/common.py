"""Shared by the programs: the argument ``--save``, storing, timing, memory, machine, versions."""

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
# How the C library allocates large blocks decides the cost of fresh memory (Linux, glibc).
SETTINGS = {
    "default": {},
    "large pages": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    "kept memory": {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"},
}


def parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the argument ``--save``, described by the first line of ``doc``."""
    made = argparse.ArgumentParser(description=doc.partition("\n")[0])
    made.add_argument("--save", action="store_true", help=f"store the result in {RESULTS.name}/")
    return made


def in_settings(script: str, only: str | None) -> None:
    """Run a script again with this process's arguments, in each of `SETTINGS` or in ``only``."""
    for name in [only] if only else SETTINGS:
        run = [sys.executable, script, *sys.argv[1:], "--inside", name]
        subprocess.run(run, env=os.environ | SETTINGS[name], check=True)


def in_setting(path: Path, setting: str) -> Path:
    """Return the path of the result in one of `SETTINGS`: the setting is appended to the name."""
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
    """Return the header of a result: description, date, machine and package versions."""
    return {
        "what": what,
        "date": datetime.date.today().isoformat(),
        "machine": machine(device),
        "versions": {package: installed(package) for package in packages},
    }


def machine(device: str) -> str:
    """Return the name of the GPU, or operating system, architecture and number of cores."""
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
    """Return the mean time of a call in seconds, over ``repeat`` calls in a row."""
    wait_for_gpu()
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    wait_for_gpu()
    return (time.perf_counter() - start) / repeat


def wait_for_gpu() -> None:
    """Wait until the GPU, if there is one, has finished its work."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def medians(calls: dict, rounds: int) -> dict:
    """Return name -> median time of a call in ms, over rounds in which the calls take turns."""
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
    """Return this process's peak resident set size in KiB (getrusage may give the parent's)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def peak_anew() -> int:
    """Free unused heap memory, reset the peak resident set size, return it in KiB; Linux only."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return peak()

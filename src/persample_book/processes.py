"""Run a program in processes of its own, with a time limit, and leave none behind.

Separate because the chapter on many devices needs devices and processes that its notebook has
not got. The programs start their workers with ``torch.multiprocessing``.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1]
DEVICES = Path(__file__).resolve().parent / "devices"


def in_jax(devices: int = 8, seconds: float = 120) -> dict[str, Any]:
    """Return the sections of devices/in_jax.py, run on so many simulated CPU devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    variables = {"XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": "cpu"}
    return run(DEVICES / "in_jax.py", seconds=seconds, variables=variables)


def in_torch(processes: int = 4, seconds: float = 120) -> dict[str, Any]:
    """Return the sections of devices/in_torch.py, run by so many processes."""
    return run(DEVICES / "in_torch.py", processes, seconds=seconds)


def run(
    program: Path, *arguments: Any, seconds: float = 120, variables: dict[str, str] | None = None
) -> Any:
    """Run a Python program; return what its last line of output says, which is JSON.

    The program leads a process group of its own, which is ended however this function is left:
    workers that hang or that outlive the program go with it.

    Raises
    ------
    RuntimeError : the program failed, with its last words, or it ran longer than ``seconds``.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **(variables or {})}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")])
    )
    process = subprocess.Popen(
        [sys.executable, str(program), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    called = " ".join([program.name, *map(str, arguments)])
    try:
        said, complaint = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise RuntimeError(
            f"run: {called} had not ended after {seconds:g} seconds, and was ended with all its "
            "processes; give it more seconds, or look which process waits for the others."
        ) from None
    finally:
        _end(process)
    if process.returncode:
        raise RuntimeError(f"run: {called} failed: {_last_words(complaint)}")
    return json.loads(said.splitlines()[-1])


def _end(process) -> None:
    """End what is left of a program's process group, and collect the program itself."""
    with suppress(ProcessLookupError, PermissionError):  # nobody is left (macOS says the latter)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        stream.close()


def _last_words(complaint: str) -> str:
    """Return the last line of an error that says something: the exception, without its place."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    said = [line for line in lines if "Error" in line or "terminated" in line or "signal" in line]
    return (said or lines or ["it said nothing"])[-1]

"""Run tests on a mutant: each test file in a process of its own that sees the changed source.

The parent has imported pytest and the frameworks, but not the package; a child is a fork of it,
so that it starts at once. A child replaces the source of one module as it is imported, and
leaves the files as they are.
"""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

MEMORY = 8 << 30  # a mutant may ask for arrays of any size
# A test that needs this many times the processor time it needs on the true source does not end.
# Processor time, because a busy machine must not kill mutants; one that sleeps has a minute more.
LONGER, EXTRA, ASLEEP = 5, 5.0, 60
# A process with threads cannot be forked: libraries read this as they are imported.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PASSED, KILLED = "passed", "killed"


class _Replaced(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Find one module, by its file, and load it from another source."""

    def __init__(self, path: Path, source: str):
        self.name, self.path, self.source = "", str(path), source

    def find_spec(self, fullname, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin != self.path:
            return None
        self.name = fullname
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_code(self, fullname):
        return compile(self.source, self.path, "exec", dont_inherit=True)


class _Clock:
    """A pytest plugin: the quickest tests first, each with its time; it notes which one failed."""

    def __init__(self, took: dict[str, float] | None):
        self.took, self.seconds, self.failed = took, {}, ""

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: round((self.took or {}).get(item.nodeid, 0.0), 2))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        began = time.process_time()
        if self.took is not None:
            seconds = EXTRA + LONGER * self.took.get(item.nodeid, 0.0)
            signal.setitimer(signal.ITIMER_PROF, seconds)  # the signal's default ends the process
            signal.setitimer(signal.ITIMER_REAL, ASLEEP + LONGER * seconds)
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = self.failed or report.nodeid


# What the tests import, but for the package.
HEAVY = "torch.func torch._dynamo jax.numpy hypothesis.extra.numpy nbval.plugin array_api_strict"


def prepare() -> None:
    """Import what the tests need but for the package, on one thread."""
    os.environ.update(dict.fromkeys(THREADS, "1"), JAX_PLATFORMS="cpu")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed, and some load slowly
    for name in HEAVY.split():
        importlib.import_module(name)


def run(test: str, path: Path, source: str | None, took: dict | None) -> tuple[str, str, dict]:
    """Run one test file; return the outcome, which test failed, and the seconds of each test.

    The module at the path is loaded from ``source``, if that is not None; ``took`` is what each
    test took without that, and None for no limit.
    """
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes.json"
        pid = os.fork()
        if not pid:
            _child(test, path, source, took, notes)
        os.waitpid(pid, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what the tests started and left behind
        if not notes.exists():  # it took too long, or crashed
            return KILLED, test, {}
        code, failed, seconds = json.loads(notes.read_text())
    return (KILLED, failed or test, seconds) if code else (PASSED, "", seconds)


def _child(test: str, path: Path, source: str | None, took: dict | None, notes: Path) -> None:
    """Run one file of tests and write down what it said; never returns."""
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        said = os.open(os.devnull, os.O_WRONLY)
        os.dup2(said, 1)
        os.dup2(said, 2)
        if source is not None:
            sys.meta_path.insert(0, _Replaced(path, source))
        signal.alarm(10 * ASLEEP)  # for the imports; a test has its own time
        clock = _Clock(took)
        quiet = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
        code = pytest.main([*quiet, test], plugins=[clock])
        notes.write_text(json.dumps([int(code), clock.failed, clock.seconds]))
    finally:
        os._exit(0)

"""Run tests on mutants: each test file in a process of its own that sees the changed source.

The parent has imported pytest and the frameworks, but not the package; a child is a fork of it,
so that it starts at once. A child replaces the source of one module as it is imported, and
leaves the files as they are.
"""

import contextlib
import gc
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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mutants import Mutant

MEMORY = 8 << 30  # a mutant may ask for arrays of any size
# A test that needs this many times the processor time it needs on the true source does not end.
# Processor time, because a busy machine must not kill mutants; a test that sleeps has WALL times.
LONGER, EXTRA, WALL = 5, 5.0, 20

# A process with threads cannot be forked: libraries read this as they are imported.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD = {**dict.fromkeys(THREADS, "1"), "JAX_PLATFORMS": "cpu"}

PASSED, KILLED, BROKEN, CRASHED, ENDLESS = "passed", "killed", "broken", "crashed", "endless"


@dataclass
class Result:
    """What the tests said of one source: ``outcome`` is one of the five above.

    KILLED: a test failed. BROKEN: the tests could not be collected. CRASHED: the process died.
    ENDLESS: a test exceeded its time. ``test`` is the one that noticed; ``loaded`` says whether
    any test imported the module at all.
    """

    outcome: str = PASSED
    test: str = ""
    loaded: bool = False
    seconds: float = 0.0
    durations: dict[str, float] = field(default_factory=dict)


class _Source(importlib.machinery.SourceFileLoader):
    """Load a module from a given text in place of its file's."""

    def __init__(self, name: str, path: str, source: str):
        super().__init__(name, path)
        self.source = source

    def get_code(self, fullname):
        return compile(self.source, self.path, "exec", dont_inherit=True)


class Replaced(importlib.abc.MetaPathFinder):
    """Find one module, by its file, with another source."""

    def __init__(self, path: Path, source: str):
        self.path, self.source, self.loaded = str(path), source, False

    def find_spec(self, fullname, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin != self.path:
            return None
        self.loaded = True
        loader = _Source(fullname, self.path, self.source)
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


class _Clock:
    """A pytest plugin: gives each test its time, notes what it took and which one failed.

    Tests whose name has one of the ``words`` run first, then those that took the least time.
    """

    def __init__(self, limits: dict[str, float] | None, words: Iterable[str] = ()):
        self.limits, self.durations, self.failed, self.running = limits, {}, "", "collection"
        self.words = [word for word in words if len(word) > 1]

    def start(self, name: str) -> None:
        self.running, self.began = name, time.process_time()
        if self.limits is not None:
            seconds = EXTRA + LONGER * self.limits.get(name, 0.0)
            signal.setitimer(signal.ITIMER_PROF, seconds)  # the signal's default ends the process
            signal.setitimer(signal.ITIMER_REAL, WALL * seconds)

    def stop(self) -> None:
        self.durations[self.running] = time.process_time() - self.began

    def pytest_collection_modifyitems(self, items):
        took = self.limits or {}

        def turn(item):
            is_named = any(word in item.name for word in self.words)
            return not is_named, round(took.get(item.nodeid, 0.0), 2)

        items.sort(key=turn)

    def pytest_collection_finish(self):
        self.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.start(item.nodeid)
        try:
            return (yield)
        finally:
            self.stop()

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = self.failed or report.nodeid


def _child(replaced: Replaced | None, tests: str, clock: _Clock, notes: Path) -> None:
    """Run one file of tests and write down what it said; never returns."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    said = os.open(notes.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    if replaced:
        sys.meta_path.insert(0, replaced)
    clock.start("collection")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed, and some load slowly
    quiet = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-m", "not slow"]
    code = pytest.main([*quiet, tests], plugins=[clock])
    noted = {
        "code": int(code),
        "failed": clock.failed,
        "loaded": bool(replaced and replaced.loaded),
        "durations": clock.durations,
    }
    notes.write_text(json.dumps(noted))
    sys.stdout.flush()
    os._exit(0)


def _quiet_hypothesis() -> None:
    """The same examples in every run, none stored, and no search for a smaller one."""
    try:
        from hypothesis import HealthCheck, Phase, settings
    except ImportError:
        return
    settings.register_profile(
        "mutation",
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutation")


@dataclass
class _Job:
    """One source on its way through its test files."""

    number: int
    path: Path | None
    source: str
    tests: list[str]
    words: Iterable[str] = ()
    result: Result = field(default_factory=Result)
    began: float = 0.0


class Runner:
    """Runs sources against test files, several at a time."""

    def __init__(self, preload: Iterable[str] = (), workers: int = 1):
        os.environ.update(ONE_THREAD)
        for name in preload:
            importlib.import_module(name)
        _quiet_hypothesis()
        self.workers, self.limits = workers, {}
        self._notes_folder = tempfile.TemporaryDirectory(prefix="mutation")
        gc.freeze()  # children share the parent's memory as long as nobody touches it

    def baseline(self, files: Iterable[str]) -> dict[str, Result]:
        """Run every test file on the true source; its times become the limits for mutants."""
        files = list(files)
        results = self._run([_Job(n, None, "", [name]) for n, name in enumerate(files)], None)
        found = {name: results[n] for n, name in enumerate(files)}
        for name, result in found.items():
            self.limits[name] = result.durations
        return found

    def run(self, mutants: list[tuple[Mutant, Path, list[str]]], tell: Callable) -> list[Result]:
        """Return the result for each (mutant, its file, test files); ``tell(n, result)`` each."""
        jobs = [
            _Job(n, path, m.source, list(tests), m.words)
            for n, (m, path, tests) in enumerate(mutants)
        ]
        results = self._run(jobs, tell)
        return [results[n] for n in range(len(jobs))]

    def _run(self, jobs: list[_Job], tell: Callable | None) -> dict[int, Result]:
        waiting, running, results = jobs[::-1], {}, {}
        while waiting or running:
            while waiting and len(running) < self.workers:
                job = waiting.pop()
                job.began = time.monotonic()
                running[self._start(job)] = job
            pid, status = os.wait()
            job = running.pop(pid)
            self._end_group(pid)
            self._note(job, status)
            if job.result.outcome == PASSED and job.tests:
                running[self._start(job)] = job
                continue
            job.result.seconds = time.monotonic() - job.began
            results[job.number] = job.result
            if tell:
                tell(job.number, job.result)
        return results

    def _notes(self, job: _Job) -> Path:
        return Path(self._notes_folder.name) / f"{job.number}.json"

    def _start(self, job: _Job) -> int:
        self._notes(job).unlink(missing_ok=True)
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            limits = self.limits.get(job.tests[0], {}) if job.path else None
            replaced = Replaced(job.path, job.source) if job.path else None
            _child(replaced, job.tests[0], _Clock(limits, job.words), self._notes(job))
        finally:
            os._exit(70)

    @staticmethod
    def _end_group(pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what the tests started and left behind

    def _note(self, job: _Job, status: int) -> None:
        """Enter what the child of the job's first file said, and strike the file off."""
        file, result = job.tests.pop(0), job.result
        if os.WIFSIGNALED(status):
            late = os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM)
            result.outcome, result.test = (ENDLESS if late else CRASHED), file
            return
        if not self._notes(job).exists():
            result.outcome, result.test = CRASHED, file
            return
        noted = json.loads(self._notes(job).read_text())
        result.loaded |= noted["loaded"]
        result.durations.update(noted["durations"])
        if noted["code"] == pytest.ExitCode.OK:
            return
        failed = noted["code"] == pytest.ExitCode.TESTS_FAILED and noted["failed"]
        result.outcome, result.test = (KILLED if failed else BROKEN), noted["failed"] or file

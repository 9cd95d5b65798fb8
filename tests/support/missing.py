"""Find the frameworks that are missing, and skip the test modules that import them."""

import importlib.util
import sys

import pytest

MISSING = [name for name in ("torch", "jax") if importlib.util.find_spec(name) is None]


def needed(error: BaseException | None) -> str | None:
    """Return the missing framework named by an error or one of its causes, or None."""
    while error is not None:
        package = (getattr(error, "name", None) or "").partition(".")[0]
        for name in MISSING:
            if name == package or f"package {name} is not" in str(error):
                return name
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip a test module whose import fails because of a missing framework; keep other errors."""
    report = yield
    if report.failed and (name := needed(report.call.excinfo.value)):
        report.outcome = "skipped"
        for key, module in list(sys.modules.items()):  # what pytest has left of it
            if getattr(module, "__file__", None) == str(collector.path):
                del sys.modules[key]
        report.longrepr = (str(collector.path), 0, f"Skipped: {name} is not installed")
    return report

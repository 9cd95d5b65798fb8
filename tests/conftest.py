"""Fixtures that several test files share, and what is left out where a framework is missing."""

import importlib.util
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MISSING = [name for name in ("torch", "jax") if importlib.util.find_spec(name) is None]


def imports(path: Path, framework: str) -> bool:
    """Say whether a test file, or one of this folder that it imports, loads a framework."""
    text = path.read_text(encoding="utf-8")
    if re.search(rf"^(?:import|from) .*\b{framework}(?:_backend)?\b", text, re.MULTILINE):
        return True
    named = re.findall(r"^(?:import|from) \.?(\w+)", text, re.MULTILINE)
    beside = (TESTS / f"{name}.py" for name in named)
    return any(imports(other, framework) for other in beside if other.exists())


# Where a framework is not installed, the others are still tested.
collect_ignore = [
    path.name
    for path in sorted(TESTS.glob("test_*.py"))
    if any(imports(path, framework) for framework in MISSING)
]


def pytest_report_header() -> list[str]:
    """Name what is not tested, so that nobody takes fewer tests for all of them."""
    return [f"not installed: {', '.join(MISSING)}; left out: {', '.join(collect_ignore)}"] * bool(
        MISSING
    )


def pytest_collection_modifyitems(items) -> None:
    """Skip the cases of a backend whose framework is not installed."""
    for item in items:
        values = getattr(item, "callspec", None) and item.callspec.params.values()
        for name in MISSING:
            if any(isinstance(value, str) and value == name for value in values or ()):
                item.add_marker(pytest.mark.skip(reason=f"{name} is not installed"))


@pytest.fixture
def light_compiler(monkeypatch):
    """Leave out Inductor, PyTorch's code generator: it takes seconds a program."""
    torch_backend = pytest.importorskip("persample.backends.torch_backend")
    monkeypatch.setattr(torch_backend, "compiler", lambda: "aot_eager")

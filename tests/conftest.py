"""Shared fixtures, and hooks that skip the tests of missing frameworks."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support import ROOT
from support.missing import MISSING, needed, pytest_make_collect_report  # noqa: F401, a hook

# Hypothesis draws the same examples on every machine, however slow it is; a profile that was
# chosen before, as `make mutate` does, stays.
settings.register_profile(
    "same everywhere",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
if settings.get_current_profile_name() in ("default", "ci"):
    settings.load_profile("same everywhere")


def pytest_configure(config) -> None:
    """Disable XLA's optimisations in the quick tests, which saves a fifth of their time.

    The slow tests and the notebooks, whose kernels are separate processes, keep them.
    """
    if "not slow" in config.option.markexpr and "jax" not in MISSING:
        import jax

        jax.config.update("jax_disable_most_optimizations", True)


def pytest_report_header() -> list[str]:
    """Name the missing frameworks, whose tests are skipped."""
    return [f"not installed, and left out: {', '.join(MISSING)}"] if MISSING else []


BUILT = (ROOT / "_build/html/index.html").is_file()


def pytest_collection_modifyitems(items) -> None:
    """Skip tests of the built book if there is none, and of a framework that is not installed.

    A test belongs to a framework if a parameter is its name, or if it is a doctest that names it.
    """
    for item in items:
        if item.get_closest_marker("site") and not BUILT:
            item.add_marker(pytest.mark.skip(reason="the book is not built: run make book"))
        values = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
        example = item.dtest.docstring if hasattr(item, "dtest") else ""
        for name in MISSING:
            if name in example or any(isinstance(x, str) and x == name for x in values):
                item.add_marker(pytest.mark.skip(reason=f"{name} is not installed"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip a test that imports a framework that is not installed; raise other errors."""
    try:
        return (yield)
    except ImportError as error:
        if name := needed(error):
            pytest.skip(f"{name} is not installed")
        raise


@pytest.fixture
def light_compiler(monkeypatch):
    """Run torch.compile without its code generator, Inductor, which takes seconds per program."""
    if "torch" in MISSING:
        return
    from persample.backends import torch_backend

    monkeypatch.setattr(torch_backend.BACKEND, "compiler", lambda: "aot_eager")


@pytest.fixture
def double_precision():
    """Switch JAX, if it is installed, to double precision during a test."""
    if "jax" in MISSING:
        yield
        return
    from support.precision import enable_x64

    with enable_x64(True):
        yield


@pytest.fixture
def own_settings(monkeypatch):
    """Restore after a test what a page changes: dtypes, NumPy's printing, open figures."""
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", plt.close)
    dtype = torch.get_default_dtype()
    with np.printoptions():
        yield
    torch.set_default_dtype(dtype)
    plt.close("all")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """Build the package's wheel; return its path."""
    from book_files import make_wheel  # what it needs is not there where packages are tried

    folder = tmp_path_factory.mktemp("wheel")
    make_wheel(ROOT, folder)
    (built,) = folder.glob("*.whl")
    return built


# A browser at a time, so for each module: the next one starts its own.
@pytest.fixture(scope="module")
def chromium():
    """Start a headless browser; skip with the reason if there is none."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from browser import NoBrowser, browser

    try:
        with browser() as started:
            yield started
    except NoBrowser as why:
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def address():
    """Serve the built book during a module's tests; return its local address."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from browser import serve

    with serve() as at:
        yield at

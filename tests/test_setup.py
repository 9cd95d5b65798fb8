"""What `notebook.setup` sets, that importing sets nothing, and what a fingerprint notices."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from persample_book import notebook


def fresh(program: str) -> str:
    """Run a program in a new interpreter, as `setup` changes the one it runs in."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_changes_nothing():
    program = (
        "import os, sys, warnings, numpy as np\n"
        "state = lambda: (dict(os.environ), np.get_printoptions(), warnings.formatwarning)\n"
        "before = state()\n"
        "import persample_book.notebook\n"
        "print(state() == before, 'torch' in sys.modules, 'jax' in sys.modules)\n"
    )
    assert fresh(program).split() == ["True", "False", "False"]


def test_setup_makes_every_framework_use_float64():
    pytest.importorskip("jax")
    pytest.importorskip("torch")
    program = (
        "from persample_book import notebook\n"
        "notebook.setup()\n"
        "import jax.numpy as jnp, torch\n"
        "print(torch.tensor(0.1).dtype, torch.get_num_threads(), jnp.asarray(0.1).dtype)\n"
    )
    assert fresh(program).split() == ["torch.float64", "1", "float64"]


def test_setup_imports_only_what_is_asked_for():
    program = (
        "import sys\n"
        "from persample_book import notebook\n"
        "notebook.setup(())\n"
        "print('torch' in sys.modules, 'jax' in sys.modules)\n"
    )
    assert fresh(program).split() == ["False", "False"]


def test_setup_names_the_frameworks_it_knows():
    with pytest.raises(ValueError, match="'tf' is no framework of this book; .*'torch', 'jax'"):
        notebook.setup(("tf",))


def test_a_warning_names_no_file():
    text = notebook._short_warning("rows (Triggered internally at /a/b.h:4.)", UserWarning, "f", 1)
    assert text == "UserWarning: rows\n"


def plot(values, **labels):
    figure = Figure()
    axes = figure.subplots()
    axes.plot(values)
    axes.bar([0, 1], [1, 2])
    axes.scatter([0, 1], values[:2])
    axes.fill_between(range(len(values)), values)
    axes.set(**labels)
    return notebook.fingerprint(figure)


VALUES = np.array([1 / 6, 2 / 6, 0.5])


def test_a_fingerprint_forgives_rounding_errors():
    assert plot(VALUES) == plot(VALUES + 1e-12) == plot(VALUES - 1e-12)


def test_a_fingerprint_notices_data_and_labels():
    assert plot(VALUES) != plot(VALUES + np.array([0, 0, 0.001]))
    assert plot(VALUES) != plot(VALUES, title="Values")
    assert plot(VALUES) != plot(VALUES, xlabel="state")
    assert plot(VALUES) != plot(VALUES, yscale="log")


def test_a_fingerprint_takes_what_cannot_be_drawn():
    assert plot(np.array([1.0, np.nan, np.inf])) != plot(np.array([1.0, np.inf, np.nan]))

"""What `notebook.setup` sets, that importing sets nothing, and what a fingerprint notices."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from persample_book import notebook

PROGRAM = """
import os, sys, warnings, numpy as np
state = lambda: (dict(os.environ), np.get_printoptions(), warnings.formatwarning)
before = state()
from persample_book import notebook
print(state() == before, "torch" in sys.modules, "jax" in sys.modules)
notebook.setup(())
print("torch" in sys.modules, "jax" in sys.modules)
notebook.setup()
import jax.numpy as jnp, torch
print(torch.tensor(0.1).dtype, torch.get_num_threads(), jnp.asarray(0.1).dtype)
"""


def test_importing_changes_nothing_and_setup_what_is_asked_for():
    pytest.importorskip("jax")
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        "True False False",
        "False False",
        "torch.float64 1 float64",
    ], done.stderr


def plot(values, **labels):
    figure = Figure()
    axes = figure.subplots()
    axes.plot(values)
    axes.bar([0, 1], [1, 2])
    axes.scatter([0, 1], values[:2])
    axes.fill_between(range(len(values)), values)
    axes.set(**labels)
    return notebook.fingerprint(figure)


def test_a_fingerprint_forgives_rounding_errors_and_notices_data_and_labels():
    values = np.array([1 / 6, 2 / 6, 0.5])
    assert plot(values) == plot(values + 1e-12) == plot(values - 1e-12)
    assert plot(values) != plot(values + np.array([0, 0, 0.001]))
    for labels in ({"title": "Values"}, {"xlabel": "state"}, {"yscale": "log"}):
        assert plot(values) != plot(values, **labels)
    assert plot(np.array([1.0, np.nan, np.inf])) != plot(np.array([1.0, np.inf, np.nan]))

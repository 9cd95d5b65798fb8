"""The settings that `notebook.setup` changes; importing changes none."""

import pytest

from support.processes import python

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
    said = ["True False False", "False False", "torch.float64 1 float64"]
    assert python("-c", PROGRAM).stdout.splitlines() == said

"""Helpers of the reference pages: `setup`, for the first cell, and `same`, which compares arrays.

`setup()` changes global state (double precision, rounded printing), which the library never does
and only notebooks need. Importing the module changes nothing.
"""

import importlib.util
import os
import re
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from persample.arrays import to_numpy


def setup(frameworks: Iterable[str] = ("torch", "jax")) -> None:
    """Make float64 the default of the frameworks, and print six digits and short warnings.

    Parameters
    ----------
    frameworks : names among "torch" and "jax" to prepare. One that is not installed is
        passed over, so that a chapter's NumPy part runs without either.

    Raises
    ------
    ValueError
        "setup: 'tf' is no framework of this book; name some of 'torch', 'jax'"
    """
    for name in frameworks:
        if name not in _PREPARE:
            known = ", ".join(map(repr, _PREPARE))
            raise ValueError(f"setup: {name!r} is no framework of this book; name some of {known}")
        if importlib.util.find_spec(name) is not None:
            _PREPARE[name]()
    warnings.formatwarning = _short_warning
    # Six digits: what a reader compares, and short of where the order of additions shows.
    np.set_printoptions(precision=6, suppress=True, linewidth=88)


def _prepare_torch() -> None:
    import torch

    torch.set_default_dtype(torch.float64)
    # The arrays of this book are small: one thread is as fast, and adds in one fixed order.
    torch.set_num_threads(1)
    torch.set_printoptions(precision=6, sci_mode=False, linewidth=88)


def _prepare_jax() -> None:
    # Before the import: JAX would otherwise look for an accelerator, and warn of what it lacks.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)


_PREPARE = {"torch": _prepare_torch, "jax": _prepare_jax}


def _short_warning(message, category, filename, lineno, line=None) -> str:
    """Return a warning as text without the path of its file, which differs between machines."""
    text = re.sub(r" ?\(Triggered internally at [^)]*\)", "", str(message))
    return f"{category.__name__}: {text}\n"


def same(actual: Any, wanted: Any, atol: float = 1e-9) -> bool:
    """Return whether two arrays, of any backends, have equal shapes and agree within ``atol``.

    Example
    -------
    >>> same(np.array([1.0, 2.0]), [1.0, 2.0 + 1e-12]), same(np.ones((1, 2)), np.ones(2))
    (True, False)
    """
    actual, wanted = (np.asarray(to_numpy(x)) for x in (actual, wanted))
    return actual.shape == wanted.shape and np.allclose(actual, wanted, rtol=0, atol=atol)

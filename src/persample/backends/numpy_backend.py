"""The NumPy backend: the engine of this package."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import engine
from ..arrays import into as into
from ..arrays import stop_gradient, to_numpy
from ..engine import grad, value_and_grad, vmap

__all__ = ["NAME", "asarray", "grad", "jit", "stop_gradient", "to_numpy", "value_and_grad", "vmap"]

NAME = "numpy"


def asarray(x: Any, dtype: str | None = None) -> np.ndarray:
    """Return x as an array; ``dtype`` by name, "float64"; floats are float64 by default."""
    return np.asarray(x, dtype)


def jit(f: Callable) -> Callable:
    """Compile f to straight-line NumPy, once for each set of shapes and dtypes."""
    return engine.jit(f)

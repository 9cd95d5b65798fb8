"""The NumPy backend: the engine of this package."""

from typing import Any

import numpy as np

from ..arrays import stop_gradient, to_numpy
from ..engine import grad, jit, value_and_grad, vmap

__all__ = ["NAME", "asarray", "grad", "jit", "stop_gradient", "to_numpy", "value_and_grad", "vmap"]

NAME = "numpy"


def asarray(x: Any, dtype: str | None = None) -> np.ndarray:
    """Return x as an array; ``dtype`` by name, "float64"; floats are float64 by default."""
    return np.asarray(x, dtype)

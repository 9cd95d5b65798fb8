"""The engine's Array API, which ``ps.array_namespace(x)`` returns for a tracer x.

The ``__all__`` of each module imported with ``*`` lists its functions. ``MISSING`` maps the names
of the standard that the engine lacks to the reason.
"""

import numpy as np
from numpy import (
    arange,
    bool,
    broadcast_shapes,
    e,
    empty,
    eye,
    float32,
    float64,
    from_dlpack,
    inf,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    linspace,
    nan,
    newaxis,
    ones,
    pi,
    uint8,
    uint16,
    uint32,
    uint64,
    zeros,
)

from .functions import linalg
from .functions.along_axes import *  # noqa: F403 (the names that each module lists)
from .functions.creation import *  # noqa: F403
from .functions.elementwise import *  # noqa: F403
from .functions.elementwise import unary as _unary
from .functions.products import *  # noqa: F403
from .functions.shapes import *  # noqa: F403
from .functions.zero_derivative import *  # noqa: F403
from .operations import *  # noqa: F403
from .primitives import PRIMITIVES

__array_api_version__ = "2025.12"

_BY_VALUE = "the shape of its result depends on values, which vmap and jit cannot follow"
_COMPLEX = "the engine computes with real numbers"

# Names of the standard that the engine lacks, with the reason.
MISSING = {
    **dict.fromkeys(("nonzero", "unique_all", "unique_counts", "unique_inverse"), _BY_VALUE),
    "unique_values": _BY_VALUE,
    **dict.fromkeys(("complex64", "complex128", "conj", "imag", "real", "fft"), _COMPLEX),
    **{f"linalg.{name}": reason for name, reason in linalg.MISSING.items()},
}


def __getattr__(name: str):
    """Return the function of a one-input ufunc in PRIMITIVES; else raise AttributeError.

    If the ufunc does not take int64, integers are converted to float64 first, as for ``exp``.
    """
    ufunc = getattr(PRIMITIVES.get(name), "numpy", None)
    if getattr(ufunc, "nin", 0) == 1:
        takes_integers = "l" in {types[0] for types in ufunc.types}
        return _unary(name, f"Return {name}(x) for each element.", takes_integers)
    if name in MISSING:
        raise AttributeError(f"the NumPy engine has no function {name!r}: {MISSING[name]}.")
    raise AttributeError(
        f"the NumPy engine has no function {name!r}: write it with those that it has. To add it: "
        "a ufunc of one input needs a row in persample/engine/primitives.py; another function "
        "also a function in persample/engine/functions and its name in __all__ there."
    )

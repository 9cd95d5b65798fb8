"""The engine's Array API: what ``ps.array_namespace(x)`` is for a tracer, as a list of names.

Grouped as the standard groups them; where a function is written says the import. What the standard
has and the engine has not stands in ``MISSING``, with the reason.
"""

import numpy as np
from numpy import (
    arange,
    bool,
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
from .functions.along_axes import (
    all,
    any,
    argmax,
    argmin,
    argsort,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    isin,
    mean,
    prod,
    searchsorted,
    sort,
    std,
    var,
)
from .functions.creation import (
    __array_namespace_info__,
    broadcast_arrays,
    broadcast_shapes,
    can_cast,
    empty_like,
    finfo,
    full,
    full_like,
    iinfo,
    isdtype,
    meshgrid,
    ones_like,
    result_type,
    tril,
    triu,
    zeros_like,
)
from .functions.elementwise import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    clip,
    copysign,
    cos,
    cosh,
    exp,
    expm1,
    hypot,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    positive,
    reciprocal,
    remainder,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
)
from .functions.elementwise import real as _real
from .functions.products import einsum, tensordot, vecdot
from .functions.shapes import (
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    one_hot,
    repeat,
    roll,
    squeeze,
    stack,
    take_along_axis,
    tile,
    unstack,
)
from .functions.steps import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    floor,
    floor_divide,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    nextafter,
    round,
    sign,
    signbit,
    trunc,
)
from .operations import (
    add,
    asarray,
    astype,
    broadcast_to,
    concat,
    divide,
    equal,
    less,
    less_equal,
    matmul,
    max,
    maximum,
    min,
    minimum,
    multiply,
    negative,
    not_equal,
    permute_dims,
    pow,
    reshape,
    stop_gradient,
    subtract,
    sum,
    take,
    where,
)
from .primitives import PRIMITIVES, apply

__array_api_version__ = "2025.12"

_BY_VALUE = "the shape of its result depends on values, which vmap and jit cannot follow"
_COMPLEX = "the engine computes with real numbers"

# What the standard has and the engine has not, with the reason.
MISSING = {
    **dict.fromkeys(("nonzero", "unique_all", "unique_counts", "unique_inverse"), _BY_VALUE),
    "unique_values": _BY_VALUE,
    **dict.fromkeys(("complex64", "complex128", "conj", "imag", "real", "fft"), _COMPLEX),
    **{f"linalg.{name}": reason for name, reason in linalg.MISSING.items()},
}


def __getattr__(name: str):
    """Say what is missing, and why; a one-input ufunc just added is there by its name.

    If it has no form for integers, it is given real numbers, like ``exp``.
    """
    ufunc = getattr(PRIMITIVES.get(name), "numpy", None)
    if getattr(ufunc, "nin", 0) == 1:
        takes_integers = "l" in {types[0] for types in ufunc.types}

        def function(x, /):
            return apply(name, asarray(x if takes_integers else _real(x)))

        function.__name__ = name
        function.__doc__ = f"Return {name}(x) for each element."
        return function
    if name in MISSING:
        raise AttributeError(f"the NumPy engine has no function {name!r}: {MISSING[name]}.")
    raise AttributeError(
        f"the NumPy engine has no function {name!r}: write it with those that it has. To add it: "
        "a ufunc of one input needs a row in persample/engine/primitives.py; another function "
        "also a function in persample/engine/functions and its name in namespace.py."
    )

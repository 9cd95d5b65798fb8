"""What answers NumPy's own functions on a tracer, by name, and what does not, with the reason.

``np.tanh(w)`` reaches ``answer_ufunc``, ``np.sum(w)`` reaches ``answer_function``: NumPy hands
both over, with all of their arguments. The answers are functions of the engine, so each holds in
every transform and at any depth. A function without a row is refused by its name, and so is an
argument that the answer does not name.
"""

import inspect
from functools import cache

import numpy as np

from . import namespace as xp
from .numpy_calls import elementwise, products, reductions, refuse, shapes
from .primitives import PRIMITIVES

# Name of a function of NumPy, as behind ``np.``, -> what answers it.
ANSWERS = {
    **reductions.ANSWERS,
    **shapes.ANSWERS,
    **products.ANSWERS,
    **elementwise.ANSWERS,
}
UFUNCS = elementwise.UFUNCS
METHODS = reductions.METHODS  # ufunc.method -> what answers it

# What is refused: the reason, what to write instead, and the functions.
_BY_VALUE = "the shape of its result depends on values, which vmap and jit cannot follow"
_IN_PLACE = "it changes an array in place, which no transform can follow"
_PRINTS = "it writes the numbers down, and a tracer need not have any yet"
_SPECTRAL = "it needs eigenvalues or singular values, whose derivatives fail where values tie"
_LIKE = "it makes an array of plain numbers, which like= a tracer does not change"
_REAL = "the engine computes with real numbers"
_NONE = "the engine has no such function"
REFUSED = {
    (_BY_VALUE, "keep every element and choose with np.where(condition, x, y)"): (
        "argwhere bincount compress extract flatnonzero histogram histogram2d "
        "histogram_bin_edges histogramdd intersect1d nonzero setdiff1d setxor1d trim_zeros "
        "union1d unique unique_all unique_counts unique_inverse unique_values"
    ),
    (_IN_PLACE, "build a new array with np.where, np.concatenate or np.stack"): (
        "fill_diagonal place put put_along_axis putmask at"
    ),
    (_IN_PLACE, "write np.broadcast_to(value, shape) for np.full(shape, value)"): "copyto",
    (_PRINTS, "return the array from the transform, and write down the result"): (
        "array2string array_repr array_str save savetxt savez savez_compressed"
    ),
    (_SPECTRAL, "use np.linalg.solve, slogdet or cholesky where they serve as well"): (
        "linalg.cond linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.lstsq "
        "linalg.matrix_rank linalg.pinv linalg.qr linalg.svd linalg.svdvals poly polyfit roots"
    ),
    (_LIKE, "leave like= out"): (
        "arange array asanyarray asarray ascontiguousarray asfortranarray empty eye frombuffer "
        "fromfile fromfunction fromiter fromstring full genfromtxt identity loadtxt ones require "
        "tri zeros"
    ),
    (_REAL, "use np.sqrt, np.log and their like, which stay real"): (
        "emath.arccos emath.arcsin emath.arctanh emath.log emath.log10 emath.log2 emath.logn "
        "emath.power emath.sqrt"
    ),
    (_REAL, "write x for np.real(x), 0.0 for np.imag(x), np.arctan2 for an angle"): (
        "angle imag iscomplex iscomplexobj isreal isrealobj real real_if_close"
    ),
    (_NONE, "use np.sort or np.argsort"): "argpartition lexsort partition sort_complex",
    (_NONE, "fill the gaps with np.where(np.isnan(x), value, x), then call it without nan"): (
        "nancumprod nancumsum nanmax nanmedian nanmin nanpercentile nanprod nanquantile nanstd "
        "nanvar"
    ),
    (_NONE, "use np.argmax(np.where(np.isnan(x), -np.inf, x))"): "nanargmax nanargmin",
    (_NONE, "choose with np.where or np.select"): "choose fmax fmin heaviside piecewise",
    (_NONE, "join the parts that stay with np.concatenate"): "block delete insert resize",
    (_NONE, "use np.split with axis="): "dsplit hsplit vsplit",
    (_NONE, "use np.stack, np.reshape, np.moveaxis, np.swapaxes or np.flip"): (
        "atleast_3d dstack rollaxis rot90"
    ),
    (_NONE, "use vmap, or np.stack over the rows"): "apply_along_axis apply_over_axes",
    (_NONE, "give the length, as in np.diag_indices(n), np.tril_indices(n)"): (
        "diag_indices_from tril_indices_from triu_indices_from"
    ),
    (_NONE, "write low + (high - low) * np.linspace(0, 1, n)"): "geomspace linspace logspace",
    (_NONE, "write the sum of powers"): "polyadd polyder polyint polysub polyval vander",
    (_NONE, "write it with slices, as x[1:] - x[:-1]"): "ediff1d gradient trapezoid",
    (_NONE, "use np.matmul, as in a @ b @ c, or x @ x.T of centred rows"): (
        "corrcoef cov linalg.multi_dot matvec vecmat"
    ),
    (_NONE, "use np.take(x, places) @ y, with a row of places for each window"): (
        "convolve correlate lib.stride_tricks.sliding_window_view"
    ),
    (_NONE, "use np.searchsorted(bins, x)"): "digitize",
    (_NONE, "use np.diag(np.ravel(x))"): "diagflat",
    (_NONE, "use np.reshape(x[:, None, :, None] * y[None, :, None, :], shape)"): "kron",
    (_NONE, "use np.searchsorted and np.take for the ends, then a + (b - a) * share"): "interp",
    (_NONE, "use np.trunc, np.floor_divide and np.remainder"): "divmod fix fmod modf",
    (_NONE, "write x == np.inf, x == -np.inf"): "isneginf isposinf",
    (_NONE, "write x * 2.0**n, np.power(x, n), np.logaddexp(x, y)"): (
        "float_power ldexp logaddexp2"
    ),
    (_NONE, "use np.all(x == y), np.abs(x - y) < tolerance"): (
        "allclose array_equal array_equiv isclose"
    ),
    (_NONE, "ask x.dtype"): "can_cast common_type",
    ("a method of an array brought it here", "write np.clip(x, low, high)"): "clip",
}
# ``at`` is the method of every ufunc, ``clip`` the ufunc behind the method of an array.
REASONS = {name: why for why, names in REFUSED.items() for name in names.split()}
OTHERS = (_NONE, "write it with functions that it has, or compute it outside of the transform")

# Arguments of a ufunc that say nothing unless they differ from this; ``dtype`` may be a float's.
NEUTRAL = {"out": None, "where": True, "casting": "same_kind", "order": "K", "subok": True}
NEUTRAL |= {"dtype": None, "signature": None}
# What to write in place of an argument.
INSTEAD = {
    "out": "use the result (a = a + x for a += x)",
    "where": "choose with np.where",
    "dtype": "convert with np.astype",
    "initial": "join it to the result, as in np.maximum(np.max(x), initial)",
}
# Arguments that change no value, and those that must be known when a program is traced.
IDLE = {"kind", "stable", "optimize", "assume_unique"}
KNOWN = {"repeats", "reps", "shift", "q", "indices_or_sections", "pad_width", "constant_values"}


def named(function):
    """Return a function's name as it is written behind ``np.``."""
    module = function.__module__.removeprefix("numpy").removeprefix(".")
    module = {"lib.scimath": "emath"}.get(module, module)
    return f"{module}.{function.__qualname__}" if module else function.__qualname__


def numpys(name):
    """Return the function of NumPy with this name; None where this NumPy has none."""
    found = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


_NAMES = {numpys(name): name for name in ANSWERS if numpys(name) is not None}
_UFUNCS = {getattr(np, name, None): function for name, function in UFUNCS.items()}


def answer_function(x, function, args, kwargs):
    """Return what a function of NumPy gives on arguments among which is the tracer x."""
    name = _NAMES.get(function)
    if name is None:
        _refuse(named(function), x)
    return _call(name, ANSWERS[name], function, args, kwargs)


def answer_ufunc(x, ufunc, method, inputs, kwargs):
    """Return what a ufunc, or one of its methods, gives where the tracer x is among the inputs."""
    function, name = _UFUNCS.get(ufunc), ufunc.__name__
    if function and method == "__call__" and not kwargs:
        return function(*inputs)  # ndarray * tracer comes here as well
    if getattr(PRIMITIVES.get(name), "numpy", None) is ufunc:
        function = function or getattr(xp, name)  # a primitive just added
    if f"{name}.{method}" in METHODS:
        like = np.sum if method == "reduce" else np.cumsum  # their arguments have this order
        kwargs = kwargs if len(inputs) > 1 else {"axis": 0, **kwargs}
        name = f"{name}.{method}"
        return _call(name, METHODS[name], like, inputs, kwargs)
    if function and method == "outer" and ufunc.nin == 2 and not ufunc.signature:
        left, right = map(xp.asarray, inputs)
        inputs = xp.reshape(left, left.shape + (1,) * right.ndim), right
    elif function is None or method != "__call__":
        shown = name if method == "__call__" else f"{name}.{method}"
        _refuse(shown, x, "np." if hasattr(np, name) else "the ufunc ")
    dtype = kwargs.get("dtype")
    for key, value in kwargs.items():
        to_float = key == "dtype" and value is not None and np.dtype(value).kind == "f"
        if not to_float and not _same(value, NEUTRAL.get(key, "")):
            _refuse_argument(name, key, value)
    return function(*[x if dtype is None else xp.astype(x, dtype) for x in inputs])


def _call(name, answer, like, args, kwargs):
    """Call an answer with the arguments that differ from the defaults of NumPy's ``like``."""
    names, leading, defaults, own = _plan(answer, like)
    given = dict(zip(names, args, strict=False)) | kwargs
    for key, value in [*given.items()]:
        if key in IDLE or (key in defaults and _same(value, defaults[key])):
            del given[key]
        elif key in KNOWN:
            given[key] = _known(name, key, value)
    inputs = [given.pop(key) for key in leading if key in given] if names else args
    for key, value in given.items():
        if key not in own:
            _refuse_argument(name, key, value)
    return answer(*inputs, **given)


@cache
def _plan(answer, like):
    """Return NumPy's names (none for ``*arrays``), those given by place, defaults, and our names.

    NumPy has checked the call itself: what is here has arguments that fit.
    """
    own = inspect.signature(answer).parameters
    try:
        its = inspect.signature(like).parameters
    except ValueError:  # a function in C of an older NumPy
        its = own
    spread = any(p.kind is p.VAR_POSITIONAL for p in its.values())
    names = () if spread else tuple(its)
    leading = names[: sum(p.kind is p.POSITIONAL_ONLY for p in own.values())]
    return names, leading, {key: p.default for key, p in its.items()}, tuple(own)


def _known(name, key, value):
    """Return an argument that must be known before, as Python's numbers."""
    for x in value if isinstance(value, list | tuple) else [value]:
        if hasattr(x, "_trace"):
            refuse(
                name,
                f"{key} is {x!r}, and the program must know it before it runs",
                "give numbers from outside the transform",
            )
    return np.asarray(value).tolist()


def _same(value, default):
    """Say whether an argument has its default: one object, or two equal numbers or texts."""
    if isinstance(value, str | int | float):
        return type(value) is type(default) and value == default
    if isinstance(value, tuple) and value:  # the ``out`` of a ufunc
        return all(v is default for v in value)
    return value is default or value is np._NoValue


def _refuse(name, x, where="np."):
    why, instead = REASONS.get("at" if name.endswith(".at") else name, OTHERS)
    refuse(name, f"on {x!r}: {why}", instead, where)


def _refuse_argument(name, key, value):
    instead = INSTEAD.get(key, "leave it out")
    refuse(name, f"{key}={value!r:.60} was given, which the engine does not honour", instead)

"""What answers NumPy's own functions on a tracer, by name, and what does not, with the reason.

``np.tanh(w)`` reaches ``answer_ufunc``, ``np.sum(w)`` reaches ``answer_function``: NumPy hands
both over, with all of their arguments. The answers are functions of the engine, so each holds in
every transform and at any depth. A function without a row is refused by its name.
"""

import inspect
from functools import cache

import numpy as np

from . import namespace as xp
from .numpy_calls import (
    Fixed,
    curves,
    elementwise,
    joining,
    making,
    matrices,
    order,
    products,
    reductions,
    refuse,
    shapes,
)
from .primitives import PRIMITIVES

# Name of a function of NumPy, as behind ``np.``, -> what answers it.
ANSWERS = {
    **reductions.ANSWERS,
    **order.ANSWERS,
    **shapes.ANSWERS,
    **joining.ANSWERS,
    **products.ANSWERS,
    **matrices.ANSWERS,
    **elementwise.ANSWERS,
    **curves.ANSWERS,
    **making.ANSWERS,
}
UFUNCS = {**elementwise.UFUNCS, **products.UFUNCS}


def _logaddexp_reduce(a, axis=None, dtype: Fixed = None, keepdims=False):
    """Return log(sum(exp(a))) without overflow: the largest element is taken out before."""
    top = xp.stop_gradient(xp.max(a, axis, True))
    top = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.log(xp.sum(xp.exp(xp.subtract(a, top)), axis, keepdims))
    return xp.add(total, xp.reshape(top, total.shape))


# Methods of ufuncs: (name, method) -> what answers it. Their axis is 0 unless it is given.
METHODS = {
    ("add", "reduce"): reductions.sum,
    ("multiply", "reduce"): reductions.prod,
    ("maximum", "reduce"): reductions.max,
    ("minimum", "reduce"): reductions.min,
    ("logical_and", "reduce"): reductions.all,
    ("logical_or", "reduce"): reductions.any,
    ("logaddexp", "reduce"): _logaddexp_reduce,
    ("add", "accumulate"): reductions.cumsum,
    ("multiply", "accumulate"): reductions.cumprod,
}

# What is refused: the reason, what to write instead, and the functions.
_BY_VALUE = "the shape of its result depends on values, which vmap and jit cannot follow"
_IN_PLACE = "it changes an array in place, which no transform can follow"
_PRINTS = "it writes the numbers down, and a tracer need not have any yet"
_SPECTRAL = "it needs eigenvalues or singular values, whose derivatives fail where values tie"
_LIKE = "it makes an array of plain numbers, which like= a tracer does not change"
_COMPLEX = "its result may be complex, and the engine computes with real numbers"
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
    (_COMPLEX, "use np.sqrt, np.log and their like, which stay real"): (
        "emath.arccos emath.arcsin emath.arctanh emath.log emath.log10 emath.log2 emath.logn "
        "emath.power emath.sqrt"
    ),
    ("the engine has no such function", "use np.sort or np.argsort"): (
        "argpartition partition lexsort sort_complex nanmedian nanquantile nanpercentile"
    ),
    ("which values are NaN would decide it", "use np.argmax(np.nan_to_num(x, nan=-np.inf))"): (
        "nanargmax nanargmin"
    ),
    ("the engine has no such function", "choose with np.where or np.select"): "choose piecewise",
    ("the engine has no such function", "join the parts with np.concatenate"): "insert",
    ("a method of an array brought it here", "write np.clip(x, low, high)"): "clip",
}
# ``at`` is the method of every ufunc, ``clip`` the ufunc behind the method of an array.
# ``at`` is the method of every ufunc, ``clip`` the ufunc behind the method of an array.
REASONS = {name: why for why, names in REFUSED.items() for name in names.split()}
OTHERS = (
    "the engine has no such function",
    "write it with functions that it has, or compute it outside of the transform",
)

# Arguments of a ufunc that say nothing unless they differ from this; ``dtype`` may be a float's.
NEUTRAL = {"out": None, "where": True, "casting": "same_kind", "order": "K", "subok": True}
NEUTRAL |= {"dtype": None, "signature": None}
INSTEAD = {"out": "use the result (a = a + x for a += x)", "where": "choose with np.where"}


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
    return _call(name, ANSWERS[name], args, kwargs)


def answer_ufunc(x, ufunc, method, inputs, kwargs):
    """Return what a ufunc, or one of its methods, gives where the tracer x is among the inputs."""
    function, name = _UFUNCS.get(ufunc), ufunc.__name__
    if function and method == "__call__" and not kwargs:
        return function(*inputs)  # ndarray * tracer comes here as well
    if getattr(PRIMITIVES.get(name), "numpy", None) is ufunc:
        function = function or getattr(xp, name)  # a primitive just added
    if (name, method) in METHODS:
        return _call(f"{name}.{method}", METHODS[name, method], inputs, {"axis": 0, **kwargs})
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


def _call(name, function, args, kwargs):
    """Call an answer, once every argument is one that it honours."""
    names, fixed = _arguments(function)
    kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
    for key, place, default in fixed:
        value = args[place] if place < len(args) else kwargs.get(key, default)
        if not _same(value, default):
            _refuse_argument(name, key, value)
    for key, value in kwargs.items():
        if names and key not in names:
            _refuse_argument(name, key, value)
    return function(*args, **kwargs)


@cache
def _arguments(function):
    """Return the names of a function's arguments (none if any will do), and the Fixed ones."""
    parameters = inspect.signature(function).parameters.values()
    places = {p.name: i for i, p in enumerate(parameters) if p.kind is p.POSITIONAL_OR_KEYWORD}
    fixed = [p for p in parameters if p.annotation is Fixed]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    names = () if open_ended else tuple([p.name for p in parameters])
    return names, [(p.name, places.get(p.name, np.inf), p.default) for p in fixed]


def _same(value, default):
    """Say whether an argument has its default: one object, or two equal numbers or texts."""
    if isinstance(value, str | int | float):
        return type(value) is type(default) and value == default
    return value is default or (isinstance(value, tuple) and all(v is default for v in value))


def _refuse(name, x, where="np."):
    why, instead = REASONS.get("at" if name.endswith(".at") else name, OTHERS)
    refuse(name, f"on {x!r}: {why}", instead, where)


def _refuse_argument(name, key, value):
    instead = INSTEAD.get(key, "leave it out")
    refuse(name, f"{key}={value!r:.60} was given, which the engine does not honour", instead)

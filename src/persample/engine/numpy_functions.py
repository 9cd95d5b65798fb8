"""Handle NumPy's own functions on tracers, or raise an error with the reason.

For a tracer w, NumPy passes ``np.tanh(w)`` to ``answer_ufunc`` and ``np.sum(w)`` to
``answer_function``, with all arguments. A function of the engine then computes them, so they work
in every transform and in nested ones. Functions missing from ANSWERS and UFUNCS raise TypeError,
and so do arguments that the engine's function does not have.
"""

import inspect
from functools import cache

import numpy as np

from . import namespace as xp
from .numpy_calls import elementwise, products, reductions, refuse, shapes
from .primitives import PRIMITIVES

# Name of a NumPy function -> the engine's function that computes it.
ANSWERS = {**reductions.ANSWERS, **shapes.ANSWERS, **products.ANSWERS, **elementwise.ANSWERS}
UFUNCS = elementwise.UFUNCS
METHODS = reductions.METHODS  # ufunc.method -> the same

# Name -> (why it is refused, what to write). Default: not implemented.
BY_VALUE = "argwhere compress extract flatnonzero nonzero unique"
IN_PLACE = "at copyto fill_diagonal put put_along_axis putmask"  # ``at``: of any ufunc
REASONS = {
    **dict.fromkeys(
        BY_VALUE.split(),
        (
            "the shape of its result depends on values, which vmap and jit cannot follow",
            "keep every element and choose with np.where(condition, x, y)",
        ),
    ),
    **dict.fromkeys(
        IN_PLACE.split(),
        (
            "it changes an array in place, which no transform can follow",
            "build a new array with np.where, np.concatenate or np.stack",
        ),
    ),
}
# Code to use instead of a function; OTHERWISE is the default.
WRITE = {
    "allclose": "np.all(np.abs(x - y) < tolerance)",
    "append": "np.concatenate([x, y])",
    "array_equal": "np.all(x == y)",
    "average": "np.sum(w * x) / np.sum(w)",
    "cbrt": "np.sign(x) * np.abs(x) ** (1 / 3)",
    "column_stack": "np.stack([x, y], axis=1)",
    "convolve": "np.take(x, places) @ y, with a row of places for each window",
    "degrees": "x * (180 / np.pi)",
    "flipud": "np.flip(x, axis=0)",
    "interp": "np.searchsorted and np.take for the ends, then a + (b - a) * share",
    "linalg.eigh": "np.linalg.solve, slogdet or cholesky where they serve as well",
    "linalg.svd": "np.linalg.solve, slogdet or cholesky where they serve as well",
    "linspace": "low + (high - low) * np.linspace(0, 1, n)",
    "median": "np.sort(x)[n // 2], or the mean of two of them",
    "meshgrid": "np.broadcast_arrays(x[None, :], y[:, None])",
    "nan_to_num": "np.where(np.isnan(x), value, x)",
    "nanmean": "np.sum(np.where(np.isnan(x), 0.0, x)) / np.sum(~np.isnan(x))",
    "nansum": "np.sum(np.where(np.isnan(x), 0.0, x))",
    "pad": "np.concatenate with np.zeros",
    "percentile": "np.sort(x) and the element at that place",
    "ptp": "np.max(x) - np.min(x)",
    "quantile": "np.sort(x) and the element at that place",
    "radians": "x * (np.pi / 180)",
    "reciprocal": "1.0 / x",
}
OTHERWISE = "it with functions that it has, or compute it outside of the transform"

# Arguments of a ufunc, and the value with which they have no effect.
NEUTRAL = {"out": None, "where": True, "casting": "same_kind", "order": "K", "subok": True}
NEUTRAL |= {"dtype": None, "signature": None}
# Code to use instead of an argument.
INSTEAD = {
    "out": "use the result (a = a + x for a += x)",
    "where": "choose with np.where",
    "dtype": "convert with np.astype",
}
# Further parameters of NumPy's C functions, which have signatures from version 2.4 on.
IN_C = {"dot": ("out",), "concatenate": ("out",), "empty_like": ("order", "subok")}
# Arguments that do not change the result and are ignored.
IDLE = {"kind", "stable", "optimize", "assume_unique"}


def named(function):
    """Return the name of a NumPy function as it follows ``np.``, such as "linalg.inv"."""
    module = function.__module__.removeprefix("numpy").removeprefix(".")
    return f"{module}.{function.__qualname__}" if module else function.__qualname__


def numpys(name):
    """Return NumPy's function of this name, such as "linalg.inv", or None."""
    found = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


_NAMES = {numpys(name): name for name in ANSWERS if numpys(name) is not None}
_UFUNCS = {getattr(np, name, None): function for name, function in UFUNCS.items()}


def answer_function(x, function, args, kwargs):
    """Return the engine's result for a NumPy function; TypeError, showing x, if it has none."""
    name = _NAMES.get(function)
    if name is None:
        _refuse(named(function), x)
    return _call(name, ANSWERS[name], function, args, kwargs)


def answer_ufunc(x, ufunc, method, inputs, kwargs):
    """Return the engine's result for a ufunc or its method; TypeError, showing x, if none."""
    function, name = _UFUNCS.get(ufunc), ufunc.__name__
    if function and method == "__call__" and not kwargs:
        return function(*inputs)  # ndarray * tracer comes here as well
    if getattr(PRIMITIVES.get(name), "numpy", None) is ufunc:
        function = function or getattr(xp, name)  # a primitive just added
    if f"{name}.{method}" in METHODS:
        kwargs = kwargs if len(inputs) > 1 else {"axis": 0, **kwargs}
        name = f"{name}.{method}"
        return _call(name, METHODS[name], np.sum, inputs, kwargs)  # arguments in this order
    if function and method == "outer" and ufunc.nin == 2 and not ufunc.signature:
        left, right = map(xp.asarray, inputs)
        inputs = xp.reshape(left, left.shape + (1,) * right.ndim), right
    elif function is None or method != "__call__":
        shown = name if method == "__call__" else f"{name}.{method}"
        _refuse(shown, x, "np." if hasattr(np, name) else "the ufunc ")
    for key, value in kwargs.items():
        if not _same(value, NEUTRAL.get(key, "")):
            _refuse_argument(name, key, value)
    return function(*inputs)


def _call(name, answer, like, args, kwargs):
    """Call ``answer`` with the arguments that differ from the defaults of NumPy's ``like``."""
    names, leading, defaults, own = _plan(answer, like)
    given = dict(zip(names, args, strict=False)) | kwargs
    for key, value in [*given.items()]:
        if key in IDLE or (key in defaults and _same(value, defaults[key])):
            del given[key]
    inputs = [given.pop(key) for key in leading if key in given] if names else args
    for key, value in given.items():
        if key not in own:
            _refuse_argument(name, key, value)
    return answer(*inputs, **given)


@cache
def _plan(answer, like):
    """Return (names, leading, defaults, own), with which `_call` forwards a call of ``like``.

    names: the parameters of ``like`` (none if it takes ``*arrays``); leading: those that
    ``answer`` takes by position; defaults: name -> default; own: the names of ``answer``'s
    parameters.
    """
    own, more = inspect.signature(answer).parameters, ()
    try:
        its = inspect.signature(like).parameters
        defaults = {key: p.default for key, p in its.items()}
    except ValueError:  # a function in C of an older NumPy
        its, more = own, IN_C.get(like.__name__, ())
        defaults = NEUTRAL | {key: p.default for key, p in own.items()}
    spread = any(p.kind is p.VAR_POSITIONAL for p in its.values())
    names = () if spread else (*its, *more)
    leading = names[: sum(p.kind is p.POSITIONAL_ONLY for p in own.values())]
    return names, leading, defaults, tuple(own)


def _same(value, default):
    """Return whether an argument has its default value, or is NumPy's "no value" marker."""
    if isinstance(value, str | int | float):
        return type(value) is type(default) and value == default
    if isinstance(value, tuple) and value:  # the ``out`` of a ufunc
        return all(v is default for v in value)
    return value is default or value is np._NoValue


def _refuse(name, x, where="np."):
    write = f"write {WRITE.get(name, OTHERWISE)}"
    missing = "the engine has no such function", write
    why, instead = REASONS.get("at" if name.endswith(".at") else name, missing)
    refuse(name, f"on {x!r}: {why}", instead, where)


def _refuse_argument(name, key, value):
    instead = INSTEAD.get(key, "leave it out")
    refuse(name, f"{key}={value!r:.60} was given, which the engine does not honour", instead)

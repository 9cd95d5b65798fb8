"""Elementwise functions: the ufuncs, where, select, clip and round."""

from .. import namespace as xp
from . import refuse


def where(condition, x=None, y=None, /):
    if x is None or y is None:
        refuse(
            "where",
            f"with the condition {condition!r} alone, the shape of the result depends on values",
            "give two arrays to choose from: np.where(condition, x, y)",
        )
    return xp.where(condition, x, y)


def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError(f"np.select: {len(condlist)} conditions, {len(choicelist)} choices.")
    chosen = default
    for condition, choice in reversed([*zip(condlist, choicelist, strict=True)]):
        chosen = xp.where(condition, choice, chosen)
    return chosen


def clip(a, /, a_min=None, a_max=None, min=None, max=None):
    return xp.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{function.__name__: function for function in (where, select, clip)},
    "round": xp.round,
}

# Rows for numpy_functions.UFUNCS: those of the engine under the same name, and under another.
SAME = "add subtract multiply divide negative positive exp expm1 log log1p log2 log10 sqrt square"
SAME += " sin cos tan sinh cosh tanh hypot logaddexp copysign nextafter maximum minimum remainder"
SAME += " floor_divide sign floor ceil trunc isfinite isinf isnan signbit equal not_equal less"
SAME += " less_equal greater greater_equal logical_and logical_or logical_xor logical_not"
SAME += " bitwise_and bitwise_or bitwise_xor matmul vecdot clip"
RENAMED = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "positive",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
}
UFUNCS = {
    **{name: getattr(xp, name) for name in SAME.split()},
    **{name: getattr(xp, own) for name, own in RENAMED.items()},
}

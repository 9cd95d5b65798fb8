"""The VJP rules that fewer losses need: of steps, trigonometry, products and running sums.

They are written as those of ``vjps`` are, and are rows of the same table.
"""

import math

import numpy as np

from . import namespace as xp
from .operations import undo_reduce
from .primitives import PAIR_STEPS, STEPS


def _prod_vjp(ct, out, x, axes):
    """Each factor's cotangent is the product of the others, also where some are zero."""
    order = (*[a for a in range(x.ndim) if a not in axes], *axes)
    turned = xp.permute_dims(x, order)
    many = math.prod(x.shape[a] for a in axes)
    flat = xp.reshape(turned, (*turned.shape[: x.ndim - len(axes)], many))
    before = _product_before(flat)
    after = xp.flip(_product_before(xp.flip(flat, axis=-1)), axis=-1)
    others = xp.reshape(before * after, turned.shape)
    return undo_reduce(ct, x, axes) * xp.permute_dims(others, np.argsort(order).tolist())


def _product_before(x):
    """Return for each element the product of those before it on the last axis."""
    return xp.cumulative_prod(x, axis=-1, include_initial=True)[..., :-1]


def _cumulative_sum_vjp(ct, out, x, axis):
    return xp.flip(xp.cumulative_sum(xp.flip(ct, axis=axis), axis=axis), axis=axis)


def _cumulative_prod_vjp(ct, out, x, axis):
    """Sum ct[k] times the product of x[j] over j <= k other than i; no division, so zeros may be.

    A row for each i holds the products of x[j] over i < j <= k, for k >= i.
    """
    x, ct = xp.moveaxis(x, axis, -1), xp.moveaxis(ct, axis, -1)
    later = np.tri(x.shape[-1], dtype=np.bool).T
    factors = xp.where(later & ~np.eye(x.shape[-1], dtype=np.bool), x[..., None, :], 1.0)
    products = xp.where(later, xp.cumulative_prod(factors, axis=-1), 0.0)
    total = xp.sum(products * ct[..., None, :], -1)
    return xp.moveaxis(_product_before(x) * total, -1, axis)


def _share(x, y):
    """exp(x) / (exp(x) + exp(y)), also where one of them overflows."""
    return xp.exp(-xp.logaddexp(0.0, y - x))


# Rows for vjps.vjp_rules.
vjp_rules = {
    # Steps, and indices: the derivative is zero.
    **dict.fromkeys(STEPS, (None,)),
    **dict.fromkeys(("round", "argmax", "argmin", "argsort"), (None,)),
    **dict.fromkeys(PAIR_STEPS, (None, None)),
    "abs": (lambda ct, out, x: ct * xp.sign(x),),
    "expm1": (lambda ct, out, x: ct * (1.0 + out),),
    "log2": (lambda ct, out, x: ct / (x * math.log(2.0)),),
    "log10": (lambda ct, out, x: ct / (x * math.log(10.0)),),
    "sin": (lambda ct, out, x: ct * xp.cos(x),),
    "cos": (lambda ct, out, x: -ct * xp.sin(x),),
    "tan": (lambda ct, out, x: ct * (1.0 + out * out),),
    "asin": (lambda ct, out, x: ct / xp.sqrt(1.0 - x * x),),
    "acos": (lambda ct, out, x: -ct / xp.sqrt(1.0 - x * x),),
    "atan": (lambda ct, out, x: ct / (1.0 + x * x),),
    "sinh": (lambda ct, out, x: ct * xp.cosh(x),),
    "cosh": (lambda ct, out, x: ct * xp.sinh(x),),
    "asinh": (lambda ct, out, x: ct / xp.sqrt(1.0 + x * x),),
    "acosh": (lambda ct, out, x: ct / xp.sqrt(x * x - 1.0),),
    "atanh": (lambda ct, out, x: ct / (1.0 - x * x),),
    "remainder": (lambda ct, out, x, y: ct, lambda ct, out, x, y: -ct * xp.floor_divide(x, y)),
    "atan2": (
        lambda ct, out, x, y: ct * y / (x * x + y * y),
        lambda ct, out, x, y: -ct * x / (x * x + y * y),
    ),
    "hypot": (lambda ct, out, x, y: ct * x / out, lambda ct, out, x, y: ct * y / out),
    "logaddexp": (
        lambda ct, out, x, y: ct * _share(x, y),
        lambda ct, out, x, y: ct * _share(y, x),
    ),
    "prod": (_prod_vjp,),
    "cumulative_sum": (_cumulative_sum_vjp,),
    "cumulative_prod": (_cumulative_prod_vjp,),
}

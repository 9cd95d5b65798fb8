"""The VJP rules, which map the cotangent of a primitive's output to those of its inputs.

The rules are themselves written with the functions of ``namespace``, so a gradient can be
differentiated, batched and staged again. The rules of linear algebra are in ``functions.linalg``.
"""

import math
from collections.abc import Callable

import numpy as np

from . import namespace as xp
from .contraction import split
from .operations import only_number, product, undo_reduce
from .primitives import ZERO_SLOPE, ZERO_SLOPE_PAIRS, apply


def _unbroadcast(ct, x):
    """Return ``ct`` summed over the axes along which x was broadcast, in the shape of x."""
    new = ct.ndim - x.ndim
    repeated = [new + a for a, n in enumerate(x.shape) if n == 1 and ct.shape[new + a] != 1]
    return xp.reshape(xp.sum(ct, (*range(new), *repeated)), x.shape)


def _wins(x, y):
    """Return d max(x, y) / dx: 1 where x > y, 1/2 in a tie (as in PyTorch and JAX), else 0."""
    zero, half, one = x.dtype.type(0.0), x.dtype.type(0.5), x.dtype.type(1.0)
    return xp.where(x > y, one, xp.where(xp.equal(x, y), half, zero))


def _max_vjp(ct, out, x, axes):
    hit = xp.astype(xp.equal(x, undo_reduce(out, x, axes)), x.dtype)
    return undo_reduce(ct / xp.sum(hit, axes), x, axes) * hit  # ties share


def _power_base(ct, out, x, y):
    number = only_number(y)
    if number is None:
        zero = xp.equal(y, 0.0)  # x ** 0 is constant, also at x = 0
        return ct * xp.where(zero, 0.0, y * xp.pow(x, xp.where(zero, 1.0, y - 1.0)))
    return ct * (number * xp.pow(x, number - 1)) if number else xp.zeros_like(x)


def _power_exponent(ct, out, x, y):
    return ct * out * xp.log(xp.where(xp.equal(x, 0.0), 1.0, x))


def _einsum_x(ct, out, x, y, subscripts):
    a, b, c = split(subscripts)
    return product(f"{c},{b}->{a}", ct, y)


def _einsum_y(ct, out, x, y, subscripts):
    a, b, c = split(subscripts)
    return product(f"{c},{a}->{b}", ct, x)


def _take_vjp(ct, out, x, i, batch_dims):
    return apply("scatter_add", ct, i, length=x.shape[batch_dims], batch_dims=batch_dims)


class _Concat:
    """The rules of ``concat``, which has any number of inputs: item i is the rule for input i."""

    def __getitem__(self, i: int) -> Callable:
        def rule(ct, out, *xs, axis):
            start = sum(x.shape[axis] for x in xs[:i])
            return ct[(slice(None),) * axis + (slice(start, start + xs[i].shape[axis]),)]

        return rule


def _prod_vjp(ct, out, x, axes):
    """Return ct times the product of the other factors, without division: they may be zero."""
    order = (*[a for a in range(x.ndim) if a not in axes], *axes)
    turned = xp.permute_dims(x, order)
    many = math.prod(x.shape[a] for a in axes)
    flat = xp.reshape(turned, (*turned.shape[: x.ndim - len(axes)], many))
    before = _product_before(flat)
    after = xp.flip(_product_before(xp.flip(flat, axis=-1)), axis=-1)
    others = xp.reshape(before * after, turned.shape)
    return undo_reduce(ct, x, axes) * xp.permute_dims(others, np.argsort(order).tolist())


def _product_before(x):
    """Return, for each element, the product of the elements before it on the last axis."""
    return xp.cumulative_prod(x, axis=-1, include_initial=True)[..., :-1]


def _cumulative_sum_vjp(ct, out, x, axis):
    return xp.flip(xp.cumulative_sum(xp.flip(ct, axis=axis), axis=axis), axis=axis)


def _cumulative_prod_vjp(ct, out, x, axis):
    """For each i, sum over k >= i: ct[k] times the product of x[j] over j <= k, j != i.

    No division, so x may be zero. products[..., i, k] is the product of x[j] over i < j <= k.
    """
    x, ct = xp.moveaxis(x, axis, -1), xp.moveaxis(ct, axis, -1)
    later = np.tri(x.shape[-1], dtype=np.bool).T
    factors = xp.where(later & ~np.eye(x.shape[-1], dtype=np.bool), x[..., None, :], 1.0)
    products = xp.where(later, xp.cumulative_prod(factors, axis=-1), 0.0)
    total = xp.sum(products * ct[..., None, :], -1)
    return xp.moveaxis(_product_before(x) * total, -1, axis)


def _share(x, y):
    """Return exp(x) / (exp(x) + exp(y)), without overflow."""
    return xp.exp(-xp.logaddexp(0.0, y - x))


# One row for each primitive, one rule for each input: rule(ct, out, *inputs, **params) returns
# the input's cotangent, of its shape and dtype. None: the output does not depend on that input
# differentiably. Beside the input that a rule is for, others of an elementwise primitive may be
# numbers (NumPy scalars); a number is a constant, so the rule for it never runs.
vjp_rules = {
    "negative": (lambda ct, out, x: -ct,),
    "exp": (lambda ct, out, x: ct * out,),
    "log": (lambda ct, out, x: ct / x,),
    "log1p": (lambda ct, out, x: ct / (1.0 + x),),
    "tanh": (lambda ct, out, x: ct * (1.0 - out * out),),
    "sqrt": (lambda ct, out, x: 0.5 * ct / out,),
    "stop_gradient": (None,),
    "astype": (lambda ct, out, x, dtype: xp.astype(ct, x.dtype),),
    "add": (lambda ct, out, x, y: ct, lambda ct, out, x, y: ct),
    "subtract": (lambda ct, out, x, y: ct, lambda ct, out, x, y: -ct),
    "multiply": (lambda ct, out, x, y: ct * y, lambda ct, out, x, y: ct * x),
    "divide": (lambda ct, out, x, y: ct / y, lambda ct, out, x, y: -ct * out / y),
    "power": (_power_base, _power_exponent),
    "maximum": (lambda ct, out, x, y: ct * _wins(x, y), lambda ct, out, x, y: ct * _wins(y, x)),
    "minimum": (lambda ct, out, x, y: ct * _wins(y, x), lambda ct, out, x, y: ct * _wins(x, y)),
    "equal": (None, None),
    "not_equal": (None, None),
    "less": (None, None),
    "less_equal": (None, None),
    "where": (
        None,
        lambda ct, out, c, x, y: xp.where(c, ct, 0.0),
        lambda ct, out, c, x, y: xp.where(c, 0.0, ct),
    ),
    "einsum": (_einsum_x, _einsum_y),
    "sum": (lambda ct, out, x, axes: undo_reduce(ct, x, axes),),
    "max": (_max_vjp,),
    "min": (_max_vjp,),
    "reshape": (lambda ct, out, x, shape: xp.reshape(ct, x.shape),),
    "permute_dims": (lambda ct, out, x, axes: xp.permute_dims(ct, np.argsort(axes).tolist()),),
    "broadcast_to": (lambda ct, out, x, shape: _unbroadcast(ct, x),),
    "concat": _Concat(),
    "slice": (lambda ct, out, x, slices: apply("pad", ct, shape=x.shape, slices=slices),),
    "pad": (lambda ct, out, x, shape, slices: apply("slice", ct, slices=slices),),
    "take": (_take_vjp, None),
    "scatter_add": (lambda ct, out, x, i, length, **dims: apply("take", ct, i, **dims), None),
    # Step functions and indices: the derivative is zero.
    **dict.fromkeys(ZERO_SLOPE, (None,)),
    **dict.fromkeys(("round", "argmax", "argmin", "argsort"), (None,)),
    **dict.fromkeys(ZERO_SLOPE_PAIRS, (None, None)),
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
    **xp.linalg.vjp_rules,
}

"""The VJP rules: what each primitive does to the cotangent of its output.

The rules are themselves written with the functions of ``namespace``, so a gradient can be
differentiated, batched and staged again. Here are the rules that most losses need; the others
stand in ``vjps_more``, those of matrices in ``functions.linalg``.
"""

from collections.abc import Callable

import numpy as np

from . import namespace as xp
from . import vjps_more
from .contraction import split
from .operations import only_number, product, undo_reduce
from .primitives import apply


def _unbroadcast(ct, x):
    """Sum ``ct`` over the axes along which x was repeated."""
    new = ct.ndim - x.ndim
    repeated = [new + a for a, n in enumerate(x.shape) if n == 1 and ct.shape[new + a] != 1]
    return xp.reshape(xp.sum(ct, (*range(new), *repeated)), x.shape)


def _wins(x, y):
    """1 where x > y, 1/2 at a tie, 0 elsewhere: the convention of PyTorch and JAX."""
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
    """A row with a rule for input i, whatever i is."""

    def __getitem__(self, i: int) -> Callable:
        def rule(ct, out, *xs, axis):
            start = sum(x.shape[axis] for x in xs[:i])
            return ct[(slice(None),) * axis + (slice(start, start + xs[i].shape[axis]),)]

        return rule


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
    **vjps_more.vjp_rules,
    **xp.linalg.vjp_rules,
}

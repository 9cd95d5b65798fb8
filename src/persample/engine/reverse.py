"""Reverse mode: the VJP rules, the trace that records a tape, and ``grad``.

The forward pass runs with real values and writes one node an operation; the backward pass
walks the tape once, from the loss to the inputs. The rules are themselves traced functions,
so a gradient can be differentiated, batched and staged again.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import trees
from . import namespace as xp
from .contraction import split
from .core import Trace, as_tracer, bind, new_trace, transformed
from .primitives import PAIR_STEPS, STEPS, apply, number_in
from .tracer import Tracer, is_array, own


def _expand(x, like, axes):
    """Undo a reduction: put ``axes`` back with length 1 and repeat to the shape of ``like``."""
    kept = tuple([1 if a in axes else n for a, n in enumerate(like.shape)])
    return xp.broadcast_to(xp.reshape(x, kept), like.shape)


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
    hit = xp.astype(xp.equal(x, _expand(out, x, axes)), x.dtype)
    return _expand(ct / xp.sum(hit, axes), x, axes) * hit  # ties share


def _prod_vjp(ct, out, x, axes):
    """Each factor's cotangent is the product of the others, also where some are zero."""
    order = (*[a for a in range(x.ndim) if a not in axes], *axes)
    turned = xp.permute_dims(x, order)
    flat = xp.reshape(turned, (*turned.shape[: x.ndim - len(axes)], -1)) if x.size else turned
    after = xp.flip(_product_before(xp.flip(flat, axis=-1)), axis=-1)
    others = xp.reshape(_product_before(flat) * after, turned.shape)
    return _expand(ct, x, axes) * xp.permute_dims(others, np.argsort(order).tolist())


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


def _share(x, out):
    """exp(x - out): the share of x in logaddexp; all of it where x is infinite as out is."""
    same = xp.equal(x, out)
    return xp.exp(xp.where(same, 0.0, x - xp.where(same, 0.0, out)))


def _power_base(ct, out, x, y):
    number = number_in(y)
    if number is None:
        zero = xp.equal(y, 0.0)  # x ** 0 is constant, also at x = 0
        return ct * xp.where(zero, 0.0, y * xp.pow(x, xp.where(zero, 1.0, y - 1.0)))
    return ct * (number * xp.pow(x, number - 1)) if number else xp.zeros_like(x)


def _power_exponent(ct, out, x, y):
    return ct * out * xp.log(xp.where(xp.equal(x, 0.0), 1.0, x))


def _einsum_x(ct, out, x, y, subscripts):
    a, b, c = split(subscripts)
    return xp.einsum(f"{c},{b}->{a}", ct, y)


def _einsum_y(ct, out, x, y, subscripts):
    a, b, c = split(subscripts)
    return xp.einsum(f"{c},{a}->{b}", ct, x)


def _take_vjp(ct, out, x, i, batch_dims):
    return apply("scatter_add", ct, i, length=x.shape[batch_dims], batch_dims=batch_dims)


class _Concat(dict):
    """A row with a rule for input i, whatever i is."""

    def __missing__(self, i: int) -> Callable:
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
        lambda ct, out, x, y: ct * _share(x, out),
        lambda ct, out, x, y: ct * _share(y, out),
    ),
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
    **dict.fromkeys(STEPS, (None,)),
    **dict.fromkeys(("round", "argmax", "argmin", "argsort"), (None,)),
    **dict.fromkeys(PAIR_STEPS, (None, None)),
    "where": (
        None,
        lambda ct, out, c, x, y: xp.where(c, ct, 0.0),
        lambda ct, out, c, x, y: xp.where(c, 0.0, ct),
    ),
    "einsum": (_einsum_x, _einsum_y),
    "sum": (lambda ct, out, x, axes: _expand(ct, x, axes),),
    "max": (_max_vjp,),
    "min": (_max_vjp,),
    "prod": (_prod_vjp,),
    "cumulative_sum": (_cumulative_sum_vjp,),
    "cumulative_prod": (_cumulative_prod_vjp,),
    "reshape": (lambda ct, out, x, shape: xp.reshape(ct, x.shape),),
    "permute_dims": (lambda ct, out, x, axes: xp.permute_dims(ct, np.argsort(axes).tolist()),),
    "broadcast_to": (lambda ct, out, x, shape: _unbroadcast(ct, x),),
    "concat": _Concat(),
    "slice": (lambda ct, out, x, slices: apply("pad", ct, shape=x.shape, slices=slices),),
    "pad": (lambda ct, out, x, shape, slices: apply("slice", ct, slices=slices),),
    "take": (_take_vjp, None),
    "scatter_add": (lambda ct, out, x, i, length, **dims: apply("take", ct, i, **dims), None),
    **xp.linalg.vjp_rules,
}


class Node:
    """One operation on the tape: enough to run its rules, and the nodes of its inputs.

    The node of a parameter has no primitive and no parents.
    """

    __slots__ = ("primitive", "params", "values", "out", "parents")

    def __init__(self, primitive, params, values, out, parents):
        self.primitive, self.params, self.values = primitive, params, values
        self.out, self.parents = out, parents

    def __repr__(self):
        return f"<{self.primitive.name} node>" if self.primitive else "<leaf node>"

    def pull(self, ct: Any):
        """Yield (parent, its cotangent) for every input that has a parent and a rule."""
        rules = vjp_rules.get(self.primitive.name)
        if rules is None:
            raise NotImplementedError(
                f"grad: {self.primitive.name} has no VJP rule; add a row to reverse.vjp_rules "
                f"(there are rows for {', '.join(vjp_rules)})."
            )
        for i, parent in enumerate(self.parents):
            if parent is not None and rules[i] is not None:
                yield parent, rules[i](ct, self.out, *self.values, **self.params)


class ReverseTracer(Tracer):
    """A value and the node that made it (None: a constant of this trace)."""

    __slots__ = ("value", "node")

    def __init__(self, trace, value, node):
        self._trace, self.value, self.node = trace, value, node

    def __float__(self):
        number = super().__float__()
        if self.node is None:
            return number
        raise TypeError(
            f"float() of {self!r}: the gradient would end there unnoticed; compute with x itself, "
            "compare it as it is (x < 1), or hold it fixed first: stop_gradient(x)."
        )


class ReverseTrace(Trace):
    """Computes as usual, and writes a node wherever an input leads back to a parameter."""

    name = "grad"

    def __init__(self, level):
        super().__init__(level)
        self.tape: list[Node] = []

    def lift(self, value):
        return ReverseTracer(self, xp.constant(value), None)

    def process(self, primitive, inputs, params):
        values = [x.value for x in inputs]
        out = bind(primitive, *values, **params)
        parents = [x.node for x in inputs]
        cut = vjp_rules.get(primitive.name) == (None,)  # stop_gradient
        if cut or out.dtype.kind != "f" or all(p is None for p in parents):
            return ReverseTracer(self, out, None)
        self.tape.append(Node(primitive, params, values, out, parents))
        return ReverseTracer(self, out, self.tape[-1])


def backward(nodes: Iterable[Node], cts: dict) -> dict:
    """Carry the cotangents ``cts`` (node -> array) through nodes, each before its parents.

    Returns those of the nodes that are not among ``nodes``.
    """
    for node in nodes:
        ct = cts.pop(node, None)
        if ct is None:
            continue  # the output does not depend on it
        for parent, more in node.pull(ct):
            cts[parent] = cts[parent] + more if parent in cts else more
    return cts


def value_and_grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """Return a function computing ``f`` and its gradient: ``(value, gradient)``.

    ``f`` returns one 0-d real array. The gradient has the structure, shapes and dtypes of
    argument ``argnums`` (a tuple of them for a tuple of argnums); zeros where ``f`` ignores it.
    """
    several = isinstance(argnums, tuple)

    def run(*args):
        wanted = argnums if several else (argnums,)
        if not all(isinstance(n, int) and -len(args) <= n < len(args) for n in wanted):
            raise ValueError(
                f"grad: argnums={argnums!r} for {len(args)} arguments; give the number of one "
                "(the first is 0, the last -1) or a tuple of such numbers."
            )
        with new_trace(ReverseTrace) as trace:
            flat = [trees.flatten(arg) for arg in args]
            lifted = [[trace.lift(x) if is_array(x) else x for x in xs] for xs, _ in flat]
            for n in wanted:
                lifted[n] = [_parameter(trace, x, n % len(args)) for x in flat[n][0]]
            parts = zip(flat, lifted, strict=True)
            result = f(*[trees.unflatten(structure, xs) for (_, structure), xs in parts])
            output = as_tracer(trace, _scalar(result))
            cts = backward(trace.tape[::-1], {output.node: xp.ones_like(output.value)})
        parameters = [x for n in wanted for x in lifted[n]]
        found = [cts.get(x.node, xp.zeros_like(x.value)) for x in parameters]
        leaves = iter(own(found))
        value = output.value if isinstance(output.value, Tracer) else np.array(output.value)
        grads = tuple([trees.unflatten(flat[n][1], leaves) for n in wanted])
        return value, grads if several else grads[0]

    return transformed(f, run)


def grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """Return the function that computes the gradient of the scalar ``f``; see value_and_grad."""
    both = value_and_grad(f, argnums)
    return transformed(f, lambda *args: both(*args)[1])


def _parameter(trace, x, n):
    """Return a tracer that gradients are asked for."""
    x = xp.asarray(x)
    if x.dtype.kind != "f":
        raise TypeError(
            f"grad: argument {n} is {x.dtype}{list(x.shape)}; gradients need floating-point "
            "arrays: convert it, or choose another argument with argnums."
        )
    return ReverseTracer(trace, x, Node(None, None, (), x, ()))  # a node without parents


def _scalar(result):
    if isinstance(result, int | float):
        result = np.asarray(float(result))
    if not is_array(result) or result.shape != ():
        what = f"an array of shape {result.shape}" if is_array(result) else type(result).__name__
        raise ValueError(
            f"grad: the function returned {what}; gradients are defined for one number, a 0-d "
            "array: sum or average it, or use vmap for one loss a sample."
        )
    if result.dtype.kind != "f":
        raise TypeError(f"grad: the function returned {result.dtype}; it must be floating-point.")
    return result

"""Batching: the rules that carry a leading sample axis through every primitive, and ``vmap``.

Inside ``vmap`` the function sees one sample; behind each batched tracer stands an array with
the samples along axis 0. A rule computes a primitive for all samples at once, without a loop.
"""

from collections.abc import Callable
from string import ascii_letters
from typing import Any

import numpy as np
from optree import tree_flatten, tree_unflatten

from ..batches import batch_size, leaf_axes
from . import namespace as xp
from .contraction import split
from .core import ELEMENTWISE, Trace, as_tracer, bind, new_trace, transformed
from .operations import constant, product
from .primitives import PRIMITIVES, apply
from .tracer import Tracer, is_array, unshared


def _spread(size, x, batched):
    """Return x with ``size`` samples along axis 0: x itself if ``batched``, else x broadcast."""
    return x if batched else xp.broadcast_to(x, (size, *x.shape))


def _spread_all(name):
    """Return the batch rule: give every array the sample axis, then apply the primitive."""

    def rule(size, batched, *xs, **params):
        pairs = zip(xs, batched, strict=True)
        spread = [x if isinstance(x, np.generic) else _spread(size, x, b) for x, b in pairs]
        return apply(name, *spread, **params)

    return rule


def _broadcast_to(size, batched, x, shape):
    x = xp.reshape(x, (size,) + (1,) * (len(shape) - x.ndim + 1) + x.shape[1:])
    return xp.broadcast_to(x, (size, *shape))


def _einsum(size, batched, x, y, subscripts):
    a, b, c = split(subscripts)
    new = next(letter for letter in ascii_letters if letter not in subscripts)
    a, b = new * batched[0] + a, new * batched[1] + b
    return product(f"{a},{b}->{new}{c}", x, y)


def _concat(size, batched, *xs, axis):
    spread = [_spread(size, x, b) for x, b in zip(xs, batched, strict=True)]
    return apply("concat", *spread, axis=axis + 1)


def _slice(size, batched, x, slices):
    return apply("slice", x, slices=((0, size, 1), *slices))


def _pad(size, batched, x, shape, slices):
    return apply("pad", x, shape=(size, *shape), slices=((0, size, 1), *slices))


def _take(size, batched, x, indices, batch_dims):
    if not batched[0] and batch_dims == 0:  # only the indices are batched
        return apply("take", x, indices, batch_dims=0)
    both = _spread(size, x, batched[0]), _spread(size, indices, batched[1])
    return apply("take", *both, batch_dims=batch_dims + 1)


def _scatter_add(size, batched, x, indices, length, batch_dims):
    both = _spread(size, x, batched[0]), _spread(size, indices, batched[1])
    return apply("scatter_add", *both, length=length, batch_dims=batch_dims + 1)


def _shifted(name):
    def rule(size, batched, x, axes):
        return apply(name, x, axes=tuple([a + 1 for a in axes]))

    return rule


def _along_axis(name):
    def rule(size, batched, x, axis):
        return apply(name, x, axis=axis + 1)

    return rule


# One row for each primitive: rule(size, batched, *inputs, **params) returns the output with
# ``size`` samples along axis 0. ``batched`` has a bool per input: whether it has that axis.
batch_rules = {
    # An elementwise primitive's rule is itself, once every array has the axis; numbers need none.
    **{name: _spread_all(name) for name, p in PRIMITIVES.items() if p.kind == ELEMENTWISE},
    "stop_gradient": _spread_all("stop_gradient"),
    "einsum": _einsum,
    "sum": _shifted("sum"),
    "max": _shifted("max"),
    "min": _shifted("min"),
    "prod": _shifted("prod"),
    **{name: _along_axis(name) for name in ("cumulative_sum", "cumulative_prod")},
    **{name: _along_axis(name) for name in ("argmax", "argmin", "argsort")},
    "reshape": lambda size, batched, x, shape: xp.reshape(x, (size, *shape)),
    "permute_dims": lambda size, batched, x, axes: xp.permute_dims(x, (0, *[a + 1 for a in axes])),
    "broadcast_to": _broadcast_to,
    "concat": _concat,
    "slice": _slice,
    "pad": _pad,
    "take": _take,
    "scatter_add": _scatter_add,
    # These primitives accept leading axes by themselves.
    **{name: _spread_all(name) for name in ("solve", "cholesky", "log_abs_det", "sign_of_det")},
}


class BatchTracer(Tracer):
    """One sample of ``value``, which has the samples along axis 0 if ``batched``."""

    __slots__ = ("value", "batched")

    def __init__(self, trace, value, batched):
        self._trace, self.value, self.batched = trace, value, batched

    shape = property(lambda self: self.value.shape[1:] if self.batched else self.value.shape)

    def concrete(self):
        return self.no_value() if self.batched else super().concrete()


class BatchTrace(Trace):
    """Applies the batch rules for ``size`` samples; operations on unbatched inputs run once."""

    name = "vmap"

    def __init__(self, level, size):
        super().__init__(level)
        self.size = size

    def lift(self, value):
        return BatchTracer(self, constant(value), False)

    def argument(self, x, axis):
        """Return a leaf of an argument as a tracer, batched unless ``axis`` is None.

        Without an axis a leaf that is not an array is returned as it is.
        """
        if axis is None:
            return self.lift(x) if is_array(x) else x
        x = xp.asarray(x)
        return BatchTracer(self, xp.moveaxis(x, axis, 0) if axis else x, True)

    def output(self, x):
        """Return a leaf of the result as an array with the sample axis, broadcast if unbatched."""
        x = as_tracer(self, x)
        return _spread(self.size, x.value, x.batched)

    def process(self, primitive, inputs, params):
        values, batched = [x.value for x in inputs], [x.batched for x in inputs]
        if not any(batched):
            return BatchTracer(self, bind(primitive, *values, **params), False)
        if primitive.name not in batch_rules:
            raise NotImplementedError(
                f"vmap: {primitive.name} has no batch rule; add a row to batching.batch_rules "
                f"(there are rows for {', '.join(batch_rules)})."
            )
        rule = batch_rules[primitive.name]
        return BatchTracer(self, rule(self.size, batched, *values, **params), True)


def vmap(f: Callable, in_axes: Any = 0) -> Callable:
    """Return a function that applies ``f``, written for one sample, to all samples of a batch.

    Parameters
    ----------
    in_axes : an axis, None, or a tuple or list with one entry for each argument
        An integer is the sample axis of every array in the argument. None: the argument is shared
        by all samples. An entry may be a tree prefix of its argument, as in ``jax.vmap``.

    Returns
    -------
    callable with the positional arguments of ``f``; its outputs have the samples along axis 0.

    Raises
    ------
    ValueError : the call does not fit ``in_axes``, the batch sizes differ or are 0, or no array
        is batched.
    TypeError : a batched leaf is not an array, or the call has keyword arguments.
    """

    def run(*args):
        given = in_axes if isinstance(in_axes, tuple | list) else [in_axes] * len(args)
        found = leaf_axes("vmap", given, args)
        leaves, structure = tree_flatten(args)
        with new_trace(BatchTrace, batch_size("vmap", found)) as trace:
            lifted = [trace.argument(x, axis) for _, axis, x in found]
            outputs, out_structure = tree_flatten(f(*tree_unflatten(structure, lifted)))
            values = [trace.output(x) for x in outputs]
        return tree_unflatten(out_structure, unshared(values, leaves))

    return transformed(f, run)

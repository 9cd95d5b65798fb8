"""One gradient for every sample: per_sample_grad, its oracle loop_grad, and mean_grad.

Everything else in the package serves these. The backend follows from the arrays; `plans` keeps
what was checked and compiled for the next call.
"""

from collections.abc import Callable

from . import memory, trees
from .arrays import array_namespace
from .backends import backend
from .checks import (
    check_apart,
    check_call,
    check_one_place,
    is_count,
    one_number,
    refuse_keywords,
)
from .plans import BatchCalls, Packed, Plans, packing_needed, samples


def per_sample_grad(
    loss: Callable,
    in_axes: tuple | None = None,
    *,
    jit: bool = False,
    chunk_size: int | None = None,
    has_aux: bool = False,
) -> Callable:
    """Return the function of a batch that computes per-sample gradients: one for each sample.

    Parameters
    ----------
    loss : callable ``loss(params, *sample) -> 0-d array``, written for one sample. ``params`` is
        an array, or a dict, tuple or list of arrays; None in it is an empty place.
    in_axes : one entry for each argument of ``loss``: 0 (axis 0 counts the samples) or None
        (shared). By default the parameters are shared and the rest is batched: (None, 0, 0, ...).
    jit : compile the whole, once for each set of shapes, and of shared ints, bools and strings.
    chunk_size : compute at most so many rows at a time; bounds memory, changes no result.
    has_aux : the loss returns a pair (0-d array, aux), aux being a tree of arrays.

    Returns
    -------
    callable with the positional parameters of ``loss``. It returns the per-sample gradients (the
        *rows*): row i is g_i = d loss(params, sample_i) / d params. They form a tree like
        ``params``; each array has the shape (B, \\*shape of the parameter) and its dtype. There is
        no factor 1/B. A loss that averages over the batch does not belong here.
        With ``has_aux`` it returns (rows, aux); each array of aux has a leading axis of B samples.
        Its keyword ``out`` takes the rows of an earlier call with the same shapes, overwrites
        them and returns the new rows in their memory, so that a loop holds one set of rows. With
        jit=True that saves time in JAX and PyTorch, where fresh memory costs more than the rows.
        In NumPy and PyTorch the old arrays hold the new rows; JAX deletes them, and reading one
        is an error. A parameter of the loss that is called ``out`` is given by position.

    Notes
    -----
    With jit=True, NumPy and JAX read what the loss takes from outside (closures, globals,
    attributes) when they trace it, and keep it. A change is noticed, and the loss traced again,
    in: numbers, strings, functions; arrays that are replaced by others; the numbers of NumPy
    arrays of at most 4 KiB; dicts, tuples and lists of these with at most 64 entries; attributes
    of these kinds, one step deep. All this also in functions of the loss's own package that it
    calls. Not noticed: in-place changes of larger NumPy arrays, values inside other modules
    (``config.rate``), deeper attributes, files, clocks, and random numbers drawn by the loss.
    Give what changes as an argument, with None in in_axes.

    JAX arrays whose axis 0 is divided among devices are taken as they are, and the rows are
    divided in the same way; on a mesh with ``Explicit`` axes with jit=True. ``chunk_size`` would
    cross the devices and is refused. Inside ``jax.shard_map`` JAX adds rows up over the devices,
    unless the parameters are cast by ``jax.lax.pcast(..., to="varying")`` or check_vma=False.

    Raises
    ------
    ValueError : batch sizes that differ or are 0, in_axes that does not fit, a loss that is not
        0-d, ``out`` of other shapes or in the memory of an argument or of an array that the loss
        uses. TypeError : parameters that are not floating-point arrays, arrays of two backends or
        of none (pandas), subclasses with rules of their own (masked arrays).

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> rows_of = ps.per_sample_grad(ps.squared_loss)
    >>> rows = rows_of(theta, x, y)
    >>> rows
    array([[-1., -2.],
           [ 6.,  0.]])
    >>> rows = rows_of(theta, x, y + 1, out=rows)  # in the memory of the rows before
    """
    options = {"jit": jit, "chunk_size": chunk_size, "has_aux": has_aux}
    return _rows_function(loss, in_axes, values=False, **options)


def per_sample_value_and_grad(
    loss: Callable,
    in_axes: tuple | None = None,
    *,
    jit: bool = False,
    chunk_size: int | None = None,
    has_aux: bool = False,
) -> Callable:
    """Return the function of a batch that computes the losses and the per-sample gradients.

    As ``jax.value_and_grad``: it returns (losses, rows), the losses of shape (B,); with
    ``has_aux`` ((losses, aux), rows). All else is as in `per_sample_grad`.

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> losses, rows = ps.per_sample_value_and_grad(ps.squared_loss)(theta, x, y)
    >>> losses
    array([0.5, 2. ])
    """
    options = {"jit": jit, "chunk_size": chunk_size, "has_aux": has_aux}
    return _rows_function(loss, in_axes, values=True, **options)


def _rows_function(loss, in_axes, restore=None, *, jit, chunk_size, has_aux, values):
    """Return the function of a batch; ``restore`` turns its rows into a tree like the params."""
    if chunk_size is not None and not is_count(chunk_size):
        raise ValueError(
            f"per_sample_grad: chunk_size={chunk_size!r}; give a number of samples, 1 or more, "
            "or None for all at once."
        )

    def finish(rows, extra):
        rows = restore(rows) if restore else rows
        if values:
            return extra, rows
        return (rows, extra) if has_aux else rows

    def build(module, axes):
        checked = one_number(loss, has_aux)
        if not (restore or has_aux or values):
            call = module.vmap(module.grad(checked), axes)
            call = module.jit(call) if jit else call
            overwrite = module.overwrite(call) if jit else None
            pair = lambda *given: (call(*given), ())  # noqa: E731
        else:
            pair = module.vmap(_with_extra(module, checked, has_aux, values), axes)
            pair = module.jit(pair) if jit else pair
            call, overwrite = (lambda *given: finish(*pair(*given))), None
        gradient = (
            module.value_and_grad(checked, has_aux=True) if has_aux else module.grad(checked)
        )
        return BatchCalls(gradient, call, pair, module.into(pair, jit), overwrite)

    plans = Plans("per_sample_grad", loss, in_axes, jit, build)
    again = {"jit": jit, "chunk_size": chunk_size, "has_aux": has_aux, "values": values}

    def rows(*arguments, out=None, **keywords):
        if keywords:
            refuse_keywords("per_sample_grad", keywords)
        plan = plans.find(arguments)
        if plan.packed:
            make = lambda packed, restore: _rows_function(packed, plan.axes, restore, **again)  # noqa: E731
            return plan.packed(make, loss, arguments, out=out)
        if out is None and (chunk_size is None or chunk_size >= plan.size):
            return plan.call(*arguments)
        if plan.may_write(out, arguments) and not plans.captured.arrays():
            if plan.overwrite:
                return plan.overwrite(out, *arguments)
            return finish(*plan.write(out, None, *arguments))
        result = finish(*_in_parts(plan, plans.captured, arguments, out, chunk_size))
        plans.remember_captured(plan)
        return result

    return rows


def _in_parts(plan, captured, arguments, out, chunk_size):
    """Return (rows, extra) of a batch, computed a few samples at a time or written into ``out``.

    Inside another transform nothing can be written to, so that the parts are put together there.
    """
    module = plan.module
    leaves = arguments if plan.simple else trees.flatten(arguments)[0]
    if any(map(module.traced, leaves)):
        if out is not None:
            raise ValueError(
                "per_sample_grad: out was given inside grad, vmap or jit, where no memory can be "
                "written to; give no out there."
            )
        parts = _slices(plan.size, chunk_size)
        return _joined([plan.pair(*samples(arguments, plan.axes, part)) for part in parts])
    if chunk_size is not None and chunk_size < plan.size:
        check_one_place("per_sample_grad", arguments, plan.axes, module.devices_along)
    if out is None:
        out = plan.new_rows(arguments[0])
    else:
        plan.check_out(arguments, out)
        taken = captured.arrays()
        if taken or memory.any_shared(trees.leaves_of(out), leaves, module.shared):
            check_apart("per_sample_grad", out, arguments, taken, module.shared)
        out = module.own(out)
    step = chunk_size or module.samples_at_once(plan.size, plan.row_bytes * plan.size)
    if step >= plan.size:  # to slice the whole batch is a copy in JAX
        plan.remember_out(out)
        if plan.overwrite:
            return plan.overwrite(out, *arguments), ()
        return plan.write(out, None, *arguments)
    extras = []
    for part in _slices(plan.size, step):
        out, extra = plan.write(out, part.start, *samples(arguments, plan.axes, part))
        extras.append(extra)
    return out, _joined(extras)


def loop_grad(loss: Callable, in_axes: tuple | None = None) -> Callable:
    """Return per-sample gradients the plainest way: one after the other, then stacked.

    This is the oracle: ``per_sample_grad`` must give these rows, however it is asked. Sample i is
    entry i of every batched array. Parameters and errors are those of ``per_sample_grad``.
    """

    def rows(*arguments, **keywords):
        if keywords:
            refuse_keywords("loop_grad", keywords)
        name, axes, size = check_call("loop_grad", arguments, in_axes)
        module = backend(name)
        if packing_needed(module, arguments):
            make = lambda packed, restore: lambda *given: restore(loop_grad(packed, axes)(*given))  # noqa: E731
            return Packed(module)(make, loss, arguments)
        gradient = module.grad(one_number(loss))
        module.examine(gradient, lambda: samples(arguments, axes, 0))
        each = [gradient(*samples(arguments, axes, i)) for i in range(size)]
        return trees.tree_map(lambda *xs: array_namespace(xs[0]).stack(xs), *each)

    return rows


def mean_grad(loss: Callable, in_axes: tuple | None = None, *, jit: bool = False) -> Callable:
    """Return the function of a batch that computes the gradient of the mean loss (factor 1/B).

    One number is differentiated, so no per-sample gradients are formed; by linearity the result
    is their mean. Parameters, notes and errors are those of ``per_sample_grad``; the parameters
    are shared by all samples.

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> ps.mean_grad(ps.squared_loss)(theta, x, y)
    array([ 2.5, -1. ])
    """

    def build(module, axes):
        if axes[0] is not None:
            raise ValueError(
                "mean_grad: in_axes[0] is 0, one set of parameters for each sample; the mean loss "
                "needs one set for all: give None."
            )
        checked = one_number(loss)

        def mean_loss(*arguments):
            losses = module.vmap(checked, axes)(*arguments)
            return array_namespace(losses).mean(losses)

        gradient = module.grad(mean_loss)
        return BatchCalls(module.grad(checked), module.jit(gradient) if jit else gradient)

    plans = Plans("mean_grad", loss, in_axes, jit, build)

    def mean_gradient(*arguments, **keywords):
        if keywords:
            refuse_keywords("mean_grad", keywords)
        plan = plans.find(arguments)
        if plan.packed:
            make = lambda packed, restore: (  # noqa: E731
                lambda *given: restore(mean_grad(packed, plan.axes, jit=jit)(*given))
            )
            return plan.packed(make, loss, arguments)
        return plan.call(*arguments)

    return mean_gradient


def _with_extra(module, loss, has_aux, values):
    """Return the function of one sample that computes (gradient, extra).

    extra is the value, aux, or the pair (value, aux), as the caller asked.
    """
    both = module.value_and_grad(loss, has_aux=has_aux)

    def one(*arguments):
        extra, gradient = both(*arguments)
        if has_aux and not values:
            return gradient, extra[1]
        return gradient, extra

    return one


def _slices(size, step):
    """Return slices of ``step`` samples that cover the batch."""
    return [slice(i, min(i + step, size)) for i in range(0, size, step)]


def _joined(parts):
    """Put trees together whose arrays have parts of the batch along axis 0."""
    return trees.tree_map(lambda *xs: array_namespace(xs[0]).concat(xs), *parts)

"""One gradient for every sample: per_sample_grad, its oracle loop_grad, and mean_grad.

Everything else in the package serves these. The backend follows from the arrays.
"""

from collections.abc import Callable
from numbers import Integral

from . import trees
from .arrays import backend_of, namespace_of
from .backends import backend

METHODS = ("vmap", "loop")


def per_sample_grad(
    loss: Callable,
    in_axes: tuple | None = None,
    *,
    method: str = "vmap",
    jit: bool = False,
    chunk_size: int | None = None,
) -> Callable:
    """Return the function of a batch that computes the rows g_i, one gradient a sample.

    Parameters
    ----------
    loss : callable ``loss(params, *sample) -> 0-d array``, written for one sample.
    in_axes : one entry an argument of ``loss``: 0 (axis 0 counts the samples) or None (shared).
        By default the parameters are shared and everything else is batched: (None, 0, 0, ...).
    method : "vmap" (all samples in one batched program) or "loop" (one at a time: the oracle).
    jit : compile the whole, once for each set of shapes; with "loop", one sample's gradient.
    chunk_size : compute at most so many rows at a time; bounds memory, changes no result.

    Returns
    -------
    callable with the positional parameters of ``loss``: row i is g_i = d loss(params, sample_i)
        / d params. It returns a tree like ``params``; each array has the
        shape (B, \\*shape of the parameter) and its dtype. There is no
        factor 1/B. A loss that averages over the batch does not belong here.

    Raises
    ------
    ValueError : batch sizes that differ or are 0, in_axes that does not fit, a loss that is not
        0-d. TypeError : parameters that are not floating-point arrays, arrays of two backends.

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> ps.per_sample_grad(ps.squared_loss)(theta, x, y)
    array([[-1., -2.],
           [ 6.,  0.]])
    """
    if method not in METHODS:
        raise ValueError(
            f"per_sample_grad: method={method!r} is not one of {', '.join(METHODS)}; choose one."
        )
    if chunk_size is not None and not _is_count(chunk_size):
        raise ValueError(
            f"per_sample_grad: chunk_size={chunk_size!r}; give a number of samples, 1 or more, "
            "or None for all at once."
        )
    compiled: dict = {}  # (backend, in_axes) -> function, so that jit traces once

    def rows(*arguments, **keywords):
        name, axes, size = _check("per_sample_grad", arguments, keywords, in_axes)
        if (name, axes) not in compiled:
            compiled[name, axes] = _BUILD[method](backend(name), _one_number(loss), axes, jit)
        run = compiled[name, axes]
        if chunk_size is None or chunk_size >= size:
            return run(*arguments)
        parts = (
            run(*_samples(arguments, axes, slice(i, i + chunk_size)))
            for i in range(0, size, chunk_size)
        )
        return _join(list(parts), "concat") if name == "jax" else _gather(parts, size)

    return rows


def loop_grad(loss: Callable, in_axes: tuple | None = None) -> Callable:
    """Return the rows the plainest way: one gradient after the other, then stacked.

    This is the oracle, short for ``per_sample_grad(loss, in_axes, method="loop")``: every other
    method must give these rows.
    """
    return per_sample_grad(loss, in_axes, method="loop")


def mean_grad(loss: Callable, in_axes: tuple | None = None) -> Callable:
    """Return the function of a batch that computes the gradient of the mean loss (factor 1/B).

    One number is differentiated, so no rows are formed; by linearity the result is the mean of
    the rows. Parameters and errors are those of ``per_sample_grad``; the parameters are shared.

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> ps.mean_grad(ps.squared_loss)(theta, x, y)
    array([ 2.5, -1. ])
    """

    def mean_gradient(*arguments, **keywords):
        name, axes, _ = _check("mean_grad", arguments, keywords, in_axes)
        if axes[0] is not None:
            raise ValueError(
                "mean_grad: in_axes[0] is 0, one set of parameters a sample; the mean loss needs "
                "one set for all: give None."
            )
        module = backend(name)

        def mean_loss(*arguments):
            losses = module.vmap(_one_number(loss), axes)(*arguments)
            return namespace_of(losses).mean(losses)

        return module.grad(mean_loss)(*arguments)

    return mean_gradient


def _vmap(module, loss, axes, jit):
    rows = module.vmap(module.grad(loss), axes)
    return module.jit(rows) if jit else rows


def _loop(module, loss, axes, jit):
    gradient = module.jit(module.grad(loss)) if jit else module.grad(loss)

    def rows(*arguments):
        size = next(iter(_batch_sizes("loop", arguments, axes)))
        return _join([gradient(*_samples(arguments, axes, i)) for i in range(size)], "stack")

    return rows


_BUILD = dict(zip(METHODS, (_vmap, _loop), strict=True))


def _one_number(loss):
    """Check that the loss gives one number, in the same words in every backend."""

    def checked(*arguments):
        value = loss(*arguments)
        shape = getattr(value, "shape", None)
        if shape is None or tuple(shape) != ():
            what = type(value).__name__ if shape is None else f"an array of shape {tuple(shape)}"
            raise ValueError(
                f"the loss {checked.__name__} returned {what} for one sample; it must return one "
                "number, a 0-d array: sum or average over the sample's own axes."
            )
        return value

    checked.__name__, checked.__wrapped__ = getattr(loss, "__name__", "loss"), loss
    return checked


def _check(where, arguments, keywords, in_axes):
    """Return backend, axes and batch size, or say what is wrong with the call."""
    if keywords:
        raise TypeError(
            f"{where}: the call has the keyword arguments {', '.join(keywords)}; in_axes counts "
            "positional arguments only: fix a constant beforehand with functools.partial(loss, "
            "name=value), and give the rest by position."
        )
    name = backend_of(*arguments, where=where)
    axes = _axes(where, arguments, in_axes)
    for x in trees.flatten(arguments[0])[0]:
        dtype = getattr(x, "dtype", None)
        if "float" not in str(dtype):
            what = f"a Python {type(x).__name__}" if dtype is None else f"{dtype}"
            raise TypeError(
                f"{where}: a parameter is {what}; gradients need floating-point arrays: convert "
                'it with ps.backend(name).asarray(x, "float64").'
            )
    sizes = _batch_sizes(where, arguments, axes)
    if not sizes:
        raise ValueError(f"{where}: in_axes marks no array as batched; give an argument the 0.")
    if len(sizes) > 1:
        listed = ", ".join(f"{size} (argument {n})" for size, n in sizes.items())
        raise ValueError(
            f"{where}: the batch sizes differ: {listed}; axis 0 of every batched argument must "
            "have one length; mark what all samples share with None in in_axes."
        )
    if 0 in sizes:
        raise ValueError(f"{where}: the batch is empty; give at least one sample.")
    return name, axes, next(iter(sizes))


def _axes(where, arguments, in_axes):
    """Return in_axes as a tuple that fits the arguments."""
    if in_axes is None:
        return (None,) + (0,) * (len(arguments) - 1)
    if not isinstance(in_axes, tuple | list):
        raise TypeError(
            f"{where}: in_axes is {in_axes!r}; give a tuple with one entry an argument, such as "
            "(None, 0, 0)."
        )
    if len(in_axes) != len(arguments):
        raise ValueError(
            f"{where}: in_axes has {len(in_axes)} entries, the call has {len(arguments)} "
            "arguments; give one entry an argument, the parameters first."
        )
    for axis in in_axes:
        if axis is not None and not (type(axis) is int and axis == 0):
            raise ValueError(
                f"{where}: in_axes has the entry {axis!r}; each entry is 0 (axis 0 counts the "
                "samples) or None (shared by all samples)."
            )
    return tuple(in_axes)


def _batch_sizes(where, arguments, axes):
    """Return length of axis 0 -> the first argument that has it, of all batched arrays."""
    sizes: dict = {}
    for n, (argument, axis) in enumerate(zip(arguments, axes, strict=True)):
        for x in trees.flatten(argument)[0] if axis == 0 else ():
            if not hasattr(x, "shape"):
                raise TypeError(
                    f"{where}: argument {n} is batched and holds {x!r}, a Python value without an "
                    "axis that counts samples (a list is a tree, not an array); make it an array "
                    "with ps.backend(name).asarray, or mark it as shared with None in in_axes."
                )
            if len(x.shape) == 0:
                raise ValueError(
                    f"{where}: argument {n} is 0-d, so it has no axis that counts samples; give "
                    "one entry a sample, or mark it as shared with None in in_axes."
                )
            sizes.setdefault(x.shape[0], n)
    return sizes


def _is_count(n):
    return isinstance(n, Integral) and not isinstance(n, bool) and n >= 1


def _samples(arguments, axes, index):
    """Return the arguments with the batched arrays indexed along axis 0."""
    pick = lambda x: x[index]  # noqa: E731, an index has no name of its own
    pairs = zip(arguments, axes, strict=True)
    return [x if axis is None else trees.tree_map(pick, x) for x, axis in pairs]


def _gather(parts, size):
    """Write chunks into arrays of the full size, one after the other as they are computed.

    To concatenate them at the end would need the memory twice; JAX's arrays leave no choice.
    """
    start, whole = 0, None
    for part in parts:
        leaves, structure = trees.flatten(part)
        if whole is None:
            empty = namespace_of(part).empty
            whole = [empty((size, *x.shape[1:]), dtype=x.dtype) for x in leaves]
        for x, out in zip(leaves, whole, strict=True):
            out[start : start + len(x)] = x
        start += len(leaves[0])
    return trees.unflatten(structure, whole)


def _join(parts, how):
    """Stack rows or concatenate chunks, leaf by leaf."""
    return trees.tree_map(lambda *xs: getattr(namespace_of(xs[0]), how)(xs), *parts)

"""One gradient for every sample: per_sample_grad, its oracle loop_grad, and mean_grad.

Everything else in the package serves these. The backend follows from the arrays.
"""

from collections.abc import Callable

from . import trees
from .arrays import namespace_of, overlap, repeats, span, stop_gradient
from .backends import backend
from .checks import batch_sizes, check_call, check_out, is_count, row_shapes

METHODS = ("vmap", "loop")
# Bytes of rows that NumPy and PyTorch compute at a time and copy into ``out``: few enough to stay
# in the cache, and to be handed out again by the allocator, which returns larger blocks to the
# system and gets them back page by page.
CHUNK = 2**23


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
        Its keyword ``out`` takes the rows of an earlier call with the same shapes, overwrites
        them and returns the new rows in their memory, so that a loop holds one set of rows. With
        jit=True that saves time in JAX and PyTorch, where fresh memory costs more than the rows.
        In NumPy and PyTorch the old arrays hold the new rows; JAX deletes them, and reading one
        is an error. A parameter of the loss that is called ``out`` is given by position.

    Raises
    ------
    ValueError : batch sizes that differ or are 0, in_axes that does not fit, a loss that is not
        0-d, ``out`` of other shapes or in the memory of an argument. TypeError : parameters that
        are not floating-point arrays, arrays of two backends.

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
    if method not in METHODS:
        raise ValueError(
            f"per_sample_grad: method={method!r} is not one of {', '.join(METHODS)}; choose one."
        )
    if chunk_size is not None and not is_count(chunk_size):
        raise ValueError(
            f"per_sample_grad: chunk_size={chunk_size!r}; give a number of samples, 1 or more, "
            "or None for all at once."
        )
    compiled: dict = {}  # (backend, in_axes) -> two functions, so that jit traces each once

    def rows(*arguments, out=None, **keywords):
        name, axes, size = check_call("per_sample_grad", arguments, keywords, in_axes)
        if (name, axes) not in compiled:
            compiled[name, axes] = _build(method, backend(name), _one_number(loss), axes, jit)
        run, write = compiled[name, axes]
        if out is None and (chunk_size is None or chunk_size >= size):
            return run(*arguments)
        if out is None:
            out = _empty(arguments[0], axes[0], size)
        else:
            check_out("per_sample_grad", arguments, axes, size, out)
            out = _memory(name, out)
        step = chunk_size or _step(name, size, out)
        if step >= size:  # to slice the whole batch is a copy in JAX
            return write(out, 0, *arguments)
        for i in range(0, size, step):
            out = write(out, i, *_samples(arguments, axes, slice(i, i + step)))
        return out

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
        name, axes, _ = check_call("mean_grad", arguments, keywords, in_axes)
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


def _build(method, module, loss, axes, jit):
    """Return the function that computes rows, and the one that writes them into given memory."""
    gradient = module.grad(loss)
    if method == "vmap":
        run = module.vmap(gradient, axes)
        run = module.jit(run) if jit else run
        return run, module.into(run, jit)
    gradient = module.jit(gradient) if jit else gradient

    def run(*arguments):
        size = next(iter(batch_sizes("loop", arguments, axes)))
        each = [gradient(*_samples(arguments, axes, i)) for i in range(size)]
        return trees.tree_map(lambda *xs: namespace_of(xs[0]).stack(xs), *each)

    return run, module.into(run, False)


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


def _samples(arguments, axes, index):
    """Return the arguments with the batched arrays indexed along axis 0."""
    pick = lambda x: x[index]  # noqa: E731, an index has no name of its own
    pairs = zip(arguments, axes, strict=True)
    return [x if axis is None else trees.tree_map(pick, x) for x, axis in pairs]


def _empty(params, axis, size):
    """Return memory for the rows, where the parameters are."""
    leaves, structure = trees.flatten(params)
    pairs = zip(leaves, row_shapes(params, axis, size), strict=True)
    empty = namespace_of(params).empty
    place = lambda x: getattr(x, "device", None)  # noqa: E731, JAX's tracers have none
    rows = [empty(shape, dtype=x.dtype, device=place(x)) for x, shape in pairs]
    return trees.unflatten(structure, rows)


def _memory(name, out):
    """Return arrays to write to: those of ``out``, but a fresh one where memory is shared.

    Rows of an ordinary call may be a broadcast, or one array for two parameters.
    """
    taken: list = []

    def own(x):
        memory = span(x)
        if repeats(x) or any(overlap(memory, other) for other in taken):
            return namespace_of(x).empty_like(x)
        taken.append(memory)
        return stop_gradient(x) if name == "torch" else x  # no graph of an earlier call

    return trees.tree_map(own, out)


def _step(name, size, out):
    """Return how many samples to compute at a time if ``out`` is given and no chunk_size."""
    if name == "jax":  # compiled, it writes rows in place; if not, many calls cost more than one
        return size
    parts = -(-sum(x.nbytes for x in trees.flatten(out)[0]) // CHUNK)
    return -(-size // max(parts, 1))

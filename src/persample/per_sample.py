"""One gradient for every sample: per_sample_grad, its oracle loop_grad, and mean_grad.

Everything else in the package serves these. The backend follows from the arrays.
"""

from collections.abc import Callable

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
    jit : compile the whole, once for each set of shapes.
    chunk_size : compute at most so many rows at a time; bounds memory, changes no result.

    Returns
    -------
    callable with the parameters of ``loss``: row i is g_i = d loss(params, sample_i) / d params.
    It returns a tree like ``params``; each array has the
    shape (B, \\*shape of the parameter) and its dtype. There is no
    factor 1/B. A loss that averages over the batch does not belong here.

    Raises
    ------
    ValueError : batch sizes that differ or are 0, in_axes that does not fit, a loss that is not
        0-d. TypeError : integer parameters, arrays of two backends.

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
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ValueError(
            f"per_sample_grad: chunk_size={chunk_size!r}; give a number of samples, 1 or more, "
            "or None for all at once."
        )
    compiled: dict = {}  # (backend, in_axes) -> function, so that jit traces once

    def rows(params, *sample):
        arguments = (params, *sample)
        name, axes, size = _check("per_sample_grad", arguments, in_axes)
        if (name, axes) not in compiled:
            compiled[name, axes] = _build(loss, backend(name), axes, method, jit)
        run = compiled[name, axes]
        step = chunk_size or size
        if step >= size:
            return run(*arguments)
        starts = range(0, size, step)
        return _join(
            [run(*_samples(arguments, axes, slice(i, i + step))) for i in starts], "concat"
        )

    return rows


def _build(loss, module, axes, method, jit):
    maybe_jit = module.jit if jit else lambda f: f
    if method == "vmap":
        return maybe_jit(module.vmap(module.grad(_scalar(loss)), axes))
    return loop_grad(loss, axes, maybe_jit(module.grad(_scalar(loss))))


def loop_grad(loss: Callable, axes: tuple, gradient: Callable) -> Callable:
    """Return the rows the plainest way: one gradient after the other, then stacked.

    This is the oracle: every other method must give these rows.
    """

    def rows(*arguments):
        size = _sizes(arguments, axes)[0][0]
        return _join([gradient(*_samples(arguments, axes, i)) for i in range(size)], "stack")

    return rows


def mean_grad(loss: Callable, in_axes: tuple | None = None) -> Callable:
    """Return the function of a batch that computes the gradient of the mean loss (factor 1/B).

    One number is differentiated, so no rows are formed; by linearity the result is the mean of
    the rows. Parameters and errors are those of ``per_sample_grad``; the parameters are shared.
    """

    def mean_gradient(params, *sample):
        name, axes, _ = _check("mean_grad", (params, *sample), in_axes)
        if axes[0] is not None:
            raise ValueError("mean_grad: in_axes[0] is 0; the parameters must be shared: None.")
        module = backend(name)

        def mean_loss(params, *sample):
            losses = module.vmap(_scalar(loss), axes)(params, *sample)
            return namespace_of(losses).mean(losses)

        return module.grad(mean_loss)(params, *sample)

    return mean_gradient


def _scalar(loss):
    """Check that the loss gives one number, in the same words in every backend."""

    def checked(*arguments):
        value = loss(*arguments)
        shape = getattr(value, "shape", None)
        if shape is None or tuple(shape) != ():
            what = f"shape {tuple(shape)}" if shape is not None else type(value).__name__
            raise ValueError(
                f"the loss returned {what} for one sample; it must return one number, a 0-d "
                "array: sum or average over the sample's own axes."
            )
        return value

    checked.__name__, checked.__wrapped__ = getattr(loss, "__name__", "loss"), loss
    return checked


def _check(where, arguments, in_axes):
    """Return backend, axes and batch size, or say what is wrong with the call."""
    name = backend_of(*arguments)
    axes = (None,) + (0,) * (len(arguments) - 1) if in_axes is None else tuple(in_axes)
    if len(axes) != len(arguments):
        raise ValueError(
            f"{where}: in_axes has {len(axes)} entries, the call has {len(arguments)} arguments; "
            "give one entry an argument, the parameters first."
        )
    for axis in axes:
        if axis is not None and (axis is False or axis != 0):
            raise ValueError(
                f"{where}: in_axes has the entry {axis!r}; each entry is 0 (axis 0 counts the "
                "samples) or None (shared by all samples)."
            )
    for x in trees.flatten(arguments[0])[0]:
        if "float" not in str(getattr(x, "dtype", type(x).__name__)):
            raise TypeError(
                f"{where}: a parameter is {getattr(x, 'dtype', type(x).__name__)}; gradients need "
                "floating-point arrays: convert it."
            )
    sizes = _sizes(arguments, axes)
    if not sizes:
        raise ValueError(f"{where}: in_axes marks no argument as batched; give one the entry 0.")
    if len({size for size, _ in sizes}) > 1:
        listed = ", ".join(f"{size} (argument {n})" for size, n in sizes)
        raise ValueError(
            f"{where}: the batch sizes differ: {listed}; axis 0 of every batched argument must "
            "have one length; mark what all samples share with None in in_axes."
        )
    if sizes[0][0] == 0:
        raise ValueError(f"{where}: the batch is empty; give at least one sample.")
    return name, axes, sizes[0][0]


def _sizes(arguments, axes):
    """Return (length of axis 0, argument number) of every batched array."""
    sizes = []
    for n, (argument, axis) in enumerate(zip(arguments, axes, strict=True)):
        for x in trees.flatten(argument)[0] if axis == 0 else ():
            if not getattr(x, "shape", ()):
                raise ValueError(
                    f"argument {n} is one number, so it has no axis that counts samples; give one "
                    "entry a sample, or mark it as shared with None in in_axes."
                )
            sizes.append((x.shape[0], n))
    return sizes


def _samples(arguments, axes, index):
    """Return the arguments with the batched arrays indexed along axis 0."""
    pick = lambda x: x[index]  # noqa: E731
    pairs = zip(arguments, axes, strict=True)
    return [x if axis is None else trees.tree_map(pick, x) for x, axis in pairs]


def _join(parts, how):
    """Stack rows or concatenate chunks, leaf by leaf."""
    return trees.tree_map(lambda *xs: getattr(namespace_of(xs[0]), how)(xs), *parts)

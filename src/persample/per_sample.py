"""Per-sample gradients, ``vmap(grad(loss), in_axes)``, in every backend, optionally compiled."""

from collections.abc import Callable
from typing import Any

from .arrays import array_namespace
from .backends import Backend, backend
from .backends.base import Chunks
from .checks import (
    CheckedLoss,
    check_axes,
    check_call,
    check_chunk_size,
    check_repeatable,
    refuse_keywords,
)


def per_sample_grad(
    loss: Callable,
    in_axes: Any = None,
    *,
    jit: bool = False,
    chunk_size: int | None = None,
    has_aux: bool = False,
) -> Callable:
    """Return the function of a batch that computes per-sample gradients: one for each sample.

    It is ``vmap(grad(loss), in_axes)`` in the backend of the arrays it is called with, and with
    ``jit`` it is ``jit(vmap(grad(loss), in_axes))``.

    Parameters
    ----------
    loss : callable ``loss(params, *sample) -> 0-d array``, written for one sample. ``params`` is
        an array or a tree of arrays: dicts, tuples, lists and types that are registered, with
        JAX for JAX arrays, with optree for others. None in it is a subtree without leaves.
        At the first call with arguments of new shapes, dtypes or structure the loss of one sample
        is computed twice, and both values must agree up to rounding. So draw random numbers
        beforehand, and pass them as a batched argument. This check restores the states of the
        global generators of Python, NumPy and PyTorch, but not that of a generator of your own.
    in_axes : as in ``jax.vmap``, one entry for each argument of ``loss``: the index of the sample
        axis, None (shared by all samples), or a tree prefix of the argument with such entries. A
        single integer applies to all arguments, the parameters too. By default the parameters
        are shared and all other arguments are batched: (None, 0, 0, ...).
    jit : compile the function, once for each set of shapes. Pass every value that changes as an
        argument: a variable from outside the loss may be read only when the loss is traced, as
        in ``jax.jit``. Shared arguments that are str, bool, int or None are static: each new
        value is compiled anew. A float is traced.
    chunk_size : number of samples whose rows are computed at a time; None: all. The result is the
        same up to rounding, and still holds the rows of all samples; only intermediate results
        take less memory.
    has_aux : the loss returns a pair (0-d array, aux), aux being a tree of arrays.

    Returns
    -------
    callable with the positional parameters of ``loss``. It returns the per-sample gradients (the
        *rows*): row i is g_i = d loss(params, sample_i) / d params. They form a tree like
        ``params``; each array has the shape (B, \\*shape of the parameter) and its dtype. There is
        no factor 1/B, since ``loss`` sees one sample and does not average over the batch.
        With ``has_aux`` it returns (rows, aux); each array of aux has a leading axis of B samples.

    Raises
    ------
    ValueError : batch sizes that differ or are 0, in_axes that does not fit, a chunk_size below
        1, a loss that is not 0-d.
    TypeError : parameters that are not floating-point arrays, arrays of two backends or of none
        (pandas), subclasses with rules of their own (masked arrays), keyword arguments.
    RuntimeError : a loss whose value for the same sample changes from call to call, as where it
        draws random numbers.

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> ps.per_sample_grad(ps.squared_loss)(theta, x, y)
    array([[-1., -2.],
           [ 6.,  0.]])
    """

    def rows(backend, loss, in_axes):
        return backend.vmap(backend.grad(loss, has_aux=has_aux), in_axes)

    return BatchFunction("per_sample_grad", rows, loss, in_axes, jit, chunk_size, has_aux)


def per_sample_value_and_grad(
    loss: Callable,
    in_axes: Any = None,
    *,
    jit: bool = False,
    chunk_size: int | None = None,
    has_aux: bool = False,
) -> Callable:
    """Return the function of a batch that computes the losses and the per-sample gradients.

    Like ``jax.value_and_grad`` it returns (losses, rows), the losses of shape (B,), or with
    ``has_aux`` ((losses, aux), rows). Parameters, rows and errors are as in `per_sample_grad`.

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> losses, rows = ps.per_sample_value_and_grad(ps.squared_loss)(theta, x, y)
    >>> losses
    array([0.5, 2. ])
    """

    def losses_and_rows(backend, loss, in_axes):
        return backend.vmap(backend.value_and_grad(loss, has_aux=has_aux), in_axes)

    where = "per_sample_value_and_grad"
    return BatchFunction(where, losses_and_rows, loss, in_axes, jit, chunk_size, has_aux)


def loop_grad(loss: Callable, in_axes: Any = None) -> Callable:
    """Return the function of a batch that computes per-sample gradients in a Python loop.

    It differentiates one sample after the other and stacks the rows: a reference to test
    ``per_sample_grad`` against, with the same ``loss``, ``in_axes``, result and errors.
    """

    def loop(backend, loss, in_axes):
        gradient = backend.grad(loss)

        def rows(*arguments):
            size = check_axes("loop_grad", backend, arguments, in_axes)
            each = [backend.samples(arguments, in_axes, i) for i in range(size)]
            return backend.stack([gradient(*sample) for sample in each])

        return rows

    return BatchFunction("loop_grad", loop, loss, in_axes)


def mean_grad(loss: Callable, in_axes: Any = None, *, jit: bool = False) -> Callable:
    """Return the function of a batch that computes the gradient of the mean loss (factor 1/B).

    One number is differentiated, so no per-sample gradients are formed; by linearity the result,
    a tree like ``params``, is their mean. ``loss``, ``in_axes``, ``jit`` and errors are as in
    ``per_sample_grad``, but ``in_axes`` must not batch the parameters (ValueError).

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> ps.mean_grad(ps.squared_loss)(theta, x, y)
    array([ 2.5, -1. ])
    """

    def gradient(backend, loss, in_axes):
        refuse_batched_parameters("mean_grad", backend, in_axes)

        def mean_loss(*arguments):
            losses = backend.vmap(loss, in_axes)(*arguments)
            return array_namespace(losses).mean(losses)

        mean_loss.__name__, mean_loss.__wrapped__ = f"mean_{loss.__name__}", loss
        return backend.grad(mean_loss)

    return BatchFunction("mean_grad", gradient, loss, in_axes, jit)


def refuse_batched_parameters(where: str, own: Backend, in_axes: tuple) -> None:
    """Raise ValueError if ``in_axes`` batches argument 0, where the result is one tree like it."""
    if own.flatten(in_axes[0])[0]:  # an axis that is not None
        raise ValueError(
            f"{where}: in_axes[0] is {in_axes[0]!r}, one set of parameters for each sample; "
            "one gradient needs one set for all: give None."
        )


class BatchFunction:
    """A function of a batch that checks the first call of each signature; later calls only run.

    ``transform(backend, loss, in_axes)`` returns the function to run; error messages begin with
    ``where``. A signature is the arguments' structure, types, shapes, dtypes and static values.
    """

    sums = False  # does it return a pair: (summed over chunks, one entry for each sample)?
    more_axes: tuple = ()  # axes of further arguments, which the loss does not get

    def __init__(
        self,
        where: str,
        transform: Callable,
        loss: Callable,
        in_axes: Any,
        jit: bool = False,
        chunk_size: int | None = None,
        has_aux: bool = False,
    ):
        check_chunk_size(where, chunk_size, auto=self.sums)
        self.where, self.transform, self.in_axes = where, transform, in_axes
        self.jit, self.chunk_size, self.has_aux = jit, chunk_size, has_aux
        self.__wrapped__, self.__name__ = loss, getattr(loss, "__name__", "loss")
        self._backend = backend("numpy")  # of the last call
        self._checked: dict = {}  # signature -> function to run
        self._made: dict = {}  # (backend, static arguments) -> function without chunks

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if keywords:
            refuse_keywords(self.where, keywords)
        run = self._checked.get(self._backend.signature(arguments)) or self._check(arguments)
        try:
            return run(*arguments)
        except (RuntimeError, ValueError):
            # An array may have been donated since the first call, which no signature shows.
            check_call(self.where, arguments, self.in_axes)
            raise

    def _check(self, given: tuple) -> Callable:
        """Check a call of a new signature; make, store and return the function to run for it."""
        count = len(given) - len(self.more_axes)
        arguments = given[:count]
        own, loss, axes, size = self._checks(arguments, *given[count:])
        key = own, count, tuple((n, type(x), x) for n, x in loss.static.items())
        run = self._made.get(key) or self._made.setdefault(key, self._make(own, loss, axes))
        traced = loss.traced(arguments)
        if size == 0:
            run = self._of_none(own, run, axes)
        else:
            own.examine(loss, traced, axes, self.has_aux)
            check_repeatable(self.where, loss, traced, axes)
            chunk = self._chunk(own, loss, axes, traced)
            if chunk is not None and chunk < size:
                chunks = Chunks((*axes, *self.more_axes), size, chunk, self.sums)
                run = own.in_chunks(run, chunks, self.jit)
            elif self.jit:
                run = own.compiled_for(run, loss.traced(given))
        if len(self._checked) >= 1000:  # bound the memory where shapes or values keep changing
            self._checked.clear()
            self._made.clear()
        self._backend = own
        whole = (lambda *given: run(*loss.traced(given))) if loss.static else run
        return self._checked.setdefault(own.signature(given), whole)

    def _checks(self, arguments: tuple) -> tuple[Backend, CheckedLoss, tuple, int]:
        """Check a call; return (backend, loss, axes of the non-static arguments, batch size)."""
        own, axes, static = check_call(self.where, arguments, self.in_axes)
        size = check_axes(self.where, own, arguments, axes, empty=self.sums)
        loss = CheckedLoss(self.__wrapped__, static, own, self.has_aux)
        return own, loss, loss.traced(axes), size

    def _chunk(self, own: Backend, loss: CheckedLoss, axes: tuple, arguments: tuple) -> int | None:
        """Return the number of samples in a chunk, or None for the whole batch."""
        return self.chunk_size

    def _make(self, own: Backend, loss: CheckedLoss, axes: tuple) -> Callable:
        """Return the function of a whole batch, compiled if ``jit`` is set."""
        run = self.transform(own, loss, axes)
        return own.jit(run) if self.jit else run

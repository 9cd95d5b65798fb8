"""What a call of per_sample_grad or mean_grad must look like, and what is said where it does not.

Separate because every message is a sentence, and sentences are long. ``where`` opens each one.
"""

from numbers import Integral

from . import trees
from .arrays import backend_of, kind_of, overlap, span


def check_call(where, arguments, keywords, in_axes):
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
    sizes = batch_sizes(where, arguments, axes)
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


def batch_sizes(where, arguments, axes):
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


def row_shapes(params, axis, size):
    """Return the shapes of the rows' arrays, parameter by parameter."""
    return [(size, *x.shape[axis is not None :]) for x in trees.flatten(params)[0]]


def check_out(where, arguments, axes, size, out):
    """Say what is wrong with ``out``, before anything is written into it."""
    (old, given), (params, needed) = trees.flatten(out), trees.flatten(arguments[0])
    if given != needed:
        given, needed = (trees.tree_map(lambda _: "*", tree) for tree in (out, arguments[0]))
        raise ValueError(
            f"{where}: out is {given} and the rows are {needed}, with * for an array; give the "
            "rows of an earlier call with these parameters, or no out."
        )
    names = trees.leaf_names(out, "out")
    shapes, read = row_shapes(arguments[0], axes[0], size), _spans(arguments)
    for name, x, shape, p in zip(names, old, shapes, params, strict=True):
        given, needed = _described(x, getattr(x, "shape", None)), _described(p, shape)
        if given != needed:
            raise ValueError(
                f"{where}: {name} is {given}; the rows need {needed}: give the rows of an earlier "
                "call with these shapes, or no out."
            )
        _check_apart(where, name, span(x), read)


def _described(x, shape):
    kind = kind_of(x)
    dtype = str(getattr(x, "dtype", None)).removeprefix("torch.")
    array = f"a {kind} array of shape {tuple(shape or ())} and type {dtype}"
    return array if kind else f"a Python {type(x).__name__}"


def _spans(arguments):
    """Return (number of the argument, span) of every array in the arguments."""
    numbered = [(n, x) for n, tree in enumerate(arguments) for x in trees.flatten(tree)[0]]
    return [(n, span(x)) for n, x in numbered if kind_of(x)]


def _check_apart(where, name, memory, read):
    """Refuse to write over an argument, which may still be read: wrong rows in silence."""
    for n, other in read:
        if overlap(memory, other):
            raise ValueError(
                f"{where}: {name} shares memory with argument {n}, so writing the one would "
                "change the other; give a copy of it, or no out."
            )


def is_count(n):
    return isinstance(n, Integral) and not isinstance(n, bool) and n >= 1

"""Validate the calls of `per_sample_grad` and of the other functions that take a loss.

``where`` is the name of the public function that was called; error messages begin with it.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import is_dataclass
from numbers import Integral, Number, Real
from typing import Any

import numpy as np

from .arrays import backend_of, is_traced, leaves, widened
from .backends import Backend, backend, kind_of, loaded
from .backends.base import STATIC
from .batches import batch_size, leaf_axes


def check_call(where: str, arguments: tuple, in_axes: Any) -> tuple[Backend, tuple, dict]:
    """Validate the leaves of a call; return (backend, axes, static arguments).

    ``axes`` is a tuple with one entry per argument, whose fit is left to `check_axes`. The static
    arguments, {index: value}, are the str, bool, int and None among the shared arguments after the
    first. Raise TypeError for arguments that are not valid.
    """
    own = backend(backend_of(*arguments, where=where))
    axes = (None,) + (0,) * (len(arguments) - 1) if in_axes is None else in_axes
    if type(axes) is int:
        axes = (axes,) * len(arguments)
    if not isinstance(axes, tuple | list):
        raise TypeError(
            f"{where}: in_axes is {in_axes!r}; give a tuple with one entry for each argument, "
            "such as (None, 0, 0)."
        )
    for n, argument in enumerate(arguments):
        for place, x in enumerate(own.flatten(argument)[0]):
            if (text := _refusal(x)) is not None:
                path = own.paths(argument)[place]
                raise TypeError(f"{where}: argument {n}{path} holds {text}.")
    for place, x in enumerate(own.flatten(arguments[0])[0]):
        if (text := _no_parameter(x)) is not None:
            raise TypeError(f"{where}: parameters{own.paths(arguments[0])[place]} is {text}.")
    pairs = enumerate(zip(arguments, axes, strict=False))
    static = {n: x for n, (x, a) in pairs if n and a is None and isinstance(x, STATIC)}
    return own, tuple(axes), static


def check_axes(
    where: str, own: Backend, arguments: tuple, axes: tuple, empty: bool = False
) -> int:
    """Check that ``axes``, from `check_call`, fit the arguments; return the batch size.

    The leaves are those of the backend's trees; `batches.batch_size` compares their lengths. Raise
    ValueError or TypeError as that function and `leaf_axes` do.
    """
    leaves = lambda tree: own.flatten(tree)[0]  # noqa: E731
    return batch_size(where, leaf_axes(where, axes, arguments, own.map_axes, leaves), empty)


def check_chunk_size(where: str, chunk_size: Any, auto: bool = False) -> None:
    """Raise ValueError unless chunk_size is a positive integer, None or, if ``auto``, "auto"."""
    if chunk_size is not None and not is_count(chunk_size) and not (auto and chunk_size == "auto"):
        more = ', or "auto"' if auto else ""
        raise ValueError(
            f"{where}: chunk_size={chunk_size!r}; give a number of samples, 1 or more, or None "
            f"for all at once{more}."
        )


def is_number(x: Any) -> bool:
    """Return whether x is a real scalar of Python or NumPy; False for arrays and bools."""
    return isinstance(x, Real) and not isinstance(x, bool)


def is_count(n: Any) -> bool:
    """Return whether n is a positive integer of Python or NumPy; False for bools."""
    return isinstance(n, Integral) and not isinstance(n, bool) and n >= 1


def refuse_traced(where: str, **settings: Any) -> None:
    """Raise TypeError if the value of a keyword argument is traced: it must be known."""
    for name, x in settings.items():
        if is_traced(x):
            raise TypeError(
                f"{where}: {name} is traced, and must be a Python number here; call {where} "
                f"outside jit, or make {name} static."
            )


def refuse_keywords(where: str, keywords: dict) -> None:
    """Raise TypeError for keyword arguments, because ``in_axes`` is positional."""
    raise TypeError(
        f"{where}: the call has the keyword arguments {', '.join(keywords)}; in_axes counts "
        "positional arguments only: fix a constant beforehand with functools.partial(loss, "
        "name=value), and give the rest by position."
    )


def check_repeatable(where: str, loss: "CheckedLoss", arguments: tuple, axes: tuple) -> None:
    """Compute the loss of one sample twice; raise RuntimeError if they differ beyond rounding.

    Nothing is checked inside another transform, where there may be no values, or if the loss
    raises, since the call will raise the same error. The global random generators are restored.
    """
    own = loss.backend
    if any(map(is_traced, leaves(arguments))):
        return
    try:
        with ExitStack() as kept:
            for framework in loaded():
                kept.enter_context(framework.kept_generators())
            values = own.two_values(loss.number, arguments, axes)
        first, second = [float(own.to_numpy(widened(x))) for x in values]
    except Exception:
        return  # the call itself will raise the same error
    # Sums may be taken in another order.
    rounding = {8: 1e-9, 4: 1e-4}.get(values[0].dtype.itemsize, 0.05)
    if not np.isclose(first, second, rounding, rounding / 100, equal_nan=True):
        raise RuntimeError(
            f"{where}: the loss {loss.__name__} returned {first:.9g} and then {second:.9g} for "
            "one sample: draw random numbers beforehand, one for each sample (such as a mask for "
            "dropout), and pass them as an argument that is batched; and let the loss change "
            "nothing that it reads."
        )


class CheckedLoss:
    """A loss with its static arguments bound, which checks that it returns a floating 0-d array.

    With ``has_aux`` it must return a pair: this array, and a tree of arrays.
    """

    def __init__(self, loss: Callable, static: dict, own: Backend, has_aux: bool = False):
        self.loss, self.static, self.backend, self.has_aux = loss, static, own, has_aux
        self.__wrapped__, self.__name__ = loss, getattr(loss, "__name__", "loss")

    def traced(self, arguments: tuple) -> tuple:
        """Return the tuple of arguments (or of their axes) without the static ones."""
        return tuple([x for n, x in enumerate(arguments) if n not in self.static])

    def __call__(self, *traced: Any) -> Any:
        given, count = iter(traced), len(traced) + len(self.static)
        result = self.loss(
            *[self.static[n] if n in self.static else next(given) for n in range(count)]
        )
        value = self._value(result) if self.has_aux else result
        if tuple(getattr(value, "shape", (None,))) != ():
            raise ValueError(
                f"the loss {self.__name__} returned {_what(value)} for one sample; it must "
                "return one number, a 0-d array: sum or average over the sample's own axes."
            )
        if "float" not in str(value.dtype):
            raise TypeError(
                f"the loss {self.__name__} returned {value.dtype} for one sample; it must "
                "return a floating-point number, or it has no gradient."
            )
        return result

    def number(self, *traced: Any) -> Any:
        """Return the value of the loss, a 0-d array, without the aux."""
        return self(*traced)[0] if self.has_aux else self(*traced)

    def _value(self, result):
        """Return the value of a pair (value, aux); TypeError unless aux is a tree of arrays."""
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                f"the loss {self.__name__} returned {_what(result)} for one sample; with "
                "has_aux=True it must return a pair (one number, aux)."
            )
        for x in self.backend.flatten(result[1])[0]:
            if kind_of(x) is None:
                raise TypeError(
                    f"the loss {self.__name__} returned an aux that holds {_what(x)}; aux gets "
                    "an axis for the samples, so give arrays: xp.asarray(x)."
                )
        return result[0]


def _no_parameter(x):
    """Return why x cannot be a leaf of the parameters and what to do, or None if it can."""
    dtype = "" if kind_of(x) is None else str(x.dtype)
    if "float" in dtype:
        return None
    if not dtype and not isinstance(x, Number):
        return (
            f"a {type(x).__name__}; give floating-point arrays alone, of a model for instance by "
            "eqx.partition(model, eqx.is_inexact_array), nnx.split(model, nnx.Param, ...) or "
            "dict(model.named_parameters())"
        )
    what = dtype or f"a Python {type(x).__name__}"
    if "complex" in what:
        return (
            f"{what}; gradients need real numbers: give its real and its imaginary part as two "
            "arrays, and form re + 1j * im in the loss (in PyTorch or JAX)"
        )
    if "key" in what:
        return (
            f"{what}, random keys; take them out of the parameters, and give them as an argument "
            "of its own that is batched, such as jax.random.split(key, B)"
        )
    if "bool" in what:
        return (
            f"{what}, a mask or a flag; take it out of the parameters, and give it as an argument "
            "of its own, shared with None in in_axes"
        )
    if what == "a Python float":
        return (
            f"{what}; gradients need floating-point arrays: convert it with "
            'ps.backend(name).asarray(x, "float64")'
        )
    return (
        f"{what}; gradients need floating-point arrays: convert a weight with "
        'ps.backend(name).asarray(x, "float64"); take a counter, or the numbers of a random key, '
        "out of the parameters (by nnx.split, eqx.partition), and give it as an argument of its "
        "own, shared with None in in_axes"
    )


def _refusal(x):
    """Return why x cannot be a leaf of an argument and what to pass instead, or None if it can."""
    kind, name = kind_of(x), type(x).__name__
    if kind is not None:
        return backend(kind).refusal(x)
    if not isinstance(x, type) and (hasattr(x, "__array__") or hasattr(x, "__dlpack__")):
        return (
            f"a {name} of {type(x).__module__.partition('.')[0]}, which is no array of a backend "
            "(its own index would be lost); give np.asarray(x), its numbers in their order"
        )
    if is_dataclass(x) and not isinstance(x, type):
        return (
            f"a {name}, a dataclass, which is no tree; register it (in JAX with "
            "jax.tree_util.register_dataclass, else with optree), or give a dict, such as "
            "dataclasses.asdict(x)"
        )
    return None


def _what(x):
    shape = getattr(x, "shape", None)
    return type(x).__name__ if shape is None else f"an array of shape {tuple(shape)}"

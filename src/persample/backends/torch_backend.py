"""The PyTorch backend: torch.func and torch.compile under the book's names."""

import itertools
import os
import shutil
from collections.abc import Callable
from typing import Any

import array_api_compat.torch
import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from .. import memory, trees
from ..memory import devices_along, into, samples_at_once, shared

__all__ = [
    "FREEZES",
    "KEEPS",
    "NAME",
    "asarray",
    "devices_along",
    "empty",
    "examine",
    "grad",
    "into",
    "jit",
    "may_write",
    "namespace",
    "overwrite",
    "own",
    "refusal",
    "samples_at_once",
    "shared",
    "stop_gradient",
    "to_numpy",
    "traced",
    "value_and_grad",
    "vmap",
]

NAME = "torch"
FREEZES = False  # torch.compile looks whether they have changed
KEEPS = (float,)

_numbers = itertools.count()  # of the functions that are compiled


# Arrays.
def asarray(x: Any, dtype: str | None = None) -> torch.Tensor:
    """Return x as a tensor; ``dtype`` by name, "float64"; floats are float64 by default."""
    if isinstance(x, torch.Tensor):
        return x if dtype is None else x.to(getattr(torch, dtype))
    return torch.from_numpy(np.array(x, dtype))


def to_numpy(x: Any) -> np.ndarray:
    """Return one array as a NumPy array, detached from any graph."""
    return x.detach().cpu().numpy()


def namespace(x: Any) -> Any:
    """Return the Array API namespace of an array; torch's own names differ from the standard's."""
    return array_api_compat.torch


def stop_gradient(x: Any) -> Any:
    """Return x with the same value and derivative zero."""
    return x.detach()


def refusal(x: Any) -> str | None:
    """Say why an array is not taken, and what to give in its place; None if it is."""
    if type(x) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        return None
    return (
        f"a {type(x).__name__}, a subclass of Tensor whose own rules would be lost; give "
        "x.as_subclass(torch.Tensor), or the plain tensor that it holds"
    )


# Transforms.
def grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """Return the gradient of the scalar f; the parameters' ``.grad`` stays untouched."""
    return torch.func.grad(f, argnums)


def value_and_grad(
    f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable:
    """Return a function computing (value, gradient), or ((value, aux), gradient).

    torch.func has them the other way round.
    """
    both = torch.func.grad_and_value(f, argnums, has_aux)

    def run(*args):
        gradient, value = both(*args)
        return value, gradient

    return run


def vmap(f: Callable, in_axes: Any = 0) -> Callable:
    """Map f over axis 0 of the arguments marked 0 (torch calls them in_dims)."""
    run = torch.vmap(f, in_dims=tuple(in_axes) if isinstance(in_axes, list) else in_axes)

    def mapped(*args):
        try:
            return run(*args)
        except RuntimeError as error:
            if "randomness" not in str(error):
                raise
            raise RuntimeError(
                "the loss draws random numbers, and for a batch it is not said whether all "
                "samples share them: draw them beforehand, one for each sample (such as a mask "
                "for dropout), and pass them as an argument that is batched."
            ) from error

    return mapped


def jit(f: Callable) -> Callable:
    """Compile f with torch.compile, as the outermost transform.

    The inductor compiler needs a C++ compiler, and seconds for the first call; without one the
    graph is captured and run by PyTorch itself ("aot_eager").
    """

    def run(*args):
        return f(*args)

    # PyTorch counts compilations by code object and refuses the ninth; vmap and grad have one
    # for all functions, so that the ninth function would fail. Each gets its own, and its own
    # name, by which PyTorch remembers the ints that have changed and may not be constants.
    run.__code__ = run.__code__.replace(co_name=f"run_{next(_numbers)}")
    compiled = torch.compile(run, backend=compiler(), fullgraph=True)

    def run_compiled(*args):
        try:
            return compiled(*args)
        except torch._dynamo.exc.TorchDynamoException as error:
            failed = error
        f(*args)  # an error of f's own comes out here, in its own words
        raise failed

    return run_compiled


def compiler() -> str:
    """Return the torch.compile backend that ``jit`` uses on this machine."""
    found = os.environ.get("CXX") or any(map(shutil.which, ("g++", "clang++", "c++", "cl")))
    return "inductor" if found else "aot_eager"


def examine(gradient: Callable, sample: Callable) -> None:
    """Compute one sample's gradient, and refuse a loss that turns a parameter into a number.

    PyTorch does so in silence: the gradient ends there, and every method agrees on the rest.
    """
    if not torch.compiler.is_compiling():  # the whole call may be compiled by somebody else
        with _NoNumbers():
            gradient(*sample())


class _NoNumbers(TorchFunctionMode):
    """Refuses to make a Python number or a fresh tensor of what has a gradient."""

    LEAVES = ("__float__", "__complex__", "item", "tolist", "numpy", "__array__")
    MAKES = (torch.tensor, torch.as_tensor, torch.asarray)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        found = args[:1] if name in self.LEAVES else ()
        if function in self.MAKES and isinstance(args[0], tuple | list):
            found, name = trees.flatten(args[0])[0], f"torch.{name}"
        elif function is torch.tensor:
            found, name = args[:1], "torch.tensor"
        if any(_has_gradient(x) for x in found):
            raise TypeError(
                f"the loss calls {name} on a tensor that depends on the parameters, so the "
                "gradient would end there unnoticed: compute with tensors (torch.exp for "
                "math.exp, torch.stack for torch.tensor), or hold it fixed: "
                "ps.stop_gradient(x)."
            )
        return function(*args, **(kwargs or {}))


def _has_gradient(x):
    """Say whether x is being differentiated by torch.func."""
    if not isinstance(x, torch.Tensor) or not x.requires_grad:
        return False
    return torch._C._functorch.is_gradtrackingtensor(x)


# The memory of rows.
def empty(shape: tuple[int, ...], like: Any) -> torch.Tensor:
    """Return fresh memory of an array's type, where the array is."""
    return torch.empty(shape, dtype=like.dtype, device=like.device)


def own(rows: Any) -> Any:
    """Return arrays to write to: those of ``rows``, fresh ones where they share memory."""
    detached = trees.tree_map(lambda x: x.detach(), rows)  # no graph of an earlier call
    return memory.apart(detached, torch.empty_like)


def overwrite(f: Callable) -> Callable | None:
    """Return a faster way than ``into`` to write f(\\*args) into an array; there is none."""
    return None


def may_write(out: torch.Tensor, arguments: tuple) -> bool:
    """Say at once whether ``out`` may be written over while arguments are read; False: look."""
    return False  # a call takes far longer than the look


def traced(x: Any) -> bool:
    """Say whether x stands for an array inside a transform, where no memory can be written."""
    return isinstance(x, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(x)

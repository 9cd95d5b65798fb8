"""The PyTorch backend: torch.func and torch.compile under the book's names."""

import os
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..arrays import into as into
from ..arrays import stop_gradient, to_numpy

__all__ = ["NAME", "asarray", "grad", "jit", "stop_gradient", "to_numpy", "value_and_grad", "vmap"]

NAME = "torch"


def asarray(x: Any, dtype: str | None = None) -> torch.Tensor:
    """Return x as a tensor; ``dtype`` by name, "float64"; floats are float64 by default."""
    if isinstance(x, torch.Tensor):
        return x if dtype is None else x.to(getattr(torch, dtype))
    return torch.from_numpy(np.array(x, dtype))


def grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """Return the gradient of the scalar f; the parameters' ``.grad`` stays untouched."""
    return torch.func.grad(f, argnums)


def value_and_grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """Return a function computing (value, gradient); torch.func has them the other way round."""
    both = torch.func.grad_and_value(f, argnums)

    def run(*args):
        gradient, value = both(*args)
        return value, gradient

    return run


def vmap(f: Callable, in_axes: Any = 0) -> Callable:
    """Map f over axis 0 of the arguments marked 0 (torch calls them in_dims)."""
    return torch.vmap(f, in_dims=tuple(in_axes) if isinstance(in_axes, list) else in_axes)


def jit(f: Callable) -> Callable:
    """Compile f with torch.compile, as the outermost transform.

    The inductor compiler needs a C++ compiler, and seconds for the first call; without one the
    graph is captured and run by PyTorch itself ("aot_eager").
    """

    def run(*args):
        return f(*args)

    # PyTorch counts compilations by code object and refuses the ninth; vmap and grad have one
    # for all functions, so that the ninth function would fail. Each gets its own.
    run.__code__ = run.__code__.replace()
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

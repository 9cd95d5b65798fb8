"""The PyTorch backend: torch.func and torch.compile under JAX's names."""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import array_api_compat.torch
import numpy as np
import torch
from optree import tree_map
from torch.overrides import TorchFunctionMode

from ..batches import leaf_axes, tree_leaves
from .base import Backend

_numbers = itertools.count()  # counts the compiled functions


class Torch(Backend):
    """PyTorch's tensors under torch.func; optree flattens the trees."""

    name = "torch"

    def asarray(self, x: Any, dtype: str | None = None) -> torch.Tensor:
        """Convert x to a tensor; by default arrays keep dtypes, Python floats become float64."""
        if isinstance(x, torch.Tensor):
            return x if dtype is None else x.to(getattr(torch, dtype))
        return torch.from_numpy(np.array(x, dtype))

    def to_numpy(self, x: Any) -> np.ndarray:
        return x.detach().cpu().numpy()

    def namespace(self, x: Any) -> Any:
        """Return array_api_compat's namespace: torch's own names differ from the standard's."""
        return array_api_compat.torch

    def stop_gradient(self, x: Any) -> Any:
        return x.detach()

    def refusal(self, x: Any) -> str | None:
        """Return why a tensor is rejected and what to pass instead, or None."""
        if type(x) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            return None
        return (
            f"a {type(x).__name__}, a subclass of Tensor whose own rules would be lost; give "
            "x.as_subclass(torch.Tensor), or the plain tensor that it holds"
        )

    def value_and_grad(self, f: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
        """Return a function computing (value, gradient), or ((value, aux), gradient).

        The parameters' ``.grad`` stays untouched.
        """

        def run(*args):
            single = isinstance(argnums, int)
            wanted = args[argnums] if single else tuple([args[n] for n in argnums])
            leaves, kept = tree_leaves(wanted), []

            def of_leaves(leaves):
                found, given = _refilled(wanted, iter(leaves)), list(args)
                numbers, parts = ((argnums,), (found,)) if single else (argnums, found)
                for n, x in zip(numbers, parts, strict=True):
                    given[n] = x
                result = f(*given)
                if not has_aux:
                    return result
                kept.append(result[1])
                return result[0], tree_leaves(result[1])

            if not leaves:
                return f(*args), wanted
            found, result = torch.func.grad_and_value(of_leaves, has_aux=has_aux)(leaves)
            if has_aux:
                result = result[0], _refilled(kept[-1], iter(result[1]))
            return result, _refilled(wanted, iter(found))

        return run

    def vmap(self, f: Callable, in_axes: Any = 0) -> Callable:
        def run(*args):
            axes = tuple(in_axes if isinstance(in_axes, tuple | list) else [in_axes] * len(args))
            found = leaf_axes("vmap", axes, args)
            _, along, leaves = zip(*found, strict=True)
            made = []

            def of_leaves(*leaves):
                left = iter(leaves)
                made.append(f(*self.map_axes(lambda _, part: _refilled(part, left), axes, args)))
                return tuple(tree_leaves(made[-1]))

            try:
                out = torch.vmap(of_leaves, in_dims=along)(*leaves)
            except RuntimeError as error:
                if "randomness" not in str(error):
                    raise
                raise RuntimeError(
                    "the loss draws random numbers, and for a batch it is not said whether all "
                    "samples share them: draw them beforehand, one for each sample (such as a "
                    "mask for dropout), and pass them as an argument that is batched."
                ) from error
            return _refilled(made[-1], iter(out))

        return run

    def jit(self, f: Callable) -> Callable:
        """Return f compiled with torch.compile; jit must be the outermost transform.

        The inductor compiler needs a C++ compiler, and its first call takes seconds. Without a C++
        compiler the graph is captured and run by PyTorch itself ("aot_eager").
        """

        def run(*args):
            return f(*args)

        # PyTorch counts compilations by code object and refuses the ninth; vmap and grad have
        # one for all functions, so that the ninth function would fail. Each gets its own, and
        # its own name, by which PyTorch remembers the ints that have changed.
        run.__code__ = run.__code__.replace(co_name=f"run_{next(_numbers)}")
        compiled = torch.compile(run, backend=self.compiler(), fullgraph=True)

        def run_compiled(*args):
            try:
                return compiled(*args)
            except torch._dynamo.exc.TorchDynamoException as error:
                failed = error
            f(*args)  # an error of f's own comes out here, in its own words
            raise failed

        return run_compiled

    def compiler(self) -> str:
        """Return the torch.compile backend that `jit` uses on this machine."""
        found = os.environ.get("CXX") or any(map(shutil.which, ("g++", "clang++", "c++", "cl")))
        return "inductor" if found else "aot_eager"

    def examine(self, loss: Callable, arguments: tuple, axes: tuple, has_aux: bool) -> None:
        """Raise TypeError if the loss turns a parameter into a Python number or a new tensor.

        PyTorch permits this without a warning, and the gradient through it is lost.
        """
        if not torch.compiler.is_compiling():  # the caller may have compiled the whole call
            with self.kept_generators(), _NoNumbers():
                self.grad(loss, has_aux=has_aux)(*self.samples(arguments, axes, 0))

    @contextmanager
    def kept_generators(self) -> Iterator[None]:
        """Restore the global random generators on exit, also PyTorch's on each device."""
        used = torch.cuda.device_count() if torch.cuda.is_initialized() else 0
        with super().kept_generators(), torch.random.fork_rng(range(used)):
            yield

    def is_traced(self, x: Any) -> bool:
        """Return whether x is inside a transform; True for every x in a compiled function."""
        return torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(x)


def _refilled(tree, left):
    """Return a tree of this structure with the leaves ``left``, in `batches.tree_leaves` order."""
    return tree_map(lambda _: next(left), tree)


class _NoNumbers(TorchFunctionMode):
    """Raises TypeError where a tensor with a gradient becomes a Python number or a new tensor."""

    LEAVES = ["__float__", "__complex__", "item", "tolist", "numpy", "__array__"]

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name, kwargs = getattr(function, "__name__", ""), kwargs or {}
        given = [*args[name == "new_tensor" :], *kwargs.values()]
        if name in ("as_tensor", "asarray"):  # of a tensor these are that tensor
            given = [x for x in given if isinstance(x, tuple | list)]
        elif name not in (*self.LEAVES, "tensor", "new_tensor"):
            given = []
        if any(map(_has_gradient, BACKEND.flatten(given)[0])):
            raise TypeError(
                f"the loss calls {name} on a tensor that depends on the parameters, so the "
                "gradient would end there unnoticed: compute with tensors (torch.exp for "
                "math.exp, torch.stack for torch.tensor), or hold it fixed: "
                "ps.stop_gradient(x)."
            )
        return function(*args, **kwargs)


def _has_gradient(x):
    """Return whether torch.func is differentiating x."""
    if not isinstance(x, torch.Tensor) or not x.requires_grad:
        return False
    return torch._C._functorch.is_gradtrackingtensor(x)


BACKEND = Torch()

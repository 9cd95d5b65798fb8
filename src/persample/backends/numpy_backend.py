"""The NumPy backend, whose transforms are those of `persample.engine`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import engine
from ..engine import namespace as tracer_namespace
from ..engine.tracer import Tracer
from ..factored import in_engine
from .base import Backend


class NumPy(Backend):
    """NumPy's arrays with the transforms of `persample.engine`; optree flattens the trees."""

    name = "numpy"
    value_and_grad = staticmethod(engine.value_and_grad)
    vmap = staticmethod(engine.vmap)
    factors = staticmethod(in_engine.factors)

    def asarray(self, x: Any, dtype: str | None = None) -> np.ndarray:
        return np.asarray(x, dtype)

    def to_numpy(self, x: Any) -> np.ndarray:
        return np.asarray(x.concrete() if isinstance(x, Tracer) else x)

    def namespace(self, x: Any) -> Any:
        return np if isinstance(x, np.generic) else x.__array_namespace__()

    def stop_gradient(self, x: Any) -> Any:
        """Return x with the same value and derivative zero; a plain array has none."""
        return tracer_namespace.stop_gradient(x) if isinstance(x, Tracer) else x

    def refusal(self, x: Any) -> str | None:
        """Return why a NumPy array is rejected and what to pass instead, or None."""
        if isinstance(x, Tracer | np.generic) or type(x) is np.ndarray:
            if x.dtype.kind not in "biufc":
                return f"an array of type {x.dtype}; give an array of numbers"
            if x.dtype.isnative:
                return None
            return (
                f"an array of type {x.dtype.str}, whose bytes are in another order than this "
                'machine\'s; give x.astype(x.dtype.newbyteorder("="))'
            )
        way = "x.filled(value)" if isinstance(x, np.ma.MaskedArray) else "np.asarray(x)"
        return (
            f"a {type(x).__name__}, a subclass of NumPy's array whose own rules would be lost; "
            f"give {way}"
        )

    def jit(self, f: Callable) -> Callable:
        """Compile f to straight-line NumPy.

        If all floating-point arrays have one dtype, an argument that is a Python float becomes an
        array of that dtype and is traced; otherwise f is compiled anew for each of its values.
        """
        compiled = engine.jit(f)

        def run(*args):
            if float in map(type, args):
                kinds = {x.dtype for x in self.flatten(args)[0] if hasattr(x, "dtype")}
                kinds = [kind for kind in kinds if kind.kind == "f"]
                if len(kinds) == 1:
                    args = [np.asarray(x, *kinds) if type(x) is float else x for x in args]
            return compiled(*args)

        run.compiled = compiled
        return run

    def compiled_for(self, run: Callable, arguments: tuple) -> Callable:
        """Return the compiled program, which checks no shapes; ``run`` unless all are ndarrays."""
        if not all(type(x) is np.ndarray for x in arguments):
            return run
        program = run.compiled.compiled(arguments)
        return lambda *arrays: program(arrays)

    def two_values(self, loss: Callable, arguments: tuple, axes: tuple) -> list:
        """Return the loss of the first sample, computed twice, each time from copies."""
        sample = self.samples(arguments, axes, 0)
        copied = lambda x: np.array(x) if hasattr(x, "shape") else x  # noqa: E731
        return [loss(*self.tree_map(copied, sample)) for _ in range(2)]

    def is_traced(self, x: Any) -> bool:
        return isinstance(x, Tracer)


BACKEND = NumPy()

"""The three backends, instances of subclasses of `Backend`; ``backend(name)`` loads one.

To add one, write a module with a subclass of `Backend` and its instance BACKEND, and add an entry
to BACKENDS.
"""

import sys
from importlib import import_module
from typing import Any, NamedTuple

from .base import Backend


class Row(NamedTuple):
    """An entry of `BACKENDS`; array types are given by name, so that no framework is imported."""

    module: str
    package: str  # what pip installs
    types: tuple[tuple[str, str], ...]  # (module, attribute) of each type of array


BACKENDS = {
    "numpy": Row(
        f"{__name__}.numpy_backend",
        "numpy",
        (("numpy", "ndarray"), ("numpy", "generic"), ("persample.engine.tracer", "Tracer")),
    ),
    "torch": Row(f"{__name__}.torch_backend", "torch", (("torch", "Tensor"),)),
    "jax": Row(f"{__name__}.jax_backend", "jax", (("jax", "Array"),)),
}


def backend(name: str) -> Backend:
    """Return the backend "numpy", "torch" or "jax"; see `Backend` for its methods.

    Raises
    ------
    ValueError : no backend has this name. ImportError : its package is not installed.
    """
    if name not in BACKENDS:
        raise ValueError(f"backend: {name!r} is not one of {', '.join(BACKENDS)}; choose one.")
    row = BACKENDS[name]
    try:
        return (sys.modules.get(row.module) or import_module(row.module)).BACKEND
    except ModuleNotFoundError as error:
        if error.name != row.package:
            raise
        raise ImportError(
            f"backend: the package {row.package} is not installed; install it with: pip install "
            f"{row.package}"
        ) from error


def kind_of(x: Any) -> str | None:
    """Return the name of the backend whose array or tracer x is, or None for any other x."""
    for name, row in BACKENDS.items():
        for module_name, attribute in row.types:
            module = sys.modules.get(module_name)  # without the module there are no such arrays
            kind = getattr(module, attribute, None)  # None while the module is being imported
            if kind is not None and isinstance(x, kind):
                return name
    return None


def loaded() -> list[Backend]:
    """Return the backends whose framework this process has imported."""
    return [
        backend(name)
        for name, row in BACKENDS.items()
        if hasattr(sys.modules.get(row.types[0][0]), row.types[0][1])
    ]

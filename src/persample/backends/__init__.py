"""One module for each backend, with the same names; ``backend(name)`` loads it when it is needed.

To add a backend, write such a module and add its row here. No module above asks for its name.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple


class Row(NamedTuple):
    """Where a backend lives, and how its arrays are known without importing its package."""

    module: str
    package: str  # what pip installs
    types: tuple[tuple[str, str], ...]  # (module, attribute) of each type of array


BACKENDS = {
    "numpy": Row(
        f"{__name__}.numpy_backend",
        "numpy",
        (
            ("numpy", "ndarray"),
            ("numpy", "generic"),
            ("persample.engine.tracer", "Tracer"),
        ),
    ),
    "torch": Row(f"{__name__}.torch_backend", "torch", (("torch", "Tensor"),)),
    "jax": Row(f"{__name__}.jax_backend", "jax", (("jax", "Array"),)),
}

# What a backend's module defines, all of it: see numpy_backend, the shortest, for the meaning.
NAMES = (
    *("NAME", "asarray", "to_numpy", "namespace", "stop_gradient"),
    *("grad", "value_and_grad", "vmap", "jit", "FREEZES", "KEEPS"),
    *("empty", "own", "shared", "into", "overwrite", "may_write", "samples_at_once", "traced"),
    *("refusal", "examine", "devices_along"),
)


def backend(name: str) -> ModuleType:
    """Return the module of a backend; for its user it has NAME, asarray, to_numpy, namespace,
    stop_gradient, grad, value_and_grad, vmap, jit.

    Raises
    ------
    ValueError : no backend has this name. ImportError : its package is not installed.
    """
    if name not in BACKENDS:
        raise ValueError(f"backend: {name!r} is not one of {', '.join(BACKENDS)}; choose one.")
    row = BACKENDS[name]
    try:
        return sys.modules.get(row.module) or import_module(row.module)
    except ModuleNotFoundError as error:
        if error.name != row.package:
            raise
        raise ImportError(
            f"backend: the package {row.package} is not installed; install it with: pip install "
            f"{row.package}"
        ) from error


def kind_of(x: Any) -> str | None:
    """Return the name of the backend that x belongs to, None if x is no array."""
    for name, row in BACKENDS.items():
        for module_name, attribute in row.types:
            module = sys.modules.get(module_name)  # no array exists of what is not loaded
            if module is not None and isinstance(x, getattr(module, attribute)):
                return name
    return None

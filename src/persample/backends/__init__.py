"""One module a backend, with the same names; ``backend(name)`` loads it when it is asked for."""

from importlib import import_module
from types import ModuleType

BACKENDS = ("numpy", "torch", "jax")
NAMES = ("NAME", "asarray", "to_numpy", "grad", "value_and_grad", "vmap", "jit", "stop_gradient")


def backend(name: str) -> ModuleType:
    """Return the backend module: NAME asarray to_numpy grad value_and_grad vmap jit stop_gradient.

    Raises
    ------
    ValueError : no backend has this name. ImportError : its package is not installed.
    """
    if name not in BACKENDS:
        raise ValueError(f"backend: {name!r} is not one of {', '.join(BACKENDS)}; choose one.")
    try:
        return import_module(f"{__name__}.{name}_backend")
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ImportError(
            f"backend: the package {name} is not installed; install it with: pip install {name}"
        ) from error

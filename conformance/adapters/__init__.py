"""The libraries, one file each; `template` documents what a file defines."""

import importlib
from types import ModuleType

NAMES = ("persample_", "torch_func", "opacus_hooks", "opacus_ghost", "backpack_", "jax_")


def load(name: str) -> ModuleType:
    """Return one adapter, a module; raise ImportError if its library is missing."""
    return importlib.import_module(f"conformance.adapters.{name}")

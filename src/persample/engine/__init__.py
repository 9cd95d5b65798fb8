"""The NumPy backend's automatic differentiation: grad, vmap, jit.

Read it from the bottom: core, primitives, contraction, operations, indexing, tracer; then vjps
and the transforms reverse, batching, staging; then optimise, codegen, jit. The folder functions
holds the rest of the Array API, to look things up in; namespace lists its names.
"""

from .batching import vmap
from .jit import jit
from .optimise import PASSES, optimise
from .reverse import grad, value_and_grad
from .staging import make_graph

__all__ = [
    "PASSES",
    "grad",
    "jit",
    "make_graph",
    "optimise",
    "value_and_grad",
    "vmap",
]

"""The NumPy backend's automatic differentiation: grad, vmap, jit.

Read it from the bottom: core, contraction, primitives, operations, indexing, tracer; then vjps
and the transforms reverse, batching, staging; then optimise, codegen, jit. To look things up in
are vjps_more, the folder functions (the rest of the Array API), and namespace, its names.
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

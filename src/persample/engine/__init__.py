"""The NumPy backend's automatic differentiation: grad, vmap, jit, and a Tensor with a tape.

Read it from the bottom: core, primitives, contraction, namespace, tracer; then the transforms
reverse, batching, staging; then optimise, codegen, jit; tensor beside them.
"""

from .batching import vmap
from .jit import jit
from .optimise import PASSES, optimise
from .reverse import grad, value_and_grad
from .staging import make_graph
from .tensor import Tensor, no_grad, tensor

__all__ = [
    "PASSES",
    "Tensor",
    "grad",
    "jit",
    "make_graph",
    "no_grad",
    "optimise",
    "tensor",
    "value_and_grad",
    "vmap",
]

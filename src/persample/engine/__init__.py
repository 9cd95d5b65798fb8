"""The NumPy backend's automatic differentiation: grad, vmap, jit.

Read the modules in this order: core, contraction, primitives, operations, indexing, tracer; then
vjps and the transforms reverse, batching, staging; then optimise, codegen, jit. For reference
there are the folder functions (the rest of the Array API); namespace, which collects operations
and functions; and numpy_functions with the folder numpy_calls, which handle calls such as
``np.sum(x)`` for a tracer x. In every module ``xp`` is that namespace.
"""

# jit and optimise are also names of modules: ``engine.jit`` is the function from here on.
from .batching import vmap
from .jit import jit
from .optimise import PASSES, optimise
from .reverse import grad, value_and_grad
from .staging import make_graph

__all__ = ["PASSES", "grad", "jit", "make_graph", "optimise", "value_and_grad", "vmap"]

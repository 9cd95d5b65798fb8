"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from ..colours import METHODS
from .costs import bars, changes, outer_products
from .curves import curves, ladder
from .decisions import which_method, why_none
from .equations import equations
from .graph_drawing import break_even, graph, graphs, timeline
from .leaves import attack, leaf_states, stacked, tensor_graph
from .linearity import LISTS, lifetimes, token_weights, walks
from .states import a_presplit, a_split, seven_states
from .tables import axes_of_arguments, overview, rows
from .vectors import arrows, clouds, spread
from .worlds import against_truth, chain, grid_paths, grid_policy, values_of_states

__all__ = [
    "LISTS",
    "METHODS",
    "a_presplit",
    "a_split",
    "against_truth",
    "arrows",
    "attack",
    "axes_of_arguments",
    "bars",
    "break_even",
    "chain",
    "changes",
    "clouds",
    "curves",
    "equations",
    "graph",
    "graphs",
    "grid_paths",
    "grid_policy",
    "ladder",
    "leaf_states",
    "lifetimes",
    "outer_products",
    "overview",
    "rows",
    "seven_states",
    "spread",
    "stacked",
    "tensor_graph",
    "timeline",
    "token_weights",
    "values_of_states",
    "walks",
    "which_method",
    "why_none",
]

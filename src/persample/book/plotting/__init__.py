"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from .costs import bars, changes, outer_products
from .curves import curves, ladder
from .decisions import which_method
from .equations import equations
from .graph_drawing import break_even, graph, graphs, timeline
from .leaves import amounts, attack, shared_and_copies, tensor_graph, why_none
from .linearity import LISTS, lifetimes, running_total, token_weights, walks
from .tables import overview, rows
from .vectors import arrows, clouds, spread
from .worlds import chain, grid_paths, grid_policy, values_on_plane

__all__ = [
    "LISTS",
    "amounts",
    "arrows",
    "attack",
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
    "lifetimes",
    "outer_products",
    "overview",
    "rows",
    "running_total",
    "shared_and_copies",
    "spread",
    "tensor_graph",
    "timeline",
    "token_weights",
    "values_on_plane",
    "walks",
    "which_method",
    "why_none",
]

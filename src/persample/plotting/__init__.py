"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from .curves import curves, ladder
from .graphs import break_even, graph, graphs, timeline
from .leaves import attack, leaf_states, stacked, tensor_graph, why_none
from .tables import overview, rows
from .vectors import arrows, clouds, spread
from .worlds import chain, grid_paths, grid_policy, values_on_plane

__all__ = [
    "arrows",
    "attack",
    "break_even",
    "chain",
    "clouds",
    "curves",
    "graph",
    "graphs",
    "grid_paths",
    "grid_policy",
    "ladder",
    "leaf_states",
    "overview",
    "rows",
    "spread",
    "stacked",
    "tensor_graph",
    "timeline",
    "values_on_plane",
    "why_none",
]

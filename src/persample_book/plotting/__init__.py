"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from ..colours import METHODS
from .columns import sum_of_terms, text_and_bars
from .compiling import break_even, select
from .costs import dots, gram_or_direct, outer_products, peak_memory
from .curves import curves, ladder
from .devices import exchanges, memory_by_devices, rows_by_devices
from .equations import equations
from .fisher import against_fisher, steps_of_a_line
from .frameworks import relative_times
from .gram import conflicts, one_step
from .graph_drawing import graph, graphs
from .images import gallery, relabelled
from .influence import against_refits, blamed_by, left_out, responsible
from .leaves import amounts, attack, shared_and_copies, tensor_graph, why_none
from .linearity import held, lifetimes, running_total, token_weights, walks
from .outcomes import outcomes
from .privacy import accountants, accuracy, neighbours, threshold
from .pulls import pulls, sign_map, valley
from .states import a_presplit, a_split, seven_states
from .style import INK
from .tables import axes_of_arguments, overview, rows
from .traces import stack_of_traces
from .vectors import arrows, clouds, spread
from .worlds import against_truth, chain, grid_paths, grid_policy, rewards, values_of_states

__all__ = [
    "INK",
    "METHODS",
    "a_presplit",
    "a_split",
    "against_fisher",
    "against_refits",
    "accountants",
    "accuracy",
    "against_truth",
    "amounts",
    "arrows",
    "attack",
    "axes_of_arguments",
    "blamed_by",
    "break_even",
    "chain",
    "conflicts",
    "clouds",
    "curves",
    "dots",
    "equations",
    "exchanges",
    "gram_or_direct",
    "gallery",
    "graph",
    "graphs",
    "grid_paths",
    "grid_policy",
    "held",
    "ladder",
    "left_out",
    "lifetimes",
    "one_step",
    "outcomes",
    "memory_by_devices",
    "neighbours",
    "outer_products",
    "overview",
    "peak_memory",
    "pulls",
    "relabelled",
    "relative_times",
    "responsible",
    "rewards",
    "rows",
    "rows_by_devices",
    "running_total",
    "select",
    "seven_states",
    "spread",
    "stack_of_traces",
    "steps_of_a_line",
    "shared_and_copies",
    "sign_map",
    "sum_of_terms",
    "text_and_bars",
    "tensor_graph",
    "threshold",
    "token_weights",
    "valley",
    "values_of_states",
    "walks",
    "why_none",
]

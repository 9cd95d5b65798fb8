"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from ..colours import METHODS
from .columns import sum_of_terms, text_and_bars
from .costs import gram_or_direct
from .curves import curves
from .devices import exchanges, memory_by_devices, rows_by_devices
from .equations import equations
from .fisher import against_fisher, steps_of_a_line
from .frameworks import relative_times
from .gram import conflicts, one_step
from .images import gallery, relabelled
from .influence import against_refits, blamed_by, left_out, responsible
from .leaves import why_none
from .linearity import running_total
from .privacy import accountants, accuracy, neighbours, threshold
from .pulls import pulls, sign_map, valley
from .states import a_presplit, seven_states
from .style import INK
from .traces import stack_of_traces
from .vectors import clouds, spread
from .worlds import against_truth, grid_paths, grid_policy, rewards

__all__ = [
    "INK",
    "METHODS",
    "a_presplit",
    "against_fisher",
    "against_refits",
    "accountants",
    "accuracy",
    "against_truth",
    "blamed_by",
    "conflicts",
    "clouds",
    "curves",
    "equations",
    "exchanges",
    "gram_or_direct",
    "gallery",
    "grid_paths",
    "grid_policy",
    "left_out",
    "one_step",
    "memory_by_devices",
    "neighbours",
    "pulls",
    "relabelled",
    "relative_times",
    "responsible",
    "rewards",
    "rows_by_devices",
    "running_total",
    "seven_states",
    "spread",
    "stack_of_traces",
    "steps_of_a_line",
    "sign_map",
    "sum_of_terms",
    "text_and_bars",
    "threshold",
    "valley",
    "why_none",
]

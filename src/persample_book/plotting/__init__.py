"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from .curves import curves
from .equations import equations
from .fisher import against_fisher, steps_of_a_line
from .frameworks import relative_times
from .gram import conflicts, one_step
from .images import gallery, relabelled
from .influence import against_refits, blamed_by, left_out, responsible
from .privacy import accountants, accuracy, neighbours, threshold
from .pulls import pulls, sign_map, valley
from .states import a_presplit, seven_states
from .style import INK
from .traces import stack_of_traces
from .worlds import against_truth, grid_paths, grid_policy, rewards

__all__ = [
    "INK",
    "a_presplit",
    "against_fisher",
    "against_refits",
    "accountants",
    "accuracy",
    "against_truth",
    "blamed_by",
    "conflicts",
    "curves",
    "equations",
    "gallery",
    "grid_paths",
    "grid_policy",
    "left_out",
    "one_step",
    "neighbours",
    "pulls",
    "relabelled",
    "relative_times",
    "responsible",
    "rewards",
    "seven_states",
    "stack_of_traces",
    "steps_of_a_line",
    "sign_map",
    "threshold",
    "valley",
]

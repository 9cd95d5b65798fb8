"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from .curves import curves
from .equations import equations
from .frameworks import relative_times
from .images import gallery
from .influence import against_refits, blamed_by, left_out, responsible
from .privacy import accountants, accuracy, neighbours, threshold
from .pulls import pulls, sign_map, valley
from .style import INK
from .table import table
from .traces import stack_of_traces

__all__ = [
    "INK",
    "against_refits",
    "accountants",
    "accuracy",
    "blamed_by",
    "curves",
    "equations",
    "gallery",
    "left_out",
    "neighbours",
    "pulls",
    "relative_times",
    "responsible",
    "stack_of_traces",
    "sign_map",
    "table",
    "threshold",
    "valley",
]

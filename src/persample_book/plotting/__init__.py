"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from .equations import equations
from .frameworks import relative_times
from .images import gallery
from .influence import against_refits, blamed_by, left_out, responsible
from .privacy import accountants, accuracy, neighbours, threshold
from .style import INK
from .traces import stack_of_traces

__all__ = [
    "INK",
    "against_refits",
    "accountants",
    "accuracy",
    "blamed_by",
    "equations",
    "gallery",
    "left_out",
    "neighbours",
    "relative_times",
    "responsible",
    "stack_of_traces",
    "threshold",
]

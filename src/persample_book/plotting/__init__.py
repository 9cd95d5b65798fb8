"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from .equations import equations
from .frameworks import relative_times
from .influence import against_refits, blamed_by, left_out, responsible
from .style import INK
from .traces import stack_of_traces

__all__ = [
    "INK",
    "against_refits",
    "blamed_by",
    "equations",
    "left_out",
    "relative_times",
    "responsible",
    "stack_of_traces",
]

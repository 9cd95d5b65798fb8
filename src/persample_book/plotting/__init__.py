"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from ..colours import METHODS
from .costs import dots, outer_products, peak_memory
from .curves import curves
from .equations import equations
from .frameworks import relative_times
from .images import gallery
from .influence import against_refits, blamed_by, left_out, responsible
from .privacy import accountants, accuracy, neighbours, threshold
from .pulls import pulls, sign_map, valley
from .style import INK
from .traces import stack_of_traces

__all__ = [
    "INK",
    "METHODS",
    "against_refits",
    "accountants",
    "accuracy",
    "blamed_by",
    "curves",
    "dots",
    "equations",
    "gallery",
    "left_out",
    "neighbours",
    "outer_products",
    "peak_memory",
    "pulls",
    "relative_times",
    "responsible",
    "stack_of_traces",
    "sign_map",
    "threshold",
    "valley",
]

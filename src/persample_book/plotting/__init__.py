"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from .curves import curves
from .equations import equations
from .frameworks import relative_times
from .images import gallery
from .privacy import accountants, accuracy, neighbours, threshold
from .pulls import pulls, sign_map, valley
from .style import INK
from .traces import stack_of_traces

__all__ = [
    "INK",
    "accountants",
    "accuracy",
    "curves",
    "equations",
    "gallery",
    "neighbours",
    "pulls",
    "relative_times",
    "stack_of_traces",
    "sign_map",
    "threshold",
    "valley",
]

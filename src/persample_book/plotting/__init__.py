"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from .equations import equations
from .frameworks import relative_times
from .style import INK
from .traces import stack_of_traces

__all__ = [
    "INK",
    "equations",
    "relative_times",
    "stack_of_traces",
]

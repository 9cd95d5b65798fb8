"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from .curves import curves, ladder
from .tables import overview, rows
from .worlds import chain, grid_paths, values_on_plane

__all__ = ["chain", "curves", "grid_paths", "ladder", "overview", "rows", "values_on_plane"]

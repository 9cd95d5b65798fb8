"""From a graph to a JavaScript function: the same loss runs in the page, without a server.

A second writer beside ``engine.codegen``, for the figures of the book that a reader can touch.
"""

from .program import javascript

__all__ = ["javascript"]

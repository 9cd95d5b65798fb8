"""Code that only the book's pages use: notebook set-up, figures, tables of other frameworks.

The library, `persample`, never imports this package, and its wheel is built without it.
"""

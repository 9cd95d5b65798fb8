"""What only the book's pages use: set-up of a notebook, figures, tables of other frameworks.

The library, `persample`, never imports this package, and its wheel is built without it.
"""

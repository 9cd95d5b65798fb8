"""What only the book's pages use: set-up of a notebook, figures, tables of other frameworks.

The library above it never imports this, so a project that uses the library can do without.
"""

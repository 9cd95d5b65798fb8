"""NumPy's functions for tracers, by topic: what a function does stands in NumPy's documentation.

A row of a table is a function of the engine that computes the same, or one written here. Arrays
come by position; any other argument comes by NumPy's name for it, and only where it differs from
NumPy's default. What a function does not name is refused by ``numpy_functions``.
"""


def refuse(name, what, instead, where="np."):
    """Raise for a call of NumPy that the engine does not support."""
    raise TypeError(f"{where}{name}: {what}; {instead}.")

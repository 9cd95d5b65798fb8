"""NumPy's functions for tracers, by topic; they do what NumPy documents.

The tables map NumPy's names to functions of the engine or to functions written here. Arrays are
passed to them by position; any other argument by NumPy's name for it, and only if it differs from
NumPy's default. ``numpy_functions`` refuses an argument that they do not have.
"""


def refuse(name, what, instead, where="np."):
    """Raise TypeError for a NumPy call that is not supported; ``instead`` says what to write."""
    raise TypeError(f"{where}{name}: {what}; {instead}.")

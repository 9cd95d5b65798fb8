"""NumPy's functions for tracers, by topic; they behave as NumPy documents.

The tables map NumPy's names to functions of the engine or to functions defined here. Arrays are
passed by position; every other argument by NumPy's name, and only if it differs from NumPy's
default. ``numpy_functions`` raises TypeError for an argument that the function lacks.
"""


def refuse(name, what, instead, where="np."):
    """Raise TypeError for an unsupported NumPy call; ``instead`` is the code to use instead."""
    raise TypeError(f"{where}{name}: {what}; {instead}.")

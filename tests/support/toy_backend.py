"""A fourth backend in one file: an array class that wraps the engine's arrays.

The tests add it to `backends.BACKENDS`; every function of the package must work with it.
"""

import numpy as np

from persample import engine
from persample.backends import Backend
from persample.engine.tracer import Tracer


class Array:
    """An array that wraps another, without NumPy's protocols."""

    __array_ufunc__ = None

    def __init__(self, data):
        self.data = data

    shape = property(lambda self: self.data.shape)
    ndim = property(lambda self: self.data.ndim)
    dtype = property(lambda self: self.data.dtype)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, key):
        return Array(self.data[key])

    def __setitem__(self, key, value):
        self.data[key] = value.data

    def __add__(self, other):
        return Array(self.data + _plain(other))

    def __sub__(self, other):
        return Array(self.data - _plain(other))

    def __mul__(self, other):
        return Array(self.data * _plain(other))

    __radd__, __rmul__ = __add__, __mul__


def _plain(x):
    return x.data if isinstance(x, Array) else x


def _wrapped(x):
    return Array(x) if isinstance(x, np.ndarray | np.generic | Tracer) else x


class Functions:
    """The namespace of these arrays, with the functions that the tests' losses use."""

    matmul = staticmethod(lambda x, y: Array(x.data @ y.data))
    stack = staticmethod(lambda xs: Array(np.stack([x.data for x in xs])))
    mean = staticmethod(lambda x: Array(np.mean(x.data)))
    tanh = staticmethod(lambda x: Array(np.tanh(x.data)))


class Toy(Backend):
    name = "toy"

    def asarray(self, x, dtype=None):
        return Array(np.array(_plain(x), dtype))

    def to_numpy(self, x):
        return x.data

    def namespace(self, x):
        return Functions

    def value_and_grad(self, f, argnums=0, has_aux=False):
        inside = self._with(_plain, f, _wrapped)
        return self._with(_wrapped, engine.value_and_grad(inside, argnums, has_aux), _plain)

    def vmap(self, f, in_axes=0):
        return self._with(_wrapped, engine.vmap(self._with(_plain, f, _wrapped), in_axes), _plain)

    def _with(self, after, f, before):
        """Return f with ``before`` mapped over its arguments and ``after`` over its result."""
        return lambda *args: self.tree_map(after, f(*self.tree_map(before, args)))

    def jit(self, f):
        return f

    def is_traced(self, x):
        return isinstance(x.data, Tracer)

    def empty(self, shape, like):
        return Array(np.empty(shape, like.dtype))


BACKEND = Toy()

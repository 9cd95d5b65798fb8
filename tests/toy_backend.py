"""A fourth backend in one file: arrays of a class of its own, derivatives by differences.

The tests add it by one row of `backends.BACKENDS`, and every way to the rows must then work.
"""

import numpy as np

from persample.backends import Backend

STEP = 1e-6


class Array:
    """An array that wraps NumPy's; nothing of NumPy takes it for its own."""

    __array_ufunc__ = None

    def __init__(self, data):
        self.data = np.asarray(data)

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


class Functions:
    """The namespace of these arrays, as far as the losses of the tests go."""

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
        """Return a function computing (value, gradient) by central differences."""

        def run(params, *rest):
            leaves, structure = self.flatten(params)

            def at(n, x):
                shifted = [*leaves[:n], Array(x), *leaves[n + 1 :]]
                value = f(self.unflatten(structure, shifted), *rest)
                return (value[0] if has_aux else value).data

            slopes = [Array(np.empty(x.shape)) for x in leaves]
            for n, x in enumerate(leaves):
                for index in np.ndindex(x.shape):
                    shift = np.zeros(x.shape)
                    shift[index] = STEP
                    slope = (at(n, x.data + shift) - at(n, x.data - shift)) / (2 * STEP)
                    slopes[n].data[index] = slope
            return f(params, *rest), self.unflatten(structure, slopes)

        return run

    def vmap(self, f, in_axes=0):
        """Map f over the samples by a loop."""

        def run(*args):
            pairs = zip(args, in_axes, strict=True)
            size = next(len(self.flatten(x)[0][0]) for x, axis in pairs if axis == 0)
            return self.stack([f(*self.samples(args, in_axes, i)) for i in range(size)])

        return run

    def jit(self, f):
        return f

    def is_traced(self, x):
        return False

    def empty(self, shape, like):
        return Array(np.empty(shape, like.dtype))


BACKEND = Toy()

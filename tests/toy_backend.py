"""A fourth backend in one file: arrays of a class of its own, derivatives by differences.

The tests add it by one row of `backends.BACKENDS`, and every way to the rows must then work.
"""

import numpy as np

from persample import memory, trees
from persample.memory import devices_along, into, samples_at_once

__all__ = ["devices_along", "into", "samples_at_once"]  # used as they are; the rest is below

NAME, FREEZES, KEEPS = "toy", False, (object,)
STEP = 1e-6


class Toy:
    """An array that wraps NumPy's; nothing of NumPy takes it for its own."""

    __array_ufunc__ = None

    def __init__(self, data):
        self.data = np.asarray(data)

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    strides = property(lambda self: self.data.strides)

    def __array_namespace__(self, *, api_version=None):
        return Functions

    def __getitem__(self, key):
        return Toy(self.data[key])

    def __setitem__(self, key, value):
        self.data[key] = value.data

    def __add__(self, other):
        return Toy(self.data + _plain(other))

    def __sub__(self, other):
        return Toy(self.data - _plain(other))

    def __mul__(self, other):
        return Toy(self.data * _plain(other))

    __radd__, __rmul__ = __add__, __mul__


def _plain(x):
    return x.data if isinstance(x, Toy) else x


class Functions:
    """The namespace of these arrays, as far as the losses of the tests go."""

    matmul = staticmethod(lambda x, y: Toy(x.data @ y.data))
    stack = staticmethod(lambda xs: Toy(np.stack([x.data for x in xs])))
    concat = staticmethod(lambda xs: Toy(np.concatenate([x.data for x in xs])))
    mean = staticmethod(lambda x: Toy(np.mean(x.data)))
    tanh = staticmethod(lambda x: Toy(np.tanh(x.data)))


def asarray(x, dtype=None):
    """Return x as an array."""
    return Toy(np.array(_plain(x), dtype))


def to_numpy(x):
    """Return one array as a NumPy array."""
    return _plain(x)


def namespace(x):
    """Return the namespace of an array."""
    return Functions


def stop_gradient(x):
    """Return x held fixed; not asked for here."""
    raise NotImplementedError


def value_and_grad(f, argnums=0, has_aux=False):
    """Return a function computing (value, gradient) by central differences."""

    def run(params, *rest):
        leaves, structure = trees.flatten(params)
        value = f(params, *rest)
        at = lambda xs: f(trees.unflatten(structure, xs), *rest)  # noqa: E731
        number = lambda xs: (at(xs)[0] if has_aux else at(xs)).data  # noqa: E731
        slopes = []
        for n, x in enumerate(leaves):
            slope = np.empty_like(x.data)
            for index in np.ndindex(x.shape):
                shift = np.zeros_like(x.data)
                shift[index] = STEP
                up, down = [*leaves], [*leaves]
                up[n], down[n] = Toy(x.data + shift), Toy(x.data - shift)
                slope[index] = (number(up) - number(down)) / (2 * STEP)
            slopes.append(Toy(slope))
        return value, trees.unflatten(structure, slopes)

    return run


def grad(f, argnums=0):
    """Return the gradient of the scalar f."""
    return lambda *args: value_and_grad(f, argnums)(*args)[1]


def vmap(f, in_axes=0):
    """Map f over axis 0 of the arguments marked 0, by a loop."""

    def run(*args):
        axes = in_axes if isinstance(in_axes, tuple | list) else [in_axes] * len(args)
        pairs = list(zip(args, axes, strict=True))
        first = next(trees.flatten(x)[0][0] for x, axis in pairs if axis == 0)
        pick = lambda x, axis, i: x if axis is None else trees.tree_map(lambda y: y[i], x)  # noqa: E731
        each = [f(*[pick(x, axis, i) for x, axis in pairs]) for i in range(first.shape[0])]
        return trees.tree_map(lambda *xs: Functions.stack(xs), *each)

    return run


def jit(f):
    """Return f: nothing is compiled."""
    return f


def empty(shape, like):
    """Return fresh memory of an array's type."""
    return Toy(np.empty(shape, like.dtype))


def own(rows):
    """Return arrays to write to."""
    return memory.apart(rows, lambda x: empty(x.shape, x), shared)


def shared(x, y):
    """Say whether writing to x may change y."""
    return memory.shared(_plain(x), _plain(y))


def overwrite(f):
    """Return a faster way than ``into``; there is none."""
    return None


def may_write(out, arguments):
    """Say at once whether out may be written over; never: all checks are made."""
    return False


def traced(x):
    """Say whether x stands for an array inside a transform."""
    return False


def refusal(x):
    """Say why an array is not taken; every one is."""
    return None


def examine(gradient, sample):
    """Look at how a loss treats its parameters; there is nothing to find."""

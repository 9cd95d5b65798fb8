"""Layers in NumPy, forward and backward written out by hand, into buffers used again.

For readers who want rows without a framework: `Network` holds a list of layers, and `record`
reads its rows from the same closed forms as those of a PyTorch model.
"""

import math
from typing import Any

import numpy as np

from .closed import Formed, Outer, OuterSum

CACHED = 2**22  # numbers: 16 MiB of float32


def fresh(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return memory for NumPy, (B, ..., d); of many small samples each number's B lie together.

    NumPy's inner loop runs along what lies together, and starting one costs as much as some 30
    numbers: rows of 32 x 32 for B = 1024 take 0.10 ms in this order, 0.32 in the other. At B = d
    both are as fast; from 2 d on this one is, as long as the cache holds all.
    """
    if shape[0] < 2 * shape[-1] or math.prod(shape) > CACHED:
        return np.empty(shape, dtype)
    return np.moveaxis(np.empty((*shape[1:], shape[0]), dtype), -1, 0)


class _Buffer:
    """An array that is made once for each shape and type, then overwritten."""

    def __init__(self):
        self.array = np.empty(0)

    def of(self, shape, dtype):
        if self.array.shape != tuple(shape) or self.array.dtype != dtype:
            self.array = fresh(shape, dtype) if len(shape) == 2 else np.empty(shape, dtype)
        return self.array

    def copy_of(self, x):
        x = np.asarray(x)
        self.like(x)[...] = x
        return self.array

    def like(self, x):
        """Take the order of x's memory as well: two arrays in two orders are slow to combine."""
        if self.array.shape != x.shape or self.array.dtype != x.dtype:
            self.array = np.empty_like(x)
        return self.array


class Linear:
    """z = W h + b at the last axis: weight (p, d), bias (p,) or None; h (B, d) or (B, ..., d)."""

    def __init__(self, weight: np.ndarray, bias: np.ndarray | None = None) -> None:
        self.weight, self.bias = weight, bias
        self._z, self._ct = _Buffer(), _Buffer()

    def forward(self, h: np.ndarray) -> np.ndarray:
        p, d = self.weight.shape
        if h.ndim < 2 or h.shape[-1] != d:
            raise ValueError(
                f"Linear: the input has shape {h.shape}; it must be (B, ..., {d}), samples first."
            )
        z = self._z.of((*h.shape[:-1], p), np.result_type(h, self.weight))
        np.matmul(h.reshape(-1, d), self.weight.T, out=z.reshape(-1, p))
        if self.bias is not None:
            z += self.bias
        self.h = h
        return z

    def backward(self, delta: np.ndarray, needed: bool) -> np.ndarray | None:
        """Keep the output's cotangent; return the input's, W^T delta, where it is needed."""
        self.delta = delta
        if not needed:
            return None
        p, d = self.weight.shape
        ct = self._ct.of((*delta.shape[:-1], d), delta.dtype)
        np.matmul(delta.reshape(-1, p), self.weight, out=ct.reshape(-1, d))
        return ct

    def uses(self) -> list[tuple[np.ndarray, Any]]:
        """Return (parameter, form of its rows) for each parameter."""
        (p, d), size = self.weight.shape, self.h.shape[0]
        delta, h = self.delta, self.h
        if h.ndim == 2:
            return [(self.weight, Outer(delta, h)), (self.bias, Formed(delta))]
        delta, h = delta.reshape(size, -1, p), h.reshape(size, -1, d)
        return [(self.weight, OuterSum(delta, h)), (self.bias, Formed(delta.sum(1)))]


class Tanh:
    """y = tanh(x), elementwise; x's cotangent is (1 - y^2) times y's."""

    def __init__(self) -> None:
        self._y, self._ct = _Buffer(), _Buffer()

    def forward(self, x: np.ndarray) -> np.ndarray:
        return np.tanh(x, out=self._y.like(x))

    def backward(self, delta: np.ndarray, needed: bool) -> np.ndarray:
        y = self._y.array
        ct = np.multiply(y, y, out=self._ct.like(y))
        np.subtract(1, ct, out=ct)
        return np.multiply(ct, delta, out=ct)


class ReLU:
    """y = max(x, 0), elementwise; x's cotangent is y's where y > 0."""

    def __init__(self) -> None:
        self._y, self._ct = _Buffer(), _Buffer()

    def forward(self, x: np.ndarray) -> np.ndarray:
        y = self._y.like(x)
        y[...] = 0
        return np.maximum(x, y, out=y)  # four times as fast as with the number 0

    def backward(self, delta: np.ndarray, needed: bool) -> np.ndarray:
        y = self._y.array
        return np.multiply(delta, y > 0, out=self._ct.like(y))


class Network:
    """Layers one after the other: ``network(x)``, then ``network.backward(cotangent)``.

    Parameters are named as in ``torch.nn.Sequential``: "0.weight", "0.bias", "2.weight", ...
    The output and everything inside are overwritten by the next batch of the same shape.
    Of many small samples each number's B lie together in memory, in the rows as well: it is
    faster to fill, and ``reshape(B, -1)`` is a view all the same.

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> from persample.recorder import Linear, Network
    >>> network = Network([Linear(np.array([[1.0, 1.0]]))])
    >>> x, y = np.array([[1.0, 2], [3, 4]]), np.array([[1.0], [6]])
    >>> with ps.record(network) as record:
    ...     network.backward(network(x) - y)  # of each sample's loss, (output - y)^2 / 2
    >>> record.squared_norms()
    array([20., 25.])
    """

    def __init__(self, layers: list) -> None:
        self.layers = list(layers)
        if len({id(layer) for layer in self.layers}) < len(self.layers):
            raise ValueError(
                "Network: a layer is in the list twice, and a layer keeps one input only; make "
                "two layers that share one weight array."
            )
        self.forwards = self.backwards = 0
        self._input, self._cotangent = _Buffer(), _Buffer()

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.forwards, self.backwards = self.forwards + 1, 0
        x = self._input.copy_of(x)  # the caller may fill x with the next batch before rows()
        for layer in self.layers:
            x = layer.forward(x)
        self._output = x
        return x

    def backward(self, cotangent: np.ndarray) -> None:
        """Pass d loss / d output back through the layers; its shape is the output's."""
        if self.backwards:
            raise RuntimeError(
                "Network.backward: a second backward pass for one forward pass; call the network "
                "again first, or add the cotangents."
            )
        need = self._output.shape if self.forwards else "that of an output: call the network first"
        if cotangent.shape != need:
            raise ValueError(
                f"Network.backward: the cotangent has shape {cotangent.shape}; it must be {need}."
            )
        self.backwards = 1
        kept = self._cotangent.like(self._output)  # a copy, in the order of the layers' memory
        kept[...] = cotangent
        cotangent = kept
        first = next(n for n, layer in enumerate(self.layers) if hasattr(layer, "uses"))
        for n, layer in reversed(list(enumerate(self.layers))[first:]):
            cotangent = layer.backward(cotangent, needed=n > first)

    def parameters(self) -> dict[str, np.ndarray]:
        """Return name -> array; an array used by two layers has the first one's name."""
        named: dict = {}
        for n, layer in enumerate(self.layers):
            for name in ("weight", "bias"):
                array = getattr(layer, name, None)
                if array is not None and not any(array is other for other in named.values()):
                    named[f"{n}.{name}"] = array
        return named


class NetworkCapture:
    """The source of a `Record` for a `Network`."""

    xp = np

    def __init__(self, network: Network) -> None:
        self.network, self.parameters = network, network.parameters()
        if not self.parameters:
            raise ValueError(
                "record: the network has no parameters; give it at least one Linear layer."
            )

    def __enter__(self) -> "NetworkCapture":
        self.start = self.network.forwards
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def backward(self, losses: Any, retain_graph: bool) -> None:
        raise TypeError(
            "backward: a Network has no graph to go back through; call "
            "network.backward(cotangent) with the derivative of each sample's loss by its output."
        )

    def check(self, row: Any, samples: tuple[int, ...]) -> None:
        raise TypeError(
            "check: a Network keeps no graph to compare with; run one sample through it alone."
        )

    def wide(self, dtype: Any) -> np.dtype:
        return np.promote_types(dtype, np.float32)

    def empty(self, shape: tuple[int, ...], like: np.ndarray, dtype: Any) -> np.ndarray:
        flat = self.network._output.ndim == 2  # of a sequence a row is a product of matrices
        return fresh(shape, dtype) if flat else np.empty(shape, dtype)

    def held(self) -> list[tuple[str, np.ndarray]]:
        return [(f"the parameter {name}", x) for name, x in self.parameters.items()]

    def collect(self) -> tuple[int, dict[str, list]]:
        network, count = self.network, self.network.forwards - self.start
        if count > 1:
            raise RuntimeError(
                f"record: the network ran {count} times since the with block began, and its "
                "buffers hold the last batch only; read the record before the next batch, and "
                "open a new block for each."
            )
        if not count or not network.backwards:
            raise RuntimeError(
                "record: no backward pass was recorded; call the network and its backward "
                "inside the with block."
            )
        names = {id(array): name for name, array in self.parameters.items()}
        forms: dict = {name: [] for name in self.parameters}
        for layer in network.layers:
            for array, form in layer.uses() if hasattr(layer, "uses") else ():
                if array is not None:
                    forms[names[id(array)]].append(form)
        size = next(layer.h.shape[0] for layer in network.layers if hasattr(layer, "uses"))
        if not size:
            raise ValueError("record: the batch is empty; give at least one sample.")
        return size, forms

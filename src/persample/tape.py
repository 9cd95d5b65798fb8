"""Tensor: an array that records the operations that made it, as PyTorch's does.

The engine's transforms return gradients; a Tensor stores them. It is the tracer of one permanent
trace, at level 0, whose tape is the chain of ``grad_fn`` nodes. The VJP rules are the engine's.
Stricter than PyTorch: in-place changes are never recorded; ``backward`` raises if a tensor that a
node read was changed (NumPy arrays are copied), and it frees what every node has saved.
"""

import threading
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

from .engine import namespace as xp
from .engine.core import VIEW, Trace
from .engine.operations import snapshot
from .engine.reverse import Node, backward
from .engine.tracer import Tracer

_mode = threading.local()


@contextmanager
def no_grad():
    """Disable recording inside the block, so that leaf tensors may be changed in place."""
    before, _mode.off = not _recording(), True
    try:
        yield
    finally:
        _mode.off = before


def _recording() -> bool:
    return not getattr(_mode, "off", False)


class TapeNode(Node):
    """A node of the engine, with the tensor that stores its gradient (``keeper``).

    ``versions`` holds a pair for each input and the output: the counter of its in-place changes,
    and its count when the node was made.
    """

    __slots__ = ("keeper", "versions")

    def __init__(self, *operation):
        super().__init__(*operation)
        self.keeper, self.versions = None, []


class TapeTrace(Trace):
    """Computes eagerly; a floating-point result of tensors that require grad gets a node."""

    name = "a Tensor's tape"

    def lift(self, value):
        # A copy: NumPy does not say when it changes an array, and the rules run later.
        return Tensor(snapshot(value))

    def process(self, primitive, inputs, params):
        values = [x.data for x in inputs]
        result = Tensor(primitive.numpy(*values, **params))
        if primitive.kind == VIEW:
            result.version = inputs[0].version  # one memory, one count of its changes
        needed = any(x.requires_grad for x in inputs) and primitive.name != "stop_gradient"
        if needed and _recording() and result.dtype.kind == "f":
            parents = [x.node if x.requires_grad else None for x in inputs]
            node = TapeNode(primitive, params, values, result.data, parents)
            node.versions = [(x.version, x.version[0]) for x in (*inputs, result)]
            result.requires_grad, result.node, result.grad_fn = True, node, node
        return result


TAPE = TapeTrace(level=0)


def _data(x: Any) -> Any:
    return x.data if isinstance(x, Tensor) else x


def _in_place(ufunc: np.ufunc) -> Callable:
    return lambda self, value: self._change(lambda data, x: ufunc(data, x, out=data), value)


class Tensor(Tracer):
    """An array which, if it requires grad, has a node in the graph that ``backward`` follows.

    Attributes
    ----------
    data : ndarray, shared with the caller
    requires_grad : bool; True for a recorded result if it is True for one of its inputs
    grad_fn : the node of the operation that made it; None for a leaf tensor
    grad : Tensor or None; ``backward`` adds to it, in leaf tensors that require grad, and in
        others after ``retain_grad()``
    """

    __slots__ = ("data", "_requires_grad", "grad_fn", "node", "version", "_grad")

    def __init__(self, data: Any, requires_grad: bool = False):
        self._trace, self.data = TAPE, np.asarray(data)
        self.grad_fn = self.node = self._grad = None
        self.version = [0]  # how often the memory was changed in place
        self._requires_grad = False
        self.requires_grad = requires_grad

    value = property(lambda self: self.data)
    is_leaf = property(lambda self: self.grad_fn is None)
    retains_grad = property(lambda self: not self.is_leaf and self.node.keeper is self)

    def __repr__(self):
        text = np.array2string(self.data, separator=", ", prefix="tensor(")
        made = f", grad_fn={self.grad_fn}" if self.grad_fn else ""
        return f"tensor({text}{made or ', requires_grad=True' * self.requires_grad})"

    def numpy(self) -> np.ndarray:
        """Return the data, sharing memory; raise RuntimeError if the tensor requires grad."""
        if self.requires_grad:
            raise RuntimeError("numpy(): this tensor requires grad; call x.detach().numpy().")
        return self.data

    def item(self) -> float:
        """Return the only element of the tensor as a Python number."""
        return self.data.item()

    sum, mean = xp.sum, xp.mean
    to = xp.astype  # the tensor itself if it has that dtype, else a result, not a leaf

    @property
    def requires_grad(self) -> bool:
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool):
        if wanted and self.dtype.kind != "f":
            raise RuntimeError(
                f"requires_grad: only floating-point tensors can require gradients, this one is "
                f"{self.dtype}; make it from floats."
            )
        if not wanted and not self.is_leaf:
            raise RuntimeError(
                "requires_grad: it can be changed for leaf tensors only; "
                "call x.detach() for the same numbers without history."
            )
        self._requires_grad = wanted
        if wanted and self.node is None:
            self.node = TapeNode(None, None, (), self.data, ())
            self.node.keeper = self

    @property
    def grad(self) -> "Tensor | None":
        if self.requires_grad and not self.is_leaf and not self.retains_grad:
            warnings.warn(
                "the .grad of a tensor that is not a leaf tensor was read: backward() does not "
                "fill it; call retain_grad() on it before backward() if you need it.",
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: "Tensor | None"):
        self._grad = value

    def retain_grad(self) -> None:
        """Let ``backward`` fill the ``grad`` of this tensor, although it is not a leaf tensor."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad: this tensor does not require grad, so it has none.")
        self.node.keeper = self

    def detach(self) -> "Tensor":
        """Return a leaf tensor that shares this one's memory and does not require grad."""
        detached = Tensor(self.data)
        detached.version = self.version
        return detached

    def zero_grad(self) -> None:
        """Set ``grad`` to None, which discards the accumulated gradient."""
        self._grad = None

    def backward(self, gradient: Any = None, retain_graph: bool = False) -> None:
        """Add the derivative of this tensor to the ``grad`` of each leaf tensor it depends on.

        Parameters
        ----------
        gradient : array of this tensor's shape, its cotangent. By default 1, for a 0-d tensor.
        retain_graph : keep the values that the nodes saved, so that backward can run again.

        Raises
        ------
        RuntimeError : the tensor does not require grad, is not 0-d and has no ``gradient``, or the
            shape of ``gradient`` differs; a saved value was freed or changed in place.
        """
        if not self.requires_grad:
            raise RuntimeError(
                "backward: this tensor does not require grad and has no grad_fn; create a tensor "
                "it depends on with requires_grad=True, and do not detach on the way."
            )
        if gradient is None and self.shape != ():
            raise RuntimeError(
                f"backward: the tensor has shape {self.shape}, a gradient is defined for one "
                "number; sum or average it, or pass its cotangent as gradient=."
            )
        ct = np.asarray(_data(1.0 if gradient is None else gradient), self.dtype)
        if ct.shape != self.shape:
            raise RuntimeError(
                f"backward: gradient has shape {ct.shape}, the tensor {self.shape}; it needs one "
                "number for every entry of the tensor."
            )
        nodes = _topological(self.node)
        cts = {self.node: ct}
        for node in nodes:
            if node in cts:
                _keep(node, cts[node])
                if node.primitive:
                    _check_saved(node)
                    cts = backward([node], cts)
        for node in nodes if not retain_graph else ():
            node.values = None

    def _change(self, write: Callable, value: Any) -> "Tensor":
        """Apply ``write(data, value)``; return self. RuntimeError if it needs to be recorded."""
        if (self.requires_grad or getattr(value, "requires_grad", False)) and _recording():
            what = "of a leaf tensor" if self.is_leaf else "of a tensor with a grad_fn,"
            what = f"{what if self.requires_grad else 'by a tensor'} that requires grad"
            raise RuntimeError(
                f"in-place change {what}: the graph would lose its value; update parameters "
                "under no_grad(), or write x = x + ... for a new tensor."
            )
        write(self.data, _data(value))
        self.version[0] += 1
        return self

    def __setitem__(self, key, value):
        self._change(lambda data, x: data.__setitem__(key, x), value)

    __iadd__, __isub__ = _in_place(np.add), _in_place(np.subtract)
    __imul__, __itruediv__ = _in_place(np.multiply), _in_place(np.divide)
    __ipow__, __ifloordiv__ = _in_place(np.power), _in_place(np.floor_divide)
    __imod__, __iand__ = _in_place(np.remainder), _in_place(np.bitwise_and)
    __ior__, __ixor__ = _in_place(np.bitwise_or), _in_place(np.bitwise_xor)
    __ilshift__, __irshift__ = _in_place(np.left_shift), _in_place(np.right_shift)


def tensor(data: Any, requires_grad: bool = False) -> Tensor:
    """Return a leaf tensor with a copy of ``data``, in its dtype.

    Raise RuntimeError if ``requires_grad`` and the dtype is not floating-point.
    """
    return Tensor(np.array(_data(data)), requires_grad)


def _topological(root: TapeNode) -> list[TapeNode]:
    """Return ``root`` and all its ancestors, every node before its parents."""
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((p, False) for p in node.parents if p is not None)
    return order[::-1]


def _keep(node: TapeNode, ct: np.ndarray) -> None:
    """Add the cotangent to the ``grad`` of the tensor that is the node's ``keeper``, if any."""
    if node.keeper is not None and node.keeper._grad is None:
        node.keeper._grad = Tensor(np.array(ct))
    elif node.keeper is not None:
        node.keeper._grad.data += ct
        node.keeper._grad.version[0] += 1  # a graph may have recorded it


def _check_saved(node: TapeNode) -> None:
    """Raise RuntimeError if the saved values of a node were freed or changed in place."""
    if node.values is None:
        raise RuntimeError(
            "backward: a second time through the same graph, whose saved values were freed by "
            "the first; sum the losses and call backward once, compute the loss anew, or pass "
            "retain_graph=True to the first call."
        )
    if any(version[0] != count for version, count in node.versions):
        raise RuntimeError(
            f"backward: an input of {node.primitive.name} was changed in place after the graph "
            "was recorded; make a copy before changing it, or change it after backward()."
        )

"""Strategies for Hypothesis: a loss of one sample put together at random, and a call of it.

A loss is an expression over the leaves of its arguments, drawn from its shape downwards: a number
is the sum of a vector, the vector a product of a matrix and a vector, and so on, until a leaf of
the shape that is needed is taken or made. The arguments are trees of these leaves.
"""

from collections import namedtuple
from typing import Any, NamedTuple

import array_api_compat.torch
import numpy as np
import torch
from hypothesis import strategies as st

import persample as ps

Pair = namedtuple("Pair", "first second")
SIZES = st.sampled_from((1, 2, 3, 5))
SHAPES = st.lists(SIZES, max_size=2).map(tuple)
STATICS = {"str": ("once", "twice"), "bool": (True, False), "int": (2, 3), "None": (None, None)}


class Node(NamedTuple):
    """An operation, its constants, and what it is applied to."""

    name: str
    at: Any = None
    of: tuple = ()


class Leaf(NamedTuple):
    """A leaf of an argument: its shape in one sample; ``axis`` is None where all share it."""

    kind: str  # param, float, whole, index, mask, number, or a static value of STATICS
    shape: tuple = ()
    dtype: str = "float64"
    axis: int | None = 0


# What takes one array to an array of its shape; ordinary numbers stay ordinary.
UNARY = {
    "tanh": lambda m, x: m.tanh(x),
    "negative": lambda m, x: -x,
    "scaled": lambda m, x: 0.5 * x - 0.25,
    "exp": lambda m, x: m.exp(m.tanh(x)),
    "expm1": lambda m, x: m.expm1(m.sin(x)),
    "log": lambda m, x: m.log(1.5 + x * x),
    "log1p": lambda m, x: m.log1p(x * x),
    "sqrt": lambda m, x: m.sqrt(1.0 + x * x),
    "square": lambda m, x: m.square(m.sin(x)),
    "cube": lambda m, x: m.tanh(x) ** 3,
    "reciprocal": lambda m, x: 1.0 / (2.0 + x * x),
    "cos": lambda m, x: m.cos(x),
    "atan": lambda m, x: m.atan(x),
    "abs": lambda m, x: m.abs(x - 0.37),
    "relu": lambda m, x: m.maximum(x - 0.07, m.zeros_like(x)),
    "clip": lambda m, x: m.clip(x, -0.9, 1.1),
}
# What takes two arrays that broadcast.
BINARY = {
    "add": lambda m, x, y: x + y,
    "subtract": lambda m, x, y: x - y,
    "multiply": lambda m, x, y: m.tanh(x) * y,
    "divide": lambda m, x, y: x / (2.0 + m.tanh(y)),
    "pow": lambda m, x, y: (1.5 + m.tanh(x)) ** m.tanh(y),
    "maximum": lambda m, x, y: m.maximum(x, 0.71 * y + 0.113),
    "minimum": lambda m, x, y: m.minimum(x, 0.71 * y + 0.113),
    "where": lambda m, x, y: m.where(x < 0.71 * y + 0.113, m.tanh(x), 0.3 * y),
    "logaddexp": lambda m, x, y: m.logaddexp(x + 0.0 * y, y + 0.0 * x),
    "atan2": lambda m, x, y: m.atan2(m.tanh(x), 2.0 + m.tanh(y)),
}
# What takes an axis away, and what works along one.
REDUCE = {
    "sum": lambda m, x, axis: m.sum(x, axis=axis),
    "mean": lambda m, x, axis: m.mean(x, axis=axis),
    "max": lambda m, x, axis: m.max(x, axis=axis),
    "min": lambda m, x, axis: m.min(x, axis=axis),
    "prod": lambda m, x, axis: m.prod(1.2 + m.tanh(x), axis=axis),
    "var": lambda m, x, axis: m.var(m.tanh(x), axis=axis),
    "norm": lambda m, x, axis: m.linalg.vector_norm(m.exp(m.tanh(x)), axis=axis),
    "logsumexp": lambda m, x, axis: m.log(m.sum(m.exp(m.tanh(x)), axis=axis)),
}
ALONG = {
    "softmax": lambda m, x, axis: m.exp(x - _top(m, x, axis)) / _total(m, x, axis),
    "cumulative_sum": lambda m, x, axis: m.cumulative_sum(x, axis=axis),
    "flip": lambda m, x, axis: m.flip(x, axis=axis),
    "roll": lambda m, x, axis: m.roll(x, 1, axis=axis),
    "centred": lambda m, x, axis: x - m.mean(x, axis=axis, keepdims=True),
}
# The others: (namespace, constants, arrays).
OTHER = {
    "item": lambda m, at, x: x[(slice(None),) * at[0] + (at[1],)],
    "slice": lambda m, at, x: x[(*(slice(None),) * at[0], slice(at[1], None), ...)],
    "reshape": lambda m, at, x: m.reshape(x, at),
    "permute_dims": lambda m, at, x: m.permute_dims(x, at),
    "expand_dims": lambda m, at, x: m.expand_dims(x, axis=at),
    "squeeze": lambda m, at, x: m.squeeze(x, axis=at),
    "broadcast_to": lambda m, at, x: m.broadcast_to(x, at),
    "concat": lambda m, at, x, y: m.concat([x, y], axis=at),
    "stack": lambda m, at, *xs: m.stack(list(xs), axis=at),
    "matmul": lambda m, at, x, y: m.matmul(m.tanh(x), y),
    "take": lambda m, at, x, i: m.take(x, i, axis=at),
    "take_along_axis": lambda m, at, x, i: m.take_along_axis(x, i, axis=at),
    "mask": lambda m, at, x, y, mask: m.where(mask, x, 0.5 * y),
}


def _top(m, x, axis):
    return m.max(x, axis=axis, keepdims=True)


def _total(m, x, axis):
    return m.sum(m.exp(x - _top(m, x, axis)), axis=axis, keepdims=True)


def evaluate(m, stop, node, values):
    """Return the value of an expression in a namespace."""
    if node.name == "leaf":
        return values[node.at]
    xs = [evaluate(m, stop, child, values) for child in node.of]
    if node.name == "held":
        return stop(xs[0])
    if (f := UNARY.get(node.name) or BINARY.get(node.name)) is not None:
        return f(m, *xs)
    if (f := REDUCE.get(node.name) or ALONG.get(node.name)) is not None:
        return f(m, xs[0], node.at)
    return OTHER[node.name](m, node.at, *xs)


class Expressions:
    """Draws expressions; ``leaves`` are those that they need, the parameters among them."""

    def __init__(self, draw, dtypes):
        self.draw, self.dtypes, self.leaves = draw, dtypes, []

    def pick(self, options):
        return self.draw(st.sampled_from(list(options)))

    def leaf(self, shape, kind=None):
        """Return a leaf of a shape: one that there is, or a new one."""
        kinds = ("param", "float", "whole") if kind is None else (kind,)
        there = [n for n, x in enumerate(self.leaves) if x.shape == shape and x.kind in kinds]
        if there and (len(self.leaves) > 7 or self.pick((False, True))):
            return Node("leaf", self.pick(there))
        kind = kind or self.pick(("param", "param", "float", "float", "float", "whole"))
        dtype = self.pick(self.dtypes) if kind in ("param", "float") else kind
        self.leaves.append(Leaf(kind, shape, dtype))
        return Node("leaf", len(self.leaves) - 1)

    def smaller(self, shape):
        """Return a shape that broadcasts to one."""
        kept = [n if self.pick((True, True, False)) else 1 for n in shape]
        return tuple(kept[self.pick((0, 0, 0, len(kept))) :])

    def __call__(self, shape, depth):
        """Return an expression of a shape."""
        if depth <= 0:
            return self.leaf(shape)
        names = ["unary", "unary", "binary", "binary", "held"]
        names += ["reduce"] * (5 if not shape else 2) + ["item", "squeeze"] * (len(shape) < 3)
        names += ["matmul"] * (3 if len(shape) < 3 else 1) + ["mask", "reshape"]
        names += ["along", "slice", "broadcast_to", "permute_dims", "take"] * bool(shape)
        names += ["take_along_axis", "stack", "concat", "expand_dims"] * bool(shape)
        name = self.pick(names)
        if (made := getattr(self, f"_{name}", None)) is not None:
            return made(shape, depth - 1)
        axis, size = self._axis(shape)
        more = (*shape[:axis], size, *shape[axis:])
        if name == "reduce":
            return Node(self.pick(REDUCE), axis, (self(more, depth - 1),))
        if name == "item":
            at = axis, self.pick(range(-size, size))
            return Node("item", at, (self(more, depth - 1),))
        return Node("squeeze", axis, (self((*shape[:axis], 1, *shape[axis:]), depth - 1),))

    def _axis(self, shape, new=1):
        return self.pick(range(len(shape) + new)), self.draw(SIZES)

    def _unary(self, shape, depth):
        return Node(self.pick(UNARY), None, (self(shape, depth),))

    def _held(self, shape, depth):
        held = Node("held", None, (self(shape, depth - 1),))
        return Node("multiply", None, (held, self.leaf(shape, "param")))

    def _binary(self, shape, depth):
        both = [self(shape, depth), self(self.smaller(shape), depth - 1)]
        return Node(
            self.pick(BINARY), None, tuple(both if self.pick((True, False)) else both[::-1])
        )

    def _mask(self, shape, depth):
        mask = self.leaf(self.smaller(shape), "mask")
        return Node("mask", None, (self(shape, depth), self(self.smaller(shape), depth - 1), mask))

    def _along(self, shape, depth):
        return Node(self.pick(ALONG), self._axis(shape, 0)[0], (self(shape, depth),))

    def _slice(self, shape, depth):
        axis, size = self._axis(shape, 0)
        more = (*shape[:axis], shape[axis] + size, *shape[axis + 1 :])
        start = self.pick((size, -shape[axis]))
        return Node("slice", (axis, start), (self(more, depth),))

    def _reshape(self, shape, depth):
        flat = (int(np.prod(shape)),)
        other = self.pick((shape[::-1], flat, (1, *flat)))
        return Node("reshape", shape, (self(other, depth),))

    def _permute_dims(self, shape, depth):
        order = self.draw(st.permutations(range(len(shape))))
        before = tuple(shape[order.index(n)] for n in range(len(shape)))
        return Node("permute_dims", tuple(order), (self(before, depth),))

    def _expand_dims(self, shape, depth):
        if 1 not in shape:
            return self._broadcast_to(shape, depth)
        axis = shape.index(1)
        return Node("expand_dims", axis, (self(shape[:axis] + shape[axis + 1 :], depth),))

    def _broadcast_to(self, shape, depth):
        return Node("broadcast_to", shape, (self(self.smaller(shape), depth),))

    def _concat(self, shape, depth):
        axis = self._axis(shape, 0)[0]
        if shape[axis] == 1:
            return self._stack(shape, depth)
        sizes = 1, shape[axis] - 1
        parts = [
            self((*shape[:axis], n, *shape[axis + 1 :]), depth - k) for k, n in enumerate(sizes)
        ]
        return Node("concat", axis, tuple(parts))

    def _stack(self, shape, depth):
        axis = self._axis(shape, 0)[0]
        other = shape[:axis] + shape[axis + 1 :]
        parts = [self(other, depth - min(n, 2)) for n in range(shape[axis])]
        return Node("stack", axis, tuple(parts))

    def _matmul(self, shape, depth):
        k = self.draw(SIZES)
        if not shape:
            shapes = (k,), (k,)
        elif len(shape) == 1:
            shapes = self.pick((((k,), (k, *shape)), ((*shape, k), (k,))))
        else:
            shapes = (*shape[:-1], k), (k, shape[-1])
        return Node("matmul", None, (self(shapes[0], depth), self(shapes[1], depth - 1)))

    def _take(self, shape, depth):
        axis, size = self._axis(shape, 0)
        more = (*shape[:axis], size, *shape[axis + 1 :])
        return Node("take", axis, (self(more, depth), self.leaf((shape[axis],), f"index {size}")))

    def _take_along_axis(self, shape, depth):
        axis, size = self._axis(shape, 0)
        more = (*shape[:axis], size, *shape[axis + 1 :])
        indices = self.leaf(shape, f"index {size}")
        return Node("take_along_axis", axis, (self(more, depth), indices))


class Problem(NamedTuple):
    """A loss and its arguments, which are templates: trees of the numbers of leaves."""

    expression: Node
    aux: Node
    leaves: tuple
    arguments: tuple  # the first are the parameters
    in_axes: Any

    @property
    def params(self):
        """The numbers of the parameters' leaves, in the order of the tree."""
        return numbers(self.arguments[0])

    def is_array(self, n):
        """Say whether a leaf is an array, no Python value."""
        return self.leaves[n].kind not in ("number", *STATICS)

    def axes(self):
        """Return in_axes with one entry for each argument."""
        if isinstance(self.in_axes, int):
            return (self.in_axes,) * len(self.arguments)
        return self.in_axes or (None,) + (0,) * (len(self.arguments) - 1)

    def loss(self, has_aux=False, m=None, stop=ps.stop_gradient):
        """Return the loss of one sample, in the namespace of the parameters or in another."""

        def loss(*arguments):
            xp = m or ps.array_namespace(arguments[0])
            values = {}
            for template, tree in zip(self.arguments, arguments, strict=True):
                _fetch(template, tree, values)
            dtype = values[self.params[0]].dtype
            for n, leaf in enumerate(self.leaves):
                if leaf.kind == "whole":
                    values[n] = xp.astype(values[n], dtype)
            total = evaluate(xp, stop, self.expression, values)
            for n, leaf in enumerate(self.leaves):
                if leaf.kind == "number":
                    total = total * values[n]
                elif leaf.kind == "str":
                    total = total + total if values[n] == "twice" else total
                elif leaf.kind in ("int", "bool"):
                    total = total + (0.5 if values[n] is True else values[n]) * xp.tanh(total)
            if has_aux:
                return total, Pair({"value": evaluate(xp, stop, self.aux, values)}, ())
            return total

        return loss

    def values(self, seed, size):
        """Return the leaves of a batch: NumPy arrays, or Python values."""
        rng = np.random.default_rng(seed)
        return [_value(rng, leaf, seed, size) for leaf in self.leaves]


def numbers(template):
    """Return the numbers in a template, in the order of its leaves."""
    found: dict = {}
    _fetch(template, template, found)
    return list(found)


def _fetch(template, tree, into):
    """Find the leaves of a tree by the numbers in its template."""
    if isinstance(template, int):
        into[template] = tree
    elif template is not None:
        keys = sorted(template) if isinstance(template, dict) else range(len(template))
        for key in keys:
            _fetch(template[key], tree[key], into)


def planted(template, put):
    """Return the tree with put(number) for each number of a template."""
    if template is None or isinstance(template, int):
        return None if template is None else put(template)
    if isinstance(template, dict):
        return {key: planted(part, put) for key, part in template.items()}
    parts = [planted(part, put) for part in template]
    return Pair(*parts) if isinstance(template, Pair) else type(template)(parts)


def _value(rng, leaf, seed, size):
    if leaf.kind in STATICS:
        return STATICS[leaf.kind][seed % 2]
    if leaf.kind == "number":
        return 0.5 + 0.25 * (seed % 5)
    shape = leaf.shape if leaf.axis is None else (size, *leaf.shape)
    if leaf.kind == "mask":
        x = np.asarray(rng.random(shape) < 0.5)
    elif leaf.kind == "whole":
        x = rng.integers(-3, 4, shape).astype("int32")
    elif leaf.kind.startswith("index"):
        x = rng.integers(0, int(leaf.kind.split()[1]), shape)
    else:
        x = rng.uniform(-1.5, 1.5, shape).astype(leaf.dtype)
    return x if leaf.axis is None else np.moveaxis(x, 0, leaf.axis)


@st.composite
def templates(draw, leaves, depth=0):
    """Draw a tree of these numbers."""
    if len(leaves) == 1 and (depth > 1 or draw(st.sampled_from((True, True, False)))):
        return leaves[0]
    cuts = sorted(draw(st.sets(st.integers(1, len(leaves)), max_size=3)) | {0, len(leaves)})
    groups = [leaves[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    if depth > 1:
        groups = [[n] for n in leaves]
    parts = [draw(templates(group, depth + 1)) for group in groups]
    kinds = [list, tuple, "dict", "with None", "with empty parts"]
    kind = draw(st.sampled_from(kinds + [Pair] * (len(parts) == 2)))
    if kind == "dict":
        return {f"w{n}": part for n, part in enumerate(parts)}
    if kind == "with None":
        return {"b": None, "a": parts}
    if kind == "with empty parts":
        return [{}, *parts, ()]
    return Pair(*parts) if kind is Pair else kind(parts)


@st.composite
def _entry(draw, template, leaves, whole=False):
    """Draw an entry of in_axes: an axis, or a tree of them that begins like the argument."""
    axes = {leaves[n].axis for n in numbers(template)}
    if isinstance(template, int) or template is None:
        return axes.pop() if axes else None
    if len(axes) == 1 and (whole or draw(st.booleans())):
        return axes.pop()
    if isinstance(template, dict):
        return {key: draw(_entry(part, leaves)) for key, part in template.items()}
    parts = [draw(_entry(part, leaves)) for part in template]
    return Pair(*parts) if isinstance(template, Pair) else type(template)(parts)


@st.composite
def problems(draw, mixed=True, params_shared=False):
    """Draw a problem; ``mixed`` lets two precisions meet."""
    dtypes = [("float64",), ("float64",), ("float32",)] + [("float32", "float64")] * mixed
    draw_expression = Expressions(draw, draw(st.sampled_from(dtypes)))
    draw_expression.leaf(draw(SHAPES), "param")
    expression = draw_expression((), draw(st.integers(1, 5)))
    aux = draw_expression(draw(SHAPES), 1)
    leaves = draw_expression.leaves
    if all(leaf.kind == "param" for leaf in leaves):
        leaves.append(Leaf("float", draw(SHAPES)))
    style = draw(st.sampled_from(("default", "explicit", "explicit", "int")))
    style = "explicit" if style == "int" and params_shared else style
    if style == "explicit":
        kinds = st.sampled_from(("number", "number", *STATICS))
        extra = draw(st.lists(kinds, max_size=2))
    else:
        extra = []
    one = draw(st.sampled_from((0, -1))) if style == "int" else 0
    own = style == "explicit" and not params_shared and draw(st.integers(0, 5)) == 5
    first = next(n for n, leaf in enumerate(leaves) if leaf.kind != "param")
    for n, leaf in enumerate(leaves):
        axis: int | None = one
        if leaf.kind == "param" and style != "int" and not own:
            axis = None
        elif style == "explicit":
            count = len(leaf.shape) + 1
            axis = draw(st.sampled_from((None, 0, *range(-count, count))))
            axis = 0 if n == first and axis is None else axis
        leaves[n] = leaf._replace(axis=axis)
    leaves += [Leaf(kind, axis=None) for kind in extra]
    params = draw(templates([n for n, leaf in enumerate(leaves) if leaf.kind == "param"]))
    rest = [n for n, leaf in enumerate(leaves) if leaf.kind not in ("param", *STATICS)]
    arguments = [n for n, leaf in enumerate(leaves) if leaf.kind in STATICS]
    while rest:
        count = draw(st.sampled_from((1, 1, 2, 3)))
        group, rest = rest[:count], rest[count:]
        arguments.append(draw(templates(group, 2 - count)))
    arguments = [params, *draw(st.permutations(arguments))]
    in_axes: Any = {"default": None, "int": one}.get(style)
    if style == "explicit":
        entries = [
            draw(_entry(a, leaves, params_shared and not n)) for n, a in enumerate(arguments)
        ]
        in_axes = draw(st.sampled_from((tuple, list)))(entries)
    return Problem(expression, aux, tuple(leaves), tuple(arguments), in_axes)


def oracle(problem, values, size):
    """Return (rows, losses, aux) by torch.autograd in float64, one sample after the other.

    No transform of the package has a part in it; the rows come leaf by leaf, as `params` counts.
    """
    loss = problem.loss(True, array_api_compat.torch, torch.Tensor.detach)
    wide = lambda x: x.double() if x.is_floating_point() else x  # noqa: E731
    rows, losses, aux = [], [], []
    for i in range(size):
        one = list(values)
        for n, (x, leaf) in enumerate(zip(values, problem.leaves, strict=True)):
            if isinstance(x, np.ndarray):
                x = x if leaf.axis is None else np.take(x, i, axis=leaf.axis)
                one[n] = wide(torch.tensor(x)).requires_grad_(leaf.kind == "param")
        value, found = loss(*[planted(a, one.__getitem__) for a in problem.arguments])
        params = [one[n] for n in problem.params]
        if value.requires_grad:
            rows.append(torch.autograd.grad(value, params, materialize_grads=True))
        else:
            rows.append([torch.zeros_like(p) for p in params])
        losses.append(value.item())
        aux.append(found.first["value"].detach().numpy())
    columns = [np.stack([g.numpy() for g in column]) for column in zip(*rows, strict=True)]
    return columns, np.array(losses), np.stack(aux)

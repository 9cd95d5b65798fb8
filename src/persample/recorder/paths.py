"""Paths from a use of a parameter to the parameter: transposes, views, slices, lookups, casts.

A form at the use becomes the parameter's form by the backward of each node on the path. The table
`STEPS` has the nodes that only rearrange entries, and the forms that each can transform without
forming rows. At the first node without a matching step, autograd takes over (`Pulled`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor
from torch.autograd.graph import GradientEdge

from .forms import Form, Formed, Outer, OuterSum, Part
from .graph import Graph
from .layer_forms import Lookup
from .layouts import Propagation
from .replay import Pulled


@dataclass(frozen=True)
class Step:
    """The backward of a node, for forms: ``move(form, p, saved)`` returns the input's form.

    ``accepts``: the classes of forms it can move. ``returns``: the class of the result, or None if
    it is that of the form. ``fits(p)``: whether the step applies to this node. ``needs``: the
    names of the saved attributes that ``saved`` must contain.
    """

    move: Callable[[Form, Propagation, dict], Form]
    accepts: tuple[type[Form], ...] = (Form,)
    returns: type[Form] | None = None
    fits: Callable[[Propagation], bool] = lambda p: True
    needs: tuple[str, ...] = ()


class Path(NamedTuple):
    """The steps from an input of a site to the parameter.

    ``pulled`` is the (node index, output index) from which autograd computes the rest, if any.
    """

    steps: tuple[tuple[int, Step, Propagation], ...]  # with the node index of each
    pulled: tuple[int, int] | None = None

    def apply(self, form: Form, saved: dict, graph: Graph, name: str, parameter: Tensor) -> Form:
        """Return the form of the parameter's rows, given the form at the site.

        ``saved``: node index -> the attributes that the step there needs.
        """
        for index, step, p in self.steps:
            form = step.move(form, p, saved.get(index, {}))
        if self.pulled is None:
            return form
        index, output = self.pulled
        node = graph.nodes[index]
        dtype, shape = graph.dtypes[index][output], graph.shape(index, output)
        return Pulled(form, GradientEdge(node, output), shape, dtype, name, parameter)


def path(graph: Graph, target: tuple[int, int], leaf: int, form: type[Form]) -> Path:
    """Return the `Path` from ``target``, (node index, output index), to ``leaf``, a node index.

    ``form`` is the class of the form at the site.
    """
    steps, (index, output) = [], target
    while index != leaf:
        step, targets = STEPS.get(graph.kinds[index]), graph.targets[index]
        if step is None or targets[0] is None or not issubclass(form, step.accepts):
            return Path(tuple(steps), (index, output))
        p = graph.propagation(index, 0, output, None)
        if not step.fits(p):
            return Path(tuple(steps), (index, output))
        steps.append((index, step, p))
        form = step.returns or form
        index, output = targets[0]
    return Path(tuple(steps))


def _same(form, p, saved):
    return form


def _viewed(form, p, saved):
    return Formed(form.g.reshape(len(form.g), *p.into))


def _permuted(form, p, saved):
    """Backward of a permutation of axes; that of a matrix swaps delta and h of outer products."""
    order = p.order()
    if isinstance(form, Formed):
        return Formed(form.g.permute(0, *(1 + order.index(axis) for axis in range(len(order)))))
    return form if order == (0, 1) else type(form)(form.h, form.delta)


def _has_an_order(p):
    return p.order() is not None


def _part(form, p, saved):
    """Backward of a slice of axis 0: the rows are 0 outside of it."""
    start = p.start_of_part(0)
    return Part(form, slice(start, start + p.out[0]), p.into)


def _slices_axis_0(p):
    return p.saved("dim") == 0 and p.saved("step", 1) == 1


def _looked_up(form, p, saved):
    """Backward of an embedding whose indices all samples share, such as positions."""
    size, index = len(form.g), saved["indices"].flatten()
    delta = form.g.reshape(size, len(index), -1)
    if saved["padding_idx"] >= 0:
        delta = delta.masked_fill((index == saved["padding_idx"])[:, None], 0)
    return Lookup(delta, index.expand(size, -1), p.into[0])


def _is_plain_lookup(p):
    return not p.saved("scale_grad_by_freq")


CAST = Step(_same)
VIEW = Step(_viewed, (Formed,))
PART = Step(_part, (Form,), Part, _slices_axis_0)
# `Rule.returns` is OuterSum for Outer as well.
PERMUTE = Step(_permuted, (Formed, Outer, OuterSum), fits=_has_an_order)
# Kind of node -> its step. All have one input.
STEPS: dict[str, Step] = {
    **dict.fromkeys(["Alias", "Clone", "ToCopy"], CAST),
    **dict.fromkeys(["ReshapeAlias", "Squeeze", "UnsafeView", "Unsqueeze", "View"], VIEW),
    **dict.fromkeys(["Permute", "T", "Transpose"], PERMUTE),
    **dict.fromkeys(["Slice", "Split", "SplitWithSizes"], PART),
    "Embedding": Step(_looked_up, (Formed,), Lookup, _is_plain_lookup, ("indices", "padding_idx")),
}

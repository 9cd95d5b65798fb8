"""From a use of a parameter down to the parameter: what was made of it before it was used.

A weight is transposed, viewed, cut into pieces or looked up, and then used. The rows at the use
become the parameter's where each of these steps is undone. The table `STEPS` has one for each
kind of node that only moves numbers, with the forms that it moves without forming rows. From the
first node that is not in the table, or whose step cannot move the form, autograd takes the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor
from torch.autograd.graph import GradientEdge

from .along import Passed
from .forms import Form, Formed, Outer, OuterSum, Part
from .graph import Graph
from .layer_forms import Lookup
from .replay import Pulled


@dataclass(frozen=True)
class Step:
    """``move(form, passed, saved)`` takes the rows of a node's output to its input.

    ``takes`` are the forms that it can move, ``gives`` what becomes of them (None: they stay of
    their class), ``fits(passed)`` whether the node moves numbers in the way that is meant;
    ``saved`` has what ``needs`` names of what autograd saved.
    """

    move: Callable[[Form, Passed, dict], Form]
    takes: tuple[type[Form], ...] = (Form,)
    gives: type[Form] | None = None
    fits: Callable[[Passed], bool] = lambda passed: True
    needs: tuple[str, ...] = ()


class Path(NamedTuple):
    """The steps from one input of an operation, (place, output), to a parameter's leaf.

    ``pulled`` is where autograd begins, (place, output), if it has to; None if it has not.
    """

    steps: tuple[tuple[int, Step, Passed], ...]  # each with the place of its node
    pulled: tuple[int, int] | None = None

    def apply(self, form: Form, saved: dict, graph: Graph, name: str, parameter: Tensor) -> Form:
        """Return the form of the parameter's rows, from that of the rows at the operation."""
        for place, step, passed in self.steps:
            form = step.move(form, passed, saved.get(place, {}))
        if self.pulled is None:
            return form
        place, output = self.pulled
        node = graph.nodes[place]
        dtype = node._input_metadata[output].dtype
        shape = graph.shape(place, output)
        return Pulled(form, GradientEdge(node, output), shape, dtype, name, parameter)


DIRECT = Path(())


def path(graph: Graph, target: tuple[int, int], leaf: int, form: type[Form]) -> Path:
    """Return the path from an input of an operation to a leaf, for a class of forms."""
    if target[0] == leaf:
        return DIRECT
    steps, (place, output) = [], target
    while place != leaf:
        step, targets = STEPS.get(graph.kinds[place]), graph.targets[place]
        if step is None or targets[0] is None or not issubclass(form, step.takes):
            return Path(tuple(steps), (place, output))
        passed = graph.passed(place, 0, output, None, output)
        if not step.fits(passed):
            return Path(tuple(steps), (place, output))
        steps.append((place, step, passed))
        form = step.gives or form
        place, output = targets[0]
    return Path(tuple(steps))


def _same(form, passed, saved):
    return form


def _viewed(form, passed, saved):
    return Formed(form.g.reshape(len(form.g), *passed.into))


def _turned(form, passed, saved):
    return Formed(form.g.mT) if isinstance(form, Formed) else type(form)(form.h, form.delta)


def _is_matrix(passed):
    return len(passed.out) == 2


def _exchanges_two(passed):
    """Say whether the two axes of a matrix are exchanged."""
    order, one, other = (passed.saved(name) for name in ("dims", "dim0", "dim1"))
    if order is None:
        order = (1, 0) if None not in (one, other) and (one - other) % 2 == 1 else (0, 1)
    return _is_matrix(passed) and [axis % 2 for axis in order] == [1, 0]


def _piece(form, passed, saved):
    """Undo a cut of whole lines."""
    start = passed.start_of_part(0)
    return Part(form, slice(start, start + passed.out[0]), passed.into)


def _is_of_lines(passed):
    return passed.saved("dim") == 0 and passed.saved("step", 1) == 1


def _looked_up(form, passed, saved):
    """Undo a choice of lines that all samples share, as of positions."""
    size, index = len(form.g), saved["indices"].flatten()
    delta = form.g.reshape(size, len(index), -1)
    if saved["padding_idx"] >= 0:
        delta = delta.masked_fill((index == saved["padding_idx"])[:, None], 0)
    return Lookup(delta, index.expand(size, -1), passed.into[0])


def _is_plain_lookup(passed):
    return not passed.saved("scale_grad_by_freq")


CAST = Step(_same)
VIEW = Step(_viewed, (Formed,))
PIECE = Step(_piece, (Form,), Part, _is_of_lines)
# Products, at one position or several, are known by the class OuterSum.
TURN = Step(_turned, (Formed, Outer, OuterSum), fits=_exchanges_two)
# Kind of node -> how it is undone. All have one input.
STEPS: dict[str, Step] = {
    **dict.fromkeys(["Alias", "Clone", "ToCopy"], CAST),
    **dict.fromkeys(["ReshapeAlias", "Squeeze", "UnsafeView", "Unsqueeze", "View"], VIEW),
    "T": Step(_turned, (Formed, Outer, OuterSum), fits=_is_matrix),
    **dict.fromkeys(["Permute", "Transpose"], TURN),
    **dict.fromkeys(["Slice", "Split", "SplitWithSizes"], PIECE),
    "Embedding": Step(_looked_up, (Formed,), Lookup, _is_plain_lookup, ("indices", "padding_idx")),
}

"""The table `RULES`: the closed form of a parameter's rows at each input of each operation.

A rule gets the cotangent of the operation's output and the node's saved attributes, and returns a
form of `forms` or `layer_forms`. A kind is the name of an autograd node without "Backward0".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .axes import ELEMENTWISE, as_tuple
from .forms import Form, Formed, Outer, OuterSum
from .layer_forms import Convolution, Lookup
from .layouts import OneSample, SampleAxis, Shape
from .recurrent import lstm_steps


class Argument(NamedTuple):
    """An input of an operation that is a parameter, or a view, cast or function of one."""

    node: Any  # of the operation
    index: int  # of the input
    layout: SampleAxis | OneSample  # of the output's cotangent
    size: int  # B, or 1 if the layout is OneSample
    into: Shape  # the shape of the input
    out: Shape  # the shape of output 0
    dtype: torch.dtype  # to compute in: at least float32

    def is_plain(self, x: Tensor) -> bool:
        """Return whether axis 0 of x is the sample axis, with one entry per sample."""
        return self.layout == SampleAxis(0) and x.shape[0] == self.size

    @property
    def is_one_sample(self) -> bool:
        """Return whether the operation was computed for one sample alone, as in a loop."""
        return isinstance(self.layout, OneSample)

    def first(self, x: Tensor) -> Tensor:
        """Return ``layout.split`` of x, (B, ...), floating-point numbers in ``dtype``."""
        x = self.layout.split(x, self.size)
        return x.to(self.dtype) if x.is_floating_point() else x

    def one_by_one(self, x: Tensor) -> tuple[Tensor, int]:
        """Reorder axis 0 so that each sample's k entries are contiguous; return (B k, ...), k."""
        x = self.first(x)
        return x.flatten(0, 1), x.shape[1]


def _broadcast_over_samples(arg):
    """Return whether the input was broadcast along the sample axis."""
    if arg.is_one_sample:
        return True
    axis = arg.layout.axis - (len(arg.out) - len(arg.into))
    return axis < 0 or arg.into[axis] == 1


def _on_axis_0(arg):
    return arg.is_one_sample or arg.layout.axis == 0


def _behind_axis_0(arg):
    return arg.is_one_sample or arg.layout.axis > 0


def _of_one_sample(arg):
    return arg.is_one_sample


def _always(arg):
    return True


@dataclass(frozen=True)
class Rule:
    """The closed form at one input of one operation: ``make(arg, cotangent, saved)`` returns it.

    ``needs`` are the names of the attributes in ``saved``. The rule applies if ``fits(arg)``.
    ``returns`` is the class of the form (`OuterSum` for `Outer` as well).

    If a node has several outputs, ``prepare({output index: cotangent}, saved, dtype)`` is called
    once for all inputs, and its result is passed to ``make`` instead of the cotangent.
    """

    make: Callable[[Argument, Any, dict], Any]
    needs: tuple[str, ...] = ()
    fits: Callable[[Argument], bool] = _broadcast_over_samples
    returns: type[Form] = Formed
    calls_node: bool = False  # so the graph must be retained
    prepare: Callable[[dict[int, Tensor], dict, torch.dtype], Any] | None = None


# Sums over broadcast axes: biases, scales, position tables, class tokens.
def _summed(arg: Argument, ct: Tensor, saved: Any = None) -> Formed:
    if arg.is_plain(ct) and ct.shape[1:] == arg.into:
        return Formed(ct.to(arg.dtype))
    x = arg.first(ct)
    shape = (1,) * (x.ndim - 1 - len(arg.into)) + arg.into
    axes = [n for n, length in enumerate(shape, 1) if length == 1 and x.shape[n] != 1]
    return Formed((x.sum(axes) if axes else x).reshape(arg.size, *arg.into))


def _times(other, sign=1):
    """Return a ``make`` for a product: ``sign`` times ct times the factor saved as ``other``."""

    def make(arg, ct, saved):
        factor = saved[other] if sign == 1 else -saved[other]
        return _summed(arg, ct if isinstance(factor, int) and factor == 1 else ct * factor)

    return make


def _divided(arg, ct, saved):
    return _summed(arg, ct / saved["other"])


def _divisor(arg, ct, saved):
    return _summed(arg, -ct * saved["self"] / saved["other"].square())


def _copies(arg, ct, saved):
    return Formed(arg.first(ct))


def _one_copy_each(arg):
    """Return whether ``repeat`` made one copy of the input per sample, contiguous on its axis."""
    if arg.is_one_sample:
        return False
    axis, outer, owner = arg.layout
    copy = list(arg.out)
    copy[axis] //= arg.size
    return outer == 1 and owner is None and tuple(copy) == arg.into


def _below_zero(arg, ct, saved):
    x = saved["self"]
    return _summed(arg, torch.where(x > 0, 0, ct * x))  # as PyTorch: NaN stays NaN


def _called(arg, ct, saved):
    """Call the node of an elementwise operation for the input's cotangent, and sum that.

    Autograd's engine, not the node, sums over broadcast axes.
    """
    return _summed(arg, as_tuple(arg.node(ct))[arg.index].detach())


# Products of matrices. The weight is the second factor, (d, p): a row is h^T delta.
def _product(first):
    def make(arg, ct, saved):
        h = saved[first]
        if saved.get("alpha", 1) != 1:
            ct = ct * saved["alpha"]
        if arg.is_plain(ct):
            return Outer(h.to(arg.dtype), ct.to(arg.dtype))
        return OuterSum(arg.first(h), arg.first(ct))

    return make


def _columns(arg, ct, saved):
    """Rows delta h^T of a weight that is the first factor, (p, d), with the samples as columns."""
    return OuterSum(arg.first(ct).mT, arg.first(saved["mat2"]).mT)


def _matrices(arg, ct, saved):
    """Rows of a batch of matrices: sums over a sample's positions in each matrix product."""
    delta, h = arg.first(ct), arg.first(saved["self" if arg.index else "mat2"])
    return Formed(h.mT @ delta if arg.index else delta @ h.mT)


def _vector(arg, ct, saved):
    """Rows of a vector w in M @ w: the sum of a sample's rows of M, each times its cotangent."""
    delta, h = arg.first(ct)[..., None], arg.first(saved["self"])
    return Formed((h * delta).sum(1) if h.ndim == 3 else h * delta)


def _times_vector(arg, ct, saved):
    """Rows of a matrix that is multiplied by the vector of one sample."""
    return Outer(arg.first(ct), arg.first(saved["vec"]))


def _bilinear(arg, ct, saved):
    """Rows of a bilinear layer's weight (p, d, e): sums of products of delta and both inputs."""
    arrays = map(arg.first, (ct, saved["i1"], saved["i3"]))
    factors = [x if x.ndim == 3 else x[:, None] for x in arrays]
    return Formed(torch.einsum("btp,btd,bte->bpde", *factors))


def _of_pairs(arg):
    """Return whether the node is a bilinear layer's, with the samples on axis 0."""
    axes = arg.node._saved_expand2, arg.node._saved_sumdim
    return _on_axis_0(arg) and axes == ((0,), (2, 3))


# Distances from points (..., T, d) to the parameter's, (m, d).
def _distances(arg, ct, saved):
    """Rows of the points (m, d) of cdist, from each sample's T points; p is 2 if not saved."""
    ct, x, distances = (arg.first(a).flatten(1, -2) for a in (ct, saved["x1"], saved["result"]))
    w = saved["x2"].to(arg.dtype).expand(arg.size, *arg.into)
    power = saved.get("p", 2.0)
    return Formed(torch.ops.aten._cdist_backward(ct.mT, w, x, power, distances.mT))


# Convolutions: (B, channels, ...), or (B k, channels, ...) where a sample has k images.
def _convolution(arg, ct, saved):
    x, k = arg.one_by_one(saved["input"])
    delta, _ = arg.one_by_one(ct)
    if saved["transposed"]:  # the backward of a convolution, from delta to x
        x, delta = delta, x
    stride, padding, dilation = (tuple(saved[n]) for n in ("stride", "padding", "dilation"))
    if any(padding):
        x = F.pad(x, [n for side in reversed(padding) for n in (side, side)])
    if saved["transposed"]:  # without what lies behind the last window
        for axis, (step, gap) in enumerate(zip(stride, dilation, strict=True), 2):
            reach = gap * (arg.into[axis] - 1)
            x = x.narrow(axis, 0, (delta.shape[axis] - 1) * step + reach + 1)
    return Convolution(delta, x, k, stride, dilation, saved["groups"], arg.into)


def _convolution_again(arg, ct, saved):
    """Double backward of a convolution: ct is used as the input and ``grad_output`` as delta."""
    return _convolution(arg, saved["grad_output"], saved | {"input": ct})


def _channels(arg, ct, saved):
    """Return rows (B, channels) in a `Formed`: sums over all axes but samples and channels."""
    x = arg.first(ct)  # (B, k, channels, ...)
    return Formed(x.sum([n for n in range(1, x.ndim) if n != 2]))


# Normalisations: the scale multiplies the normalised input.
def _layer_scale(arg, ct, saved):
    return _summed(arg, ct * (saved["input"] - saved["result1"]) * saved["result2"])


def _layer_scale_again(arg, ct, saved):
    """Rows of the scale in a layer normalisation's double backward."""
    axes = tuple(range(-len(saved["normalized_shape"]), 0))
    normal = (saved["input"] - saved["mean"]) * saved["rstd"]
    scaled = (ct * normal).mean(axes, keepdim=True) * normal
    passed = (ct - ct.mean(axes, keepdim=True) - scaled) * saved["rstd"]
    return _summed(arg, passed * saved["grad_out"])


def _no_part(arg, ct, saved):
    return Formed(ct.new_zeros(arg.size, *arg.into, dtype=arg.dtype))


def _group_scale(arg, ct, saved):
    x, mean, rstd = (saved[name] for name in ("input", "result1", "result2"))
    groups = x.reshape(*mean.shape, -1)
    normal = (groups - mean[..., None]) * rstd[..., None]
    return _channels(arg, ct * normal.view_as(x), saved)


def _batch_scale(arg, ct, saved):
    shape = (-1,) + (1,) * (ct.ndim - 2)
    mean, variance = (saved[name].view(shape) for name in ("running_mean", "running_var"))
    return _channels(arg, ct * (saved["input"] - mean) * (variance + saved["eps"]).rsqrt(), saved)


def _lookup(arg, ct, saved):
    index = arg.first(saved["indices"]).flatten(1)
    delta = arg.first(ct).reshape(*index.shape, arg.into[1])
    if saved["padding_idx"] >= 0:
        delta = delta.masked_fill((index == saved["padding_idx"])[..., None], 0)
    if saved["scale_grad_by_freq"]:  # by the counts in the whole batch, as PyTorch does
        delta = delta / index.flatten().bincount()[index][..., None]
    return Lookup(delta, index, arg.into[0])


def _indexed(arg, ct, saved):
    index = saved["indices"][0].to(ct.device, torch.long) % arg.into[0]  # -1 is the last row
    return _lookup(arg, ct, {"indices": index, "padding_idx": -1, "scale_grad_by_freq": False})


def _of_rows(arg):
    """Return whether a parameter itself, a matrix, is indexed by integers along axis 0."""
    first, *others = arg.node._saved_indices
    is_mask = first is None or first.dtype in (torch.bool, torch.uint8)
    is_parameter = hasattr(arg.node.next_functions[0][0], "variable")
    is_lookup = is_parameter and not is_mask and all(index is None for index in others)
    return is_lookup and _of_table(arg)


MEAN, MAX = 1, 2  # modes of an EmbeddingBag; 0 is a sum


def _bags(arg, ct, saved):
    """Rows of EmbeddingBag as a `Lookup`: shorter bags are padded by entries with delta = 0."""
    index, start = saved["indices"], saved["offsets"][: arg.size]
    if saved["mode"] == MAX:  # result3 has the table's row of each component's maximum
        ct = ct.masked_fill((saved["result2"] == 0)[:, None], 0)
        return Lookup(torch.diag_embed(ct.to(arg.dtype)), saved["result3"], arg.into[0])
    end = torch.cat([start[1:], start.new_tensor([len(index)])])
    entries = start[:, None] + torch.arange(int((end - start).max()), device=start.device)
    counts, entries = entries < end[:, None], entries.clamp(max=len(index) - 1)
    index, share = index[entries], torch.ones(entries.shape, dtype=arg.dtype, device=ct.device)
    counts &= index != saved["padding_idx"]
    if saved["mode"] == MEAN:
        share = share / counts.sum(1, keepdim=True).clamp(min=1)
    if saved["per_sample_weights"] is not None:
        share = share * saved["per_sample_weights"][entries]
    return Lookup(ct[:, None].to(arg.dtype) * (share * counts)[..., None], index, arg.into[0])


def _one_bag_each(arg):
    if arg.node._saved_scale_grad_by_freq:
        return False
    return (arg.is_one_sample or arg.layout == SampleAxis(0)) and arg.out[0] == arg.size


def _of_table(arg):
    """Return whether the parameter is a matrix and the output's last axis is not the samples'."""
    return len(arg.into) == 2 and (arg.is_one_sample or arg.layout.axis < len(arg.out) - 1)


def _with_kept_statistics(arg):
    return _on_axis_0(arg) and not arg.node._saved_training


# Recurrent layers, (T, B, ...): the weights are used at T steps.
def _own_steps(arg, x):
    """Return x, (T, B, ...), as (B, T, ...), or (B, T k, ...) if axis 1 has k for each sample."""
    return arg.first(x).flatten(1, 2)


def _products_of_steps(name):
    def make(arg, steps, saved):
        return OuterSum(_own_steps(arg, steps.delta), _own_steps(arg, getattr(steps, name)))

    return make


def _sum_of_steps(arg, steps, saved):
    return Formed(_own_steps(arg, steps.delta).sum(1))


CONVOLUTION = (
    "input", "stride", "padding", "dilation", "transposed", "groups",
)  # fmt: skip
CONVOLUTION_AGAIN = ("grad_output", *CONVOLUTION[1:])
KEPT_STATISTICS = ("input", "running_mean", "running_var", "eps")
TABLE = ("indices", "padding_idx", "scale_grad_by_freq")
BAGS = (
    "indices", "padding_idx", "offsets", "mode", "per_sample_weights", "result2", "result3",
)  # fmt: skip
LSTM = (
    "input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_", "result0", "reverse",
    "has_biases",
)  # fmt: skip
# Kind -> input index -> rule. For the first overload alone, Backward0: others have other formulas.
RULES: dict[str, dict[int, Rule]] = {
    "Addmm": {
        0: Rule(_times("beta"), ("beta",)),
        2: Rule(_product("mat1"), ("mat1", "alpha"), _on_axis_0, returns=OuterSum),
    },
    "Mm": {
        0: Rule(_columns, ("mat2",), _behind_axis_0, returns=OuterSum),
        1: Rule(_product("self"), ("self",), _on_axis_0, returns=OuterSum),
    },
    "Bmm": {
        0: Rule(_matrices, ("mat2",), _behind_axis_0),
        1: Rule(_matrices, ("self",), _behind_axis_0),
    },
    "Mv": {
        0: Rule(_times_vector, ("vec",), _of_one_sample, returns=OuterSum),
        1: Rule(_vector, ("self",), _always),
    },
    "Trilinear": {1: Rule(_bilinear, ("i1", "i3"), _of_pairs)},
    "Dot": {
        0: Rule(_times("tensor"), ("tensor",), _always),
        1: Rule(_times("self"), ("self",), _always),
    },
    "Add": {0: Rule(_summed), 1: Rule(_times("alpha"), ("alpha",))},
    "Sub": {0: Rule(_summed), 1: Rule(_times("alpha", -1), ("alpha",))},
    "Mul": {0: Rule(_times("other"), ("other",)), 1: Rule(_times("self"), ("self",))},
    "Div": {0: Rule(_divided, ("other",)), 1: Rule(_divisor, ("self", "other"))},
    "Cdist": {1: Rule(_distances, ("x1", "x2", "p", "result"), _of_table)},
    "EuclideanDist": {1: Rule(_distances, ("x1", "x2", "result"), _of_table)},
    "Expand": {0: Rule(_summed)},
    "Repeat": {0: Rule(_copies, (), _one_copy_each)},
    "PreluKernel": {1: Rule(_below_zero, ("self",))},
    "Convolution": {
        1: Rule(_convolution, CONVOLUTION, _on_axis_0, returns=Convolution),
        2: Rule(_channels, (), _on_axis_0),
    },
    "ConvolutionBackward": {
        2: Rule(_convolution_again, CONVOLUTION_AGAIN, _on_axis_0, returns=Convolution),
    },
    "NativeLayerNorm": {1: Rule(_layer_scale, ("input", "result1", "result2")), 2: Rule(_summed)},
    "NativeLayerNormBackward": {
        4: Rule(_layer_scale_again, ("grad_out", "input", "mean", "rstd", "normalized_shape")),
        5: Rule(_no_part, (), _always),
    },
    "NativeGroupNorm": {
        1: Rule(_group_scale, ("input", "result1", "result2"), _on_axis_0),
        2: Rule(_channels, (), _on_axis_0),
    },
    "NativeBatchNorm": {
        1: Rule(_batch_scale, KEPT_STATISTICS, _with_kept_statistics),
        2: Rule(_channels, (), _on_axis_0),
    },
    "Embedding": {0: Rule(_lookup, TABLE, _of_table, returns=Lookup)},
    "EmbeddingBag": {0: Rule(_bags, BAGS, _one_bag_each, Lookup)},
    "MkldnnRnnLayer": {
        1: Rule(_products_of_steps("x"), LSTM, _always, returns=OuterSum, prepare=lstm_steps),
        2: Rule(_products_of_steps("h"), LSTM, _always, returns=OuterSum, prepare=lstm_steps),
        3: Rule(_sum_of_steps, LSTM, _always, prepare=lstm_steps),
        4: Rule(_sum_of_steps, LSTM, _always, prepare=lstm_steps),
    },
    "Index": {0: Rule(_indexed, ("indices",), _of_rows, Lookup)},
}
# All other elementwise kinds, at any input, but two whose node sums over broadcast axes.
CALL = Rule(_called, calls_node=True)
CALLED = set(ELEMENTWISE.split()) - {"Copysign", "MaskedFill"}


def rule_of(name: str, kind: str, input_index: int) -> Rule | None:
    """Return the rule at an input of a node of this name and kind; None if there is none."""
    rule = RULES.get(kind, {}).get(input_index) if name == f"{kind}Backward0" else None
    return CALL if rule is None and kind in CALLED else rule

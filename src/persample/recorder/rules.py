"""The table: for each operation and each of its inputs, the form that a parameter's rows have.

A rule gets the cotangent of the operation's output and what the forward pass saved for it, and
returns a form of `forms` or `layer_forms`. A kind is the name of PyTorch's autograd node without
"Backward0".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .along import Along, OneSample, Shape
from .axes import ELEMENTWISE
from .forms import Form, Formed, Outer, OuterSum
from .layer_forms import Convolution, ConvolutionLoop, Groups, Lookup
from .recurrent import lstm_steps


class Use(NamedTuple):
    """One use of a parameter: where the samples lie, and the shape of what the operation took."""

    along: Along | OneSample
    size: int  # B, or 1 where all is one sample's
    shape: Shape
    dtype: torch.dtype  # of the rows while they are worked out

    def is_plain(self, x: Tensor) -> bool:
        """Say whether axis 0 counts the samples and nothing else."""
        return self.along == Along(0) and x.shape[0] == self.size

    @property
    def is_one_sample(self) -> bool:
        """Say whether all is one sample's."""
        return type(self.along) is OneSample

    def first(self, x: Tensor) -> Tensor:
        """Return x with the samples first; floating-point numbers in the dtype of the rows."""
        x = self.along.split(x, self.size)
        return x.to(self.dtype) if x.is_floating_point() else x

    def one_by_one(self, x: Tensor) -> tuple[Tensor, int]:
        """Return (B k, ...) and k: each sample's k entries of axis 0 side by side."""
        x = self.first(x)
        return x.flatten(0, 1), x.shape[1]


def _repeated(use, output):
    """Say whether the operation took the same input for all samples, not a part for each."""
    missing = len(output) - len(use.shape)
    return (
        use.is_one_sample or use.along.axis < missing or use.shape[use.along.axis - missing] == 1
    )


def _on_axis_0(use, output):
    return use.is_one_sample or use.along.axis == 0


def _always(use, output):
    return True


def _never(node):
    return False


@dataclass(frozen=True)
class Rule:
    """``make(use, cotangent, saved)`` -> form; ``saved`` has the ``needs`` by name.

    ``fits(use, shape of the output)`` says whether the samples lie as the rule wants them,
    ``unless(node)`` whether the rule does not hold for what the operation was told, and ``gives``
    what class of form it makes (`OuterSum` of all products).

    Of an operation with several outputs, ``prepare(use, cotangents, saved)`` gets those that are
    used, by number. It is called once for all inputs, and ``make`` gets what it returns.
    """

    make: Callable[[Use, Any, dict], Any]
    needs: tuple[str, ...] = ()
    fits: Callable[[Use, Shape], bool] = _repeated
    unless: Callable[[Any], bool] = _never
    gives: type[Form] = Formed
    calls_node: bool = False  # it calls the node, whose graph must be kept until then
    prepare: Callable[[Use, dict[int, Tensor], dict], Any] | None = None


# A sum over whatever the operation repeated: biases, scales, positions, class tokens.
def _summed(use: Use, ct: Tensor, saved: Any = None) -> Formed:
    if use.is_plain(ct) and ct.shape[1:] == use.shape:
        return Formed(ct.to(use.dtype))
    x = use.first(ct)
    shape = (1,) * (x.ndim - 1 - len(use.shape)) + use.shape
    axes = [n for n, length in enumerate(shape, 1) if length == 1 and x.shape[n] != 1]
    return Formed((x.sum(axes) if axes else x).reshape(use.size, *use.shape))


def _times(other, sign=1):
    """Multiply by what was saved: another input, or a factor, which is mostly 1."""

    def make(use, ct, saved):
        factor = saved[other] if sign == 1 else -saved[other]
        return _summed(use, ct if isinstance(factor, int) and factor == 1 else ct * factor)

    return make


def _divided(use, ct, saved):
    return _summed(use, ct / saved["other"])


def _divisor(use, ct, saved):
    return _summed(use, -ct * saved["self"] / saved["other"].square())


def _copies(use, ct, saved):
    return Formed(use.first(ct))


def _one_copy_each(use, output):
    """Say whether an array was repeated once for each sample, and the repeats stand together."""
    if use.is_one_sample:
        return False
    axis, outer, owner = use.along
    return (
        outer == 1
        and owner is None
        and ((*output[:axis], output[axis] // use.size, *output[axis + 1 :]) == use.shape)
    )


def _below_zero(use, ct, saved):
    x = saved["self"]
    return _summed(use, torch.where(x > 0, 0, ct * x))  # as PyTorch: NaN stays NaN


def _called(use, ct, saved):
    """Let an elementwise operation differentiate itself.

    A node called by itself does not sum over what was repeated, which is the engine's part.
    """
    passed = saved["node"](ct.to(saved["dtype"]))
    passed = passed if isinstance(passed, Tensor) else passed[saved["slot"]]
    return _summed(use, passed.detach())


# Products of matrices: the weight is the second factor, (d, p), so a row is h^T delta.
def _product(first):
    def make(use, ct, saved):
        h = saved[first]
        if saved.get("alpha", 1) != 1:
            ct = ct * saved["alpha"]
        if use.is_plain(ct):
            return Outer(h.to(use.dtype), ct.to(use.dtype))
        return OuterSum(use.first(h), use.first(ct))

    return make


# Convolutions: (B, channels, ...), or (B k, channels, ...) where a sample has k images.
def _convolution(use, ct, saved):
    x, k = use.one_by_one(saved["input"])
    delta, _ = use.one_by_one(ct)
    sizes = [tuple(saved[name]) for name in ("stride", "padding", "dilation")]
    stride, padding, dilation = sizes
    if saved["transposed"] or x.ndim > 4:
        options = saved["transposed"], tuple(saved["output_padding"]), saved["groups"]
        form = ConvolutionLoop(delta, x, (stride, padding, dilation, *options), use.shape)
    else:
        if any(padding):
            x = F.pad(x, [n for side in reversed(padding) for n in (side, side)])
        kernel = use.shape[2:]
        if x.ndim == 3:  # one dimension is two, the first of length 1
            x, delta = x[:, :, None], delta[:, :, None]
            kernel, stride, dilation = (1, *kernel), (1, *stride), (1, *dilation)
        form = Convolution(delta, x, kernel, stride, dilation, saved["groups"], use.shape)
    return form if k == 1 else Groups(form, k)


def _convolution_again(use, ct, saved):
    """The backward pass, differentiated: ct has the place of the input, its cotangent of delta."""
    return _convolution(use, saved["grad_output"], saved | {"input": ct})


def _channels(use, ct, saved):
    """Sum over all axes but the samples' and the channels', which are axis 1 of the output."""
    x = use.first(ct)  # (B, k, channels, ...)
    return Formed(x.sum([n for n in range(1, x.ndim) if n != 2]))


# Normalisations: the scale multiplies what was normalised.
def _layer_scale(use, ct, saved):
    return _summed(use, ct * (saved["input"] - saved["result1"]) * saved["result2"])


def _layer_scale_again(use, ct, saved):
    """The backward pass, differentiated by the scale: it takes what was normalised of ct."""
    axes = tuple(range(-len(saved["normalized_shape"]), 0))
    normal = (saved["input"] - saved["mean"]) * saved["rstd"]
    along = (ct * normal).mean(axes, keepdim=True) * normal
    passed = (ct - ct.mean(axes, keepdim=True) - along) * saved["rstd"]
    return _summed(use, passed * saved["grad_out"])


def _no_part(use, ct, saved):
    return Formed(ct.new_zeros(use.size, *use.shape, dtype=use.dtype))


def _group_scale(use, ct, saved):
    x, mean, rstd = (saved[name] for name in ("input", "result1", "result2"))
    groups = x.reshape(*mean.shape, -1)
    normal = (groups - mean[..., None]) * rstd[..., None]
    return _channels(use, ct * normal.view_as(x), saved)


def _batch_scale(use, ct, saved):
    shape = (-1,) + (1,) * (ct.ndim - 2)
    mean, variance = (saved[name].view(shape) for name in ("running_mean", "running_var"))
    return _channels(use, ct * (saved["input"] - mean) * (variance + saved["eps"]).rsqrt(), saved)


def _by_frequency(node):
    return node._saved_scale_grad_by_freq


def _lookup(use, ct, saved):
    index = use.first(saved["indices"]).flatten(1)
    delta = use.first(ct).reshape(*index.shape, use.shape[1])
    if saved["padding_idx"] >= 0:
        delta = delta.masked_fill((index == saved["padding_idx"])[..., None], 0)
    if saved["scale_grad_by_freq"]:  # how often in the whole batch, as the layer is defined
        delta = delta / index.flatten().bincount()[index][..., None]
    return Lookup(delta, index, use.shape[0])


def _indexed(use, ct, saved):
    index = use.first(saved["indices"][0].to(ct.device, torch.long)).flatten(1)
    delta = use.first(ct).reshape(*index.shape, use.shape[1])
    return Lookup(delta, index % use.shape[0], use.shape[0])  # -1 is the last line


def _is_no_lookup(node):
    """Say whether it is not lines of a parameter that numbers choose."""
    first, *others = node._saved_indices
    is_mask = first is None or first.dtype in (torch.bool, torch.uint8)
    is_parameter = hasattr(node.next_functions[0][0], "variable")
    return not is_parameter or is_mask or any(index is not None for index in others)


MEAN, LARGEST = 1, 2  # modes of an EmbeddingBag; 0 is a sum


def _bags(use, ct, saved):
    """Every sample has a bag of indices: padded to the longest, it is a lookup."""
    index, start = saved["indices"], saved["offsets"][: use.size]
    if saved["mode"] == LARGEST:  # component k comes from the row of the table that was largest
        ct = ct.masked_fill((saved["result2"] == 0)[:, None], 0)
        return Lookup(torch.diag_embed(ct.to(use.dtype)), saved["result3"], use.shape[0])
    end = torch.cat([start[1:], start.new_tensor([len(index)])])
    places = start[:, None] + torch.arange(int((end - start).max()), device=start.device)
    counts, places = places < end[:, None], places.clamp(max=len(index) - 1)
    index, share = index[places], torch.ones(places.shape, dtype=use.dtype, device=ct.device)
    counts &= index != saved["padding_idx"]
    if saved["mode"] == MEAN:
        share = share / counts.sum(1, keepdim=True).clamp(min=1)
    if saved["per_sample_weights"] is not None:
        share = share * saved["per_sample_weights"][places]
    return Lookup(ct[:, None].to(use.dtype) * (share * counts)[..., None], index, use.shape[0])


def _one_bag_each(use, output):
    return (use.is_one_sample or use.along == Along(0)) and output[0] == use.size


def _of_table(use, output):
    """Say whether lines of a table were chosen, and the samples lie along an axis of the index."""
    return len(use.shape) == 2 and (use.is_one_sample or use.along.axis < len(output) - 1)


def _uses_batch_statistics(node):
    return node._saved_training


# Recurrent layers, (T, B, ...): each of a sample's T steps uses the weights.
def _lstm(use, cts, saved):
    return lstm_steps(cts, saved, use.dtype)


def _own_steps(use, x):
    """Return (B, T, ...), or (B, T k, ...) where a sample has k entries of axis 1."""
    return use.first(x).flatten(1, 2)


def _of_input(use, steps, saved):
    return OuterSum(_own_steps(use, steps.delta), _own_steps(use, steps.x))


def _of_state(use, steps, saved):
    return OuterSum(_own_steps(use, steps.delta), _own_steps(use, steps.h))


def _of_gates(use, steps, saved):
    return Formed(_own_steps(use, steps.delta).sum(1))


CONVOLUTION = (
    "input", "stride", "padding", "dilation", "transposed", "output_padding", "groups",
)  # fmt: skip
TABLE = ("indices", "padding_idx", "scale_grad_by_freq")
BAGS = (
    "indices", "padding_idx", "offsets", "mode", "per_sample_weights", "result2", "result3",
)  # fmt: skip
LSTM = (
    "input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_", "result0", "reverse",
    "has_biases",
)  # fmt: skip
# Kind of operation -> number of the input -> rule. Of its first overload alone (Backward0): the
# others have formulas of their own.
RULES: dict[str, dict[int, Rule]] = {
    "Addmm": {
        0: Rule(_times("beta"), ("beta",)),
        2: Rule(_product("mat1"), ("mat1", "alpha"), _on_axis_0, gives=OuterSum),
    },
    "Mm": {1: Rule(_product("self"), ("self",), _on_axis_0, gives=OuterSum)},
    "Add": {0: Rule(_summed), 1: Rule(_times("alpha"), ("alpha",))},
    "Sub": {0: Rule(_summed), 1: Rule(_times("alpha", -1), ("alpha",))},
    "Mul": {0: Rule(_times("other"), ("other",)), 1: Rule(_times("self"), ("self",))},
    "Div": {
        0: Rule(_divided, ("other",)),
        1: Rule(_divisor, ("self", "other")),
    },
    "Expand": {0: Rule(_summed)},
    "Repeat": {0: Rule(_copies, (), _one_copy_each)},
    "PreluKernel": {1: Rule(_below_zero, ("self",))},
    "Convolution": {
        1: Rule(_convolution, CONVOLUTION, _on_axis_0, gives=Convolution),
        2: Rule(_channels, (), _on_axis_0),
    },
    "ConvolutionBackward": {
        2: Rule(
            _convolution_again, ("grad_output", *CONVOLUTION[1:]), _on_axis_0, gives=Convolution
        ),
    },
    "NativeLayerNorm": {
        1: Rule(_layer_scale, ("input", "result1", "result2")),
        2: Rule(_summed),
    },
    "NativeLayerNormBackward": {
        4: Rule(_layer_scale_again, ("grad_out", "input", "mean", "rstd", "normalized_shape")),
        5: Rule(_no_part, (), _always),
    },
    "NativeGroupNorm": {
        1: Rule(_group_scale, ("input", "result1", "result2"), _on_axis_0),
        2: Rule(_channels, (), _on_axis_0),
    },
    "NativeBatchNorm": {
        1: Rule(
            _batch_scale,
            ("input", "running_mean", "running_var", "eps"),
            _on_axis_0,
            _uses_batch_statistics,
        ),
        2: Rule(_channels, (), _on_axis_0),
    },
    "Embedding": {0: Rule(_lookup, TABLE, _of_table, gives=Lookup)},
    "EmbeddingBag": {0: Rule(_bags, BAGS, _one_bag_each, _by_frequency, Lookup)},
    "MkldnnRnnLayer": {
        1: Rule(_of_input, LSTM, _always, gives=OuterSum, prepare=_lstm),
        2: Rule(_of_state, LSTM, _always, gives=OuterSum, prepare=_lstm),
        3: Rule(_of_gates, LSTM, _always, prepare=_lstm),
        4: Rule(_of_gates, LSTM, _always, prepare=_lstm),
    },
    "Index": {0: Rule(_indexed, ("indices",), _of_table, _is_no_lookup, Lookup)},
}
# Any other operation of ELEMENTWISE, at any input, but two that sum over what was repeated.
CALL = Rule(_called, calls_node=True)
CALLED = set(ELEMENTWISE.split()) - {"Copysign", "MaskedFill"}


def rule_of(name: str, kind: str, slot: int) -> Rule | None:
    """Return the rule of an input of a node; None where there is none."""
    rule = RULES.get(kind, {}).get(slot) if name == f"{kind}Backward0" else None
    return CALL if rule is None and kind in CALLED else rule

"""Backward pass of an LSTM layer that PyTorch ran as one node, for the cotangents of z_t.

    z_t = W_ih x_t + W_hh h_{t-1} + b_ih + b_hh
    i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of the four parts of z_t
    c_t = f c_{t-1} + i g,   h_t = o tanh(c_t)

The cotangents of z_t, with x_t and h_{t-1}, give the rows of all four parameters. All h_t are the
layer's output, so two products give all z_t at once; only c_t and the cotangents are recurrences.
Arrays are (T, B, ...), as in PyTorch's node.

Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
"""

from typing import NamedTuple

import torch
from torch import Tensor

# (ct, y, grad_input=out): ct y (1 - y) for y = sigmoid(z), and ct (1 - y^2) for y = tanh(z).
OF_SIGMOID = torch.ops.aten.sigmoid_backward.grad_input
OF_TANH = torch.ops.aten.tanh_backward.grad_input


class Steps(NamedTuple):
    """The inputs x_t and h_{t-1} of all steps, and ``delta``, the cotangents of all z_t."""

    delta: Tensor  # (T, B, 4 h), of z_t
    x: Tensor  # (T, B, d)
    h: Tensor  # (T, B, h), h_{t-1}


@torch.no_grad()
def lstm_steps(cotangents: dict[int, Tensor], saved: dict, dtype: torch.dtype) -> Steps:
    """Return a layer's `Steps`, in ``dtype``, from {output index: cotangent}.

    Outputs are all h_t (0), the last h (1) and the last c (2); a missing cotangent is 0. ``saved``
    has the node's saved attributes. A reverse layer begins with the last x_t.
    """
    arrays = {name: x.to(dtype) for name, x in saved.items() if isinstance(x, Tensor)}
    reverse, outputs = saved["reverse"], arrays["result0"]
    h, _ = _before_and_after(arrays["hx_"], outputs, reverse)
    gates = _gates(arrays, h, saved["has_biases"])
    of_gates, of_c = _factors(gates, arrays["cx_"], reverse)
    ct_all, ct_h, ct_c = (
        cotangents[n].to(dtype, copy=True) if n in cotangents else torch.zeros_like(like)
        for n, like in enumerate((outputs, outputs[0], outputs[0]))
    )
    delta = of_gates.flatten(2)
    parts = (ct_all, of_c, of_gates[:, :, :3], of_gates[:, :, 3], delta, gates[:, :, 1])
    steps, wide_c = _each_step(parts, not reverse), ct_c[:, None]
    for ct, of_c, of_ifg, of_o, z, f in steps:  # z, of_ifg and of_o are views of delta
        ct_h += ct
        ct_c.addcmul_(ct_h, of_c)
        of_ifg *= wide_c
        of_o *= ct_h
        ct_c *= f
        torch.mm(z, arrays["weight1"], out=ct_h)
    return Steps(delta, arrays["input"], h)


def _each_step(arrays, reverse):
    """Return a list: for each step a tuple of x[t], x in ``arrays``; last t first if reverse."""
    steps = list(zip(*[x.unbind(0) for x in arrays], strict=True))
    return steps[::-1] if reverse else steps


def _before_and_after(first, steps, reverse):
    """Return the states before and after each step: overlapping views of a (T + 1, ...) array."""
    if reverse:
        states = torch.cat([steps, first[None]])
        return states[1:], states[:-1]
    states = torch.cat([first[None], steps])
    return states[:-1], states[1:]


def _gates(arrays, h, has_biases):
    """Return i, f, g, o of all steps, (T, B, 4, h)."""
    T, B, size = h.shape
    z = h.new_empty(T * B, 4 * size)  # autocast does not change products with ``out``
    torch.mm(h.reshape(T * B, size), arrays["weight1"].T, out=z)
    z.addmm_(arrays["input"].reshape(T * B, -1), arrays["weight0"].T)
    if has_biases:
        z += arrays["weight2"] + arrays["weight3"]
    gates = z.view(T, B, 4, size)
    gates[:, :, :2].sigmoid_()
    gates[:, :, 2].tanh_()
    gates[:, :, 3].sigmoid_()
    return gates


def _factors(gates, first, reverse):
    """Return the elementwise derivatives of an LSTM's steps.

    The first array, (T, B, 4, h): dc_t / dz_t for the gates i, f and g, and dh_t / dz_t for o. The
    second, (T, B, h): dh_t / dc_t.
    """
    i, f, g, o = gates.unbind(2)
    before, after = _before_and_after(first, i * g, reverse)
    for earlier, later, kept in _each_step((before, after, f), reverse):
        later.addcmul_(kept, earlier)
    factors, c = torch.empty_like(gates), after.tanh()
    OF_SIGMOID(g, i, grad_input=factors[:, :, 0])
    OF_SIGMOID(before, f, grad_input=factors[:, :, 1])
    OF_TANH(i, g, grad_input=factors[:, :, 2])
    OF_SIGMOID(c, o, grad_input=factors[:, :, 3])
    return factors, OF_TANH(o, c, grad_input=c)

"""Programs that mislead whoever looks at shapes or numbers: name -> model and inputs.

They have as many positions as samples, samples on another axis, folded into one, reordered;
weights used where no layer sees it; layers changed from outside.
"""

import threading
import warnings

import torch
import torch.nn.functional as F
from model_blocks import Made
from torch import nn
from torch.nn.utils import parametrizations, rnn, spectral_norm
from torch.utils.checkpoint import checkpoint

B = T = 6
P = nn.Parameter


def r(*shape):
    return torch.randn(*shape)


def i(*shape):
    return torch.randint(0, 9, shape)


def encoder(**options):
    return nn.TransformerEncoderLayer(4, 2, 8, **options)


def hooked():
    model = nn.PReLU()
    model.register_forward_hook(lambda module, args, output: 2 * output)
    return model


def changed():
    model = nn.Linear(4, 3)
    before = model.forward
    model.forward = lambda x: 3 * before(x)
    return model


class OwnConvolution(nn.Conv2d):
    def _conv_forward(self, x, weight, bias):
        return super()._conv_forward(x, 2 * weight.tanh(), bias)


def product(x, weight):
    return torch.tanh(x @ weight) * weight.sum()


def as_script(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated, and still in use
        return torch.jit.script(function)


scripted = as_script(product)


def in_a_thread(m, x):
    result = []
    thread = threading.Thread(target=lambda: result.append(m.l(x)))
    thread.start()
    thread.join()
    return result[0]


def derivative(m, x):
    """The gradient of a network by its input, as a physics-informed loss has it."""
    return torch.func.grad(lambda t: m.b(torch.tanh(m.a(t))).sum())(x)


def derivative_of_each(m, x):
    return torch.vmap(torch.func.grad(lambda t: m.b(torch.tanh(m.a(t))).sum()))(x)


def derivative_by_autograd(m, x):
    x = x.requires_grad_()
    y = m.b(torch.tanh(m.a(x)))
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


def last_state(m, x):
    state = m.l(x)[1]
    return (state[0] if isinstance(state, tuple) else state)[0]


def packed(m, x):
    lengths = [3, 5, 2, 5, 1, 4]
    sequence = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    return rnn.pad_packed_sequence(m.l(sequence)[0], batch_first=True)[0]


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w * w

    @staticmethod
    def backward(ctx, ct):
        x, w = ctx.saved_tensors
        return ct * w * w, (ct * 2 * x * w).sum(0)


def one_expert(m, x):
    choice = (x.sum(1) > 0).long()
    return torch.stack([m.a(x), m.b(x)], 1)[torch.arange(len(x)), choice]


def masked_experts(m, x):
    first = x.sum(1) > 0
    out = x.new_zeros(len(x), 3)
    out = out.index_put((first.nonzero()[:, 0],), m.a(x[first]))
    return out.index_put(((~first).nonzero()[:, 0],), m.b(x[~first]))


def windows(m, x):
    parts = x.view(B, 2, 2, 2, 2, 4).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 4)
    return m.l(parts * m.g).view(B, -1)


def inner_folded(x):
    return x.transpose(0, 1).flatten(0, 1)


def unfold(y):
    return y.unflatten(0, (3, B)).transpose(0, 1)


def centred(x):
    return x - x.mean(0)


PROGRAMS = {
    "as many positions as samples, looked up": lambda: (
        Made(lambda m, x: m.l(x + m.p(torch.arange(T))), p=nn.Embedding(T, 4), l=nn.Linear(4, 3)),
        (r(B, T, 4),),
    ),
    "positions, a parameter": lambda: (
        Made(lambda m, x: m.l(x + m.p), p=P(r(1, T, 4)), l=nn.Linear(4, 3)),
        (r(B, T, 4),),
    ),
    "positions, dropped out": lambda: (
        Made(
            lambda m, x: m.l(x + F.dropout(m.p(torch.arange(T)), 0.5)[None]),
            p=nn.Embedding(T, 4),
            l=nn.Linear(4, 3),
        ),
        (r(B, T, 4),),
    ),
    "a relative bias, as many positions as samples": lambda: (
        Made(
            lambda m, x: (
                torch.softmax(
                    x @ x.mT + m.p(torch.arange(T).expand(T, T)).permute(2, 0, 1).sum(0), -1
                )
                @ x
            ),
            p=nn.Embedding(T, 2),
        ),
        (r(B, T, 4),),
    ),
    "a mask, as many positions as samples": lambda: (
        Made(
            lambda m, x: m.l(x, src_mask=nn.Transformer.generate_square_subsequent_mask(T)),
            l=encoder(batch_first=True),
        ),
        (r(B, T, 4),),
    ),
    "a hook with a value": lambda: (hooked(), (r(B, 4),)),
    "spectral_norm, a hook": lambda: (spectral_norm(nn.Linear(4, 3)), (r(B, 4),)),
    "spectral_norm, a parametrization": lambda: (
        parametrizations.spectral_norm(nn.Linear(4, 3)),
        (r(B, 4),),
    ),
    "weight_norm": lambda: (parametrizations.weight_norm(nn.Conv2d(2, 3, 2)), (r(B, 2, 4, 4),)),
    "orthogonal": lambda: (parametrizations.orthogonal(nn.Linear(4, 3)), (r(B, 4),)),
    "a changed forward": lambda: (changed(), (r(B, 4),)),
    "a changed inner function": lambda: (OwnConvolution(2, 3, 2), (r(B, 2, 4, 4),)),
    "a scripted function": lambda: (
        Made(lambda m, x: m.l(x) + scripted(x, m.l.weight.t()), l=nn.Linear(4, 3)),
        (r(B, 4),),
    ),
    "a scripted model": lambda: (
        as_script(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()),
        (r(B, 4),),
    ),
    "another thread": lambda: (Made(in_a_thread, l=nn.Linear(4, 3)), (r(B, 4),)),
    "a gradient inside, for each sample": lambda: (
        Made(derivative_of_each, a=nn.Linear(4, 5), b=nn.Linear(5, 1)),
        (r(B, 4),),
    ),
    "a gradient inside": lambda: (
        Made(derivative, a=nn.Linear(4, 5), b=nn.Linear(5, 1)),
        (r(B, 4),),
    ),
    "a gradient inside, by autograd": lambda: (
        Made(derivative_by_autograd, a=nn.Linear(4, 5), b=nn.Linear(5, 1)),
        (r(B, 4),),
    ),
    "sequences first": lambda: (
        Made(lambda m, x: m.l(x).transpose(0, 1), l=encoder()),
        (r(T, B, 4),),
    ),
    "samples in another order": lambda: (
        Made(lambda m, x: m.l(x[torch.randperm(B)]), l=nn.Linear(4, 3)),
        (r(B, 4),),
    ),
    "lstmcell": lambda: (Made(lambda m, x: m.l(x)[0], l=nn.LSTMCell(4, 3)), (r(B, 4),)),
    "grucell": lambda: (Made(lambda m, x: m.l(x), l=nn.GRUCell(4, 3)), (r(B, 4),)),
    "packed sequences": lambda: (Made(packed, l=nn.GRU(4, 3, batch_first=True)), (r(B, 5, 4),)),
    "encoder with dropout": lambda: (
        nn.TransformerEncoder(encoder(batch_first=True), 2),
        (r(B, T, 4),),
    ),
    "encoder and decoder": lambda: (
        Made(lambda m, x: m.t(x, x.flip(1)), t=nn.Transformer(4, 2, 1, 1, 8, batch_first=True)),
        (r(B, 5, 4),),
    ),
    "a list of parameters": lambda: (
        Made(lambda m, x: x @ m.w[0] + m.w[1], w=nn.ParameterList([P(r(4, 3)), P(r(3))])),
        (r(B, 4),),
    ),
    "a dict of parameters": lambda: (
        Made(
            lambda m, x: (x @ m.w["a"] + m.w["b"]) * m.w["c"],
            w=nn.ParameterDict({"a": P(r(4, 3)), "b": P(r(3)), "c": P(r(()))}),
        ),
        (r(B, 7, 4),),
    ),
    "a weight on the left": lambda: (
        Made(lambda m, x: (m.w @ x.mT).mT, w=P(r(3, 4))),
        (r(B, 7, 4),),
    ),
    "einsum": lambda: (
        Made(lambda m, x: torch.einsum("btd,hdk->bhtk", x, m.w), w=P(r(2, 4, 3))),
        (r(B, 7, 4),),
    ),
    "einsum with heads": lambda: (
        Made(lambda m, x: torch.einsum("bthd,hdk->bthk", x, m.w), w=P(r(2, 4, 3))),
        (r(B, 7, 2, 4),),
    ),
    "activation checkpointing": lambda: (
        Made(
            lambda m, x: m.b(checkpoint(m.a, m.c(x), use_reentrant=False)),
            a=nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, 4)),
            b=nn.Linear(4, 3),
            c=nn.Linear(4, 4),
        ),
        (r(B, 4),),
    ),
    "convolution of B k images": lambda: (
        Made(lambda m, x: m.l(x.flatten(0, 1)).unflatten(0, (B, 3)), l=nn.Conv2d(2, 3, 2)),
        (r(B, 3, 2, 4, 4),),
    ),
    "convolution of k B images": lambda: (
        Made(lambda m, x: unfold(m.l(inner_folded(x))), l=nn.Conv2d(2, 3, 2)),
        (r(B, 3, 2, 4, 4),),
    ),
    "norms of k B images": lambda: (
        Made(
            lambda m, x: unfold(m.l(m.g(m.l(inner_folded(x))))),
            l=nn.LayerNorm(4),
            g=nn.GroupNorm(2, 2),
        ),
        (r(B, 3, 2, 4, 4),),
    ),
    "ConvTranspose2d": lambda: (nn.ConvTranspose2d(2, 4, 3, stride=2, groups=2), (r(B, 2, 4, 4),)),
    "Conv3d": lambda: (nn.Conv3d(2, 4, 2, groups=2, padding=1, stride=2), (r(B, 2, 4, 4, 4),)),
    "Bilinear": lambda: (
        Made(lambda m, x: m.l(x[:, :3], x[:, 3:]), l=nn.Bilinear(3, 4, 2)),
        (r(B, 7),),
    ),
    "EmbeddingBag": lambda: (Made(lambda m, x: m.l(x), l=nn.EmbeddingBag(9, 4)), (i(B, 5),)),
    "EmbeddingBag, largest": lambda: (
        Made(lambda m, x: m.l(x), l=nn.EmbeddingBag(9, 4, mode="max")),
        (i(B, 5),),
    ),
    "InstanceNorm2d": lambda: (nn.InstanceNorm2d(2, affine=True), (r(B, 2, 4, 4),)),
    "LocalResponseNorm": lambda: (
        nn.Sequential(nn.Conv2d(2, 4, 2), nn.LocalResponseNorm(2)),
        (r(B, 2, 4, 4),),
    ),
    "PReLU of channels": lambda: (nn.PReLU(2), (r(B, 2, 4, 4),)),
    "samples mixed": lambda: (
        Made(lambda m, x: m.b(centred(m.a(x))), a=nn.Linear(4, 3), b=nn.Linear(3, 3)),
        (r(B, 4),),
    ),
    "a parameter with an entry for each sample": lambda: (
        Made(lambda m, x: m.l(x + m.p), p=P(r(B, 4)), l=nn.Linear(4, 3)),
        (r(B, 4),),
    ),
    "LoRA": lambda: (
        Made(
            lambda m, x: m.l(x) + m.b(m.a(x)),
            l=nn.Linear(4, 3).requires_grad_(False),
            a=nn.Linear(4, 2, bias=False),
            b=nn.Linear(2, 3, bias=False),
        ),
        (r(B, 7, 4),),
    ),
    "LoRA, merged": lambda: (
        Made(lambda m, x: F.linear(x, m.w + m.a @ m.b), w=P(r(3, 4)), a=P(r(3, 2)), b=P(r(2, 4))),
        (r(B, 7, 4),),
    ),
    "a class token and positions": lambda: (
        Made(
            lambda m, x: m.l(torch.cat([m.c.expand(x.shape[0], -1, -1), x], 1) + m.p),
            c=P(r(1, 1, 4)),
            p=P(r(1, 8, 4)),
            l=nn.Linear(4, 3),
        ),
        (r(B, 7, 4),),
    ),
    "scales": lambda: (
        Made(
            lambda m, x: m.g * m.l(x) * m.h[None, :, None], g=P(r(4)), h=P(r(7)), l=nn.Linear(4, 4)
        ),
        (r(B, 7, 4),),
    ),
    "differences and quotients": lambda: (
        Made(lambda m, x: (m.g - x) / (m.h.exp() + 1) - m.g * m.g, g=P(r(4)), h=P(r(4))),
        (r(B, 7, 4),),
    ),
    "dropped paths": lambda: (
        Made(
            lambda m, x: x + m.g * m.l(x) * (torch.rand(B, 1, 1) < 0.7),
            g=P(r(4)),
            l=nn.Linear(4, 4),
        ),
        (r(B, 7, 4),),
    ),
    "a scalar": lambda: (
        Made(lambda m, x: m.l(x) * m.g, g=P(torch.tensor(2.0)), l=nn.Linear(4, 4)),
        (r(B, 4),),
    ),
    "experts, chosen": lambda: (
        Made(one_expert, a=nn.Linear(4, 3), b=nn.Linear(4, 3)),
        (r(B, 4),),
    ),
    "experts, masked": lambda: (
        Made(masked_experts, a=nn.Linear(4, 3), b=nn.Linear(4, 3)),
        (r(B, 4),),
    ),
    "all axes folded": lambda: (
        Made(lambda m, x: m.l(x.reshape(-1, 1)).reshape(B, -1), l=nn.Linear(1, 3)),
        (r(B, 4),),
    ),
    "in place": lambda: (
        Made(lambda m, x: m.l(x).mul_(m.g).add_(m.p), g=P(r(3)), p=P(r(3)), l=nn.Linear(4, 3)),
        (r(B, 4),),
    ),
    "in place, on a view": lambda: (
        Made(lambda m, x: m.o(m.l(x).relu_()), l=nn.Linear(4, 3), o=nn.Linear(3, 3)),
        (r(B, 7, 4),),
    ),
    "a function of our own": lambda: (
        Made(lambda m, x: Squared.apply(x, m.w), w=P(r(4))),
        (r(B, 4),),
    ),
    "tied, with positions": lambda: (
        Made(
            lambda m, x: (m.e(x) + m.p(torch.arange(T))) @ m.e.weight.t(),
            e=nn.Embedding(9, 4),
            p=nn.Embedding(T, 4),
        ),
        (i(B, T),),
    ),
    "attention with dropout and positions": lambda: (
        Made(
            lambda m, x: m.a(x + m.p, x, x)[0],
            p=P(r(T, 4)),
            a=nn.MultiheadAttention(4, 2, dropout=0.2, batch_first=True),
        ),
        (r(B, T, 4),),
    ),
    "attention with key and value sizes": lambda: (
        Made(
            lambda m, x: m.a(x, x[..., :3], x[..., :2])[0],
            a=nn.MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True, batch_first=True),
        ),
        (r(B, T, 4),),
    ),
    "windows": lambda: (Made(windows, l=nn.Linear(4, 4), g=P(r(4, 4))), (r(B, 4, 4, 4),)),
}
RECURRENT = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}
for name, kind in RECURRENT.items():
    PROGRAMS |= {
        f"{name}, two ways, dropout": lambda kind=kind: (
            Made(
                lambda m, x: m.l(x)[0],
                l=kind(4, 3, 2, batch_first=True, dropout=0.3, bidirectional=True),
            ),
            (r(B, 5, 4),),
        ),
        f"{name}, sequences first": lambda kind=kind: (
            Made(lambda m, x: m.l(x)[0].transpose(0, 1), l=kind(4, 3)),
            (r(5, B, 4),),
        ),
        f"{name}, last state": lambda kind=kind: (
            Made(last_state, l=kind(4, 3, batch_first=True)),
            (r(B, 5, 4),),
        ),
    }
# Program -> the operations from which some of its rows are worked out one sample at a time.
REPLAYED = {
    "packed sequences": "IndexSelectBackward0",
    "einsum": "BmmBackward0",
    "einsum with heads": "BmmBackward0",
    "Bilinear": "TrilinearBackward0",
    "samples mixed": "SubBackward0",
    "a parameter with an entry for each sample": "AddBackward0",
    "experts, masked": "IndexPutBackward0",
    "in place, on a view": "AsStridedBackward0",  # what was done to it does not show
    "a function of our own": "SquaredBackward",
}

"""Programs that mislead whoever looks at shapes or numbers: name -> model, and its batches.

Weights are used where no layer sees it; layers are changed from outside; batches look like those
of another program, or have as many positions as samples; samples mix.
"""

import threading
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import spectral_norm
from torch.utils.checkpoint import checkpoint

from .layer_models import Made

B = T = 6


def p(*shape):
    return nn.Parameter(torch.randn(shape))


def r(*shape):
    """Return batch number n of random inputs."""
    return lambda n: (torch.randn(*shape, dtype=torch.float64),)


def i(*shape):
    return lambda n: (torch.randint(0, 9, shape),)


def either(first, second):
    return lambda n: ((first, second)[n % 2],)


def hooked():
    model = nn.PReLU()
    model.register_forward_hook(lambda module, args, output: 2 * output)
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


def derivative_by_autograd(m, x):
    x = x.requires_grad_()
    y = m.b(torch.tanh(m.a(x)))
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


def derivative_of_classes(m, x):
    x = x.requires_grad_()
    loss = F.nll_loss((x * m.w).sin().log_softmax(1), torch.arange(6))
    return torch.autograd.grad(loss, x, create_graph=True)[0].square().sum(0)[:6, None]


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w * w

    @staticmethod
    def backward(ctx, ct):
        x, w = ctx.saved_tensors
        return ct * w * w, (ct * 2 * x * w).sum(0)


class Rounded(torch.autograd.Function):
    """Signs, with the gradient passed straight through."""

    @staticmethod
    def forward(ctx, w):
        return w.sign()

    @staticmethod
    def backward(ctx, ct):
        return ct


def exchanged(m, x):
    """Two samples of a large batch change places."""
    parts = list(m.l(x).unbind(0))
    parts[0], parts[30] = parts[30], parts[0]
    return torch.stack(parts)


def mixed_at_once(m, x):
    """The last operation takes what also mixes."""
    h = m.l(x).sin().sum(1)
    return (h + 0.5 * h.flip(0))[:, None]


def told_another_n(m, x):
    y = F.linear(x, m.w)
    return torch.native_group_norm(y, None, None, 1, x.shape[0] * 4, 1, 1, 1e-5)[0].sin()


def linear(*parts, width=3):
    return {part: nn.Linear(4, width) for part in parts}


# One batch can mislead about where the samples lie: where sample i alone uses column i of a
# weight, the columns look like samples. The second batch shows.
EYE = torch.eye(3, dtype=torch.float64)
MISLEADING = either(EYE, EYE[[1, 2, 0]])
MIX = torch.tensor([[1.0, 2, -1], [0.5, -2, 3], [2, 1, 0.7]], dtype=torch.float64)
ONES = torch.ones(4, 5).double()

PROGRAMS = {
    # What no layer shows
    "a hook with a value": (hooked, r(B, 4)),
    "spectral_norm, a hook": (lambda: spectral_norm(nn.Linear(4, 3)), r(B, 4)),
    "a changed inner function": (lambda: OwnConvolution(2, 3, 2), r(B, 2, 4, 4)),
    "a scripted function": (
        lambda: Made(lambda m, x: m.l(x) + scripted(x, m.l.weight.t()), **linear("l")),
        r(B, 4),
    ),
    "a scripted model": (
        lambda: as_script(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()),
        r(B, 4),
    ),
    "another thread": (lambda: Made(in_a_thread, **linear("l")), r(B, 4)),
    "a function of our own": (lambda: Made(lambda m, x: Squared.apply(x, m.w), w=p(4)), r(B, 4)),
    **{
        f"a gradient inside, {function.__name__}": (
            lambda function=function: Made(function, a=nn.Linear(4, 5), b=nn.Linear(5, 1)),
            r(B, 4),
        )
        for function in (derivative, derivative_by_autograd)
    },
    "a gradient inside, of classes": (lambda: Made(derivative_of_classes, w=p(12)), r(6, 12)),
    "checkpointing with dropout": (
        lambda: Made(
            lambda m, x: m.b(checkpoint(m.a, m.c(x), use_reentrant=False)),
            a=nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, 4)),
            b=nn.Linear(4, 3),
            c=nn.Linear(4, 4),
        ),
        r(B, 4),
    ),
    # Weights on their own
    "an entry for each sample": (
        lambda: Made(lambda m, x: m.l(x + m.p), p=p(B, 4), **linear("l")),
        r(B, 4),
    ),
    "in place, on a view": (
        lambda: Made(lambda m, x: m.o(m.l(x).relu_()), l=nn.Linear(4, 3), o=nn.Linear(3, 3)),
        r(B, 7, 4),
    ),
    "by frequency": (lambda: nn.Embedding(9, 3, scale_grad_by_freq=True), i(B, 3)),
    "sparse, mixed": (
        lambda: Made(
            lambda m, i: m.e(i) - 0.1 * m.e(i).mean(0), e=nn.Embedding(9, 3, sparse=True)
        ),
        i(B, 5),
    ),
    "beyond the start": (lambda: Made(lambda m, x: x[:, None] * m.w[-9:2], w=p(4, 4)), r(4, 4)),
    "told another n": (lambda: Made(told_another_n, w=p(4, 4)), r(4, 4)),
    "a sparse input": (
        lambda: Made(lambda m, x: torch.mm(x.relu().to_sparse(), m.w[:, None]), w=p(12)),
        r(6, 12),
    ),
    # A parameter is repeated, and the samples lie between its parts
    "repeated, and the samples inside": (
        lambda: Made(lambda m, x: (m.w.repeat(6).view(3, 6, 4) * x).transpose(0, 1), w=p(12)),
        r(3, 6, 4),
    ),
    **{
        f"a token for every sample, {name}": (
            lambda function=function: Made(function, token=p(1, 1, 4)),
            r(3, 5, 4),
        )
        for name, function in {
            "view": lambda m, x: x + m.token.expand(len(x), 1, 4).view(len(x), 1, 4),
            "product": lambda m, x: m.token.view(1, 4).expand(len(x), 4) @ ONES * x[..., 0],
        }.items()
    },
    # The first batch misleads
    "rounded": (lambda: Made(lambda m, x: F.linear(x, Rounded.apply(m.w)), w=p(4, 3)), MISLEADING),
    "frequencies": (
        lambda: Made(lambda m, x: F.linear(x, torch.fft.rfft(m.w).abs()), w=p(4, 4)),
        MISLEADING,
    ),
    "expanded, viewed": (
        lambda: Made(lambda m, x: x * m.w.expand(1, 3).view(3) @ MIX, w=p(1)),
        MISLEADING,
    ),
    "turned table": (
        lambda: Made(lambda m, x: F.embedding(x, m.w.T), w=p(4, 3)),
        either(torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])),
    ),
    # Samples mix
    "exchanged": (lambda: Made(exchanged, **linear("l")), r(40, 4)),
    "mixed at once": (lambda: Made(mixed_at_once, **linear("l")), r(B, 4)),
}
# Program -> the operations from which some of its rows are worked out one sample at a time.
REPLAYED = {
    "an entry for each sample": "AddBackward0",
    "in place, on a view": "AsStridedBackward0",  # what was done to it does not show
    "a function of our own": "SquaredBackward",
    "a gradient inside, of classes": "SliceBackward0",
    "told another n": "NativeGroupNormBackward0",
    "repeated, and the samples inside": "RepeatBackward0",
    "exchanged": "StackBackward0",
    "mixed at once": "AddBackward0, FlipBackward0",
}

"""Rows of unusual programs, against autograd's gradient of each loss on the recorded graph.

An entry of PROGRAMS has a model and its batches: weights used outside their layers, layers changed
from outside, repeated parameters.
"""

import copy
import threading
import warnings
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import spectral_norm
from torch.utils.checkpoint import checkpoint

import persample as ps
from support.layer_models import Made, Squared, agree, alone, losses, replayed
from support.tolerances import assert_close

pytestmark = [
    pytest.mark.filterwarnings("ignore:Initializing zero-element tensors"),
    pytest.mark.filterwarnings("ignore:.*ested.tensor"),
    pytest.mark.filterwarnings("ignore:.*weight_norm"),
]
B = 6


def p(*shape):
    return nn.Parameter(torch.randn(shape))


def r(*shape):
    """Return a function of n that returns a 1-tuple of n random inputs of ``shape``."""
    return lambda n: (torch.randn(*shape, dtype=torch.float64),)


def hooked():
    model = nn.PReLU()
    model.register_forward_hook(lambda module, args, output: 2 * output)
    return model


def as_script(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated, and still in use
        return torch.jit.script(function)


def in_a_thread(m, x):
    result = []
    thread = threading.Thread(target=lambda: result.append(m.l(x)))
    thread.start()
    thread.join()
    return result[0]


def derivative_by_autograd(m, x):
    x = x.requires_grad_()
    y = m.b(torch.tanh(m.a(x)))
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


def told_another_n(m, x):
    y = F.linear(x, m.w)
    return torch.native_group_norm(y, None, None, 1, x.shape[0] * 4, 1, 1, 1e-5)[0].sin()


def linear(*parts, width=3):
    return {part: nn.Linear(4, width) for part in parts}


PROGRAMS = {
    # What no layer shows
    "a hook with a value": (hooked, r(B, 4)),
    "spectral_norm, a hook": (lambda: spectral_norm(nn.Linear(4, 3)), r(B, 4)),
    "a scripted model": (
        lambda: as_script(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()),
        r(B, 4),
    ),
    "another thread": (lambda: Made(in_a_thread, **linear("l")), r(B, 4)),
    "a function of our own": (lambda: Made(lambda m, x: Squared.apply(x, m.w), w=p(4)), r(B, 4)),
    "a gradient inside": (
        lambda: Made(derivative_by_autograd, a=nn.Linear(4, 5), b=nn.Linear(5, 1)),
        r(B, 4),
    ),
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
}
# Program -> the operations from which some of its rows are replayed sample by sample.
REPLAYED = {
    "an entry for each sample": "AddBackward0",
    "a function of our own": "SquaredBackward",
    "told another n": "NativeGroupNormBackward0",
    "repeated, and the samples inside": "RepeatBackward0",
}
# TorchScript compiles at the second call.
SCRIPTED = {"a scripted model": "DifferentiableGraphBackward"}


def build(name):
    torch.manual_seed(0)
    return PROGRAMS[name][0]().double(), PROGRAMS[name][1]


def record_and_oracle(model, inputs, stop=None):
    """Return (record of one pass, {name: rows} by autograd of each loss)."""
    with replayed(stop) if stop else nullcontext(), ps.record(model) as record:
        each = losses(model(*inputs))
        record.backward(each, retain_graph=True)
    return record, alone(model, each)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_answer_is_that_of_the_losses_alone(name):
    model, batch = build(name)
    for n in range(3):
        stop = (REPLAYED | SCRIPTED if n else REPLAYED).get(name)
        record, expected = record_and_oracle(model, batch(n), stop)
        kinds = {kind for kind in record.forms().values() if "sample by sample" in kind}
        assert sorted(kinds) == ([f"rows, sample by sample from {stop}"] if stop else [])
        agree(record, expected)
        assert max(record.check((0, 1)).values()) < 1e-9


STATEFUL = ["spectral_norm, a hook", "checkpointing with dropout", "a function of our own"]


@pytest.mark.parametrize("name", STATEFUL)
def test_a_record_leaves_the_model_and_the_generators_as_an_ordinary_pass_does(name):
    (model, batch), (plain, _) = build(name), build(name)
    plain.load_state_dict(copy.deepcopy(model.state_dict()))
    inputs = batch(0)
    torch.manual_seed(1)
    losses(plain(*inputs)).sum().backward()
    expected = torch.random.get_rng_state()
    torch.manual_seed(1)
    stop = REPLAYED.get(name)
    with replayed(stop) if stop else nullcontext(), ps.record(model) as record:
        record.backward(losses(model(*inputs)), accumulate=True)
    record.rows()
    record.moments()
    assert torch.equal(torch.random.get_rng_state(), expected)
    assert_close(model.state_dict(), plain.state_dict(), 1e-12)
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert_close(one.grad, other.grad)
    assert all(m.training for m in model.modules())


def test_nan_in_front_of_a_prelu_stays_nan():
    model = nn.PReLU(init=0.3).double()
    x = torch.ones(4, 5, dtype=torch.float64)
    x[1, 2] = torch.nan
    record, _ = record_and_oracle(model, (x,))
    assert torch.isnan(record.rows()["weight"]).flatten().tolist() == [False, True, False, False]

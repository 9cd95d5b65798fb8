"""Wrong use of layerwise gets one sentence each: where, what was given, what is needed."""

import numpy as np
import pytest
import torch
from torch import nn

import persample as ps
from persample.layers import Linear, Network, Tanh

from .layer_models import VOCABULARY, B, Scaled, losses, record_of
from .test_layerwise_numpy import networks

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop")


def used(model, x, *, inside=lambda record, loss: loss.backward(), reduction="mean"):
    """Run a block, then ask for rows."""
    with ps.layerwise(model, reduction) as record:
        inside(record, losses(model(x)).mean())
    record.rows()


def linear():
    return nn.Linear(4, 3)


class Functional(nn.Module):
    """A weight used by its own layer and, out of sight, as an output layer."""

    def __init__(self, call):
        super().__init__()
        self.embed, self.call = nn.Embedding(VOCABULARY, 4), call

    def forward(self, i):
        h = self.embed(i) if self.call else nn.functional.embedding(i, self.embed.weight)
        return nn.functional.linear(h, self.embed.weight).mean(1)


class Beside(Scaled):
    """It has no rule and uses the weight of a layer that it calls as well."""

    def forward(self, x):
        return super().forward(x) + nn.functional.linear(x, self.inner.weight)


class Flattened(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = linear(), linear()

    def forward(self, x):
        return self.first(x.flatten(0, 1)).view(B, -1) + self.second(x[:, 0]).repeat(1, 2)


class Random(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return nn.functional.dropout(x * self.weight, 0.5)


def penalised(record, loss):
    (loss + model_of(record).weight.square().sum()).backward()


def stacked(record, loss):
    (loss + torch.stack([model_of(record).weight]).sum()).backward()


def model_of(record):
    return record._source.modules[0][1]


def twice(record, loss):
    loss.backward(retain_graph=True)
    loss.backward()


def two_losses(record, loss):
    other = losses(model_of(record)(torch.randn(B, 4))).mean()
    loss.backward()
    other.backward()


def two_batches(record, loss):
    loss.backward()
    losses(model_of(record)(torch.randn(B, 4))).mean().backward()


def overwritten():
    x = torch.randn(B, 4)
    used(linear(), x, inside=lambda record, loss: (loss.backward(), x.zero_()))


def stepped():
    model = Scaled()
    with ps.layerwise(model) as record:
        losses(model(torch.randn(B, 4))).mean().backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    record.rows()


def with_buffers(change):
    def run():
        record = record_of(linear(), torch.randn(B, 4))
        record.rows(change(record.rows()))

    return run


def numpy_used(inside, x=None):
    def run():
        network = networks()[0]
        x_ = np.ones((B, 4)) if x is None else x
        with ps.layerwise(network) as record:
            inside(network, x_)
        record.rows()

    return run


def numpy_pass(network, x, times=1):
    for _ in range(times):
        network.backward(np.ones_like(network(x)))


def recurrent(**options):
    return lambda: used(FirstOf(nn.LSTM(4, 3, **options)), torch.randn(B, B, 4))


class FirstOf(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def enter(*args):
    with ps.layerwise(*args):
        pass


LINEAR_RECORD = lambda: record_of(linear(), torch.randn(B, 4))  # noqa: E731
NOTHING = lambda record, loss: None  # noqa: E731
ERRORS = {
    "unknown reduction": (
        lambda: enter(linear(), "none"),
        ValueError,
        "layerwise: reduction='none' is not one of mean, sum; say what the loss does over the "
        "batch.",
    ),
    "no model": (
        lambda: enter(lambda x: x),
        TypeError,
        "layerwise: the model is of type function; give a torch.nn.Module or a "
        "persample.layers.Network. For a loss as a function there is ps.per_sample_grad.",
    ),
    "nothing to train": (
        lambda: enter(nn.Tanh()),
        ValueError,
        "layerwise: the model, a Tanh, has no parameter that requires grad; give one that is to "
        "be trained, or call requires_grad_() on its parameters.",
    ),
    "a lazy layer": (
        lambda: enter(nn.LazyLinear(3)),
        TypeError,
        "layerwise: the parameter weight is not initialised; it must hold real numbers: a lazy "
        "layer gets them when the model is run once on a batch.",
    ),
    "complex numbers": (
        lambda: enter(nn.ParameterList([torch.ones(2, dtype=torch.complex64)])),
        TypeError,
        "layerwise: the parameter 0 is complex; it must hold real numbers",
    ),
    "batch norm": (
        lambda: used(nn.Sequential(linear(), nn.BatchNorm1d(3)), torch.randn(B, 4)),
        ValueError,
        "layerwise: 1 is a BatchNorm1d that normalises by the mean and variance of the batch, so "
        "no sample has a gradient of its own; call model.eval(), or build the model with "
        "GroupNorm or LayerNorm.",
    ),
    "batch norm without statistics": (
        lambda: used(
            nn.Sequential(
                nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2, affine=False, track_running_stats=False)
            ).eval(),
            torch.randn(B, 1, 2, 2),
        ),
        ValueError,
        "layerwise: 1 is a BatchNorm2d that normalises by the mean and variance of the batch",
    ),
    "no forward": (
        lambda: enter_and_read(linear()),
        RuntimeError,
        "layerwise: no layer of the model ran inside the with block, or none with gradients on; "
        "call the model and backward inside it.",
    ),
    "no backward": (
        lambda: used(linear(), torch.randn(B, 4), inside=NOTHING),
        RuntimeError,
        "layerwise: no backward pass was recorded; call backward() on the loss of the batch, "
        "then read the record.",
    ),
    "a second backward": (
        lambda: used(linear(), torch.randn(B, 4), inside=twice),
        RuntimeError,
        "layerwise: a second backward pass reached the model; add the losses and call backward "
        "once, or open a new with block for the second.",
    ),
    "a second loss": (
        lambda: used(linear(), torch.randn(B, 4), inside=two_losses),
        RuntimeError,
        "layerwise: a second backward pass reached the model; add the losses",
    ),
    "a second batch": (
        lambda: used(linear(), torch.randn(B, 4), inside=two_batches),
        RuntimeError,
        "layerwise: the model ran again after the backward pass had begun; one with block records "
        "one forward and one backward pass: open a new block for the next batch, and put "
        "torch.no_grad() around what is only evaluated.",
    ),
    "batch sizes": (
        lambda: used(Flattened(), torch.randn(B, 2, 4)),
        ValueError,
        "layerwise: the layers see different batch sizes: 10 (first), 5 (second); axis 0 of every "
        "layer's input and output must count the samples: keep other axes apart from it, "
        "(B, T, d) and not (B T, d), and give each sample its own copy of what all share.",
    ),
    "empty batch": (
        lambda: used(linear(), torch.randn(0, 4)),
        ValueError,
        "layerwise: the batch is empty; give at least one sample.",
    ),
    "no axis for samples": (
        lambda: enter_and_read(linear(), lambda model: model(torch.randn(4)).sum().backward()),
        ValueError,
        "layerwise: the input of Linear has shape (4,), without an axis for the samples; it must "
        "be (B, ..., d): add one with x[None].",
    ),
    "no axis for samples, images": (
        lambda: enter_and_read(
            nn.Conv2d(1, 2, 1), lambda model: model(torch.randn(1, 3, 3)).sum().backward()
        ),
        ValueError,
        "layerwise: the input of Conv2d has shape (1, 3, 3), without an axis for the samples; it "
        "must be (B, channels, ...): add one with x[None].",
    ),
    "no axis for samples, norm": (
        lambda: enter_and_read(
            nn.LayerNorm(4), lambda model: model(torch.randn(4)).sum().backward()
        ),
        ValueError,
        "layerwise: the input of LayerNorm has shape (4,), without an axis for the samples; it "
        "must be (B, ..., *normalized_shape): add one with x[None].",
    ),
    "an index, not a batch": (
        lambda: enter_and_read(
            nn.Embedding(4, 2), lambda model: model(torch.tensor(1)).sum().backward()
        ),
        ValueError,
        "layerwise: the input of Embedding has shape (), without an axis for the samples; it "
        "must be (B,) or (B, ...): add one with x[None].",
    ),
    "samples on axis 1": (
        recurrent(),
        ValueError,
        "layerwise: layer, a LSTM, has batch_first=False, so its samples are on axis 1; build it "
        "with batch_first=True.",
    ),
    "a layer that vmap refuses": (
        recurrent(batch_first=True),
        NotImplementedError,
        "layerwise: layer is a LSTM, which has no rule, and running it again one sample at a time "
        "failed; build it from layers with a rule, or use ps.loop_grad. "
        "PyTorch says: ",
    ),
    "a layer that draws numbers": (
        lambda: used(Random(), torch.randn(B, 4)),
        NotImplementedError,
        "layerwise: the model is a Random, which has no rule, and running it again one sample at "
        "a time failed",
    ),
    "a functional use": (
        lambda: used(Functional(call=False), torch.randint(0, VOCABULARY, (B, 2))),
        NotImplementedError,
        "layerwise: the parameter embed.weight is used by embedding() outside a call of its own "
        "layer, where no hook sees its input; call the layer itself, keep penalties on the "
        "parameters out of the loss, or use ps.per_sample_grad and torch.func.functional_call.",
    ),
    "a functional use beside the layer": (
        lambda: used(Functional(call=True), torch.randint(0, VOCABULARY, (B, 2))),
        NotImplementedError,
        "layerwise: the parameter embed.weight is used by linear() outside a call of its own",
    ),
    "a functional use in a layer without a rule": (
        lambda: used(Beside(), torch.randn(B, 4)),
        NotImplementedError,
        "layerwise: the parameter inner.weight is used by linear() outside a call of its own",
    ),
    "a penalty": (
        lambda: used(linear(), torch.randn(B, 4), inside=penalised),
        NotImplementedError,
        "layerwise: the parameter weight is used by square() outside a call of its own layer",
    ),
    "a use in a list": (
        lambda: used(linear(), torch.randn(B, 4), inside=stacked),
        NotImplementedError,
        "layerwise: the parameter weight is used by stack() outside a call of its own layer",
    ),
    "counts over the batch": (
        lambda: used(nn.Embedding(4, 2, scale_grad_by_freq=True), torch.tensor([1, 2])),
        NotImplementedError,
        "layerwise: an Embedding has scale_grad_by_freq=True, which divides by counts over the "
        "whole batch, so a sample has no gradient of its own; build it without.",
    ),
    "an input overwritten": (
        overwritten,
        RuntimeError,
        "layerwise: the input of the model was changed in place after the forward pass; read the "
        "record before its tensors are overwritten.",
    ),
    "a step before a second run": (
        stepped,
        RuntimeError,
        "layerwise: a parameter of the model was changed in place after the forward pass",
    ),
    "buffers without an entry": (
        with_buffers(lambda out: {"weight": out["weight"]}),
        ValueError,
        "rows: out has the entries weight; it must have bias, weight: give the dict of an earlier "
        "call with this model.",
    ),
    "buffers of another size": (
        with_buffers(lambda out: {k: g[:2] for k, g in out.items()}),
        ValueError,
        "rows: out['weight'] has shape (2, 3, 4) and type torch.float32; the rows need (5, 3, 4) "
        "and torch.float32: for a smaller batch give a part of each buffer, {k: x[:B] for k, x in "
        "out.items()}, or give no out.",
    ),
    "buffers of another type": (
        with_buffers(lambda out: {k: g.double() for k, g in out.items()}),
        ValueError,
        "rows: out['weight'] has shape (5, 3, 4) and type torch.float64; the rows need (5, 3, 4) "
        "and torch.float32",
    ),
    "a norm below 0": (
        lambda: LINEAR_RECORD().clipped_sum(-1.0),
        ValueError,
        "clipped_sum: max_norm=-1.0; give the largest norm of a row, a number above 0.",
    ),
    "a norm that is none": (
        lambda: LINEAR_RECORD().clipped_sum("1"),
        ValueError,
        "clipped_sum: max_norm='1'; give the largest norm of a row, a number above 0.",
    ),
    "chunks of nothing": (
        lambda: LINEAR_RECORD().chunks(0),
        ValueError,
        "chunks: size=0; give a number of samples, 1 or more.",
    ),
    # NumPy
    "numpy: no parameters": (
        lambda: enter(Network([Tanh()])),
        ValueError,
        "layerwise: the network has no parameters; give it at least one Linear layer.",
    ),
    "numpy: no backward": (
        numpy_used(lambda network, x: network(x)),
        RuntimeError,
        "layerwise: no backward pass was recorded; call the network and its backward inside the "
        "with block.",
    ),
    "numpy: two batches": (
        numpy_used(lambda network, x: numpy_pass(network, x, times=2)),
        RuntimeError,
        "layerwise: the network ran 2 times since the with block began, and its buffers hold the "
        "last batch only; read the record before the next batch, and open a new block for each.",
    ),
    "numpy: empty batch": (
        numpy_used(numpy_pass, np.ones((0, 4))),
        ValueError,
        "layerwise: the batch is empty; give at least one sample.",
    ),
    "numpy: a second backward": (
        numpy_used(lambda network, x: (numpy_pass(network, x), network.backward(np.ones((B, 3))))),
        RuntimeError,
        "Network.backward: a second backward pass for one forward pass; call the network again "
        "first, or add the cotangents.",
    ),
    "numpy: a cotangent of another shape": (
        numpy_used(lambda network, x: (network(x), network.backward(np.ones(3)))),
        ValueError,
        "Network.backward: the cotangent has shape (3,); it must be (5, 3).",
    ),
    "numpy: backward first": (
        numpy_used(lambda network, x: network.backward(np.ones(3))),
        ValueError,
        "Network.backward: the cotangent has shape (3,); it must be that of an output: call the "
        "network first.",
    ),
    "numpy: no axis for samples": (
        numpy_used(numpy_pass, np.ones(4)),
        ValueError,
        "Linear: the input has shape (4,); it must be (B, ..., 4), samples first.",
    ),
    "numpy: another width": (
        numpy_used(numpy_pass, np.ones((B, 8))),
        ValueError,
        "Linear: the input has shape (5, 8); it must be (B, ..., 4), samples first.",
    ),
    "numpy: a layer twice": (
        lambda: Network([Linear(np.ones((2, 2)))] * 2),
        ValueError,
        "Network: a layer is in the list twice, and a layer keeps one input only; make two layers "
        "that share one weight array.",
    ),
}


def enter_and_read(model, inside=lambda model: None):
    with ps.layerwise(model) as record:
        inside(model)
    record.rows()


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_use_gets_one_clear_sentence(name):
    call, kind, text = ERRORS[name]
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value).startswith(text)
    assert str(caught.value) == text or not text.endswith(".")

"""Samples that are computed one by one, joined, split or written into an array.

The programs are loops over samples, bags of several sizes, two views of a batch, packed texts, and
gradient penalties. Each runs on batches of three sizes; the rows are compared with autograd's
gradient of each loss.
"""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

import persample as ps
from persample.recorder import replay
from support.layer_models import Made, agree, alone, replayed

SIZES = (6, 13, 3)
arange = torch.arange


def mlp(inputs=4):
    return nn.Sequential(nn.Linear(inputs, 5), nn.Tanh(), nn.Linear(5, 3))


def parameter(*shape):
    return nn.Parameter(torch.randn(shape))


def vectors(size):
    return torch.randn(size, 4, dtype=torch.float64)


def images(size):
    return torch.randn(size, 1, 8, 8, dtype=torch.float64)


def bags(size):
    """Return a list of random matrices with 1 to 4 rows, one per sample."""
    return [vectors(1 + n % 4) for n in range(size)]


def lengths(texts):
    return torch.tensor([len(text) for text in texts])


def owners(bags):
    """Return the index of the bag of each row of the joined bags."""
    return arange(len(bags)).repeat_interleave(lengths(bags))


def loss(scores, n):
    return F.cross_entropy(scores, torch.tensor(n % 3))


def of_bags(m, bags):
    return [loss(m.net(bag).mean(0), n) for n, bag in enumerate(bags)]


def written(m, bags, width=0):
    each = torch.zeros(len(bags)).double()
    for n, one in enumerate(of_bags(m, bags)):
        each[slice(n, n + width) if width else n] = one
    return each


def of_groups(m, x):
    """Return losses from two heads for two groups of samples, written into one array."""
    each, even = torch.zeros(len(x)).double(), arange(len(x)) % 2 == 0
    each[even] = m.net(x[even]).square().sum(1)
    each[~even] = m.head(x[~even]).sin().sum(1)
    return each


def added_bmm(x, w):
    return torch.baddbmm(torch.ones(1, 1, 4).double(), x, w)


def picked(m, x):
    logp = F.log_softmax(m.net(x), 1)
    return torch.stack([-logp[n, n % 3] for n in range(len(x))])


def unbound(m, x):
    h = m.net(x)
    return torch.stack([h.unbind()[n].sin().sum() for n in range(len(x))])


def two_views(net, x):
    z = net(torch.cat([x, 2 * x + 1]))
    return 1 - F.cosine_similarity(z[: len(x)], z[len(x) :])


def three_views(m, x):
    a, b, c = m.net(torch.cat([x, 2 * x, x + 1])).chunk(3)
    return (a * b).sum(1) + (a - c).square().sum(1)


def interleaved(m, x):
    """Return losses of two views of each sample, side by side along axis 0."""
    z = m.net(torch.stack([x, 2 * x + 1], 1).flatten(0, 1))
    y = m.head(z)
    return F.cosine_similarity(y[0::2], z[1::2].detach()) + (y[1::2] - z[0::2]).square().sum(1)


def shifted(z, w):
    z = z.clone()
    z[:, :2] += w
    return z.square().sum(1)


def formulas(m, x):
    """Return losses by three formulas in turn, one of which uses an additional layer."""
    z = m.net(x)
    of = (lambda z: z.exp().sum(), lambda z: loss(z, 1), lambda z: m.head(z).square().sum())
    return torch.stack([of[n % 3](z[n]) for n in range(len(x))])


def two_outputs(m, x, constant=False):
    other = torch.ones(len(x), 3).double() if constant else m.head(x)
    return torch.cat([m.net(x), other]).view(2, len(x), 3).sum(0).sin().sum(1)


def between(m, x):
    ones = torch.ones(len(x), 3).double()
    return torch.cat([ones, m.net(x), 2 * ones]).view(3, len(x), 3).sum(0).sin().sum(1)


def joined_bags(net, bags):
    parts = net(torch.cat(bags)).split(lengths(bags).tolist())
    return torch.stack([loss(part.mean(0), n) for n, part in enumerate(parts)])


def largest(m, bags, width=3):
    whose, z = owners(bags), m.net(torch.cat(bags))[:, :width]
    low = torch.full((len(bags), width), -9.0).double()
    return low.scatter_reduce(0, whose[:, None].expand(-1, width), z, "amax").square().sum(1)


def padded(m, bags):
    z = pad_sequence([m.net(bag) for bag in bags], batch_first=True)
    beyond = arange(z.shape[1]) >= lengths(bags)[:, None]
    return z.masked_fill(beyond[..., None], -torch.inf).amax(1).square().sum(1)


def pooled(m, bags, scatter=False):
    """Return losses of bags joined in one array and summed by an index, as in graph networks."""
    whose, z = owners(bags), m.net(torch.cat(bags))
    zeros = torch.zeros(len(bags), 3).double()
    if scatter:
        sums = zeros.scatter_add(0, whose[:, None].expand(-1, 3), z)
    else:
        sums = zeros.index_add(0, whose, z)
    return m.head(sums).square().sum(1)


def packed(m, texts):
    """Return losses of texts of several lengths, packed for a recurrent layer."""
    padded = pad_sequence([m.net(text) for text in texts])
    text = pack_padded_sequence(padded, lengths(texts), enforce_sorted=False)
    output, state = m.layer(text)
    state = state[0] if isinstance(state, tuple) else state
    return state[-1].square().sum(1) + pad_packed_sequence(output)[0].sin().sum((0, 2))


def penalty(m, x):
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(m.net(x).sum(), x, create_graph=True)
    return (gradient.flatten(1).norm(dim=1) - 1) ** 2


def curvature(m, x):
    """Return score matching losses: a squared derivative plus a second derivative."""
    x = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(m.net(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * x.detach().sign()).sum(), x, create_graph=True)
    return (h * x.detach().sign() + g.square()).sum(1)


def fused(m, x):
    """Return losses by fused operations on two or three arrays, one of them a parameter."""
    each = torch.addcmul(x, m.w, x.flip(1), value=0.5).sin() + torch.lerp(x, m.w, 0.3).square()
    each = each + torch.maximum(x, m.v) + torch.where(x > 0, x, m.w).cos()
    return (each + torch.atan2(x, m.v) * torch.lerp(x, x + 1, m.w)).sum(1)


def permuted(m, x):
    order = torch.randperm(len(x))
    return m.net(x[order])[order.argsort()].flip(0).roll(2, 0).roll(-2, 0).flip(0).sin().sum(1)


def steps(m, x, add=False):
    """Return losses of an array into which the result of each step is written."""
    h = torch.zeros(len(x), 4, 3).double()
    for t in range(4):
        h[:, t] = h[:, t] + m.net(x * t) if add else m.net(x * t)
    return h.sin().sum((1, 2))


def in_place(m, x):
    return F.relu(m.net(x).view(-1, 3), inplace=True).square().sum(1)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, ct):
        return 3 * ct * ctx.saved_tensors[0] ** 2


class Gate(torch.autograd.Function):
    """A custom function with two outputs, whose inputs are three arrays and a Python number."""

    @staticmethod
    def forward(ctx, constant, x, factor, y):
        ctx.save_for_backward(constant, x, y)
        return constant * x * y, x * factor

    @staticmethod
    def backward(ctx, ct, ct_other):
        constant, x, y = ctx.saved_tensors
        return None, ct * constant * y + 2 * ct_other, None, ct * constant * x


class Affine(torch.autograd.Function):
    """A custom x @ w whose backward returns a gradient of w per row of x, which PyTorch sums."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, ct):
        x, w = ctx.saved_tensors
        return ct[:, None] * w, ct[:, None] * x


class Unit(Cube):
    """A cube whose (wrong) backward divides the batch's cotangent by its norm."""

    @staticmethod
    def backward(ctx, ct):
        return ct / ct.norm()


class Exchange(Cube):
    """A function that mixes neighbouring samples, except where all cotangents are equal."""

    @staticmethod
    def forward(ctx, x):
        return x + x.roll(1, 0) - x.roll(-1, 0)

    @staticmethod
    def backward(ctx, ct):
        return ct + ct.roll(-1, 0) - ct.roll(1, 0)


def gated(m, x):
    h = m.net(x)
    return torch.stack(Gate.apply(x[:, :3], h, 2, h.sin())).square().sum((0, 2))


def masked(m, x):
    """Return losses of two positions of each sample, chosen by a mask and summed by an index."""
    n, hidden = arange(len(x)), torch.zeros(len(x), 4, dtype=torch.bool)
    hidden[n, n % 4] = hidden[n, (n + 1) % 4] = True
    each = m.net(x[:, :, None] * torch.ones(4, dtype=x.dtype))[hidden].square().sum(1)
    return torch.zeros(len(x), dtype=x.dtype).index_add(0, hidden.nonzero()[:, 0], each)


def critic(*norm):
    first = nn.Conv2d(1, 3, 3, padding=1)
    last = [nn.LeakyReLU(0.2), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(48, 1)]
    return nn.Sequential(first, *norm, *last)


def each(function):
    """Return a function of (model, samples) that computes the losses by a loop."""
    return lambda m, xs: torch.stack([function(m, x).square().sum() for x in xs])


ONE_BY_ONE = each(lambda m, x: m.net(x))
HEAD = {"net": mlp, "head": lambda: mlp(3)}


PROVED = {  # forward pass, parts, batch
    "stack": (lambda m, x: torch.stack(of_bags(m, x)), {"net": mlp}, bags),
    "cat": (lambda m, x: torch.cat([one[None] for one in of_bags(m, x)]), {"net": mlp}, bags),
    "one by one into an array": (written, {"net": mlp}, bags),
    "slice by slice into an array": (lambda m, x: written(m, x, 1), {"net": mlp}, bags),
    "groups by a mask": (of_groups, {"net": mlp, "head": mlp}, vectors),
    "the first of as many places as samples": (
        each(lambda m, x: m.net(x).softmax(0)[0]),
        {"net": mlp},
        lambda size: torch.randn(size, size, 4).double(),
    ),
    "unbind": (ONE_BY_ONE, {"net": mlp}, vectors),
    "unbind, again for each": (unbound, {"net": mlp}, vectors),
    "numbers picked one by one": (picked, {"net": mlp}, vectors),
    "two views, slices": (lambda m, x: two_views(m.net, x), {"net": mlp}, vectors),
    "three views, chunks": (three_views, {"net": mlp}, vectors),
    "two views, side by side": (interleaved, HEAD, vectors),
    "formulas": (formulas, HEAD, vectors),
    "two outputs, joined": (two_outputs, {"net": mlp, "head": mlp}, vectors),
    "an output and a constant": (lambda m, x: two_outputs(m, x, True), {"net": mlp}, vectors),
    "an output between two constants": (between, {"net": mlp}, vectors),
    "bags, joined": (lambda m, x: joined_bags(m.net, x), {"net": mlp}, bags),
    "bags, the largest": (largest, {"net": mlp}, bags),
    "bags, the largest of one column": (lambda m, x: largest(m, x, 1), {"net": mlp}, bags),
    "bags, padded": (padded, {"net": mlp}, bags),
    "bags, index_add": (pooled, HEAD, bags),
    "bags, scatter_add": (lambda m, x: pooled(m, x, scatter=True), HEAD, bags),
    "packed GRU": (
        packed,
        {"net": mlp, "layer": lambda: nn.GRU(3, 5, num_layers=2, bidirectional=True)},
        bags,
    ),
    "packed LSTM": (packed, {"net": mlp, "layer": lambda: nn.LSTM(3, 5)}, bags),
    "penalty, linear": (penalty, {"net": mlp}, vectors),
    "curvature": (curvature, {"net": mlp}, vectors),
    "packed LSTM, two layers, both ways": (
        packed,
        {"net": mlp, "layer": lambda: nn.LSTM(3, 5, num_layers=2, bidirectional=True)},
        bags,
    ),
    "penalty, convolutions": (penalty, {"net": critic}, images),
    "penalty, LayerNorm": (penalty, {"net": lambda: critic(nn.LayerNorm([8, 8]))}, images),
    "penalty, GroupNorm": (penalty, {"net": lambda: critic(nn.GroupNorm(1, 3))}, images),
    "three arrays": (fused, {"w": lambda: parameter(4), "v": lambda: parameter(1, 4)}, vectors),
    "places by a mask": (masked, {"net": mlp}, vectors),
    "another order": (permuted, {"net": mlp}, vectors),
    "steps into an array": (steps, {"net": mlp}, vectors),
    "steps added to an array": (lambda m, x: steps(m, x, add=True), {"net": mlp}, vectors),
    "in place on a view": (in_place, {"net": mlp}, vectors),
    "a layer twice, one by one": (
        each(lambda m, x: m.net(m.net(x).tanh())),
        {"net": lambda: nn.Linear(4, 4)},
        bags,
    ),
    "words, one by one": (
        each(lambda m, x: m.net(x[:, 0].abs().long() % 7)),
        {"net": lambda: nn.Embedding(7, 4)},
        bags,
    ),
    "images, one by one": (ONE_BY_ONE, {"net": lambda: nn.Conv2d(1, 2, 3)}, images),
    "LayerNorm, one by one": (ONE_BY_ONE, {"net": lambda: nn.LayerNorm(4)}, bags),
    "pieces of a weight, one by one": (
        each(lambda m, x: F.linear(x, m.w[1:3]).sin() + F.linear(x, m.w[:2])),
        {"w": lambda: parameter(3, 4)},
        bags,
    ),
    "a product with a piece of a table and a word of it, one by one": (
        each(lambda m, x: F.linear(x, m.w[1:5]).sum() * F.embedding(x.argmax(1), m.w[1:5])),
        {"w": lambda: parameter(6, 4)},
        bags,
    ),
    "a product, one by one": (
        each(lambda m, x: (m.w.sin() @ x.T).cumsum(1)),
        {"w": lambda: parameter(4, 4)},
        bags,
    ),
    "a function of one's own, one by one": (
        each(lambda m, x: Cube.apply(m.net(x))),
        {"net": mlp},
        vectors,
    ),
}
WEIGHT_NORM = {"net": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))}
REPLAYED = {  # and the words of the warning
    "one vector, added to a part of each sample": (
        lambda m, x: shifted(m.net(x), m.w.sin()),
        {"net": mlp, "w": lambda: parameter(2)},
        vectors,
        "at CopySlices samples are mixed, or moved in a way that is not known",
    ),
    "one number, added to a part of each sample": (
        lambda m, x: shifted(m.net(x), m.w.sin().mean()),
        {"net": mlp, "w": lambda: parameter(2)},
        vectors,
        "at CopySlices samples are mixed, or moved in a way that is not known",
    ),
    "weight norm, one by one": (
        ONE_BY_ONE,
        WEIGHT_NORM,
        bags,
        "at WeightNormInterfaceBackward0 there is no closed form of the rows, .* [0-9]+ backward "
        "passes through one sample's part of the graph, about as long as a loop",
    ),
    "repeated, one by one": (
        each(lambda m, x: m.w.repeat(len(x), 1) * x),
        {"w": lambda: parameter(4)},
        bags,
        "at RepeatBackward0 there is no closed form",
    ),
    "without a closed form twice, one by one": (
        each(lambda m, x: added_bmm(added_bmm(x[None], m.w[None]).sin(), m.w[None])),
        {"w": lambda: parameter(4, 4)},
        bags,
        "at BaddbmmBackward0 there is no closed form of the rows, .* through one sample's part",
    ),
    "a function of one's own that divides by the batch": (
        lambda m, x: Unit.apply(m.net(x)).sum(1),
        {"net": mlp},
        vectors,
        "at UnitBackward it is not known how the samples lie, .* grows with the square of the "
        "batch; where it is long, ps.per_sample_grad or a loop over the samples is faster",
    ),
    "a function of one's own that mixes samples": (
        lambda m, x: Exchange.apply(m.net(x)).sum(1),
        {"net": mlp},
        vectors,
        "at ExchangeBackward it is not known how the samples lie",
    ),
    "all against all": (
        lambda m, x: m.net(x).softmax(0).sum(1),
        {"net": mlp},
        vectors,
        "at SoftmaxBackward0 samples are mixed, or moved in a way that is not known",
    ),
}
TRIED = {  # functions of one's own that keep the samples apart
    "Cube": (lambda m, x: Cube.apply(m.net(x)).sum(1), {"net": mlp}, vectors),
    "Gate": (gated, {"net": mlp}, vectors),
    "Affine": (
        lambda m, x: Affine.apply(m.net(x), m.w.sin()).square(),
        {"net": mlp, "w": lambda: parameter(3)},
        vectors,
    ),
    "Cube, of two views": (
        lambda m, x: two_views(lambda z: Cube.apply(m.net(z)), x), {"net": mlp}, vectors,
    ),
    "Cube, of bags": (
        lambda m, x: joined_bags(lambda z: Cube.apply(m.net(z)), x), {"net": mlp}, bags,
    ),
}  # fmt: skip


def compare(case):
    """Compare the record of a case, (function, parts, batch), with autograd for several sizes."""
    function, parts, batch = case[:3]
    torch.manual_seed(0)
    model = Made(function, **{name: part() for name, part in parts.items()}).double()
    for size in SIZES:
        with ps.record(model) as record:
            each = model(batch(size))
            record.backward(each, retain_graph=True)
        agree(record, alone(model, each), 1e-9)


@pytest.mark.parametrize("name", PROVED)
def test_rows_need_no_replay(name):
    with warnings.catch_warnings(action="error", category=UserWarning):
        compare(PROVED[name])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["places by a mask", "another order"])
def test_shorter_numbers_tell_their_places_too(name, dtype):
    """Use 600 samples of 12 entries, too many to be distinguished by one 16-bit number."""
    function, parts, batch = PROVED[name]
    torch.manual_seed(0)
    model, x = Made(function, net=mlp()).to(dtype), batch(600).to(dtype)
    with warnings.catch_warnings(action="error", category=UserWarning), ps.record(model) as record:
        losses = model(x)
        record.backward(losses, retain_graph=True)
    record.check(samples=(0, 300, 599))


@pytest.mark.parametrize("name", REPLAYED)
def test_rows_that_are_replayed_are_right_and_the_warning_says_why_and_at_what_price(name):
    with pytest.warns(UserWarning, match=f"^record: {REPLAYED[name][3]}"):
        compare(REPLAYED[name])


@pytest.mark.parametrize("most", [0, 2**20])
def test_replays_are_kept_for_the_next_parameter_or_run_again(most, monkeypatch):
    """Replay with and without a cache; one sample does not depend on the layer."""
    monkeypatch.setattr(replay, "CACHE_BYTES", most)
    function = each(lambda m, x: m.net(x) if len(x) != 2 else x * m.w)
    with replayed("WeightNorm"):
        compare((function, WEIGHT_NORM | {"w": lambda: parameter(4)}, bags))


@pytest.mark.parametrize("name", TRIED)
def test_a_function_of_ones_own_alone_is_run_for_each_sample(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare(TRIED[name])
    node = f"{name.partition(',')[0]}Backward"
    tried = f"record: at {node} it is not known how the samples lie, so it alone was run"
    texts = [str(warning.message) for warning in caught]
    assert sum(text.startswith(tried) for text in texts) == len(SIZES)
    replayed = [text for text in texts if "sample by sample" in text]
    assert all("so the rows of w are" in text for text in replayed)  # its own parameter's
    assert len(replayed) == (len(SIZES) if name == "Affine" else 0)


def test_samples_apart_are_replayed_each_through_its_own_graph():
    calls = []

    class Counted(Cube):
        @staticmethod
        def backward(ctx, ct):
            calls.append(len(ct))
            return Cube.backward(ctx, ct)

    function = each(lambda m, x: m.net(Counted.apply(m.w * x)))
    parts = {"net": nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), "w": parameter(4)}
    model, x = Made(function, **parts).double(), bags(7)
    with pytest.warns(UserWarning, match="at WeightNorm"), ps.record(model) as record:
        record.backward(model(x))
    assert len(calls) == 7
    record.squared_norms()
    assert len(calls) <= 14

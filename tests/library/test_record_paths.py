"""Parameters that are used several times, and through views, slices, lookups and functions."""

import math
from contextlib import nullcontext
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import persample as ps
from persample.recorder import buffers
from persample.recorder.parameter_rows import ParameterRows
from support.layer_models import (
    ATEN,
    B,
    Made,
    agree,
    alone,
    norms_of,
    one_pass,
    oracle,
    own,
    record_of,
    replayed,
)
from support.tolerances import assert_close


def embed(w, words=(1, 4, 1), **options):
    return F.embedding(torch.tensor(words), w, **options)


# What is made of a parameter before it is used: operation, shape of the parameter, and
# whether autograd takes the rows to it.
ON_THE_WAY = {
    "nothing": (lambda w: w, (3, 4), False),
    "ToCopyBackward0": (lambda w: w.float(), (3, 4), False),
    "AliasBackward0": (ATEN.alias, (3, 4), False),
    "CloneBackward0": (torch.clone, (3, 4), False),
    "TBackward0": (torch.t, (4, 3), False),
    "of a vector, TBackward0": (torch.t, (4,), False),
    "two TBackward0": (lambda w: w.t().t(), (3, 4), False),
    "PermuteBackward0": (lambda w: w.T, (4, 3), False),
    "by negative axes, PermuteBackward0": (lambda w: w.permute(-1, -2), (4, 3), False),
    "TransposeBackward0": (lambda w: w.mT, (4, 3), False),
    "by axes of both signs, TransposeBackward0": (lambda w: w.transpose(-1, 0), (4, 3), False),
    "not moved, PermuteBackward0": (lambda w: w.permute(0, 1), (3, 4), False),
    "not moved, TransposeBackward0": (lambda w: w.transpose(0, -2), (3, 4), False),
    "of three axes, TransposeBackward0": (lambda w: w.transpose(1, 2), (1, 4, 3), False),
    "in a circle, PermuteBackward0": (lambda w: w.permute(1, 2, 0), (4, 1, 3), False),
    "ViewBackward0": (lambda w: w.view(3, 4), (12,), False),
    "UnsafeViewBackward0": (lambda w: ATEN._unsafe_view(w, (3, 4)), (12,), False),
    "ReshapeAliasBackward0": (lambda w: ATEN._reshape_alias(w, (3, 4), (4, 1)), (12,), False),
    "UnsqueezeBackward0": (lambda w: w.unsqueeze(0), (4,), False),
    "SqueezeBackward0": (torch.squeeze, (1, 3, 4), False),
    "SqueezeBackward1": (lambda w: w.squeeze(0), (1, 3, 4), False),
    "a view, turned": (lambda w: w.view(4, 3).t(), (12,), False),
    "EmbeddingBackward0": (embed, (5, 4), False),
    "with padding, EmbeddingBackward0": (partial(embed, padding_idx=0), (5, 4), False),
    "a view of lines, EmbeddingBackward0": (lambda w: embed(w)[None], (5, 4), False),
    "lines, turned": (lambda w: embed(w, [1, 4, 1, 0]).t(), (5, 3), False),
    "lines of a function, EmbeddingBackward0": (lambda w: embed(w.sin()), (5, 4), True),
    "by frequency, EmbeddingBackward0": (partial(embed, scale_grad_by_freq=True), (5, 4), True),
    "SplitBackward0": (lambda w: w.chunk(2)[1], (6, 4), False),
    "SplitWithSizesBackward0": (lambda w: w.split([2, 3, 1])[1], (6, 4), False),
    "SliceBackward0": (lambda w: w[2:5], (6, 4), False),
    "from the end, SliceBackward0": (lambda w: w[-3:], (7, 4), False),
    "turned, SliceBackward0": (lambda w: w[1:5].t(), (6, 3), False),
    "of a vector, SliceBackward0": (lambda w: w[1:5], (7,), False),
    "columns, SliceBackward0": (lambda w: w[:, 1:5], (3, 6), True),
    "every second, SliceBackward0": (lambda w: w[::2], (6, 4), True),
    "a piece, viewed": (lambda w: w[1:5].view(3, 4), (6, 3), False),
    "SinBackward0": (torch.sin, (3, 4), True),
}


@pytest.mark.parametrize("operation", ON_THE_WAY)
def test_what_only_moves_numbers_needs_no_autograd(operation):
    torch.manual_seed(0)
    function, shape, is_pulled = ON_THE_WAY[operation]
    model = own(lambda x, w: x * function(w), *shape)().double()
    x = torch.randn(B, 3, 4).double()
    record, graph, cut = one_pass(model, x)
    if operation.endswith("Backward0"):
        assert operation.split()[-1] in {node.name() for node in graph.nodes}
    assert [site.path.pulled is not None for site in cut.sites["w"]] == [is_pulled]
    assert cut.keeps_graph == is_pulled
    agree(record, oracle(model, x), 1e-5 if "ToCopy" in operation else 1e-9)
    if is_pulled:  # the graph is kept anyhow
        assert record_of(model, x).check()["w"] < 1e-9


class Checked(torch.autograd.Function):
    """A cube whose backward pass calls item(), which vmap refuses."""

    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return w**3

    @staticmethod
    def backward(ctx, ct):
        if ct.abs().sum().item() > 1e6:
            raise RuntimeError("too large")
        return 3 * ct * ctx.saved_tensors[0] ** 2


@pytest.mark.parametrize("cube", [lambda w: w**3, Checked.apply])
@pytest.mark.parametrize("scratch", [1, 200, 2**22])
def test_rows_that_autograd_takes_to_the_parameter_a_few_at_a_time(cube, scratch, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(buffers, "SCRATCH", scratch)
    model, x = own(lambda x, w: x @ cube(w), 4, 3)().double(), torch.randn(B, 4).double()
    record, _, cut = one_pass(model, x)
    assert cut.keeps_graph
    agree(record, oracle(model, x))


def test_an_error_of_the_second_run_is_not_hidden():
    model = own(lambda x, w: x @ Checked.apply(w), 4, 3)()
    with ps.record(model) as record:
        record.backward(1e9 * model(torch.ones(B, 4)).sum(1))
    with pytest.raises(RuntimeError, match="^too large"):
        record.rows()


TWO_USES = {  # of a table (9, 4), by B texts of words
    "a word, and a product": lambda m, i: (F.embedding(i[:, 0], m.w) @ m.w.T).sin(),
    "words, and products": lambda m, i: (F.embedding(i, m.w) @ m.w.T).sin().sum(1),
    "words, and a factor": lambda m, i: F.embedding(i, m.w).sum((1, 2))[:, None, None] * m.w,
    "words, and lines": lambda m, i: F.embedding(i, m.w).sum(1) * m.w[2:5].sum(0),
}


@pytest.mark.parametrize("case", TWO_USES)
def test_two_uses_of_a_table(case):
    torch.manual_seed(0)
    model = Made(TWO_USES[case], w=nn.Parameter(torch.randn(9, 4))).double()
    record, _, cut = one_pass(model, torch.randint(0, 9, (B, 6)))
    assert "w" in cut.sites
    agree(record, alone(model, record._capture.losses))


PIECES = {  # of a weight, taken by one linear map each: slices -> are their norms had without rows
    "apart": ((slice(0, 2), slice(2, 6)), True),
    "overlapping": ((slice(0, 4), slice(2, 6)), False),
    "the same": ((slice(1, 4), slice(1, 4)), False),
    "one, and the whole": ((slice(0, 2), slice(0, 6)), False),
}


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("shape", [(4,), (7, 4)])
def test_pieces_of_one_weight(pieces, shape, monkeypatch):
    torch.manual_seed(0)
    cuts, without_rows = PIECES[pieces]

    def forward(m, x):
        parts = [x @ (m.w if cut == slice(0, 6) else m.w[cut]).t() for cut in cuts]
        return torch.cat([part.sin() for part in parts], -1)

    model, x = Made(forward, w=nn.Parameter(torch.randn(6, 4))).double(), torch.randn(B, *shape)
    record, _, cut = one_pass(model, x.double())
    expected = oracle(model, x.double())
    assert not cut.keeps_graph
    agree(record, expected)
    if without_rows:
        record, _, _ = one_pass(model, x.double())
        monkeypatch.setattr(ParameterRows, "few", None)
        assert_close(record.squared_norms(), norms_of(expected))


def gradient(function):
    """Return a function of (x, w): the gradient of sum(sin(function(x, w))) with respect to x."""

    def call(x, w):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(function(x, w).sin().sum(), x, create_graph=True)[0]

    return call


USES = {  # function of a batch and what was made of a parameter, its shape, shape of a sample
    "product": (torch.matmul, (4, 3), (4,)),
    "products": (torch.matmul, (4, 3), (7, 4)),
    "scale": (torch.mul, (7, 4), (7, 4)),
    "convolution": (F.conv1d, (3, 2, 2), (2, 5)),
    "gradient of a convolution": (gradient(F.conv1d), (3, 2, 2), (2, 5)),
    "transposed convolution": (F.conv_transpose1d, (2, 3, 2), (2, 5)),
    "words": (F.embedding, (9, 4), (6,)),
    "bags": (F.embedding_bag, (9, 4), (6,)),
    "lines": (lambda i, w: w[i], (9, 4), (6,)),
}
MOVES = {  # what is made of a parameter, the parameter's shape from that of what is used
    "cut": (lambda w, shape: w[1:-2], lambda n, *rest: (n + 3, *rest)),
    "viewed": (lambda w, shape: w.view(shape), lambda *shape: (math.prod(shape),)),
    "turned": (lambda w, shape: w.transpose(0, 1), lambda n, m, *rest: (m, n, *rest)),
    "computed": (lambda w, shape: w.sin(), lambda *shape: shape),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("use", USES)
def test_every_use_of_what_was_made_of_a_parameter(use, move):
    torch.manual_seed(0)
    (function, shape, of_sample), (made, shape_of) = USES[use], MOVES[move]
    model = own(lambda x, w: function(x, made(w, shape)), *shape_of(*shape))().double()
    words = use in ("words", "bags", "lines")
    x = torch.randint(0, 9, (B, *of_sample)) if words else torch.randn(B, *of_sample).double()
    with replayed("Index") if use == "lines" else nullcontext():
        record, _, _ = one_pass(model, x)
    agree(record, alone(model, record._capture.losses))

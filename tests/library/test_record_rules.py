"""Each rule of RULES is used where it applies, and no rows are computed sample by sample."""

from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import persample as ps
from persample.recorder.rules import RULES
from support.layer_models import (
    B,
    Made,
    agree,
    alone,
    losses,
    norms_of,
    one_pass,
    oracle,
    own,
    penalised,
    replayed,
)
from support.tolerances import assert_close

ATEN = torch.ops.aten


def affine(m, x):
    return torch.addmm(m.b, x, m.w, beta=2, alpha=3)


def one_by_one(function):
    """Return a function of (batch, w) that calls function(x, w) in a loop over the samples."""
    return lambda batch, w: torch.stack([function(x, w) for x in batch])[..., None]


def beside(x):
    """Return x as (2, 4, 7 B): the positions of all samples along the last axis."""
    return x.permute(1, 3, 0, 2).flatten(2)


def made_affine():
    return Made(affine, b=nn.Parameter(torch.randn(3)), w=nn.Parameter(torch.randn(4, 3)))


# (operation, number of its input) -> model, the parameter there, shape of a sample
CASES = {
    ("Addmm", 0): (made_affine, "b", (4,)),
    ("Addmm", 2): (made_affine, "w", (4,)),
    ("Mm", 0): (own(lambda x, w: (w @ x.T).T, 3, 4), "w", (4,)),
    ("Mm", 1): (own(torch.matmul, 4, 3), "w", (7, 4)),
    ("Bmm", 0): (
        own(lambda x, w: w.bmm(beside(x)).unflatten(2, (len(x), 7)).movedim(2, 0), 2, 3, 4),
        "w",
        (2, 7, 4),
    ),
    ("Bmm", 1): (
        own(lambda x, w: beside(x).mT.bmm(w).unflatten(1, (len(x), 7)).movedim(1, 0), 2, 4, 3),
        "w",
        (2, 7, 4),
    ),
    ("Trilinear", 1): (own(lambda x, w: F.bilinear(x, x.sin(), w), 3, 4, 4), "w", (7, 4)),
    ("Mv", 0): (own(one_by_one(lambda x, w: w @ x), 3, 4), "w", (4,)),
    ("Mv", 1): (own(torch.matmul, 4), "w", (7, 4)),
    ("Dot", 0): (own(one_by_one(lambda x, w: w @ x), 4), "w", (4,)),
    ("Dot", 1): (own(one_by_one(torch.matmul), 4), "w", (4,)),
    ("Add", 0): (own(lambda x, w: torch.add(w, x, alpha=3), 4), "w", (7, 4)),
    ("Add", 1): (own(lambda x, w: torch.add(x, w, alpha=3), 4), "w", (7, 4)),
    ("Sub", 0): (own(lambda x, w: torch.sub(w, x, alpha=3), 4), "w", (7, 4)),
    ("Sub", 1): (own(lambda x, w: torch.sub(x, w, alpha=3), 4), "w", (7, 4)),
    ("Mul", 0): (own(lambda x, w: w * x, 4), "w", (7, 4)),
    ("Mul", 1): (own(lambda x, w: x * w, 4), "w", (7, 4)),
    ("Div", 0): (own(lambda x, w: w / x, 4), "w", (7, 4)),
    ("Div", 1): (own(lambda x, w: x / w, 4), "w", (7, 4)),
    ("Cdist", 1): (own(lambda x, w: torch.cdist(x, w, p=3), 3, 4), "w", (7, 4)),
    ("EuclideanDist", 1): (own(torch.cdist, 30, 4), "w", (4,)),
    ("Expand", 0): (own(lambda x, w: w.expand(len(x), 4) * x, 4), "w", (4,)),
    ("Repeat", 0): (own(lambda x, w: w.repeat(len(x), 1) * x, 1, 4), "w", (4,)),
    ("PreluKernel", 1): (lambda: nn.PReLU(4), "weight", (4, 5)),
    ("Convolution", 1): (lambda: nn.Conv1d(2, 3, 2), "weight", (2, 5)),
    ("Convolution", 2): (lambda: nn.Conv1d(2, 3, 2), "bias", (2, 5)),
    ("NativeLayerNorm", 1): (lambda: nn.LayerNorm(4), "weight", (7, 4)),
    ("NativeLayerNorm", 2): (lambda: nn.LayerNorm(4), "bias", (7, 4)),
    ("NativeGroupNorm", 1): (lambda: nn.GroupNorm(2, 4), "weight", (4, 5)),
    ("NativeGroupNorm", 2): (lambda: nn.GroupNorm(2, 4), "bias", (4, 5)),
    ("NativeBatchNorm", 1): (lambda: nn.BatchNorm1d(4).eval(), "weight", (4, 5)),
    ("NativeBatchNorm", 2): (lambda: nn.BatchNorm1d(4).eval(), "bias", (4, 5)),
    ("Embedding", 0): (lambda: nn.Embedding(9, 4), "weight", (6,)),
    ("EmbeddingBag", 0): (lambda: nn.EmbeddingBag(9, 4), "weight", (6,)),
    ("Index", 0): (own(lambda x, w: w[x], 9, 4), "w", (6,)),
}


CASES |= {
    ("ConvolutionBackward", 2): (penalised(nn.Conv1d(2, 3, 2)), "net.0.weight", (2, 5)),
    ("NativeLayerNormBackward", 4): (penalised(nn.LayerNorm(4)), "net.0.weight", (7, 4)),
    ("NativeLayerNormBackward", 5): (penalised(nn.LayerNorm(4)), "net.0.bias", (7, 4)),
}


def test_every_rule_has_a_case():
    # Those of an LSTM, in float32 alone, have test_recurrent.
    rules = {(name, slot) for name, row in RULES.items() for slot in row}
    assert set(CASES) == {rule for rule in rules if rule[0] != "MkldnnRnnLayer"}


@pytest.mark.parametrize("rule", CASES, ids=str)
def test_a_rule_is_taken(rule):
    torch.manual_seed(0)
    make, name, shape = CASES[rule]
    model = make().double()
    nn.init.normal_(model.get_parameter(name), mean=2)
    x = torch.rand(B, *shape).double() - 0.5 + (rule[0] == "Div")
    x = torch.randint(0, 9, (B, *shape)) if rule[0].startswith(("Embedding", "Index")) else x
    record, graph, cut = one_pass(model, x)
    sites = cut.sites[name]
    assert rule in [(graph.kinds[site.node_index], site.input_index) for site in sites]
    assert len(sites) in (1, B) or rule[0].endswith("Backward")  # its forward pass is one, too
    assert not cut.replayed
    assert not cut.keeps_graph
    agree(record, oracle(model, x))


CONVOLUTIONS = {
    "a line": lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2),
    "a volume": lambda: nn.Conv3d(4, 6, (1, 2, 3), dilation=(2, 1, 1), padding=(0, 1, 0)),
    "transposed": lambda: nn.ConvTranspose2d(4, 6, (3, 2), stride=(2, 1), padding=1, groups=2),
    "transposed, with more at its end than a step": lambda: nn.ConvTranspose1d(
        4, 2, 2, stride=2, dilation=4, output_padding=3
    ),
    "a transposed volume": lambda: nn.ConvTranspose3d(4, 2, 2, stride=2, output_padding=1),
}


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_of_every_kind_have_a_form(case, images):
    torch.manual_seed(0)
    layer = CONVOLUTIONS[case]()

    def forward(m, x):
        return m.layer(x.flatten(0, 1)).unflatten(0, (B, images))

    model = Made(forward, layer=layer).double()
    x = torch.randn(B, images, 4, *(5,) * len(layer.kernel_size)).double()
    record, _, cut = one_pass(model, x)
    assert record.forms() == {"layer.weight": "convolution", "layer.bias": "formed"}
    assert not cut.keeps_graph
    agree(record, alone(model, record._capture.losses))


@pytest.mark.parametrize("padding", [None, 2])
def test_lookups_by_frequency_count_the_whole_batch(padding):
    torch.manual_seed(0)
    model = nn.Embedding(9, 4, padding_idx=padding, scale_grad_by_freq=True).double()
    record, _, cut = one_pass(model, torch.randint(0, 9, (B, 6)))
    assert not cut.keeps_graph
    agree(record, alone(model, record._capture.losses))


INDEXED = {  # of a parameter -> its shape, is it a lookup
    "lines from the end": (lambda w, i: w[i - 9], (9, 4), True),
    "in few bits": (lambda w, i: w[i.int()], (9, 4), True),
    "positions first": (lambda w, i: w[i.t()].transpose(0, 1), (9, 4), True),
    "none": (lambda w, i: w[i[:, :0]], (9, 4), True),
    "what was computed": (lambda w, i: w.sin()[i], (9, 4), False),
    "numbers of a vector": (lambda w, i: w[i], (9,), False),
    "tables of a list": (lambda w, i: w[i], (9, 2, 4), False),
    "lines and columns": (lambda w, i: w[i, i], (9, 9), False),
    "columns": (lambda w, i: w[:, i].transpose(0, 1), (4, 9), False),
    "a mask": (lambda w, i: w[torch.arange(12) > 1].view(B, 2, 4), (12, 4), False),
}


@pytest.mark.parametrize("case", INDEXED)
def test_a_parameter_that_is_indexed(case):
    torch.manual_seed(0)
    function, shape, is_lookup = INDEXED[case]
    model = own(lambda x, w: function(w, x).sin().flatten(1), *shape)().double()
    x = torch.randint(0, 9, (B, 6))
    with nullcontext() if is_lookup else replayed("IndexBackward0"):
        record, _, _ = one_pass(model, x)
    kind = "lookup" if is_lookup else "rows, sample by sample from IndexBackward0"
    assert record.forms() == {"w": kind}
    alone = [torch.autograd.grad(x, [model.w], retain_graph=True) for x in record._capture.losses]
    expected = {"w": torch.stack([g for (g,) in alone])}
    assert_close(record.rows(), expected, 1e-12)
    assert_close(record.squared_norms(), norms_of(expected), 1e-12)
    assert_close(record.clipped_sum(1e9), {"w": expected["w"].sum(0)}, 1e-12)


def test_an_index_may_not_change_before_the_record_is_read():
    model, x = own(lambda x, w: w[x], 9, 4)(), torch.randint(0, 9, (B, 6))
    record, _, _ = one_pass(model, x)
    x += 1
    with pytest.raises(RuntimeError, match="what w was applied to was changed in place"):
        record.rows()


@pytest.mark.parametrize("make", [lambda: nn.Embedding(9, 4), own(lambda x, w: w[x], 9, 4)])
def test_texts_without_a_word_have_rows_of_zeros(make):
    record, _, _ = one_pass(make(), torch.zeros(B, 0, dtype=torch.long))
    ((name, rows),) = record.rows().items()
    assert rows.shape == (B, 9, 4)
    assert not rows.any()
    assert not record.squared_norms().any()
    assert not record.clipped_sum(1.0)[name].any()


BAGS = [  # mode, with the last offset, padding
    *(("sum", True, None), ("sum", False, 2), ("weighted", False, None), ("weighted", True, 2)),
    *(("mean", False, None), ("mean", True, 2), ("max", True, 2), ("by frequency", False, None)),
]


@pytest.mark.parametrize(("mode", "last", "padding"), BAGS)
def test_bags_of_several_lengths(mode, last, padding):
    """Use empty bags, a repeated index in a bag, a padding index and weights per word."""
    torch.manual_seed(0)
    by_frequency = mode == "by frequency"
    options = {"include_last_offset": last, "padding_idx": padding}
    kind = mode if mode in ("mean", "max") else "sum"
    model = nn.EmbeddingBag(9, 3, mode=kind, scale_grad_by_freq=by_frequency, **options).double()
    index = torch.tensor([1, 2, 2, 5, 7, 7, 7, 2, 3, 1, 8])
    starts = torch.tensor([0, 3, 3, 8, 9, 10] + [len(index)] * last)
    weights = torch.rand(len(index), dtype=torch.float64) if mode == "weighted" else None
    with replayed("Embedding") if by_frequency else nullcontext(), ps.record(model) as record:
        each = losses(model(index, starts, per_sample_weights=weights))
        record.backward(each, retain_graph=True)
    kind = "rows, sample by sample from EmbeddingBagBackward0" if by_frequency else "lookup"
    assert record.forms() == {"weight": kind}
    agree(record, alone(model, each), 1e-12)

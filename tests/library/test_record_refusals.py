"""Cases in which a rule of RULES must not apply; the rows still equal those of a loop."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from persample.recorder import rules, sites
from persample.recorder.rules import RULES
from support.layer_models import ATEN, B, agree, alone, one_pass, own, penalised, replayed


def as_channels(function):
    """Return ``function`` applied to the samples as channels of one image, (1, B, positions)."""
    return lambda x, w: function(x[None], w)[0]


def statistics(x):
    return {
        "running_mean": x.new_full(x.shape[1:2], 2),
        "running_var": x.new_full(x.shape[1:2], 3),
    }


def bags(x, w, **options):
    """Return the results of embedding_bag for two bags of three words in each sample."""
    return F.embedding_bag(x.view(-1, 3), w, **options).view(B, -1)


def normed(x, w):
    return F.layer_norm(x.T, (B,), w).T


@as_channels
def convolved(x, w):
    return F.conv1d(x, w, groups=B)


# (operation, number of its input, what does not fit) -> a function of a batch and a parameter that
# its rule must refuse, the parameter's shape, and a sample's.
# Mostly the parameter has a part for each sample, or an axis is the samples' that should not be.
CASES = {
    ("Addmm", 0, "axis"): (lambda x, w: torch.addmm(w, x, x.T @ x), (B, 4), (4,)),
    ("Addmm", 2, "axis"): (lambda x, w: torch.addmm(x.T, x.T, w).T, (B, B), (4,)),
    ("Mm", 0, "axis"): (lambda x, w: w @ torch.ones(4, 4).double() * x, (B, 4), (4,)),
    ("Bmm", 0, "axis"): (lambda x, w: torch.bmm(w, x[:, :, None]), (B, 3, 4), (4,)),
    ("Bmm", 1, "axis"): (lambda x, w: torch.bmm(x[:, None], w), (B, 4, 3), (4,)),
    ("Trilinear", 1, "axis"): (
        lambda x, w: F.bilinear(torch.ones_like(x), torch.ones_like(x), w).T * x[:1, :1],
        (B, 4, 4), (4,),
    ),
    ("Trilinear", 1, "pairs"): (
        lambda x, w: ATEN._trilinear(x, w, x, [1], [0], [1], [2]), (4, 4), (4,),
    ),
    ("Mv", 0, "axis"): (lambda x, w: (w @ torch.ones(4).double())[:, None] * x, (B, 4), (4,)),
    ("Mm", 1, "axis"): (lambda x, w: (x.T @ w).T, (B, B), (4,)),
    ("Add", 0, "axis"): (lambda x, w: w + x, (B, 4), (4,)),
    ("Add", 1, "axis"): (lambda x, w: torch.add(x, w, alpha=3), (B, 4), (4,)),
    ("Sub", 0, "axis"): (lambda x, w: w - x, (B, 4), (4,)),
    ("Sub", 1, "axis"): (lambda x, w: x - w, (B, 4), (4,)),
    ("Mul", 0, "axis"): (lambda x, w: w * x, (B, 4), (4,)),
    ("Mul", 1, "axis"): (lambda x, w: x * w, (B, 4), (4,)),
    ("Div", 0, "axis"): (lambda x, w: w / (x + 3), (B, 4), (4,)),
    ("Div", 1, "axis"): (lambda x, w: x / w, (B, 4), (4,)),
    ("Cdist", 1, "axis"): (lambda x, w: torch.cdist(x, w).T, (B, 4), (4,)),
    ("EuclideanDist", 1, "axis"): (lambda x, w: ATEN._euclidean_dist(x, w).T, (B, 4), (4,)),
    ("Expand", 0, "axis"): (lambda x, w: w.expand(B, 4) * x, (B, 1), (4,)),
    ("Repeat", 0, "axis"): (lambda x, w: w.repeat(2 * B, 1).view(B, 8) * x, (1, 4), (8,)),
    ("PreluKernel", 1, "axis"): (ATEN._prelu_kernel, (B, 4), (4,)),
    ("Convolution", 1, "axis"): (convolved, (B, 1, 2), (5,)),
    ("Convolution", 2, "axis"): (
        as_channels(lambda x, w: F.conv1d(x, x[0, :, None, :2], w, groups=B)), (B,), (5,),
    ),
    ("ConvolutionBackward", 2, "axis"): (convolved, (B, 1, 2), (5,)),
    ("NativeLayerNorm", 1, "axis"): (normed, (B,), (4,)),
    ("NativeLayerNorm", 2, "axis"): (lambda x, w: F.layer_norm(x.T, (B,), None, w).T, (B,), (4,)),
    ("NativeLayerNormBackward", 4, "axis"): (normed, (B,), (4,)),
    ("NativeGroupNorm", 1, "axis"): (as_channels(lambda x, w: F.group_norm(x, B, w)), (B,), (5,)),
    ("NativeGroupNorm", 2, "axis"): (
        as_channels(lambda x, w: F.group_norm(x, B, x[0, :, 0], w)), (B,), (5,),
    ),
    ("NativeBatchNorm", 1, "axis"): (
        as_channels(lambda x, w: F.batch_norm(x, **statistics(x), weight=w)), (B,), (5,),
    ),
    ("NativeBatchNorm", 1, "statistics"): (
        lambda x, w: F.batch_norm(x, **statistics(x), weight=w, training=True), (4,), (4, 5),
    ),
    ("NativeBatchNorm", 2, "axis"): (
        as_channels(lambda x, w: F.batch_norm(x, **statistics(x), bias=w)), (B,), (5,),
    ),
    ("Embedding", 0, "axis"): (lambda x, w: F.embedding(x[0], w).T, (9, B), (6,)),
    ("EmbeddingBag", 0, "axis"): (bags, (9, 4), (6,)),
    ("EmbeddingBag", 0, "frequency"): (
        lambda x, w: F.embedding_bag(x, w, scale_grad_by_freq=True), (9, 4), (6,),
    ),
    ("Index", 0, "axis"): (lambda x, w: w[x[0]].T, (9, B), (6,)),
    ("Index", 0, "indices"): (lambda x, w: w[x, x], (9, 9), (6,)),
    ("Atan2", 0, "axis"): (lambda x, w: torch.atan2(w, x), (B, 4), (4,)),  # of those called
}  # fmt: skip


def test_every_condition_has_a_case():
    every = {
        (kind, slot)
        for kind, row in RULES.items()
        for slot, rule in row.items()
        if rule.fits is not rules._always
    }
    assert {case[:2] for case in CASES} == every | {("Atan2", 0)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_rule_must_refuse(case, monkeypatch):
    torch.manual_seed(0)
    kind, slot, _ = case
    function, shape, of_sample = CASES[case]
    model = own(function, *shape)()
    model = (penalised(model)() if kind.endswith("Backward") else model).double()
    ((name, _),) = model.named_parameters()
    words = kind.startswith(("Embedding", "Index"))
    x = torch.randint(0, 9, (B, *of_sample)) if words else torch.randn(B, *of_sample).double()
    with replayed():
        record, graph, _ = one_pass(model, x)
    agree(record, alone(model, record._capture.losses), 1e-12)

    leaf, rule = graph.leaves[name], rules.rule_of(f"{kind}Backward0", kind, slot)
    edges = sites._edges(graph, leaf)
    (place,) = [place for place, n in edges if (graph.kinds[place], n) == (kind, slot)]
    assert sites._site(graph, place, slot, leaf) is None
    monkeypatch.setattr(sites, "rule_of", lambda *_: replace(rule, fits=rules._always))
    assert sites._site(graph, place, slot, leaf) is not None  # so nothing else refuses it

"""Rows of an LSTM in float32, which PyTorch runs on a CPU as one node per layer and direction."""

import copy
from functools import partial
from itertools import chain, combinations

import pytest
import torch
from torch import nn

import persample as ps
from persample.recorder import recurrent, rules, sites
from persample.recorder.graph import Graph
from persample.recorder.layouts import SampleAxis
from support.layer_models import Made, agree, alone, losses, norms_of, replayed, summed
from support.tolerances import FLOAT32, assert_close

B, T, D, H = 4, 6, 5, 7
KIND = "MkldnnRnnLayer"
TAKEN = {(KIND, slot) for slot in (1, 2, 3, 4)}  # the rules that are tried here

LAYERS = {  # -> the layer, its number of steps
    "plain": (partial(nn.LSTM, D, H), T),
    "batch first": (partial(nn.LSTM, D, H, batch_first=True), T),
    "without biases": (partial(nn.LSTM, D, H, bias=False), T),
    "two layers both ways": (partial(nn.LSTM, D, H, 2, bidirectional=True), T),
    "both ways, batch first": (partial(nn.LSTM, D, H, bidirectional=True, batch_first=True), T),
    "with dropout": (partial(nn.LSTM, D, H, 3, dropout=0.5), T),
    "one step": (partial(nn.LSTM, D, H, 2, bidirectional=True), 1),
    "one number": (partial(nn.LSTM, 1, 1, bidirectional=True), T),
    "wide": (partial(nn.LSTM, 3, 33), T),
    "many steps": (partial(nn.LSTM, D, 16, bidirectional=True), 50),
}
PARTS = ("output", "h", "c")
USED = list(chain.from_iterable(combinations(PARTS, n) for n in (1, 2, 3)))


def first(layer, found):
    """Return the layer's output, h and c as a dict, with the samples along axis 0."""
    output, (h, c) = found
    return {
        "output": output if layer.batch_first else output.transpose(0, 1),
        "h": h.transpose(0, 1),
        "c": c.transpose(0, 1),
    }


def loss_of(layer, x, used=("output",)):
    """Return losses (B,) of the results named in ``used``, for inputs x (B, T, d)."""
    found = first(layer, layer(x if layer.batch_first else x.transpose(0, 1)))
    return sum(losses(found[name]) for name in used)


def recorded(model, run):
    """Return (record, graph, losses) of a pass; assert that no rows are replayed."""
    with ps.record(model) as record:
        each = run()
        graph = Graph([(each.grad_fn, 0, SampleAxis(0))], record._capture.names, len(each))
        record.backward(each, retain_graph=True)
    assert KIND in graph.kinds
    assert not any("sample by sample" in kind for kind in record.forms().values())
    return record, graph, each


def rows_agree(rows, expected, tolerance=FLOAT32):
    """Assert that each row is close to the expected one, relative to its norm."""
    assert rows.keys() == expected.keys()
    for name, of_name in expected.items():
        error = (rows[name] - of_name).flatten(1).norm(dim=1)
        assert bool((error <= tolerance * of_name.flatten(1).norm(dim=1)).all()), name


@pytest.mark.parametrize("used", USED, ids="+".join)
@pytest.mark.parametrize("name", LAYERS)
def test_rows_of_what_is_used(name, used):
    """Compare with autograd on the same graph, and in float64, where the layer has many nodes."""
    torch.manual_seed(0)
    make, steps = LAYERS[name]
    layer = make()
    exact = copy.deepcopy(layer).double()
    for size in (B, 2, 9):
        x = torch.randn(size, steps, layer.input_size)
        record, _, each = recorded(layer, partial(loss_of, layer, x, used))
        rows = alone(layer, each)
        rows_agree(record.rows(), rows)
        assert_close(record.squared_norms() / norms_of(rows), torch.ones(size), FLOAT32)
        if size == 2 and not layer.dropout:
            rows_agree(record.rows(), alone(exact, loss_of(exact, x.double(), used)))


def test_every_answer():
    torch.manual_seed(0)
    layer = LAYERS["two layers both ways"][0]()
    record, _, each = recorded(layer, lambda: 0.1 * loss_of(layer, torch.randn(B, T, D), PARTS))
    agree(record, alone(layer, each), FLOAT32)


def test_the_rules_are_taken_and_the_steps_worked_out_once(monkeypatch):
    torch.manual_seed(0)
    layer, calls = LAYERS["two layers both ways"][0](), []
    gates_of = recurrent._gates
    monkeypatch.setattr(recurrent, "_gates", lambda *a: calls.append(a) or gates_of(*a))
    record, graph, _ = recorded(layer, lambda: loss_of(layer, torch.randn(B, T, D)))
    assert len(calls) == graph.kinds.count(KIND) == 4
    cut = sites.cut(graph, is_hooked=False)
    found = [site for uses in cut.sites.values() for site in uses]
    assert len(found) == 16
    assert {(graph.kinds[site.node_index], site.input_index) for site in found} == TAKEN
    assert set(rules.RULES[KIND]) == {slot for _, slot in TAKEN}
    assert not cut.keeps_graph
    assert set(record.forms().values()) == {"sum of outer products", "formed"}


def test_clipped_rows_beside_grad():
    torch.manual_seed(0)
    layer, x = LAYERS["two layers both ways"][0](), torch.randn(B, T, D)
    rows = alone(layer, loss_of(layer, x, ("output", "c")))
    with ps.record(layer) as record:
        record.backward(loss_of(layer, x, ("output", "c")), accumulate=True)
    for name, p in layer.named_parameters():
        assert_close(p.grad, rows[name].sum(0), 1e-4)
    norms = norms_of(rows).sqrt()
    bound = float(norms.median())
    got, expected = record.clipped_sum(bound), summed(rows, (bound / norms).clamp(max=1))
    rows_agree(
        {name: g[None] for name, g in got.items()}, {name: g[None] for name, g in expected.items()}
    )


def with_states(m, x):
    states = [s.expand(-1, len(x), -1).contiguous() for s in (m.h, m.c)]
    return m.layer(x.transpose(0, 1), tuple(states))[0].transpose(0, 1)


def apart(m, x):
    return torch.cat([m.layer(x[i].unsqueeze(1))[0].transpose(0, 1) for i in range(len(x))])


def unbatched(m, x):
    return torch.stack([m.layer(sample)[0] for sample in x])


def in_pairs(m, x):
    """Run two texts for each sample, side by side in one batch of the layer."""
    pairs = torch.stack([x, x.flip(1).sin()], 1)  # (B, 2, T, d)
    return m.layer(pairs.flatten(0, 1).transpose(0, 1))[0].transpose(0, 1).unflatten(0, (-1, 2))


def two_views(m, x):
    """Run two views of each sample in one call: all first views, then all second ones."""
    found = m.layer(torch.cat([x, x.flip(1).sin()]).transpose(0, 1))[0].transpose(0, 1)
    return torch.cat(found.chunk(2), 1)


def twice(m, x):
    x = x.transpose(0, 1)
    return (m.layer(x)[0] * m.layer(x.flip(0))[0]).transpose(0, 1)


def of_several_lengths(m, x):
    """Return, for each sample i, its output at step i % T plus a function of its last states."""
    found, (h, _) = m.layer(x.transpose(0, 1))
    found, last = found.transpose(0, 1), torch.cat([h[-2], h[-1]], 1).sin()
    return torch.stack([found[i, i % T] + last[i] for i in range(len(x))])


def shifted(m, x):
    """Add a parameter to the last state; both then get the same cotangent in the same memory."""
    return (m.layer(x.transpose(0, 1))[1][0] + m.shift).transpose(0, 1)


WAYS = [with_states, apart, unbatched, in_pairs, two_views, twice, of_several_lengths, shifted]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_ways_to_call_it(way):
    torch.manual_seed(0)
    more = {with_states: ("h", "c"), shifted: ("shift",)}.get(way, ())
    more = {name: nn.Parameter(torch.randn(4, 1, H)) for name in more}
    model = Made(way, layer=nn.LSTM(D, H, 2, bidirectional=True), **more)
    x = torch.randn(B, T, D)
    record, _, each = recorded(model, lambda: losses(model(x)))
    rows = alone(model, each)
    rows_agree(record.rows(), rows)
    assert_close(record.squared_norms() / norms_of(rows), torch.ones(B), FLOAT32)


def test_frozen_weights_and_weights_made_of_others():
    torch.manual_seed(0)
    layer = nn.utils.parametrizations.weight_norm(nn.LSTM(D, H), "weight_hh_l0")
    layer.bias_ih_l0.requires_grad_(False)
    record, _, each = recorded(layer, lambda: loss_of(layer, torch.randn(B, T, D)))
    rows = alone(layer, each)
    assert len(rows) == 4
    rows_agree(record.rows(), rows)


@pytest.mark.parametrize("inside", [False, True])
def test_in_16_bits(inside):
    torch.manual_seed(0)
    layer, x = nn.LSTM(D, H, 2, bidirectional=True), torch.randn(B, T, D)
    exact = alone(layer, loss_of(layer, x))
    low = layer if inside else copy.deepcopy(layer).bfloat16()
    given = (x if inside else x.bfloat16()).transpose(0, 1)
    try:  # without the recorder
        with torch.autocast("cpu", torch.bfloat16, enabled=inside):
            low(given)
    except RuntimeError as error:
        if "could not create a primitive" not in str(error):
            raise
        pytest.skip("PyTorch cannot run this LSTM in bfloat16 on this processor")
    with torch.autocast("cpu", torch.bfloat16, enabled=inside), ps.record(low) as record:
        found = low(given)[0]
        assert found.dtype == torch.bfloat16
        record.backward(losses(found.transpose(0, 1).float()))
    assert set(record.forms().values()) == {"sum of outer products", "formed"}
    rows_agree(record.rows(), exact, 4e-2)


@pytest.mark.parametrize("used", [("h",), ("output", "h"), ("h", "c")], ids="+".join)
def test_states_that_hold_the_samples_elsewhere(used):
    """Use as many samples as features, with loss i a function of feature i of the last states."""
    torch.manual_seed(0)
    layer, x = nn.LSTM(B, B, batch_first=True), torch.randn(B, T, B)
    with replayed(f"{KIND}Backward0"), ps.record(layer) as record:
        found = first(layer, layer(x))
        given = [found[name] if name == "output" else found[name][:, 0].T for name in used]
        each = sum(map(losses, given))
        record.backward(each, retain_graph=True)
    rows_agree(record.rows(), alone(layer, each))

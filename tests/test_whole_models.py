"""The table of all layers, and the stored benchmarks of whole models: complete and true."""

import inspect
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from notebook_rules import prose
from torch import nn

import persample as ps
from persample_book import layer_table, measured, small_gpt

from .layer_models import replayed

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS, PAGE = ROOT / "benchmarks", ROOT / "chapters" / "10_whole_models.ipynb"
sys.path.insert(0, str(BENCHMARKS))

import contenders  # noqa: E402, beside the tests
import gpt2_memory  # noqa: E402
import model_traits  # noqa: E402
import networks  # noqa: E402
import rows  # noqa: E402
import whole_models  # noqa: E402

# What has parameters and no line of its own in the table: what others of it are made of.
BASES = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList"}
BASES |= {"Sequential", "RNNBase", "RNNCellBase", "DataParallel"}


def has_parameters(layer):
    """Say whether a class of torch.nn makes parameters, from the source of it and its bases."""
    return any(
        "Parameter(" in inspect.getsource(base)
        for base in layer.__mro__
        if issubclass(base, nn.Module) and base is not nn.Module
    )


def is_built_of_layers(layer):
    """Say whether its source makes a layer of torch.nn that has parameters, or clones of one."""
    made = re.findall(r"= (\w+)\(", inspect.getsource(layer))
    made = [getattr(nn, name, None) for name in made]
    made = [other for other in made if inspect.isclass(other) and issubclass(other, nn.Module)]
    return any(map(has_parameters, made)) or "Transformer" in layer.__name__


def test_the_table_has_every_layer_of_torch_with_parameters():
    layers = {
        name: layer
        for name, layer in vars(nn).items()
        if inspect.isclass(layer) and issubclass(layer, nn.Module) and name not in BASES
    }
    wanted = {
        name
        for name, layer in layers.items()
        if has_parameters(layer) or is_built_of_layers(layer)
    }
    lazy = {name for name in wanted if name.startswith("Lazy")}  # become those without the word
    assert {name.removeprefix("Lazy") for name in lazy} <= wanted
    in_table = {name.partition(",")[0] for name in layer_table.LAYERS}
    assert in_table == wanted - lazy


@pytest.mark.parametrize("name", layer_table.LAYERS)
def test_every_layer_of_the_table_is_right(name):
    entry = layer_table.entry(name)
    assert entry.error < 1e-9
    parameters = layer_table.LAYERS[name][0]().parameters()
    assert sum(map(len, entry.kinds.values())) == len(list(parameters))
    assert name in layer_table.table([entry])


def test_a_rule_wrong_by_a_thousandth_is_seen_in_the_table(monkeypatch):
    true = torch.Tensor.square
    monkeypatch.setattr(torch.Tensor, "square", lambda x: true(x) * 1.001)
    assert layer_table.entry("Linear").error > 1e-4


CASES = {
    "GPT": networks.WholeModel("GPT", 5, "cpu", (11, 6, 8, 2, 2)),
    "ViT": networks.WholeModel("ViT", 5, "cpu", (8, 4, 8, 2, 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_contenders_of_the_benchmark_agree(name):
    chosen = ["record, fresh", "torch.func vmap(grad)", "jax jit(vmap(grad))", "torch loop"]
    parts = {
        "rows": {way: contenders.ROWS[way] for way in chosen},
        "sums": {"record clipped sum": contenders.SUMS["record clipped sum"]},
    }
    rows.agree(CASES[name], parts)
    spoiled = replace(CASES[name])
    object.__setattr__(spoiled, "jax_loss", lambda *sample: 1.01 * CASES[name].jax_loss(*sample))
    object.__setattr__(spoiled, "of_size", lambda size: spoiled)
    with pytest.raises(AssertionError, match="jax"):
        rows.agree(spoiled, parts)


TRAITS = json.loads(model_traits.RESULT.read_text(encoding="utf-8"))


def test_the_stored_traits_are_those_of_the_program():
    assert set(TRAITS["traits"]) == set(model_traits.TRAITS)
    for ways in TRAITS["traits"].values():
        assert set(ways) == set(model_traits.WAYS)
        assert ways["ps.record"]["result"] == "right"
        for outcome in ways.values():
            assert outcome["result"] in ("right", "wrong", "misshapen", "refused")
            assert "text" in outcome or outcome["error"] >= 0


@pytest.mark.parametrize("way", ["ps.record", "torch.func"])
@pytest.mark.parametrize("trait", model_traits.TRAITS)
@pytest.mark.filterwarnings("ignore")
def test_the_stored_traits_are_found_here(trait, way):
    assert model_traits.outcome(way, trait)["result"] == TRAITS["traits"][trait][way]["result"]


def test_wrong_norms_are_called_wrong(monkeypatch):
    right = model_traits.by_record
    monkeypatch.setitem(model_traits.WAYS, "x", lambda *args: right(*args) * 1.001)
    assert model_traits.outcome("x", "layers only")["result"] == "wrong"


def test_the_stored_memory_has_every_way_and_model():
    models = list(whole_models.CPU)
    text = str(measured.memory_and_time(BENCHMARKS / "results", {m: m[:3] for m in models}))
    titles = [f"{m[:3]}, {unit}" for unit in ("MiB", "passes") for m in models]
    assert text.splitlines()[0] == "|  | " + " | ".join(titles) + " |"
    cells = [line.split("|")[2:-1] for line in text.splitlines()[2:]]
    assert {len(line) for line in cells} == {2 * len(models)}
    assert all(float(cell) > 1 for line in cells[1:] for cell in line)
    record = json.loads((BENCHMARKS / "results" / "whole_models_memory.json").read_text("utf-8"))
    assert {"date", "machine", "versions"} <= record.keys()
    for model, peaks in record["cases"].items():  # rows are at least their own numbers
        case = whole_models.CPU[model]
        rows_alone = 4 * case.size * sum(p.numel() for p in case.model().parameters()) / 2**20
        assert peaks["record, fresh"] > 0.9 * rows_alone


def test_what_the_page_says_of_memory_is_in_the_file():
    cases = json.loads((BENCHMARKS / "results" / "whole_models_memory.json").read_text("utf-8"))
    cases = [cases["cases"][model] for model in ("GPT, medium", "ViT")]
    page = prose(PAGE)
    assert "clipped sums with `ps.record` took 1.4 to 1.5 times the memory" in page
    little = [
        peaks[way] / peaks["ordinary pass"]
        for peaks in cases
        for way in ("record norms", "record clipped sum")
    ]
    assert (f"{min(little):.1f}", f"{max(little):.1f}") == ("1.4", "1.5")
    assert "all rows 2.3 to 2.4 times" in page
    much = [peaks["record, fresh"] / peaks["ordinary pass"] for peaks in cases]
    assert {f"{times:.1f}" for times in much} == {"2.3", "2.4"}
    assert "Opacus takes slightly less here than `ps.record`, for rows and for clipped" in page
    for peaks in cases:
        assert peaks["Opacus hooks"] < peaks["record, fresh"]
        assert peaks["Opacus ghost clipping"] < peaks["record clipped sum"]


def test_the_stored_peaks_at_the_size_of_gpt2_are_those_of_the_program():
    found = measured.gpt2_memory(BENCHMARKS / "results")
    assert list(found["peaks"]) == list(gpt2_memory.WAYS)
    assert {"date", "machine", "versions"} <= found.keys()
    assert found["samples"] == gpt2_memory.CASE.size
    assert tuple(found["sizes"]) == gpt2_memory.CASE.sizes
    words, length, d, _, depth = found["sizes"]
    parts = (2 * words + length) * d + depth * (12 * d**2 + 13 * d) + 2 * d
    assert found["parameters"] == parts
    kept = length * (16 * d * depth + 2 * d + words)
    needed = {"record norms": 2, "record clipped sum": 3}
    for way, times in needed.items():  # no peak is lower than what the page adds up
        assert found["peaks"][way] > 4 * (times * parts + 2 * kept) / 1e9


def test_the_small_gpt_looks_back_only_and_has_one_table():
    model = small_gpt.drawn(small_gpt.GPT(7, 6, d=8), np.random.default_rng(0)).double()
    assert model.head.weight is model.token.weight
    assert all(not p.any() for name, p in model.named_parameters() if name.endswith("bias"))
    tokens = torch.arange(6)[None]
    other = tokens.clone()
    other[0, 4] = 6
    scores, changed = model(tokens), model(other)
    assert torch.equal(scores[:, :4], changed[:, :4])
    assert not torch.isclose(scores[:, 4:], changed[:, 4:]).all()


class Packed(nn.Module):
    """One layer of attention within each of the texts that share a sequence."""

    def __init__(self):
        super().__init__()
        self.token, self.qkv = nn.Embedding(9, 4), nn.Linear(4, 12)
        self.head = nn.Linear(4, 9)

    def forward(self, x, text):
        before = torch.arange(x.shape[1])
        mask = (text[:, :, None] == text[:, None]) & (before[:, None] >= before)
        q, k, v = self.qkv(self.token(x)).chunk(3, -1)
        return self.head(nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask))


@pytest.mark.parametrize("sequences", [1, 2])
def test_packed_texts_are_right_by_rows(sequences):
    model, rng = Packed().double(), np.random.default_rng(0)
    x, y = torch.tensor(rng.integers(0, 9, (2, sequences, 8)))
    text = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2]) + 3 * torch.arange(sequences)[:, None]
    own = nn.functional.one_hot(text.flatten()).double()
    with replayed("MmBackward0"), ps.record(model) as record:
        each = nn.functional.cross_entropy(model(x, text).mT, y, reduction="none")
        losses = each.flatten() @ own / own.sum(0)
        record.backward(losses, retain_graph=True)
    assert set(record.forms().values()) == {"rows, sample by sample from MmBackward0"}
    rows, norms = record.rows(), record.squared_norms()
    for i, loss in enumerate(losses):
        alone = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
        for row, g in zip(rows.values(), alone, strict=True):
            torch.testing.assert_close(row[i], g)
        torch.testing.assert_close(norms[i], sum(g.square().sum() for g in alone))


def test_the_table_of_outcomes_marks_what_is_wrong():
    text = str(measured.outcomes(BENCHMARKS / "results"))
    assert text.splitlines()[0].endswith("| torch.func | ps.record |")  # the rightest are last
    assert text.count("**wrong**") == sum(
        found["result"] == "wrong" for ways in TRAITS["traits"].values() for found in ways.values()
    )
    assert len(text.splitlines()) == 2 + len(model_traits.TRAITS)

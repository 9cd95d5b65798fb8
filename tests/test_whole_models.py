"""The table of all layers, and the stored benchmarks of whole models: complete and true."""

import inspect
import json
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from notebook_rules import prose
from torch import nn

from persample_book import layer_table, small_gpt

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS, PAGE = ROOT / "benchmarks", ROOT / "chapters" / "11_whole_models.ipynb"
sys.path.insert(0, str(BENCHMARKS))

import model_traits  # noqa: E402

# What has parameters and no line of its own in the table: what others of it are made of.
BASES = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList"}
BASES |= {"Sequential", "RNNBase", "RNNCellBase", "DataParallel"}


source = cache(inspect.getsource)


@cache
def has_parameters(layer):
    """Say whether a class of torch.nn makes parameters, from the source of it and its bases."""
    return any(
        "Parameter(" in source(base)
        for base in layer.__mro__
        if issubclass(base, nn.Module) and base is not nn.Module
    )


def is_built_of_layers(layer):
    """Say whether its source makes a layer of torch.nn that has parameters, or clones of one."""
    made = re.findall(r"= (\w+)\(", source(layer))
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


TRAITS = json.loads(model_traits.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("way", ["ps.record", "torch.func"])
@pytest.mark.parametrize("trait", model_traits.TRAITS)
@pytest.mark.filterwarnings("ignore")
def test_the_stored_traits_are_found_here(trait, way):
    found = model_traits.outcome(way, trait)["result"]
    assert found == TRAITS["traits"][trait][way]["result"]
    assert found == "right" or way != "ps.record"


def test_what_the_page_says_of_memory_is_in_the_file():
    cases = json.loads((BENCHMARKS / "results" / "whole_models_memory.json").read_text("utf-8"))
    cases = [cases["cases"][model] for model in ("GPT, medium", "ViT")]
    page = prose(PAGE)
    little = [
        peaks[way] / peaks["ordinary pass"]
        for peaks in cases
        for way in ("record norms", "record clipped sum")
    ]
    much = [peaks["record, fresh"] / peaks["ordinary pass"] for peaks in cases]
    said = f"clipped sums with `ps.record` took {min(little):.1f} to {max(little):.1f} times the"
    assert said in page
    assert f"all rows {min(much):.1f} to {max(much):.1f} times" in page


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

"""Every layer of torch.nn has right rows; the page on whole models agrees with stored results."""

import inspect
import re
from functools import cache
from statistics import mean, stdev

import pytest
import torch
from notebook_rules import prose
from torch import nn

import persample as ps
from support import ROOT, pages
from support.layer_models import agree, alone, losses

PAGE = ROOT / "chapters" / "12_whole_models.ipynb"

B, T = 4, 5  # samples, positions
# Layer -> (what makes it, shapes of its inputs for one sample; "i" before a shape: of indices).
FIRST = {"batch_first": True}
LAYERS = {
    "Linear": (lambda: nn.Linear(4, 3), ((4,),)),
    "Linear, at T positions": (lambda: nn.Linear(4, 3), ((T, 4),)),
    "Bilinear": (lambda: nn.Bilinear(4, 3, 2), ((4,), (3,))),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3), ((2, 8),)),
    "Conv2d": (lambda: nn.Conv2d(2, 4, 3), ((2, 6, 6),)),
    "Conv3d": (lambda: nn.Conv3d(2, 4, 2), ((2, 4, 4, 4),)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(2, 4, 3), ((2, 8),)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 4, 3), ((2, 6, 6),)),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(2, 4, 2), ((2, 4, 4, 4),)),
    "Embedding": (lambda: nn.Embedding(9, 4), (("i", T),)),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(9, 4), (("i", T),)),
    "LayerNorm": (lambda: nn.LayerNorm(4), ((T, 4),)),
    "RMSNorm": (lambda: nn.RMSNorm(4), ((T, 4),)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), ((4, T),)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(4, affine=True), ((4, T),)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, affine=True), ((4, 3, 3),)),
    "InstanceNorm3d": (lambda: nn.InstanceNorm3d(4, affine=True), ((4, 2, 3, 2),)),
    "BatchNorm1d, in eval()": (lambda: nn.BatchNorm1d(4).eval(), ((4,),)),
    "BatchNorm2d, in eval()": (lambda: nn.BatchNorm2d(4).eval(), ((4, 3, 3),)),
    "BatchNorm3d, in eval()": (lambda: nn.BatchNorm3d(4).eval(), ((4, 2, 3, 2),)),
    "SyncBatchNorm, in eval()": (lambda: nn.SyncBatchNorm(4).eval(), ((4, 3, 3),)),
    "PReLU": (lambda: nn.PReLU(4), ((4, 3),)),
    "RNN": (lambda: nn.RNN(4, 3, **FIRST), ((T, 4),)),
    "LSTM": (lambda: nn.LSTM(4, 3, **FIRST), ((T, 4),)),
    "GRU": (lambda: nn.GRU(4, 3, **FIRST), ((T, 4),)),
    "RNNCell": (lambda: nn.RNNCell(4, 3), ((4,),)),
    "LSTMCell": (lambda: nn.LSTMCell(4, 3), ((4,),)),
    "GRUCell": (lambda: nn.GRUCell(4, 3), ((4,),)),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(4, 2, **FIRST), ((T, 4),) * 3),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, **FIRST), ((T, 4),)),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, **FIRST), 2),
        ((T, 4),),
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(4, 2, 8, **FIRST),
        ((T, 4), (3, 4)),
    ),
    "TransformerDecoder": (
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, **FIRST), 2),
        ((T, 4), (3, 4)),
    ),
    "Transformer": (lambda: nn.Transformer(4, 2, 1, 1, 8, **FIRST), ((T, 4), (3, 4))),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 9, [3, 6], div_value=2.0),
        ((8,), ("i",)),
    ),
}
if hasattr(nn, "LinearCrossEntropyLoss"):  # of newer versions
    LAYERS["LinearCrossEntropyLoss"] = (
        lambda: nn.LinearCrossEntropyLoss(4, 9, reduction="none"),
        ((4,), ("i",)),
    )

# What has parameters and no line of its own among the layers: what others are made of.
BASES = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList"}
BASES |= {"Sequential", "RNNBase", "RNNCellBase", "DataParallel"}


source = cache(inspect.getsource)


@cache
def has_parameters(layer):
    """Return whether a class of torch.nn, or a base of it, makes parameters in its source."""
    return any(
        "Parameter(" in source(base)
        for base in layer.__mro__
        if issubclass(base, nn.Module) and base is not nn.Module
    )


def is_built_of_layers(layer):
    """Return whether a class of torch.nn makes or clones layers with parameters in its source."""
    made = re.findall(r"= (\w+)\(", source(layer))
    made = [getattr(nn, name, None) for name in made]
    made = [other for other in made if inspect.isclass(other) and issubclass(other, nn.Module)]
    return any(map(has_parameters, made)) or "Transformer" in layer.__name__


def test_every_layer_of_torch_with_parameters_is_tried():
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
    tried = {name.partition(",")[0] for name in LAYERS}
    assert tried == wanted - lazy


@pytest.mark.filterwarnings("ignore:record. at")
@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_is_right(name):
    """Compare with autograd in training mode, with dropout."""
    make, shapes = LAYERS[name]
    torch.manual_seed(0)
    layer = make().double()
    words = [torch.randint(0, 9, (B, *shape[1:])) for shape in shapes]
    arrays = [
        word if shape[:1] == ("i",) else torch.randn(B, *shape, dtype=torch.float64)
        for word, shape in zip(words, shapes, strict=True)
    ]
    with ps.record(layer) as record:
        output = layer(*arrays)
        while isinstance(output, tuple):
            output = output[0]
        each = losses(output.reshape(B, -1))
        record.backward(each, retain_graph=True)
    agree(record, alone(layer, each), 1e-9)


def table_below(head):
    """Return {first cell: other cells} of the page's table whose header is ``head``."""
    lines = prose(PAGE).partition(head)[2].split("\n\n")[0].splitlines()[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: cells for name, *cells in rows[1:]}


def test_the_times_and_the_memory_of_the_page_are_those_measured():
    stored = pages.stored("transformer_steps")
    assert (stored["threads"], stored["rounds"], stored["date"]) == (1, 9, "2026-11-23")
    found = list(stored["cases"].values())
    shown = table_below("| time in ordinary passes ")
    quantities = {"norms": "squared norms", "clipped sum": "clipped sum"}
    ways = {"by hand": "floor", "`ps.record`": "persample", "`torch.func`": "torch.func"}
    assert shown == {
        f"{what}, {way}": [f"{case[quantity][name]['passes']:.1f}" for case in found]
        for what, quantity in quantities.items()
        for way, name in ways.items()
    }
    took = [cell for name, cells in shown.items() if "record" in name for cell in cells]
    assert f"took between {min(took)} and {max(took)} ordinary passes" in prose(PAGE)
    peaks = [case["peaks, MiB"] for case in found]
    times = {way: [p[way] / p["ordinary pass"] for p in peaks] for way in peaks[0]}
    sums, rows = times["record norms"] + times["record clipped sum"], times["record, fresh"]
    said = f"{min(sums):.1f} to {max(sums):.1f} times that of an ordinary pass in these models"
    assert f"{said}, and of all rows {min(rows):.1f} to {max(rows):.1f} times" in prose(PAGE)


def test_the_norms_in_a_pretrained_model_are_those_measured():
    stored = pages.stored("pretrained_norms")["texts"]
    shown = table_below("| text | loss | norm of the row ")
    names = {"48 different tokens": "period 48", "one": "period 1", "English": "ordinary text"}
    names |= {f"{p} in turn": f"period {p}" for p in (16, 8, 4, 2)}
    assert shown.keys() == names.keys()
    for name, (loss, norm, shuffled) in shown.items():
        wanted = {loss: stored[names[name]]["loss"], norm: stored[names[name]]["norm"]}
        if shuffled:
            wanted[shuffled] = stored[names[name] + ", shuffled"]["norm"]
        for text, numbers in wanted.items():
            digits = len(text.split()[0].partition(".")[2])
            error = stdev(numbers) / len(numbers) ** 0.5
            assert text == f"{mean(numbers):.{digits}f} ± {error:.{digits}f}"


def test_the_prices_of_samples_apart_are_those_measured():
    stored = pages.stored("samples_apart")
    assert stored["threads"] == 1
    keys = {
        "losses of a loop, stacked": "stack of a list of losses",
        "losses of a loop, written into an array": "losses[n] = loss",
        "the loop, layers under `weight_norm`": "stack, weight norm",
        "two views of each image, cut by slices": "two views, slices",
        "LSTM, two layers, both directions": "LSTM, 64, two layers, both ways",
        "packed GRU": "packed GRU, 64",
        "gradient penalty of a critic": "gradient penalty, convolutions",
        "a `Function` of your own": "a Function of one's own",
    }
    shown = table_below("| norms of 128 samples, in ordinary passes ")
    assert list(shown) == list(keys)
    for name, cells in shown.items():
        found = stored["passes"][keys[name]]["128"]
        rows = {"`torch.func`": "vmap(grad)", "Opacus": "Opacus"}
        rows = [(found[key], way) for way, key in rows.items() if key in found]
        faster = f"{short(min(rows)[0])}, {min(rows)[1]}" if rows else "–"
        assert cells == [short(found["loop"]), faster, short(found["norms"])]
    own = stored["passes"]["a Function of one's own"].values()
    small, middle, large = (f"{passes['norms'] / passes['loop']:.1f}" for passes in own)
    said = f"norms cost {small} loops at 32 samples, {middle} at 128 and {large} at 512 ("
    assert said in (ROOT / "reference" / "errors.md").read_text(encoding="utf-8")


def short(passes):
    return f"{passes:.1f}" if passes < 10 else f"{passes:.0f}"

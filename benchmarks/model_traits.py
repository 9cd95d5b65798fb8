"""What each library makes of models with a trait that misleads: right, wrong, or refused.

    python benchmarks/model_traits.py --save

Each library gives the norms of the rows of one small model, compared with a loop over single
samples; the clipping ones give the norms that they clip by. A refusal is kept with its message.
Peers come from requirements.txt beside this file. No time is measured.
"""

import argparse
import copy
import datetime
import json
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from rows import installed
from torch import Tensor, nn

import persample as ps

RESULT = Path(__file__).parent / "results" / "model_traits.json"
B, T, D, WORDS = 5, 6, 8, 9  # samples, positions, width, words; all different


class Model(nn.Module):
    """Tokens (B, T) -> scores (B, T, words); ``between`` is what has the trait."""

    def __init__(self, between: nn.Module) -> None:
        super().__init__()
        self.token, self.between = nn.Embedding(WORDS, D), between
        self.head = nn.Linear(D, WORDS, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.between(self.token(tokens)))


class Positions(nn.Module):
    """Positions looked up once for all samples, as GPT-2 does it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(T, D)

    def forward(self, h: Tensor) -> Tensor:
        return h + self.table(torch.arange(T))


class Scale(nn.Module):
    """A parameter of a module that has layers as well, as of ConvNeXt or a class token."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.scale = nn.Linear(D, D), nn.Parameter(torch.rand(D))

    def forward(self, h: Tensor) -> Tensor:
        return torch.tanh(self.layer(h)) * self.scale


class Twice(nn.Module):
    """One layer called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(D, D)

    def forward(self, h: Tensor) -> Tensor:
        return self.layer(torch.tanh(self.layer(h)))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(D, 2, batch_first=True)

    def forward(self, h: Tensor) -> Tensor:
        return h + self.attend(h, h, h, need_weights=False)[0]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRU(D, D, batch_first=True)

    def forward(self, h: Tensor) -> Tensor:
        return self.cell(h)[0]


def plain() -> Model:
    return Model(nn.Sequential(nn.Linear(D, D), nn.Tanh()))


def tied() -> Model:
    model = plain()
    model.head.weight = model.token.weight
    return model


def frozen() -> Model:
    model = plain()
    model.token.requires_grad_(False)
    return model


AS_MANY = "positions, as many as samples"
TRAITS = {
    "layers only": plain,
    "frozen table": frozen,
    "tied table": tied,
    "a layer called twice": lambda: Model(Twice()),
    "positions for all at once": lambda: Model(Positions()),
    AS_MANY: lambda: Model(Positions()),
    "a parameter beside layers": lambda: Model(Scale()),
    "nn.MultiheadAttention": lambda: Model(Attention()),
    "nn.GRU": lambda: Model(Recurrent()),
}


def losses_of(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(model(x).mT, y, reduction="none").mean(1)


class Misshapen(Exception):
    """Rows for another number of samples than there are."""


def norms_of(rows: list[Tensor], count: int) -> Tensor:
    for row in rows:
        if len(row) != count:
            raise Misshapen(f"rows for {len(row)} samples; there are {count}")
    return torch.stack([row.flatten(1).norm(dim=1) for row in rows]).norm(dim=0)


def by_loop(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    parameters = [p for p in model.parameters() if p.requires_grad]
    norms = []
    for i in range(len(x)):
        alone = losses_of(model, x[i : i + 1], y[i : i + 1])[0]
        rows = torch.autograd.grad(alone, parameters)
        norms.append(torch.stack([row.norm() for row in rows]).norm())
    return torch.stack(norms)


def by_record(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    with ps.record(model) as record:
        record.backward(losses_of(model, x, y))
    return record.squared_norms().sqrt()


def by_torch_func(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    params = {k: p.detach() for k, p in model.named_parameters() if p.requires_grad}

    def loss(params, x, y):
        scores = torch.func.functional_call(model, params, x[None])
        return F.cross_entropy(scores[0], y)

    rows = torch.vmap(torch.func.grad(loss), (None, 0, 0))(params, x, y)
    return norms_of(list(rows.values()), len(x))


def by_opacus(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    from opacus import GradSampleModule

    wrapped = GradSampleModule(model)
    losses_of(wrapped, x, y).mean().backward()
    return norms_of([p.grad_sample for p in wrapped.parameters() if p.requires_grad], len(x))


def by_opacus_ghost(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    from opacus.grad_sample import GradSampleModuleFastGradientClipping

    wrapped = GradSampleModuleFastGradientClipping(
        model, max_grad_norm=1.0, use_ghost_clipping=True
    )
    losses_of(wrapped, x, y).mean().backward()
    return wrapped.get_norm_sample()


def by_backpack(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    from backpack import backpack, extend
    from backpack.extensions import BatchGrad

    model = extend(model)
    with backpack(BatchGrad()):
        losses_of(model, x, y).sum().backward()
    return norms_of([p.grad_batch for p in model.parameters() if p.requires_grad], len(x))


WAYS = {
    "ps.record": by_record,
    "torch.func": by_torch_func,
    "Opacus": by_opacus,
    "Opacus, ghost": by_opacus_ghost,
    "BackPACK": by_backpack,
}


def outcome(way: str, trait: str) -> dict:
    """Return {result: right, wrong, misshapen or refused; error or text}."""
    torch.manual_seed(0)
    model = TRAITS[trait]()
    x, y = torch.randint(0, WORDS, (2, T if trait == AS_MANY else B, T))
    expected = by_loop(model, x, y)
    try:
        got = WAYS[way](copy.deepcopy(model), x, y)
    except Misshapen as error:
        return {"result": "misshapen", "text": str(error)}
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return {"result": "refused", "text": f"{type(error).__name__}: {lines[0]}"}
    error = float((got / expected - 1).abs().max())
    return {"result": "right" if error < 1e-4 else "wrong", "error": float(f"{error:.2g}")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"store the result in {RESULT.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the peers' own
    found = {trait: {way: outcome(way, trait) for way in WAYS} for trait in TRAITS}
    for trait, ways in found.items():
        print(trait)
        for way, what in ways.items():
            print(f"  {way:14} {what['result']:8} {what.get('text', what.get('error'))}"[:150])
    if options.save:
        packages = ("torch", "opacus", "backpack-for-pytorch")
        record = {
            "what": "norms of rows against a loop over single samples, by model and library",
            "date": datetime.date.today().isoformat(),
            "versions": {package: installed(package) for package in packages},
            "traits": found,
        }
        RESULT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

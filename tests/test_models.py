"""The stored table of real models, and the check behind it on models of torch.nn alone."""

import json

import models
import pytest
import torch
from torch import nn

from persample.layers import torch_rules

pytestmark = pytest.mark.filterwarnings("ignore:.*nested_tensor")


def test_the_stored_table_has_twelve_right_and_none_wrong():
    record = json.loads(models.STORED.read_text(encoding="utf-8"))
    assert {"date", "versions", "models"} <= record.keys()
    assert set(models.PACKAGES) <= record["versions"].keys()
    rows = record["models"]
    assert len({row["model"] for row in rows}) == len(rows)
    right = [row for row in rows if row["result"] == "right"]
    assert len(right) >= 12
    assert all(0 <= row["error"] <= record["tolerance"] for row in right)
    assert not [row for row in rows if row["result"] == "wrong"]
    assert all(row["text"] for row in rows if row["result"] == "refused")


class Causal(nn.Module):
    """A small language model like the stored ones: a table, positions, an encoder, a head."""

    def __init__(self):
        super().__init__()
        self.table, self.positions = nn.Embedding(models.WORDS, 8), nn.Embedding(16, 8)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        h = self.table(x) + self.positions(torch.arange(x.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        self.logits = self.encoder(h, src_mask=mask) @ self.table.weight.T
        return self


def image_model():
    layers = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2)
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 10))
    return model, lambda m: models.of_classes(m, models.images(8))


@pytest.mark.parametrize("make", [lambda: (Causal(), models.of_language), image_model])
def test_small_models_are_right(make):
    row = models.verdict("small", make)
    assert row["result"] == "right"
    assert row["error"] < 1e-5


def test_a_rule_wrong_by_a_hundredth_is_found(monkeypatch):
    rule = torch_rules.RULES["ConvolutionBackward0"][1]
    wrong = torch_rules.Rule(
        lambda use, ct, saved: rule.make(use, ct * 1.01, saved), rule.needs, rule.fits
    )
    monkeypatch.setitem(torch_rules.RULES["ConvolutionBackward0"], 1, wrong)
    assert models.verdict("small", image_model)["result"] == "wrong"


def test_a_refusal_is_kept_with_its_sentence():
    model = nn.Linear(3, 2).requires_grad_(False)
    row = models.verdict("frozen", lambda: (model, lambda m: m(torch.randn(4, 3)).sum(1)))
    assert row["result"] == "refused"
    assert row["text"].startswith("ValueError: layerwise: the model, a Linear, has no parameter")

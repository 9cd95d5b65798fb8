"""The stored table of real models, and the check behind it on models of torch.nn alone."""

import json
import re
from pathlib import Path

import models
import nbformat
import pytest
import torch
from reading import prose
from torch import nn

import persample as ps
from persample.recorder import rules

PAGE = Path(__file__).resolve().parents[1] / "chapters" / "10_whole_models.ipynb"
pytestmark = pytest.mark.filterwarnings("ignore:.*nested_tensor")


def test_the_stored_table_has_twelve_right_and_none_wrong():
    record = json.loads(models.STORED.read_text(encoding="utf-8"))
    results = [row["result"] for row in record["models"]]
    assert results.count("right") >= 12
    assert "wrong" not in results
    right = [row["error"] for row in record["models"] if row["result"] == "right"]
    assert max(right) <= record["tolerance"]
    assert f"of `transformers` {record['versions']['transformers']}, with" in prose(PAGE)


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


class Returning(Causal):
    """The same, asked as models of transformers are: a mask, which causal attention needs not."""

    def forward(self, input_ids, attention_mask):
        return super().forward(input_ids)


SMALL = {
    "text": lambda: (Causal(), models.of_language),
    "padded": lambda: (Returning(), models.of_padded_texts),
    "image": image_model,
}


@pytest.mark.parametrize("name", SMALL)
def test_small_models_are_right(name):
    row = models.verdict(name, SMALL[name])
    assert row["result"] == "right"
    assert row["error"] < 1e-5


def test_the_losses_are_those_of_the_page():
    cells = {cell.id: cell.source for cell in nbformat.read(PAGE, as_version=4).cells}
    names = {"F": nn.functional}
    exec(cells["whole-texts"], names)
    logits, labels = torch.randn(3, 5, 7), torch.randint(0, 7, (3, 5))
    labels[0, 2:] = labels[2, :2] = -100
    losses = names["losses_of_texts"](logits, labels)
    torch.testing.assert_close(losses, models.losses_of_texts(logits, labels))
    for i, part in enumerate((slice(1, 2), slice(1, 5), slice(2, 5))):
        before = slice(part.start - 1, part.stop - 1)
        alone = nn.functional.cross_entropy(logits[i, before], labels[i, part])
        torch.testing.assert_close(losses[i], alone)


def test_the_loop_of_the_page_steps_along_the_clipped_sum():
    (loop,) = re.findall(r"```python\n(for batch in loader:.*?)```", prose(PAGE), re.S)
    torch.manual_seed(0)
    model, c = Returning(), 0.5
    model.encoder.linear1.weight.requires_grad_(False)  # as under LoRA
    ids = models.tokens()
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}
    batch["labels"][0, 4:] = -100
    expected = {name: p.detach().clone() for name, p in model.named_parameters()}
    model.eval()
    for loss in models.losses_of_texts(model(ids, None).logits, batch["labels"]):
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        alone = torch.autograd.grad(loss, list(trained.values()), retain_graph=True)
        norm = sum(g.square().sum() for g in alone).sqrt()
        assert norm > c
        for name, g in zip(trained, alone, strict=True):
            expected[name] -= 0.1 * c / norm * g / len(ids)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    given = {"ps": ps, "losses_of_texts": models.losses_of_texts, "c": c, "loader": [batch]}
    exec(loop, given | {"model": model, "optimizer": optimizer})
    for name, p in model.named_parameters():
        torch.testing.assert_close(p.detach(), expected[name])


def test_a_rule_wrong_by_a_hundredth_is_found(monkeypatch):
    rule = rules.RULES["ConvolutionBackward0"][1]
    wrong = rules.Rule(
        lambda use, ct, saved: rule.make(use, ct * 1.01, saved), rule.needs, rule.fits
    )
    monkeypatch.setitem(rules.RULES["ConvolutionBackward0"], 1, wrong)
    assert models.verdict("small", image_model)["result"] == "wrong"


def test_a_refusal_is_kept_with_its_sentence():
    model = nn.Linear(3, 2).requires_grad_(False)
    row = models.verdict("frozen", lambda: (model, lambda m: m(torch.randn(4, 3)).sum(1)))
    assert row["result"] == "refused"
    assert row["text"].startswith("ValueError: record: the model, a Linear, has no parameter")

"""The stored table of real models, and scripts/models.py on models of torch.nn alone."""

import json
import re

import models
import nbformat
import pytest
import torch
from notebook_rules import prose
from torch import nn

import persample as ps
from support import ROOT

PAGE, COMPARISON = ROOT / "chapters" / "12_whole_models.ipynb", ROOT / "conformance/results.json"
pytestmark = pytest.mark.filterwarnings("ignore:.*nested_tensor")


def test_the_stored_table_has_thirty_proved_and_none_wrong():
    record = json.loads(models.STORED.read_text(encoding="utf-8"))
    assert {"date", "versions", "models"} <= record.keys()
    assert set(models.PACKAGES) <= record["versions"].keys()
    rows = record["models"]
    assert len({row["model"] for row in rows}) == len(rows)
    assert {row["result"] for row in rows} <= {"proved", "replayed", "refused"}
    right = [row for row in rows if row["result"] != "refused"]
    assert all(0 <= row["error"] <= record["tolerance"] for row in right)
    assert all(bool(row["nodes"]) == (row["result"] == "replayed") for row in right)
    assert sum(row["result"] == "proved" for row in rows) >= 30
    assert all(row["text"] for row in rows if row["result"] == "refused")


class Causal(nn.Module):
    """A small causal language model; like those of transformers it returns ``logits``."""

    def __init__(self):
        super().__init__()
        self.table, self.positions = nn.Embedding(models.WORDS, 8), nn.Embedding(16, 8)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        h = self.table(x) + self.positions(torch.arange(x.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        self.logits = self.encoder(h, src_mask=mask) @ self.table.weight.T
        return self


class Returning(Causal):
    """Like Causal, with the arguments of transformers; it ignores the mask, stores ``loss``."""

    def forward(self, input_ids, attention_mask, labels=None):
        super().forward(input_ids)
        if labels is not None:
            self.loss = nn.functional.cross_entropy(self.logits[:, :-1].mT, labels[:, 1:])
        return self


def test_padded_texts_are_right():
    row = models.verdict("padded", Returning, models.of_padded_texts)
    assert row["result"] == "proved"
    record = json.loads(models.STORED.read_text(encoding="utf-8"))
    stored = {row["model"]: row["result"] for row in record["models"]}
    assert stored["GPT-2, padded texts"] == stored["Llama, padded texts"] == "proved"
    assert f"in {len(stored)} cases, on small models of" in prose(PAGE)
    replayed = sorted(model for model, result in stored.items() if result == "replayed")
    assert f"In two of them, {' and '.join(replayed)}, some" in prose(PAGE)


def test_the_page_says_what_the_longer_comparison_has():
    lines = json.loads(COMPARISON.read_text(encoding="utf-8"))["lines"]
    models_of = {line["library"].partition(",")[0]: set() for line in lines}
    for line in lines:
        models_of[line["library"].partition(",")[0]].add(line["model"])
    jax = len(models_of.pop("JAX"))
    assert len(models_of) + 1 == 5
    (number,) = {len(found) for found in models_of.values()}
    said = f"puts five libraries to {number} other small models, JAX to {jax} of them"
    assert said in prose(PAGE)


def test_the_losses_are_those_of_the_page():
    cells = [cell.source for cell in nbformat.read(PAGE, as_version=4).cells]
    (cell,) = [cell for cell in cells if cell.startswith("from torch.nn") and "def losses" in cell]
    names = {}
    exec(cell.partition("\nlosses =")[0], names)
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
    ids = models.tokens(4, 7)
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

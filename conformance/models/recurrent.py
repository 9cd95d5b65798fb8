"""Recurrent models."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from conformance.case import SINGLE, Case, Draw
from conformance.losses import ALL_TOKENS, SQUARED, TOKEN_SUM, TOKENS, VECTOR
from conformance.models.batches import features, ragged_features, with_count


class Recurrent(nn.Module):
    """A recurrent layer of PyTorch and a linear head at every position."""

    def __init__(self, kind: type, **options):
        super().__init__()
        self.layer = kind(3, 4, **{"batch_first": True, **options})
        self.head = nn.Linear(8 if options.get("bidirectional") else 4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0])


class Cells(nn.Module):
    """A recurrent cell in a loop over positions, and a linear head."""

    def __init__(self, kind: type):
        super().__init__()
        self.cell, self.head = kind(3, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        state, outputs = None, []
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return self.head(torch.stack(outputs, 1))


class Elman(nn.Module):
    """A recurrent network written by hand; the head is applied to the last state: (B, 3)."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer, self.head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(len(x), 4)
        for t in range(x.shape[1]):
            h = (self.inner(x[:, t]) + self.outer(h)).tanh()
        return self.head(h)


class Written(Elman):
    """An `Elman` that writes its states into an array; the head is applied to all: (B, T, 3)."""

    def forward(self, x: Tensor) -> Tensor:
        h, states = x.new_zeros(len(x), 4), x.new_zeros(*x.shape[:2], 4)
        for t in range(x.shape[1]):
            h = (self.inner(x[:, t]) + self.outer(h)).tanh()
            states[:, t] = h
        return self.head(states)


class Packed(Recurrent):
    """A recurrent layer on packed sequences of different lengths."""

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, count, batch_first=True, enforce_sorted=False)
        padded, _ = pad_packed_sequence(
            self.layer(packed)[0], batch_first=True, total_length=x.shape[1]
        )
        return self.head(padded)


def sequence_first(draw: Draw, size: int, step: int) -> dict:
    return {"x": draw.normal(6, size, 3)}


def transposed(model, batch: dict) -> Tensor:
    """Call a model whose batch axis is axis 1."""
    return model(batch["x"]).transpose(0, 1)


def seq_first_case(name: str, make, losses) -> Case:
    return Case(name, make, sequence_first, losses, transposed, length=6, axes={"x": 1})


CASES = (
    Case("LSTM", lambda: Recurrent(nn.LSTM), features(6, 3), TOKENS, length=6),
    Case("LSTM, float32", lambda: Recurrent(nn.LSTM), features(6, 3), TOKENS, length=6, **SINGLE),
    Case("GRU", lambda: Recurrent(nn.GRU), features(6, 3), TOKENS, length=6),
    Case("RNN", lambda: Recurrent(nn.RNN), features(6, 3), TOKENS, length=6),
    seq_first_case("LSTM, sequence first", lambda: Recurrent(nn.LSTM, batch_first=False), TOKENS),
    seq_first_case("GRU, sequence first", lambda: Recurrent(nn.GRU, batch_first=False), TOKENS),
    Case(
        "LSTM, two directions and layers",
        lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True),
        features(6, 3),
        TOKENS,
        length=6,
    ),
    Case(
        "LSTM, two directions and layers, float32",
        lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True),
        features(6, 3),
        TOKENS,
        length=6,
        **SINGLE,
    ),
    Case("LSTMCell in a loop", lambda: Cells(nn.LSTMCell), features(6, 3), TOKENS, length=6),
    Case("GRUCell in a loop", lambda: Cells(nn.GRUCell), features(6, 3), TOKENS, length=6),
    Case("RNN by hand", Elman, features(6, 3), VECTOR, length=6),
    Case("RNN by hand, states written", Written, features(6, 3), TOKENS, length=6),
    Case(
        "LSTM, packed",
        lambda: Packed(nn.LSTM),
        ragged_features(6, 3),
        (SQUARED, TOKEN_SUM),
        with_count,
        length=6,
    ),
    Case(
        "GRU, packed, two directions and layers",
        lambda: Packed(nn.GRU, num_layers=2, bidirectional=True),
        ragged_features(6, 3),
        (SQUARED, TOKEN_SUM),
        with_count,
        length=6,
    ),
    seq_first_case(
        "MLP, sequence first",
        lambda: nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3)),
        ALL_TOKENS,
    ),
)

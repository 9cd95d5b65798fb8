"""Mixtures of experts, graphs, segments and bags: parts of an array that belong to samples."""

import torch
from torch import Tensor, nn

from conformance.case import Case, Draw
from conformance.losses import CE, ONE_BY_ONE, SQUARED, TOKENS, VECTOR
from conformance.models.batches import features, ragged_features, with_count


class Experts(nn.Module):
    """A top-1 mixture of experts; each takes its tokens out of the batch and writes them back."""

    def __init__(self, form: str):
        super().__init__()
        self.form = form
        self.router = nn.Linear(4, 3)
        self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.reshape(-1, 4)
        gates, chosen = self.router(tokens).softmax(1).max(1)
        out = torch.zeros_like(tokens)
        for k, expert in enumerate(self.experts):
            mine = chosen == k
            if self.form == "index_add":
                where = mine.nonzero()[:, 0]
                found = gates[where, None] * expert(tokens[where]).tanh()
                out = out.index_add(0, where, found.to(out.dtype))
            else:
                out[mine] = gates[mine, None] * expert(tokens[mine]).tanh()
        return self.head(out.view(x.shape))


class SoftExperts(nn.Module):
    """Every expert sees every token; the router weights their outputs."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 3)
        self.first = nn.Parameter(torch.randn(3, 4, 5) / 2)
        self.second = nn.Parameter(torch.randn(3, 5, 4) / 2)
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.einsum("...d,edh->...eh", x, self.first).relu()
        out = torch.einsum("...eh,ehd->...ed", hidden, self.second)
        return self.head((self.router(x).softmax(-1)[..., None] * out).sum(-2))


class GraphNet(nn.Module):
    """Messages along the edges of each sample's graph, all nodes in one array."""

    def __init__(self, form: str):
        super().__init__()
        self.form = form
        self.message, self.update = nn.Linear(4, 5), nn.Linear(9, 5)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        size, nodes = x.shape[:2]
        flat = (edges + nodes * torch.arange(size)[:, None, None]).transpose(0, 1).flatten(1)
        h = x.flatten(0, 1)
        sent = self.message(h)[flat[0]].relu()
        got = sent.new_zeros(len(h), 5)
        if self.form == "index_add":
            got = got.index_add(0, flat[1], sent)
        else:
            got = got.scatter_add(0, flat[1][:, None].expand(-1, 5), sent)
        h = self.update(torch.cat([h, got], 1)).relu()
        owner = torch.arange(size).repeat_interleave(nodes)
        return self.head(h.new_zeros(size, 5).index_add(0, owner, h))


class Segments(nn.Module):
    """Texts of different lengths packed into one array, summed for each text."""

    def __init__(self, form: str):
        super().__init__()
        self.form = form
        self.first, self.head = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        inside = torch.arange(x.shape[1]) < count[:, None]
        h = self.first(x[inside]).tanh()
        if self.form == "split":
            pooled = torch.stack([part.sum(0) for part in h.split(count.tolist())])
        elif self.form == "cumsum":
            total = torch.cat([h.new_zeros(1, 5), h.cumsum(0)])
            ends = count.cumsum(0)
            pooled = total[ends] - total[ends - count]
        else:
            owner = torch.arange(len(x)).repeat_interleave(count)
            pooled = h.new_zeros(len(x), 5).index_add(0, owner, h)
        return self.head(pooled)


class Bags(nn.Module):
    """Texts of different lengths, each through the layers in a separate call, then averaged."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        bags = [bag[:n] for bag, n in zip(x, count, strict=True)]
        return torch.stack([self.head(self.first(bag).tanh()).mean(0) for bag in bags])


def graphs(draw: Draw, size: int, step: int) -> dict:
    return {"x": draw.normal(size, 4, 4), "edges": draw.integers(0, 4, size, 2, 6)}


def with_edges(model, batch: dict) -> Tensor:
    return model(batch["x"], batch["edges"])


def graph_case(form: str) -> Case:
    return Case(f"graph net, {form}", lambda: GraphNet(form), graphs, VECTOR, with_edges)


def segment_case(form: str) -> Case:
    batch = ragged_features(5, 4)
    return Case(f"segments, {form}", lambda: Segments(form), batch, VECTOR, with_count, length=5)


CASES = (
    Case("experts, index_add", lambda: Experts("index_add"), features(5, 4), TOKENS, length=5),
    Case("experts, boolean gather", lambda: Experts("mask"), features(5, 4), TOKENS, length=5),
    Case(
        "experts, one token a sample",
        lambda: Experts("mask"),
        features(4),
        (SQUARED, CE),
        length=3,
    ),
    Case("experts, soft", SoftExperts, features(5, 4), TOKENS, length=5),
    graph_case("index_add"),
    graph_case("scatter_add"),
    segment_case("split"),
    segment_case("cumsum"),
    segment_case("index_add"),
    Case(
        "bags, one by one",
        Bags,
        ragged_features(5, 4),
        (SQUARED, *ONE_BY_ONE),
        with_count,
        length=5,
    ),
)

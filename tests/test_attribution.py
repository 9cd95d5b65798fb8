"""Scores of training images in a small network, checked against autograd and real trainings."""

from copy import copy

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from persample_book.problems import attribution


@pytest.fixture(scope="module")
def net():
    return attribution.Trained(1)


def model_of(p):
    layers = torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    model = torch.nn.Sequential(*layers).double()
    with torch.no_grad():
        for own, given in zip(model.parameters(), p, strict=True):
            own.copy_(given)
    return model


def test_many_trainings_at_once_are_those_of_an_optimiser(net):
    groups = [[3, 70, 9], [5, 6, 7]]
    losses, read = net.losses_without(groups, [0, 8])
    for line, labels, group in zip(losses, read, groups, strict=True):
        model = model_of(net.start)
        kept = np.setdiff1d(np.arange(1400), group)
        for _ in range(40):
            model.zero_grad()
            (cross_entropy(model(net.x[kept]), net.y[kept], reduction="sum") / 1400).backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.5 * p.grad
        out = model(net.x_asked[[0, 8]]).detach()
        wanted = cross_entropy(out, net.y_asked[[0, 8]], reduction="none")
        np.testing.assert_allclose(line, wanted.numpy(), rtol=1e-9)
        assert labels.tolist() == out.argmax(1).tolist()


def test_rows_products_and_gauss_newton_are_those_of_autograd(net):
    model = model_of(net.end)
    named = dict(model.named_parameters())

    def scores(p, x):
        return functional_call(model, p, (x[None],))[0]

    def loss(p, x, y):
        return cross_entropy(scores(p, x)[None], y[None])

    rows = vmap(grad(loss), (None, 0, 0))(named, net.x[:30], net.y[:30])
    rows = torch.cat([row.flatten(1) for row in rows.values()], 1)
    mine = attribution._rows(net.end, net.x[:30], net.y[:30])
    torch.testing.assert_close(mine, rows.detach(), rtol=1e-10, atol=1e-13)
    asked = attribution._rows(net.end, net.x_asked[:2], net.y_asked[:2])
    torch.testing.assert_close(net._products(net.end, [0, 1])[:, :30], asked @ mine.T)

    few = copy(net)
    few.x = net.x[:150]  # of 1400, which it divides by
    v = torch.from_numpy(np.random.default_rng(0).normal(size=2410))
    parts, size = attribution._parts(v), 1e-7
    ahead, behind = (
        attribution._net([p + s * part for p, part in zip(net.end, parts, strict=True)], few.x)
        for s in (size, -size)
    )
    moved, p = (ahead - behind) / (2 * size), model(few.x).softmax(1).detach()
    total = (p * moved**2).sum() - ((p * moved).sum(1) ** 2).sum()
    assert (v @ few.gauss_newton() @ v).item() == pytest.approx(total.item() / 1400, rel=1e-5)

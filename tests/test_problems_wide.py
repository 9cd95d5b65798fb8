"""The wide networks of the chapter on the Gram matrix, each number by another route."""

import numpy as np
import pytest
import torch
from torch import nn

import persample as ps
from persample_book.problems import wide


def network(w, a):
    hidden, out = nn.Linear(2, len(a), bias=False), nn.Linear(len(a), 1, bias=False)
    hidden.weight.data, out.weight.data = torch.tensor(w), torch.tensor(a[None])
    return nn.Sequential(hidden, nn.ReLU(), out)


def outputs(net, width):
    return net(torch.tensor(wide.INPUTS))[:, 0] / width**0.5


def test_the_kernel_is_the_gram_matrix_of_the_gradients_of_outputs():
    w, a = wide.draw(256, 0)
    net = network(w, a)
    with ps.record(net) as record:
        record.backward(outputs(net, 256))
    np.testing.assert_allclose(wide.kernel(w, a), record.gram(), rtol=0, atol=1e-10)
    rows = [torch.cat([g.flatten() for g in torch.autograd.grad(f, net.parameters(),
            retain_graph=True)]) for f in outputs(net, 256)]  # fmt: skip
    rows = torch.stack(rows)
    np.testing.assert_allclose(wide.kernel(w, a), rows @ rows.T, rtol=0, atol=1e-10)


def test_the_limit_is_the_mean_of_many_kernels():
    kernels = np.array([wide.kernel(*wide.draw(2000, seed)) for seed in range(100)])
    spread = kernels.std(axis=0, ddof=1) / 10
    assert (np.abs(kernels.mean(axis=0) - wide.limit()) < 5 * spread).all()


@pytest.mark.parametrize(("power", "size"), [(0.5, 1.0), (1.0, 16.0)])
def test_training_is_gradient_descent_on_the_mean_of_half_the_squared_errors(power, size):
    w, a = wide.draw(16, 3)
    net = network(w, a)
    optimiser = torch.optim.SGD(net.parameters(), lr=size)

    def residual():
        return net(torch.tensor(wide.INPUTS))[:, 0] / 16**power - torch.tensor(wide.GOAL)

    for _ in range(7):
        optimiser.zero_grad()
        (residual().square() / 2).mean().backward()
        optimiser.step()
    w_end, a_end = wide.trained(w, a, steps=7, power=power)
    np.testing.assert_allclose(w_end, net[0].weight.detach(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(a_end, net[2].weight.detach()[0], rtol=0, atol=1e-12)
    after = residual().detach()
    np.testing.assert_allclose(wide.errors(w_end, a_end, power), after, rtol=0, atol=1e-12)


def test_the_distance_to_the_limit_is_a_root_mean_square():
    wanted = wide.limit()
    both = [np.sum((wide.kernel(*wide.draw(8, seed)) - wanted) ** 2) for seed in (0, 1)]
    np.testing.assert_allclose(
        wide.from_limit(8, draws=2) ** 2, np.mean(both) / np.sum(wanted**2), rtol=1e-12
    )


def test_a_linear_model_is_missed_by_nothing():
    rng = np.random.default_rng(0)
    X, target, theta = rng.normal(size=(4, 3)), rng.normal(size=4), np.zeros(3)
    start = X @ theta - target
    for _ in range(6):
        theta -= X.T @ (X @ theta - target) / 4
    assert wide.missed(start, X @ theta - target, X @ X.T, steps=6) < 1e-12
    assert wide.missed(start, X @ theta - target, X @ X.T, steps=5) > 1e-3

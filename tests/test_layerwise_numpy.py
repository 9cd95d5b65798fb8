"""The NumPy layers: the same names and numbers as a torch.nn.Sequential."""

import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn

import persample as ps
from persample.layers import Linear, Network, ReLU, Tanh

from .layer_models import B, losses, norms_of, oracle
from .tolerances import OF_DTYPE, assert_close


def networks(activation=Tanh, dtype="float64"):
    torch.manual_seed(0)
    twin = {Tanh: nn.Tanh, ReLU: nn.ReLU}[activation]
    model = nn.Sequential(nn.Linear(4, 6), twin(), nn.Linear(6, 3)).to(getattr(torch, dtype))
    arrays = [p.detach().numpy() for p in model.parameters()]
    return Network([Linear(*arrays[:2]), activation(), Linear(*arrays[2:])]), model


def numpy_record(network, x, reduction="mean"):
    with ps.layerwise(network, reduction) as record:
        output = torch.tensor(network(x), requires_grad=True)
        getattr(losses(output), reduction)().backward()
        network.backward(output.grad.numpy())
    return record


@pytest.mark.parametrize("dtype", OF_DTYPE)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("shape", [(4,), (7, 4), (2, 3, 4)])
@pytest.mark.parametrize("activation", [Tanh, ReLU])
def test_numpy_layers_agree_with_the_loop(activation, shape, reduction, dtype):
    network, model = networks(activation, dtype)
    x = torch.randn(B, *shape, dtype=getattr(torch, dtype))
    expected = ps.to_numpy(oracle(model, x))
    record, tolerance = numpy_record(network, x.numpy(), reduction), OF_DTYPE[dtype]
    rows = record.rows()
    assert all(g.dtype == dtype for g in rows.values())
    assert_close(rows, expected, tolerance)
    norms = ps.to_numpy(norms_of(oracle(model, x)))
    assert_close(record.squared_norms(), norms, tolerance)
    max_norm = float(np.median(norms) ** 0.5)
    weights = np.minimum(1, max_norm / norms**0.5)
    clipped = {k: np.tensordot(weights, g, 1) for k, g in expected.items()}
    assert_close(record.clipped_sum(max_norm), clipped, tolerance)
    mean, second = record.moments()
    assert_close(mean, {k: g.mean(0) for k, g in expected.items()}, tolerance)
    assert_close(second, {k: (g**2).mean(0) for k, g in expected.items()}, tolerance)


def test_numpy_layers_that_share_a_weight():
    torch.manual_seed(0)
    twin = nn.Linear(4, 4).double()
    weight, bias = (p.detach().numpy() for p in twin.parameters())
    network = Network([Linear(weight, bias), Tanh(), Linear(weight)])
    twin_network = lambda x: nn.functional.linear(torch.tanh(twin(x)), twin.weight)  # noqa: E731
    x = torch.randn(B, 4).double()
    record = numpy_record(network, x.numpy())
    gradients = [
        torch.autograd.grad(losses(twin_network(x[i : i + 1]))[0], list(twin.parameters()))
        for i in range(B)
    ]
    expected = dict(
        zip(["0.weight", "0.bias"], map(torch.stack, zip(*gradients, strict=True)), strict=True)
    )
    assert_close(record.rows(), ps.to_numpy(expected))
    assert_close(record.squared_norms(), norms_of(expected).numpy())


def test_numpy_layers_follow_the_type_of_the_batch():
    network, _ = networks(dtype="float32")
    x = np.random.default_rng(0).normal(size=(B, 4))
    for dtype in ("float32", "float64"):
        assert network(x.astype(dtype)).dtype == dtype


def test_numpy_layers_take_no_fresh_memory_the_second_time():
    rng = np.random.default_rng(0)
    layers = [Linear(rng.normal(size=(50, 60)), np.zeros(50)), Tanh(), Linear(np.ones((2, 50)))]
    network, x, ct = Network(layers), rng.normal(size=(100, 60)), rng.normal(size=(100, 2))

    def rows(out=None):
        with ps.layerwise(network, "sum") as record:
            network(x)
            network.backward(ct)
        return record.rows(out)

    out = rows()
    tracemalloc.start()
    try:
        assert rows(out) is out
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < sum(g.nbytes for g in out.values()) / 10

"""The NumPy layers: the same names and numbers as a torch.nn.Sequential."""

import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn

import persample as ps
from persample.recorder import Linear, Network, ReLU, Tanh
from persample.recorder.numpy_layers import fresh

from .layer_models import B, losses, norms_of, oracle
from .tolerances import OF_DTYPE, assert_close

MANY = 40  # so many small samples that they lie last in memory


def networks(activation=Tanh, dtype="float64"):
    torch.manual_seed(0)
    twin = {Tanh: nn.Tanh, ReLU: nn.ReLU}[activation]
    model = nn.Sequential(nn.Linear(4, 6), twin(), nn.Linear(6, 3)).to(getattr(torch, dtype))
    arrays = [p.detach().numpy() for p in model.parameters()]
    return Network([Linear(*arrays[:2]), activation(), Linear(*arrays[2:])]), model


def numpy_record(network, x, reduction="mean"):
    with ps.record(network, reduction=reduction) as record:
        output = torch.tensor(network(x), requires_grad=True)
        getattr(losses(output), reduction)().backward()
        network.backward(output.grad.numpy())
    return record


@pytest.mark.parametrize("dtype", OF_DTYPE)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("shape", [(4,), (7, 4), (2, 3, 4)])
@pytest.mark.parametrize("activation", [Tanh, ReLU])
@pytest.mark.parametrize("size", [B, MANY])
def test_numpy_layers_agree_with_the_loop(size, activation, shape, reduction, dtype):
    network, model = networks(activation, dtype)
    x = torch.randn(size, *shape, dtype=getattr(torch, dtype))
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


@pytest.mark.parametrize("size", [1, 3, 11, MANY])
def test_rows_are_the_same_in_memory_of_either_order(size):
    network, model = networks(ReLU)
    x = torch.randn(MANY, 4).double()
    last = numpy_record(network, x.numpy()).rows()
    first = {k: g.copy(order="C") for k, g in last.items()}
    assert all(g.strides[0] == g.itemsize for g in last.values())
    assert all(np.shares_memory(g, g.reshape(MANY, -1)) for g in last.values())
    for samples in (x[:size], x[MANY - size :]):
        expected = ps.to_numpy(oracle(model, samples))
        record = numpy_record(network, samples.numpy())
        for out in (last, first):
            part = {k: g[:size] for k, g in out.items()}
            assert record.rows(part) is part
            assert all(np.shares_memory(g, out[k]) for k, g in part.items())
            assert_close(part, expected)
        assert_close(record.rows(), expected)
        chunks = [{k: g.copy() for k, g in part.items()} for part in record.chunks(9)]
        assert_close({k: np.concatenate([c[k] for c in chunks]) for k in expected}, expected)


def test_the_order_in_memory_follows_the_batch():
    ordered = [fresh((B, 3, 6), "float32"), fresh((2**20, 3, 6), "float32")]
    assert all(x.flags.c_contiguous for x in ordered)  # few samples; more than a cache holds
    assert fresh((MANY, 3, 6), "float32").transpose(1, 2, 0).flags.c_contiguous


@pytest.mark.parametrize("activation", [Tanh, ReLU])
def test_an_activation_first_and_last_takes_any_order(activation):
    twin = nn.Linear(4, 3).double()
    network = Network(
        [activation(), Linear(*(p.detach().numpy() for p in twin.parameters())), activation()]
    )
    f = {Tanh: torch.tanh, ReLU: torch.relu}[activation]
    x, ct = torch.randn(MANY, 4).double(), np.random.default_rng(0).normal(size=(MANY, 3))
    z = twin(f(x))
    delta = torch.autograd.grad(f(z), z, torch.from_numpy(ct))[0]
    expected = torch.einsum("bp,bd->bpd", delta, f(x)).detach().numpy()
    for order in "CF":
        with ps.record(network) as record:
            network(np.asarray(x.numpy(), order=order))
            network.backward(np.asarray(ct, order=order))
        assert_close(record.rows()["1.weight"], expected)


def test_the_size_of_numpys_buffer_stays_the_users():
    with np.errstate():
        np.setbufsize(2048)
        numpy_record(networks()[0], np.ones((B, 4))).rows()
        assert np.getbufsize() == 2048


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
        with ps.record(network) as record:
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

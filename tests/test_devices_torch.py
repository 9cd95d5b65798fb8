"""Rows in 2, 4 and 8 PyTorch processes: equal to one, and each mistake has its number."""

import numpy as np
import pytest

from persample_book import processes
from persample_book.devices import samples

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", params=[2, 4, 8])
def processes_and_found(request):
    return request.param, processes.in_torch(request.param)


@pytest.fixture
def n(processes_and_found):
    return processes_and_found[0]


@pytest.fixture
def found(processes_and_found):
    return processes_and_found[1]


@pytest.mark.parametrize("size", [5, 0])
@pytest.mark.parametrize("way", ["step", "step_record"])
def test_a_frozen_layer_has_no_part_in_a_step(way, size, monkeypatch):
    from persample_book.devices import torch_steps

    monkeypatch.setattr(torch_steps.dist, "all_reduce", lambda array: None)  # one process
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    net[0].requires_grad_(False)
    x, y = torch.randn(size, 4), torch.randint(3, (size,))
    wanted = {k: torch.zeros_like(p) for k, p in net[2].named_parameters()}
    for image, label in zip(x, y, strict=True):
        loss = torch.nn.functional.cross_entropy(net(image), label)
        row = torch.autograd.grad(loss, list(net[2].parameters()))
        norm = sum(g.square().sum() for g in row).sqrt()
        for total, g in zip(wanted.values(), row, strict=True):
            total += g * min(1.0, 0.1 / norm.item())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    getattr(torch_steps, way)(net, optimizer, x, y, 5, C=0.1)
    assert all(p.grad is None for p in net[0].parameters())
    for name, p in net[2].named_parameters():
        torch.testing.assert_close(p.grad, wanted[name] / 5)


@pytest.mark.parametrize("batch", ["even", "uneven"])
def test_rows_norms_sums_and_moments_are_those_of_one_process(found, batch):
    assert set(found[batch]) == {
        "rows", "rows by vmap", "norms", "clipped sum", "mean", "second moment"
    }  # fmt: skip
    assert max(found[batch].values()) < 1e-9


def test_two_training_steps_end_where_one_process_ends(found):
    assert set(found["steps"]) == {
        f"{way}, {size}" for way in ("vmap", "record") for size in (16, 15, 3)
    }
    assert max(found["steps"].values()) < 1e-9


def test_vmap_wants_the_model_that_ddp_wraps(found):
    said = found["through ddp"]
    for name in ("buffer", "find_unused_parameters"):
        assert said[name]
        assert said[f"{name}, module"] < 1e-9


def test_a_process_without_samples_takes_part(found):
    assert set(found["empty"]) == {"clipped sum", "mean", "second moment"}
    assert max(found["empty"].values()) < 1e-9


def test_ddp_sends_the_gradient_of_an_ordinary_pass_and_nothing_for_a_record(found):
    everything = 8 * samples.NUMBERS
    assert found["sent"] == {
        "ddp, backward": everything,
        "ddp, record": 0,
        "ddp.module, vmap": 0,
        "ddp.module, record": 0,
        "after ddp(x)": 0,
    }


def test_a_mean_of_means_is_not_the_mean(n, found):
    values = np.arange(n * (n + 1) // 2)
    parts = np.split(values, np.cumsum(np.arange(1, n)))
    assert [len(part) for part in parts] == found["unequal"]["counts"]
    assert found["unequal"]["mean of means"] == pytest.approx(np.mean([p.mean() for p in parts]))
    assert found["unequal"]["sum over count"] == pytest.approx(values.mean())
    assert found["unequal"]["mean of means"] < values.mean()


def test_the_sampler_repeats_the_first_samples(n, found):
    drawn = sum(found["sampler"], [])
    assert set(drawn) == set(range(10))
    assert len(drawn) == -(-10 // n) * n
    assert sorted(drawn) == sorted([*range(10), *range(-10 % n)])


def test_noise_is_right_from_one_process_or_in_shares(n, found):
    noise = found["noise"]
    assert noise["first"] == pytest.approx(1, abs=0.01)
    assert noise["split"] == pytest.approx(1, abs=0.01)
    assert noise["each"] == pytest.approx(n**0.5, rel=0.01)
    assert noise["each, same seed"] == pytest.approx(n, rel=0.01)


def test_a_part_clipped_by_its_own_norm_is_too_long(n, found):
    rows = 10 * samples.clipped_rows(4).astype(float)
    parts = np.array_split(rows, n, axis=1)
    local = np.concatenate(
        [p / np.maximum(np.linalg.norm(p, axis=1), 1)[:, None] for p in parts], axis=1
    )
    np.testing.assert_allclose(found["norms"]["local"], np.linalg.norm(local, axis=1))
    np.testing.assert_allclose(found["norms"]["whole"], 1)
    assert max(found["norms"]["local"]) > 0.9 * n**0.5


def test_gathered_rows_lie_on_one_process(n, found):
    everything = 16 * 8 * samples.NUMBERS
    assert found["gathered"] == {"own": everything // n, "gathered": everything}


def test_a_fully_sharded_model_is_refused_and_both_cures_are_right(n, found):
    fsdp = found["fsdp"]
    if found["version"].startswith("2.13"):
        assert fsdp["said"]["vmap"] == (
            "AttributeError: 'Tensor' object has no attribute '_local_tensor'"
        )
    assert fsdp["said"]["record"].startswith("TypeError: record: the parameter 0.weight is")
    said = fsdp["said"]["record after a forward pass"]
    assert said.startswith("TypeError: record: the model is under fully_shard")
    assert fsdp["own numbers"] < samples.NUMBERS
    assert fsdp["rows of a whole copy"] < 1e-9
    assert fsdp["two passes"] < 1e-9
    assert fsdp["clip_grad_norm_"] < 1e-9

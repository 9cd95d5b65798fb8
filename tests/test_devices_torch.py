"""Rows in two PyTorch processes (in four: chapter 11), and steps with a frozen layer."""

import numpy as np
import pytest

from persample_book import processes
from persample_book.devices import samples

torch = pytest.importorskip("torch")


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


def test_two_processes_have_the_rows_of_one():
    n, found = 2, processes.in_torch(2)
    fsdp, ddp = found["fsdp"], found["through ddp"]
    for errors in (found["even"], found["uneven"], found["empty"], found["steps"]):
        assert len(errors) >= 3
        assert max(errors.values()) < 1e-9
    assert max(ddp["buffer, module"], ddp["find_unused_parameters, module"]) < 1e-9
    assert max(fsdp["rows of a whole copy"], fsdp["two passes"], fsdp["clip_grad_norm_"]) < 1e-9
    assert fsdp["said"]["record"].startswith("TypeError: record: the parameter 0.weight is")
    everything = 8 * samples.NUMBERS
    assert found["sent"].pop("ddp, backward") == everything
    assert set(found["sent"].values()) == {0}
    assert found["gathered"] == {"own": 16 * everything // n, "gathered": 16 * everything}
    assert sorted(sum(found["sampler"], [])) == list(range(10))
    noise = {"first": 1, "split": 1, "each": n**0.5, "each, same seed": n}
    assert found["noise"] == pytest.approx(noise, rel=0.01)
    rows = 10 * samples.clipped_rows(4).astype(float)
    parts = [p / np.linalg.norm(p, axis=1)[:, None] for p in np.array_split(rows, n, axis=1)]
    local = np.concatenate(parts, axis=1)  # each part is clipped by its own norm: too long
    np.testing.assert_allclose(found["norms"]["local"], np.linalg.norm(local, axis=1))
    np.testing.assert_allclose(found["norms"]["whole"], 1)
    said = fsdp["said"]["record after a forward pass"]
    assert said.startswith("TypeError: record: the model is under fully_shard")

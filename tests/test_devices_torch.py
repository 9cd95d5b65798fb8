"""A step of many processes where a layer is frozen; all else the chapter on devices runs."""

import pytest

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

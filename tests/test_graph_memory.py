"""What graphs keep alive, as the chapters count it, against counts by hand."""

import torch

from persample_book import memory

ONE = 5 * 4  # tanh saves its result; the product saves a number and no leaf is counted


def losses(n, w):
    return [torch.tanh(w * i).sum() for i in range(1, n + 1)]


def at_once(w):
    for i in range(1, 8):
        torch.tanh(w * i).sum().backward()


def retained(w):
    loss = torch.tanh(2 * w).sum()
    loss.backward(retain_graph=True)
    return loss


def test_the_most_saved_at_once_and_what_is_left():
    w = torch.ones(5, dtype=torch.float32, requires_grad=True)
    data, double = torch.ones(5), 2 * w
    for wanted, run in (
        ((7 * ONE, 0), lambda: sum(losses(7, w)).backward()),
        ((ONE, 0), lambda: at_once(w)),
        ((7 * ONE, 7 * ONE), lambda: losses(7, w)),
        ((ONE, ONE), lambda: retained(w)),
        ((0, 0), lambda: (w * data).sum()),  # weights and data are not counted
        ((2 * ONE, 2 * ONE), lambda: (double * double).sum()),  # by both operands
    ):
        assert memory.bytes_saved(run) == wanted


def test_the_gradient_is_not_changed_by_counting():
    w = torch.tensor([0.3, -0.2], dtype=torch.float64, requires_grad=True)
    memory.bytes_saved(lambda: (torch.tanh(w) ** 2).sum().backward())
    t = torch.tanh(w.detach())
    assert torch.allclose(w.grad, 2 * t * (1 - t**2))


def test_nodes_are_counted_once_and_stay_after_the_backward_pass():
    w = torch.ones(2, requires_grad=True)
    shared = w * w  # one product that reads w twice
    total = shared.sum() + shared.sum()
    assert memory.nodes_kept(total) == 5  # sum, two sums, product, accumulation
    assert memory.nodes_kept(total.detach()) == memory.nodes_kept(3.0) == 0
    total.backward()
    assert memory.nodes_kept(total) == 5  # backward frees values, not nodes

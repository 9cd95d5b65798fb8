"""What graphs keep alive, as the chapters count it, against counts by hand."""

import torch

from persample_book import memory


def losses(n, w):
    return [torch.tanh(w * i).sum() for i in range(1, n + 1)]


def test_a_list_holds_every_graph_and_at_once_holds_one():
    w = torch.ones(5, dtype=torch.float32, requires_grad=True)
    one = 5 * 4  # tanh saves its result; the product saves a number and no leaf is counted
    assert memory.bytes_saved(lambda: sum(losses(7, w)).backward()) == (7 * one, 0)
    assert memory.bytes_saved(lambda: losses(1, w)[0].backward())[0] == one

    def at_once():
        for i in range(1, 8):
            torch.tanh(w * i).sum().backward()

    assert memory.bytes_saved(at_once) == (one, 0)
    assert memory.bytes_saved(losses, 7, w) == (7 * one, 7 * one)


def test_what_is_retained_is_counted_as_left():
    w = torch.ones(5, dtype=torch.float64, requires_grad=True)

    def retained():
        loss = torch.tanh(2 * w).sum()
        loss.backward(retain_graph=True)
        return loss

    assert memory.bytes_saved(retained) == (40, 40)


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


def test_weights_and_data_are_not_counted_and_results_are():
    w, data = torch.ones(3, dtype=torch.float64, requires_grad=True), torch.ones(3)
    assert memory.bytes_saved(lambda: (w * data).sum()) == (0, 0)
    double = 2 * w
    assert memory.bytes_saved(lambda: (double * double).sum()) == (48, 48)  # by both operands

"""Claims of the chapter on troubles with .grad that its cells do not run."""

import warnings

import pytest
import torch

import persample as ps


def parameter():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def nodes(tensor):
    """Count the nodes of the autograd graph that a tensor depends on."""
    seen, waiting = {None}, [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [below for below, _ in node.next_functions]
    return len(seen) - 1


def test_every_cut_of_the_list_stops_the_recording():
    w = parameter()
    h = w * w
    with torch.no_grad():
        quiet = 2 * h
    cuts = torch.tensor(h.sum().item()), h.detach(), quiet, h > 1, h.argmax(), h.long()
    assert not any(cut.requires_grad for cut in cuts)


def test_what_the_five_questions_do_not_cover():
    w, x = parameter(), parameter()
    (w * x).sum().backward(inputs=[x])
    assert w.grad is None
    assert x.grad is not None
    w.register_post_accumulate_grad_hook(lambda w: setattr(w, "grad", None))
    (w * w).sum().backward()
    assert w.grad is None


def test_a_write_through_numpy_is_not_counted():
    w = parameter()
    loss = (w * w).sum()
    w.detach().numpy()[:] += 1
    loss.backward()
    assert w.grad.tolist() == [4, 6]


def test_anomaly_detection_names_the_line_that_saved_the_value(recwarn):
    w = parameter()
    with torch.autograd.set_detect_anomaly(True):
        loss = (w * w).sum()
        with torch.no_grad():
            w += 1
        with pytest.raises(RuntimeError, match="at version 1; expected version 0"):
            loss.backward()
    text = "".join(str(w.message) for w in recwarn)
    assert "loss = (w * w).sum()" in text
    assert "w += 1" not in text


@pytest.mark.parametrize(("retain", "growth"), [(True, 2), (False, 0)])
def test_the_graph_of_a_carried_state_grows_unless_it_is_cut(retain, growth):
    w, state, sizes = parameter(), torch.ones(2), []
    for _ in range(4):
        state = torch.tanh(w * state)
        state.sum().backward(retain_graph=retain)
        sizes.append(nodes(state))
        state = state if retain else state.detach()
    assert [b - a for a, b in zip(sizes, sizes[1:], strict=False)] == 3 * [growth]


def test_a_carried_state_finds_that_a_step_has_overwritten_what_was_saved():
    w, state = parameter(), torch.ones(2)
    for _ in range(2):  # the first product does not save w: its other factor is a constant
        state = torch.tanh(w * state)
        state.sum().backward(retain_graph=True)
        with torch.no_grad():
            w -= 0.1 * w.grad
    state = torch.tanh(w * state)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        state.sum().backward()


def test_a_forgotten_detach_is_silent_if_the_steps_save_nothing():
    w, state = parameter(), torch.zeros(2)
    for _ in range(5):
        state = state + w
        state.sum().backward()
    assert w.grad.tolist() == 2 * [1 + 2 + 3 + 4 + 5]


def test_what_becomes_of_batch_norm():
    images = torch.arange(24.0).reshape(3, 2, 2, 2)
    advised = torch.nn.BatchNorm2d(2, track_running_stats=False)
    apart = torch.vmap(lambda image: advised(image[None])[0])(images)
    assert torch.allclose(apart, torch.nn.InstanceNorm2d(2)(images))
    assert not torch.allclose(apart, advised(images), atol=1e-2)
    norm = torch.nn.BatchNorm2d(2)
    refused = pytest.raises(ValueError, match="no sample has a gradient of its own")
    with refused, ps.record(norm) as record:
        record.backward(norm(images).sum((1, 2, 3)))
    norm.eval()
    assert torch.vmap(lambda image: norm(image[None])[0])(images).shape == images.shape


def test_a_tensor_made_like_the_sample_can_be_written_to():
    def filled(w, x):
        out = x.new_zeros(2)
        for i in range(2):
            out[i] = w[i] * x[i]
        return out.sum()

    x = torch.tensor([[1.0, 1.0], [3.0, 0.0]])
    with warnings.catch_warnings(action="error"):
        rows = torch.vmap(torch.func.grad(filled), (None, 0))(torch.ones(2), x)
    assert torch.equal(rows, x)

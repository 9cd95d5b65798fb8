"""The problems of the pages, each computed by another route: PyTorch, refits."""

import numpy as np
import torch
from torch.nn.functional import cross_entropy

import persample as ps
from persample_book.problems import mistyped, softmax

# Wrong labels --------------------------------------------------------------------------------


def test_the_scores_along_a_training_are_those_of_one_image_alone():
    """By autograd, one image at a time, over three steps."""
    given, found = mistyped.along(3, steps=3)
    x, y = torch.from_numpy(given.images / 16), torch.from_numpy(given.labels)
    rng = mistyped.draw(3).rng
    model = mistyped.new_model(rng)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.5)

    def seen(model, i):
        scores = model(x[i : i + 1])
        loss = cross_entropy(scores, y[i : i + 1])
        row = torch.cat([g.flatten() for g in torch.autograd.grad(loss, [*model.parameters()])])
        error = cross_entropy(leaf := scores.detach().requires_grad_(), y[i : i + 1])
        return loss.item(), torch.autograd.grad(error, leaf)[0].norm().item(), row @ row

    images, passed = (0, 5, 1796), []
    for _ in range(3):
        passed.append([seen(model, i) for i in images])
        optimiser.zero_grad()
        cross_entropy(model(x), y).backward()
        optimiser.step()
    starts = [mistyped.new_model(rng) for _ in range(5)]
    for k, i in enumerate(images):
        loss, error, square = seen(model, i)
        wanted = {
            "loss": loss,
            "loss, mean of all steps": np.mean([p[k][0] for p in passed]),
            "EL2N": error,
            "row norm": square**0.5,
            "TracIn with itself": sum(p[k][2] for p in passed),
            "GraNd, untrained": np.mean([seen(start, i)[2] ** 0.5 for start in starts]),
        }
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name][i], float(value), rtol=1e-8, err_msg=name)


# Softmax regression --------------------------------------------------------------------------


def test_softmax_fit_hessian_and_influence_are_those_of_refits():
    """Influence by weights: an integer weight is a repeated sample, here one part in 400."""
    rng, decay = np.random.default_rng(0), 0.5
    x, labels = rng.normal(size=(40, 3)), rng.integers(4, size=40)
    theta = softmax.fit(x, labels, decay, classes=4)

    def gradient(t):
        rows = ps.per_sample_grad(lambda t, a, b: ps.cross_entropy_loss(t @ a, b))(t, x, labels)
        return rows.sum(0).ravel() + decay * t.ravel()

    assert np.abs(gradient(theta)).max() < 1e-9
    off, size = theta + 0.3, 1e-6
    steps = size * np.eye(12).reshape(12, 4, 3)
    columns = [(gradient(off + s) - gradient(off - s)) / (2 * size) for s in steps]
    np.testing.assert_allclose(softmax.hessian(off, x, decay), np.stack(columns, 1), atol=1e-7)

    kept = np.ones((1, 40), bool)
    kept[0, 10:20] = False
    wanted = softmax.fit(x[kept[0]], labels[kept[0]], decay, classes=4)
    np.testing.assert_allclose(softmax.refits(theta, x, labels, decay, kept)[0], wanted, atol=1e-8)

    asked, asked_y = np.array([[0.3, -1.0, 0.5], [1.0, 0.0, 2.0]]), np.array([1, 3])
    found = softmax.influence(theta, x, labels, decay, asked, asked_y)
    for i in (0, 39):
        losses = []
        for more in (1, -1):
            counts = np.full(40, 400)
            counts[i] += more
            many = np.repeat(np.arange(40), counts)
            fitted = softmax.fit(x[many], labels[many], 400 * decay, classes=4)
            losses.append(-np.log(softmax.probabilities(fitted, asked)[[0, 1], asked_y]))
        np.testing.assert_allclose(-found[i], (losses[0] - losses[1]) * 200, rtol=1e-4, atol=1e-6)

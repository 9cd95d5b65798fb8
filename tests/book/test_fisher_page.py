"""Claims of chapter 18 about the Fisher matrix that its own cells do not show."""

import numpy as np
import pytest


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.fixture
def rows():
    """Return random probabilities (20, 4), Jacobians of logits (20, 4, 3), and rows per label."""
    rng = np.random.default_rng(0)
    p, J = softmax(rng.normal(size=(20, 4))), rng.normal(size=(20, 4, 3))
    return p, J, np.einsum("ncd,ndw->ncw", p[:, None] - np.eye(4), J)


def test_the_fisher_is_gauss_newton_for_any_logits(rows):
    p, J, g = rows
    fisher = np.einsum("nc,ncv,ncw->vw", p, g, g) / 20
    bracket = p[:, :, None] * np.eye(4) - p[:, :, None] * p[:, None]
    assert np.allclose(fisher, np.einsum("ncv,ncd,ndw->vw", J, bracket, J) / 20, atol=1e-14)


def test_the_rows_of_a_sample_average_to_zero(rows):
    p, _, g = rows
    assert np.abs(g).max() > 1
    assert np.abs(np.einsum("nc,ncw->nw", p, g)).max() < 1e-14


def test_only_drawn_labels_let_a_batch_be_mended_by_its_size(rows):
    """Average over all outcomes of a batch of two, weighted by their probabilities."""
    p, _, g = rows
    fisher = np.einsum("nc,ncw->nw", p, g**2)[:2].mean(0)
    both = (g[0, :, None] + g[1, None]) / 2  # (label of 0, label of 1, weight)
    drawn = np.einsum("c,d,cdw->w", p[0], p[1], both**2)
    assert np.allclose(2 * drawn, fisher, atol=1e-14)
    given = both[0, 1] ** 2, (g[0, 0] ** 2 + g[1, 1] ** 2) / 2
    assert np.ptp(given[0] / given[1]) > 0.1  # no factor turns one into the other

"""Random projections of rows: equal with and without rows, and with the stated error."""

import numpy as np
import pytest

import persample as ps
from persample import projection
from persample.recorder import forms, layer_forms
from support.layer_models import build, record_of
from support.precision import enable_x64
from support.tolerances import assert_close

K = 24


def by_hand(rows, dim, seed):
    """Return the projections by definition, entry by entry, with parameters sorted by name."""
    rng = np.random.default_rng(seed)
    total = np.zeros((len(next(iter(rows.values()))), dim))
    for name in sorted(rows):
        g = np.asarray(rows[name], dtype=float)
        shape = g.shape[1:] or (1,)
        g = g.reshape(len(g), shape[0], -1)
        a = 2.0 * rng.integers(0, 2, (shape[0], dim), dtype=np.int8) - 1
        c = np.ones((1, dim))
        if len(shape) > 1:
            c = 2.0 * rng.integers(0, 2, (g.shape[2], dim), dtype=np.int8) - 1
        for k in range(dim):
            total[:, k] += [a[:, k] @ row @ c[:, k] for row in g]
    return total / np.sqrt(dim)


@pytest.mark.parametrize("scratch", [1, 200])
@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (1, 20, 3)])
def test_rows_are_worked_on_a_few_at_a_time(shape, scratch, monkeypatch):
    rows = {"w": np.random.default_rng(0).normal(size=(7, *shape))}
    monkeypatch.setattr(projection, "SCRATCH", scratch)
    assert_close(ps.statistics.project(rows, K), by_hand(rows, K, 0))


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_rows_of_every_backend_and_shape(backend):
    rng = np.random.default_rng(0)
    shapes = {"b": (5,), "w": (5, 3), "k": (4, 2, 3, 3), "number": (), "one": (1, 1)}
    rows = {name: rng.normal(size=(7, *shape)) for name, shape in shapes.items()}
    with enable_x64(True):
        given = {name: ps.backend(backend).asarray(g) for name, g in rows.items()}
        assert_close(ps.statistics.project(given, K, 1), by_hand(rows, K, 1))


def test_a_compiled_function_draws_in_the_same_order():
    """Use torch.compile, which visits the leaves of a dict in another order than optree."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    rows = {
        name: torch.from_numpy(rng.normal(size=(7, *s))) for name, s in (("w", (5, 3)), ("b", ()))
    }
    compiled = torch.compile(lambda rows: ps.statistics.project(rows, K), backend="eager")
    assert_close(ps.to_numpy(compiled(rows)), by_hand(ps.to_numpy(rows), K, 0))


def test_products_of_projections_are_right_on_average_and_within_the_promised_error():
    rng = np.random.default_rng(0)
    rows = {"w": rng.normal(size=(6, 8, 5)), "v": rng.normal(size=(6, 4)), "u": np.zeros((6, 2))}
    rows["w"][1] = np.outer(rows["w"][1, :, 0], rows["w"][1, 0])  # of rank 1, as for one position
    rows["w"][2] = 30 * rows["w"][1]
    flat = np.concatenate([rows[name].reshape(6, -1) for name in rows], 1)
    exact, norms = flat @ flat.T, np.linalg.norm(flat, axis=1)
    draws, dim = 400, 16
    errors = []
    for seed in range(draws):
        z = ps.statistics.project(rows, dim, seed)
        errors.append((z @ z.T - exact) / np.outer(norms, norms))
    spread = np.sqrt(np.mean(np.square(errors), 0)) * np.sqrt(dim)
    assert spread.max() < 3
    assert spread.min() > 0.5
    assert np.abs(np.mean(errors, 0)).max() < 5 * 3 / np.sqrt(draws * dim)  # unbiased


def test_no_row_is_formed_of_layers_convolutions_and_tables(monkeypatch):
    for name in ("MLP", "Linear, T = 7", "Conv2d, groups"):
        record = record_of(*build(name))
        with monkeypatch.context() as patch:
            for form in (forms.Outer, forms.OuterSum, layer_forms.Convolution):
                patch.setattr(form, "rows", None)
            record.project(K)

"""statistics.py: known results, trees, all backends, and the estimators' expectations."""

import itertools
import math

import numpy as np
import pytest

import persample as ps
from persample import statistics
from support.tolerances import assert_close

pytestmark = pytest.mark.usefixtures("double_precision")
LINE = np.array([[0.0], [-2.0], [-4.0], [-6.0]])


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_four_rows_by_hand(name):
    rows = ps.backend(name).asarray(LINE)
    assert_close(ps.to_numpy(statistics.mean(rows)), np.array([-3.0]))
    assert_close(ps.to_numpy(statistics.norms(rows)) ** 2, np.array([0.0, 4, 16, 36]))
    assert float((statistics.norms(rows) ** 2).mean()) == 14
    assert_close(ps.to_numpy(statistics.variance(rows, correction=0)), np.array([5.0]))
    assert float(statistics.noise_scale(rows, unbiased=False)) == pytest.approx(20 / 27)
    assert float(statistics.noise_scale(rows)) == pytest.approx(10 / 11)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_a_tree_is_one_long_row(name):
    rng = np.random.default_rng(0)
    tree = {"w": rng.normal(size=(5, 2, 3)), "b": [rng.normal(size=5)]}
    flat = np.concatenate([tree["w"].reshape(5, 6), tree["b"][0][:, None]], axis=1)
    given = ps.backend(name).tree_map(ps.backend(name).asarray, tree)
    assert_close(ps.to_numpy(statistics.norms(given)), np.linalg.norm(flat, axis=1))
    clipped = ps.to_numpy(statistics.clip(given, 1.5))
    lengths = np.linalg.norm(flat, axis=1)
    assert (lengths > 1.5).any()
    assert (lengths < 1.5).any()
    factors = np.minimum(1, 1.5 / lengths)
    assert_close(clipped["w"], tree["w"] * factors[:, None, None])
    assert_close(clipped["b"][0], tree["b"][0] * factors)
    assert_close(ps.to_numpy(statistics.mean(given))["w"], tree["w"].mean(0))
    assert_close(ps.to_numpy(statistics.variance(given))["w"], tree["w"].var(0, ddof=1))
    signal, noise = statistics.signal_and_noise(given)
    assert_close(float(noise), flat.var(0, ddof=1).sum())
    assert_close(float(signal), (flat.mean(0) ** 2).sum() - float(noise) / 5)


LARGE = [
    ("numpy", "float16", 300.0, 400),  # the sum of squares is above 65504
    ("torch", "float16", 300.0, 400),
    ("numpy", "float16", 2.0**-20, 400),  # the squares vanish
    ("torch", "float32", 1e25, 9),
    ("jax", "float32", 1e-30, 9),
    ("numpy", "float64", 1e200, 9),
]


@pytest.mark.parametrize(("name", "dtype", "entry", "count"), LARGE)
def test_norms_and_clipping_neither_overflow_nor_vanish(name, dtype, entry, count):
    rows = np.full((2, count), entry, dtype) * np.array([[1], [0]], dtype)
    exact = float(rows[0, 0]) * count**0.5
    given = {"a": ps.backend(name).asarray(rows), "b": ps.backend(name).asarray(rows[:, :0])}
    size = statistics.norms(given)
    np.testing.assert_allclose(ps.to_numpy(size), [exact, 0.0], rtol=1e-3)
    clipped = ps.to_numpy(statistics.clip(given, exact / 2))["a"]
    assert clipped.dtype == rows.dtype
    np.testing.assert_allclose(clipped, rows / 2, rtol=2e-3)


@pytest.mark.parametrize(
    ("name", "dtype", "norm"),
    [
        ("numpy", "float16", "float32"),
        ("torch", "float64", "float64"),
        ("jax",) + 2 * ("float64",),
    ],
)
def test_rows_without_entries_have_norm_zero(name, dtype, norm):
    assert_close(statistics.clip(np.zeros((2, 3)), 1.0), np.zeros((2, 3)))
    for shape in [(3, 0), (3, 2, 0), (3, 0, 2)]:
        empty = ps.backend(name).asarray(np.zeros(shape, dtype))
        for rows in (empty, {"a": empty, "b": empty}):
            sizes = ps.to_numpy(statistics.norms(rows))
            np.testing.assert_array_equal(sizes, np.zeros(3, norm), strict=True)


def test_the_largest_entry_may_be_in_any_array_of_the_tree():
    """Put it into each array in turn; if it were missed, its square would overflow."""
    for last in range(3):
        rows = [np.array([[3.0]]), np.array([[4.0]]), np.array([[12.0]])]
        rows[last] = rows[last] * 1e200
        np.testing.assert_allclose(statistics.norms(rows), np.abs(rows[last][:, 0]), rtol=1e-12)


@pytest.mark.parametrize("way", ["eager", "jit", "vmap"])
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_rows_of_all_sizes_beside_one_another(name, way, light_compiler):
    own, scales = ps.backend(name), np.array([1.0, 1e25, 1e-15, 1e-30, 0.0])
    norms = {
        "eager": statistics.norms,
        "jit": own.jit(lambda rows: statistics.norms(rows)),
        "vmap": lambda rows: own.vmap(statistics.norms)(rows[None])[0],
    }[way]
    row = np.array([3.0, 4.0, 12.0, 84.0])
    rows = np.outer(scales, row).astype("float32")
    for some in ([0], [0, 1], [0, 2], [0, 3], [0, 4], [0, 1, 2, 3, 4]):
        found = ps.to_numpy(norms(own.asarray(rows[some])))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, scales[some] * np.linalg.norm(row), rtol=1e-6)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_the_derivative_of_a_norm_is_the_direction_and_0_at_0(name):
    own = ps.backend(name)
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [3e-20, 4e-20]])
    for some, wanted in (([0], [[0.6, 0.8]]), ([0, 1, 2], [[0.6, 0.8], [0, 0], [0.6, 0.8]])):
        slope = own.grad(lambda rows: statistics.norms(rows).sum())(own.asarray(rows[some]))
        assert_close(ps.to_numpy(slope), wanted)


def test_a_row_with_an_infinity_or_a_nan_has_no_finite_norm():
    rows = np.array([[np.inf, 1.0], [np.nan, 1.0], [3.0, 4.0]])
    np.testing.assert_array_equal(statistics.norms(rows), [np.inf, np.nan, 5.0])


def test_the_estimates_are_unbiased():
    """Average over all batches of three drawn with replacement from three known rows."""
    population = np.array([[1.0, 0.0], [3.0, 1.0], [-1.0, 4.0]])
    batches = itertools.product(population, repeat=3)
    estimates = np.array([statistics.signal_and_noise(np.array(b)) for b in batches])
    expected = (population.mean(0) ** 2).sum(), population.var(0).sum()
    assert_close(estimates.mean(0), np.array(expected))


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("other", ["numpy", "torch", "jax"])
def test_the_bound_is_a_number_of_any_backend(name, other):
    rows = ps.backend(name).asarray(LINE)
    bounds = [3, 3.0, np.float64(3), ps.backend(other).asarray(3.0)]
    if other == "torch":
        bounds.append(ps.backend(other).asarray(3.0).requires_grad_())
    for bound in bounds:
        clipped = statistics.clip(rows, bound)
        assert clipped.dtype == rows.dtype
        assert_close(ps.to_numpy(clipped), np.array([[0.0], [-2], [-3], [-3]]))
        assert_close(ps.to_numpy(statistics.clipped_sum(rows, bound)), np.array([-8.0]))


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_an_infinite_bound_changes_nothing(name):
    rows = ps.backend(name).asarray(LINE)
    for bound in (math.inf, 1e300):
        assert_close(ps.to_numpy(statistics.clip(rows, bound)), LINE)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_inside_a_transform_the_bound_may_be_traced(name, light_compiler):
    own = ps.backend(name)
    rows, bound, two = own.asarray(LINE), own.asarray(3.0), own.asarray([3.0, 5.0])
    compiled = own.jit(statistics.clipped_sum)
    for value in (3.0, 5.0):
        assert_close(ps.to_numpy(compiled(rows, own.asarray(value))), [-2 - min(value, 4) - value])
    assert_close(
        ps.to_numpy(own.vmap(statistics.clipped_sum, (None, 0))(rows, two)), [[-9 + 1.0], [-11]]
    )
    # Two rows are longer than 3: the total falls by 2 where the bound rises by 1.
    slope = own.grad(lambda c: statistics.clipped_sum(rows, c)[0])(bound)
    assert_close(ps.to_numpy(slope), -2.0)


USES = {
    "norms": statistics.norms,
    "clip": lambda rows: statistics.clip(rows, 1.0),
    "clipped_sum": lambda rows: statistics.clipped_sum(rows, 1.0),
    "mean": statistics.mean,
    "variance": statistics.variance,
    "noise_scale": statistics.noise_scale,
    "project": lambda rows: statistics.project(rows, 8),
}


@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_a_whole_step_is_compiled(name):
    own, rng = ps.backend(name), np.random.default_rng(0)
    params = {"w": rng.normal(size=3), "m": np.ones((5, 2))}
    data = rng.normal(size=(4, 3)), rng.normal(size=4)
    rows_of = ps.per_sample_grad(
        lambda p, x, y: ps.squared_loss(p["w"], x, y) + (p["m"] ** 3).sum()
    )
    step = lambda *given: [use(rows_of(*given)) for use in USES.values()]  # noqa: E731
    found = own.jit(step)(*own.tree_map(own.asarray, (params, *data)))
    for what, one, other in zip(USES, ps.to_numpy(found), step(params, *data), strict=True):
        assert_close(one, other, what=what)


ERRORS = [
    *[
        (lambda x=x: statistics.clip(LINE, x), "clip: max_norm=.*; give the largest norm of a row")
        for x in (-1.0, math.nan, np.ones(4), np.ones(1), [1.0])
    ],
    (lambda: statistics.clip(LINE, 0.0), "clip: max_norm=0.0; give the largest norm of a row"),
    (lambda: statistics.variance(LINE[:1]), "variance: 1 samples; at least 2 are needed"),
    (lambda: statistics.noise_scale(LINE[:1]), "signal_and_noise: 1 samples; at least 2"),
    (lambda: statistics.weighted_sum(LINE, np.ones(4) * 1j), "weighted_sum: the weights are comp"),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()

"""privacy.py: sizes of batches, steps against a loop, the noise's variance, the sensitivity."""

import math

import numpy as np
import pytest

import persample as ps
from persample import privacy, statistics
from support.tolerances import assert_close

pytestmark = pytest.mark.usefixtures("double_precision")
BACKENDS = ["numpy", "torch", "jax"]
GOOD = {"max_norm": 1.0, "noise_multiplier": 1.0, "divisor": 2.0}


def tree(count, seed=0):
    """Return random rows of ``count`` samples for a matrix, a vector and a number."""
    rng = np.random.default_rng(seed)
    shapes = {"w": (2, 3), "b": (4,), "c": ()}
    return {name: rng.normal(size=(count, *shape)) for name, shape in shapes.items()}


def to(backend, rows):
    return {name: ps.backend(backend).asarray(x) for name, x in rows.items()}


def by_loop(rows, max_norm, divisor):
    """Return the sum of the clipped rows over divisor, by a loop over the samples."""
    total = {name: np.zeros(x.shape[1:]) for name, x in rows.items()}
    for i in range(len(rows["w"])):
        norm = math.sqrt(sum(float((x[i] ** 2).sum()) for x in rows.values()))
        factor = max_norm / norm if norm > max_norm else 1.0
        for name, x in rows.items():
            total[name] = total[name] + factor * x[i]
    return {name: x / divisor for name, x in total.items()}


def noisy(rows, seed=0, **settings):
    return privacy.noisy_mean(rows, rng=np.random.default_rng(seed), **{**GOOD, **settings})


def quiet(rows, max_norm, divisor=1.0):
    """Return `noisy_mean` without noise."""
    return noisy(rows, max_norm=max_norm, noise_multiplier=0, divisor=divisor)


# The batch.
def test_each_sample_is_drawn_at_the_rate_and_independently():
    rng, rate, size, times = np.random.default_rng(0), 0.3, 6, 20_000
    drawn = np.zeros((times, size))
    for row in drawn:
        row[privacy.poisson_batch(rng, size, rate)] = 1
    assert np.abs(drawn.mean(0) - rate).max() < 0.015
    together = drawn.T @ drawn / times
    apart = together[~np.eye(size, dtype=bool)]
    assert np.abs(apart - rate**2).max() < 0.015
    sizes = np.bincount(drawn.sum(1).astype(int), minlength=size + 1) / times
    binomial = [math.comb(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(size + 1)]
    assert np.abs(sizes - binomial).max() < 0.015


def test_a_batch_is_indices_in_order_each_at_most_once():
    rng = np.random.default_rng(1)
    batch, other = (privacy.poisson_batch(rng, 1000, 0.5) for _ in range(2))
    assert batch.dtype.kind == "i"
    assert (np.diff(batch) > 0).all()
    assert batch[0] >= 0
    assert batch[-1] < 1000
    assert batch.tolist() != other.tolist()
    assert privacy.poisson_batch(rng, 5, 1).tolist() == [0, 1, 2, 3, 4]
    assert privacy.poisson_batch(rng, 0, 0.5).shape == (0,)


# The step.
@pytest.mark.parametrize("name", BACKENDS)
def test_without_noise_a_step_is_the_clipped_mean_of_a_loop(name):
    rows = tree(7)
    for max_norm in (0.5, 2.0, 100.0):
        found = quiet(to(name, rows), max_norm, divisor=3.5)
        assert {ps.arrays.backend_of(x) for x in found.values()} == {name}
        assert_close(ps.to_numpy(found), by_loop(rows, max_norm, 3.5))
        total = statistics.clipped_sum(to(name, rows), max_norm)
        assert_close(ps.to_numpy(total), by_loop(rows, max_norm, 1.0))


def noise_of(rows, times, **settings):
    """Return the noise of ``times`` calls, (times, entries), in units of its standard deviation.

    That is max_norm * noise_multiplier / divisor.
    """
    settings = {**GOOD, **settings}
    rng = np.random.default_rng(0)
    exact = quiet(rows, settings["max_norm"], settings["divisor"])
    steps = [privacy.noisy_mean(rows, rng=rng, **settings) for _ in range(times)]
    unit = settings["max_norm"] * settings["noise_multiplier"] / settings["divisor"]
    flat = [[np.ravel(step[k] - exact[k]) for k in sorted(step)] for step in steps]
    return np.array([np.concatenate(parts) for parts in flat]) / unit


@pytest.mark.parametrize("count", [0, 1, 50])
def test_the_noise_is_normal_and_independent_and_of_one_size_whatever_the_batch(count):
    rows = tree(count)
    before = {name: x.copy() for name, x in rows.items()}
    noise = noise_of(rows, 1000, max_norm=0.3, noise_multiplier=2.5, divisor=7.0)
    assert noise.shape == (1000, 11)
    assert np.abs(noise.mean(0)).max() < 0.12
    assert np.abs(noise.std(0) - 1).max() < 0.08
    assert abs(np.mean(noise**4) - 3) < 0.2  # of a normal distribution
    assert abs(np.mean(np.abs(noise) < 1) - 0.6827) < 0.015
    correlation = np.corrcoef(noise.T)[~np.eye(11, dtype=bool)]
    assert np.abs(correlation).max() < 0.12
    assert abs(np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1]) < 0.03
    assert all((rows[name] == before[name]).all() for name in rows)


@pytest.mark.parametrize("name", BACKENDS)
def test_all_backends_get_the_noise_of_one_generator(name):
    for count in (4, 0):
        wanted = noisy(tree(count), seed=3)
        assert_close(ps.to_numpy(noisy(to(name, tree(count)), seed=3)), wanted)
    rng = np.random.default_rng(3)  # an empty batch is pure noise
    assert_close(wanted, {k: rng.normal(size=x.shape) / 2 for k, x in sorted(wanted.items())})


def test_a_record_gives_the_step_of_its_rows():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)).double()
    with ps.record(model) as record:
        record.backward(model(torch.randn(6, 3).double())[:, 0] ** 2)
    rows = {name: np.array(x) for name, x in ps.to_numpy(record.rows()).items()}
    bound = float(np.median(statistics.norms(rows)))
    found = noisy(record, max_norm=bound)
    assert_close(ps.to_numpy(found), noisy(rows, max_norm=bound))


@pytest.mark.parametrize("name", BACKENDS)
def test_half_precision_is_added_up_in_float32(name):
    rows = ps.backend(name).asarray(np.full((4096, 2), 1.0, np.float16))
    total = statistics.clipped_sum(rows, 1.0)
    assert str(total.dtype).endswith("float32")
    np.testing.assert_allclose(ps.to_numpy(total), 4096 / math.sqrt(2), rtol=1e-3)
    assert str(noisy(rows).dtype).endswith("float32")


def drawn(size=5, rate=0.5, rng=None):
    return privacy.poisson_batch(rng or np.random.default_rng(0), size, rate)


UNEVEN = [{"w": np.ones((1, 2)), "b": np.ones(other)} for other in ((5,), (2, 1), ())]
SEEDS = (7, np.random.RandomState(0))
# What to do with each of several values, the kind of error, and words of its text.
REFUSED = [
    (lambda x: drawn(rate=x), (0, -0.1, 1.5, math.nan, True, "0.1", None), ValueError, "rate="),
    (drawn, (-1, 2.0, (2, 3), [1, 2, 3], None, True), ValueError, "poisson_batch: size="),
    (noisy, UNEVEN, ValueError, r"noisy_mean: .* shapes .*\(1, 2\)"),
    (lambda x: noisy(tree(3), max_norm=x, noise_multiplier=x), (1e200,), ValueError, "times max_"),
    (lambda x: drawn(rng=x), SEEDS, TypeError, "poisson_batch: rng is of type"),
    (lambda x: privacy.noisy_mean(tree(3), rng=x, **GOOD), SEEDS, TypeError, "mean: rng is of ty"),
    *[
        (lambda x, k=k: noisy(tree(3), **{k: x}), bad, ValueError, f"noisy_mean: {k}=")
        for k in ("max_norm", "divisor", "noise_multiplier")
        for bad in [(-1.0, math.inf, math.nan, True, "1", None, *[0] * (k[0] != "n"))]
    ],
]


@pytest.mark.parametrize(("call", "values", "kind", "words"), REFUSED)
def test_what_is_wrong_is_named(call, values, kind, words):
    for value in values:
        with pytest.raises(kind, match=words):
            call(value)


@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_inside_jit_the_noise_would_be_drawn_once(name):
    own, rows = ps.backend(name), to(name, tree(3))
    for transform in (own.jit, own.vmap):
        with pytest.raises(TypeError, match="noisy_mean: the rows are traced.*; call it outside"):
            transform(noisy)(own.tree_map(lambda x: own.namespace(x).stack([x, x]), rows))


@pytest.mark.parametrize("name", BACKENDS)
def test_rows_in_which_the_noise_would_be_lost_are_refused(name):
    for dtype in ("int64", "complex128", "bool"):
        rows = to(name, {"w": np.array([[3, 4], [0, 1]]).astype(dtype)})
        with pytest.raises(TypeError, match=f"noisy_mean: rows of dtype .*{dtype}.*floating-p"):
            noisy(rows)
    for entry in (math.inf, -math.inf, math.nan):
        rows = tree(3)
        rows["b"][1, 2] = entry
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="that is not finite"):
            noisy(to(name, rows))

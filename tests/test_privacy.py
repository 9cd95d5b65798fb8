"""privacy.py: batches counted, steps against a loop, noise measured, sensitivity tried out."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from precision import enable_x64
from tolerances import assert_close

import persample as ps
from persample import privacy, statistics
from persample_book import measured, plotting

BACKENDS = ["numpy", "torch", "jax"]
RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"


@pytest.fixture(autouse=True)
def double_precision():
    with enable_x64(True):
        yield


def tree(count, seed=0):
    """Return rows of three arrays, one of them a number for each sample."""
    rng = np.random.default_rng(seed)
    shapes = {"w": (2, 3), "b": (4,), "c": ()}
    return {name: rng.normal(size=(count, *shape)) for name, shape in shapes.items()}


def to(backend, rows):
    return {name: ps.backend(backend).asarray(x) for name, x in rows.items()}


def by_loop(rows, max_norm, divisor):
    """Return the clipped mean, sample by sample, number by number."""
    total = {name: np.zeros(x.shape[1:]) for name, x in rows.items()}
    for i in range(len(rows["w"])):
        norm = math.sqrt(sum(float((x[i] ** 2).sum()) for x in rows.values()))
        factor = max_norm / norm if norm > max_norm else 1.0
        for name, x in rows.items():
            total[name] = total[name] + factor * x[i]
    return {name: x / divisor for name, x in total.items()}


def quiet(rows, max_norm, divisor=1.0):
    """Return the step without its noise."""
    rng = np.random.default_rng(0)
    return privacy.noisy_mean(rows, max_norm, noise_multiplier=0, divisor=divisor, rng=rng)


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
    batch = privacy.poisson_batch(np.random.default_rng(1), 1000, 0.5)
    assert batch.dtype.kind == "i"
    assert (np.diff(batch) > 0).all()
    assert batch[0] >= 0
    assert batch[-1] < 1000


def test_the_rate_1_draws_all_and_batches_differ():
    rng = np.random.default_rng(0)
    assert privacy.poisson_batch(rng, 5, 1).tolist() == [0, 1, 2, 3, 4]
    one, other = (privacy.poisson_batch(rng, 50, 0.5).tolist() for _ in range(2))
    assert one != other
    assert privacy.poisson_batch(rng, 0, 0.5).shape == (0,)


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, math.nan, True, "0.1", None])
def test_a_rate_that_is_no_probability_is_refused(rate):
    with pytest.raises(ValueError, match="poisson_batch: rate=.*probability of a sample"):
        privacy.poisson_batch(np.random.default_rng(0), 5, rate)


# The step.
@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("max_norm", [0.5, 2.0, 100.0])
def test_without_noise_a_step_is_the_clipped_mean_of_a_loop(name, max_norm):
    rows = tree(7)
    found = quiet(to(name, rows), max_norm, divisor=3.5)
    assert {ps.arrays.backend_of(x) for x in found.values()} == {name}
    assert_close(ps.to_numpy(found), by_loop(rows, max_norm, 3.5))
    total = statistics.clipped_sum(to(name, rows), max_norm)
    assert_close(ps.to_numpy(total), by_loop(rows, max_norm, 1.0))


def test_one_sample_moves_the_step_by_the_bound_at_most():
    rows, bound, divisor = tree(9), 3.0, 4.0
    norms = statistics.norms(rows)
    assert norms.min() < bound < norms.max()
    whole = quiet(rows, bound, divisor)
    for i in range(9):
        others = {name: np.delete(x, i, axis=0) for name, x in rows.items()}
        rest = quiet(others, bound, divisor)
        moved = math.sqrt(sum(float(((whole[k] - rest[k]) ** 2).sum()) for k in rows))
        assert moved == pytest.approx(min(norms[i], bound) / divisor, rel=1e-9)


def noise_of(rows, times=400, **settings):
    """Return the noise of many steps, (times, all entries), in units of what is promised."""
    settings = {"max_norm": 1.0, "noise_multiplier": 1.0, "divisor": 1.0, **settings}
    rng, bound = np.random.default_rng(0), settings.pop("max_norm")
    exact = quiet(rows, bound, settings["divisor"])
    steps = [privacy.noisy_mean(rows, bound, rng=rng, **settings) for _ in range(times)]
    unit = bound * settings["noise_multiplier"] / settings["divisor"]
    flat = [[np.ravel(step[k] - exact[k]) for k in sorted(step)] for step in steps]
    return np.array([np.concatenate(parts) for parts in flat]) / unit


@pytest.mark.parametrize("count", [0, 1, 50])
def test_the_noise_is_normal_of_one_size_whatever_the_batch(count):
    noise = noise_of(tree(count), max_norm=0.3, noise_multiplier=2.5, divisor=7.0)
    assert noise.shape == (400, 11)
    assert np.abs(noise.mean(0)).max() < 0.2
    assert np.abs(noise.std(0) - 1).max() < 0.12
    assert abs(np.mean(noise**4) - 3) < 0.3  # of a normal distribution
    assert abs(np.mean(np.abs(noise) < 1) - 0.6827) < 0.02


def test_entries_and_steps_have_noise_of_their_own():
    noise = noise_of(tree(3), times=2000)
    correlation = np.corrcoef(noise.T)[~np.eye(11, dtype=bool)]
    assert np.abs(correlation).max() < 0.09
    assert abs(np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1]) < 0.03


@pytest.mark.parametrize("name", BACKENDS)
def test_all_backends_get_the_noise_of_one_generator(name):
    settings = {"noise_multiplier": 1.1, "divisor": 2.0}
    rows = tree(4)
    wanted = privacy.noisy_mean(rows, 1.0, rng=np.random.default_rng(3), **settings)
    found = privacy.noisy_mean(to(name, rows), 1.0, rng=np.random.default_rng(3), **settings)
    assert_close(ps.to_numpy(found), wanted)


@pytest.mark.parametrize("name", BACKENDS)
def test_an_empty_batch_is_pure_noise(name):
    rows = to(name, tree(0))
    none = quiet(rows, 1.0, 5.0)
    assert all((x == 0).all() for x in ps.to_numpy(none).values())
    step = privacy.noisy_mean(
        rows, 1.0, noise_multiplier=1.0, divisor=5.0, rng=np.random.default_rng(0)
    )
    rng = np.random.default_rng(0)
    wanted = {k: rng.normal(size=tree(0)[k].shape[1:]) / 5 for k in sorted(step)}
    assert_close(ps.to_numpy(step), wanted)


def torch_record():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    ).double()
    for p in model.parameters():
        p.data = torch.tensor(rng.normal(size=p.shape))
    x = torch.tensor(rng.normal(size=(6, 3)))
    with ps.record(model) as record:
        record.backward(model(x)[:, 0] ** 2)
    return record


def test_a_record_gives_the_step_of_its_rows():
    record = torch_record()
    rows = {name: np.array(x) for name, x in ps.to_numpy(record.rows()).items()}
    norms = statistics.norms(rows)
    bound = float(np.median(norms))
    assert norms.min() < bound < norms.max()
    settings = {"noise_multiplier": 1.1, "divisor": 5.0}
    found = privacy.noisy_mean(record, bound, rng=np.random.default_rng(2), **settings)
    wanted = privacy.noisy_mean(rows, bound, rng=np.random.default_rng(2), **settings)
    assert_close(ps.to_numpy(found), wanted)


@pytest.mark.parametrize("name", BACKENDS)
def test_half_precision_is_added_up_in_float32(name):
    rows = ps.backend(name).asarray(np.full((4096, 2), 1.0, np.float16))
    total = statistics.clipped_sum(rows, 1.0)
    assert str(total.dtype).endswith("float32")
    np.testing.assert_allclose(ps.to_numpy(total), 4096 / math.sqrt(2), rtol=1e-3)
    step = privacy.noisy_mean(
        rows, 1.0, noise_multiplier=1.0, divisor=64, rng=np.random.default_rng(0)
    )
    assert str(step.dtype).endswith("float32")


def test_rows_are_left_as_they_were():
    rows = tree(5)
    before = {name: x.copy() for name, x in rows.items()}
    noise_of(rows, times=1)
    assert all((rows[name] == before[name]).all() for name in rows)


GOOD = {"max_norm": 1.0, "noise_multiplier": 1.0, "divisor": 2.0}


@pytest.mark.parametrize("bad", [0, -1.0, math.inf, math.nan, True, "1", None])
@pytest.mark.parametrize("name", ["max_norm", "divisor", "noise_multiplier"])
def test_a_bad_number_is_named(name, bad):
    if name == "noise_multiplier" and bad == 0 and bad is not False:
        return  # allowed
    with pytest.raises(ValueError, match=f"noisy_mean: {name}=.*; give"):
        privacy.noisy_mean(tree(3), rng=np.random.default_rng(0), **{**GOOD, name: bad})


@pytest.mark.parametrize("size", [-1, 2.0, (2, 3), [1, 2, 3], None, True])
def test_a_size_that_is_no_count_is_refused(size):
    with pytest.raises(ValueError, match="poisson_batch: size=.*number of samples"):
        privacy.poisson_batch(np.random.default_rng(0), size, 0.5)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("dtype", ["int64", "complex128", "bool"])
def test_rows_in_which_the_noise_would_be_lost_are_refused(name, dtype):
    rows = to(name, {"w": np.array([[3, 4], [0, 1]]).astype(dtype)})
    with pytest.raises(TypeError, match=f"noisy_mean: rows of dtype .*{dtype}.*floating-point"):
        privacy.noisy_mean(rows, rng=np.random.default_rng(0), **GOOD)


@pytest.mark.parametrize("other", [(5,), (2, 1), ()])
def test_arrays_of_different_numbers_of_samples_are_refused(other):
    rows = {"w": np.ones((1, 2)), "b": np.ones(other)}
    with pytest.raises(ValueError, match="noisy_mean: the rows have the shapes .*axis 0"):
        privacy.noisy_mean(rows, rng=np.random.default_rng(0), **GOOD)


def test_noise_of_infinite_size_is_refused():
    settings = {**GOOD, "max_norm": 1e200, "noise_multiplier": 1e200}
    with pytest.raises(ValueError, match="noisy_mean: noise_multiplier=1e.200 times max_norm"):
        privacy.noisy_mean(tree(3), rng=np.random.default_rng(0), **settings)


def test_a_divisor_that_follows_the_data_set_moves_twice_as_far():
    # What the docstring warns of: one sample more in the data set, and all of them drawn.
    before, after = np.ones((100, 1)), np.append(np.ones((100, 1)), [[-1.0]], axis=0)
    fixed = quiet(after, 1.0, 100) - quiet(before, 1.0, 100)
    follows = quiet(after, 1.0, len(after)) - quiet(before, 1.0, len(before))
    assert abs(fixed[0]) == pytest.approx(1 / 100)
    assert abs(follows[0]) == pytest.approx(1.98 / 100, rel=1e-3)


def lower_bound(ratio, numbers, delta=1e-5):
    """Return epsilon at least, if one sample makes the noise's variance ``ratio`` times as large.

    By tests that look at the mean square of the noise, by exact chi-square tails.
    """
    chi2, found = pytest.importorskip("scipy.stats").chi2, []
    for p in np.geomspace(1.001 * delta, 0.5, 2000):
        high, low = chi2.isf(p, numbers), chi2.ppf(p, numbers)
        others = chi2.logsf(high * ratio, numbers), chi2.logcdf(low / ratio, numbers)
        found += [math.log(p - delta) - other for other in others]
    return max(found)


def test_the_page_prints_what_the_size_of_the_noise_tells():
    # The page adds up the area between two densities; here the tails of tests, by SciPy.
    page = json.loads((RESULTS.parents[1] / "chapters" / "12_privacy.ipynb").read_text("utf-8"))
    cell = next(cell for cell in page["cells"] if cell["id"] == "private-mistake-read-off")
    lines = "".join(cell["outputs"][0]["text"]).splitlines()[1:]
    printed = {line[:21].strip(): [float(x) for x in line[21:].split()] for line in lines}
    numbers = 100 * (81 * 24 + 24 + 24 * 10 + 10)
    for name, ratio in (("divided by n", (65 / 64) ** 2), ("noise on each row", 65 / 64)):
        assert printed[name][2] == pytest.approx(lower_bound(ratio, numbers), abs=0.02)
    assert printed["mended: divided by 64"][2] == 0
    promised = 1.99309
    assert lower_bound(671 / 670, numbers) < promised < lower_bound(651 / 650, numbers)


@pytest.mark.parametrize("rng", [None, 7, np.random.RandomState(0)])
def test_a_seed_is_no_generator(rng):
    with pytest.raises(TypeError, match=f"noisy_mean: rng is of type {type(rng).__name__}"):
        privacy.noisy_mean(tree(3), rng=rng, **GOOD)
    with pytest.raises(TypeError, match=f"poisson_batch: rng is of type {type(rng).__name__}"):
        privacy.poisson_batch(rng, 5, 0.5)


@pytest.mark.parametrize("entry", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("name", BACKENDS)
def test_rows_that_are_not_finite_are_refused(name, entry):
    rows = tree(3)
    rows["b"][1, 2] = entry
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(ValueError, match="noisy_mean: a row has an entry that is not finite"),
    ):
        privacy.noisy_mean(to(name, rows), rng=np.random.default_rng(0), **GOOD)


def test_what_alone_is_not_private_says_so():
    for function in (statistics.clipped_sum, ps.recorder.Record.clipped_sum):
        assert "Alone it is not private" in function.__doc__


# What other libraries say, stored.
PEERS = json.loads((RESULTS / "private_peers.json").read_text(encoding="utf-8"))


def test_the_stored_accountants_give_the_known_numbers():
    full, sampled = PEERS["epsilon"]["full batch"], PEERS["epsilon"]["sampled"]
    assert full["PLD, dp-accounting"] == pytest.approx(1.99309, abs=2e-3)
    assert full["RDP, Opacus"] == pytest.approx(2.166, abs=2e-3)
    assert full["RDP, dp-accounting"] == pytest.approx(2.166, abs=2e-3)
    assert sampled["PLD, dp-accounting"] == pytest.approx(2.382, abs=1e-3)
    assert sampled["RDP, Opacus"] == pytest.approx(2.597, abs=1e-3)
    assert sampled["CLT, Opacus"] == pytest.approx(2.324, abs=1e-3)
    low, middle, high = measured.accountants(RESULTS)["PRV, prv-accountant"]
    assert (low, middle, high) == pytest.approx((2.332, 2.382, 2.432), abs=1e-3)
    assert sampled["CLT, Opacus"] < low
    assert PEERS["settings"]["sampled"] == {
        "rate": 256 / 60_000,
        "noise_multiplier": 1.1,
        "steps": 14_062,
    }


def test_the_stored_clipped_sums_are_ours():
    assert PEERS["clipped sums"].keys() == {"Opacus", "optax"}
    assert PEERS["clipped sums"]["optax"] < 1e-14
    assert 1e-7 < PEERS["clipped sums"]["Opacus"] < 3e-6  # it adds 1e-6 to a norm
    shown = measured.clipped_sums(RESULTS)
    assert all(
        f"{name} {PEERS['versions'][name.lower()]}" in shown for name in ("Opacus", "optax")
    )


def test_the_loop_that_the_page_shows_was_run():
    found = measured.private_opacus(RESULTS)
    assert 1.95 < found["epsilon"] <= 2  # the page asks for 2
    assert found["batches differ in size"]
    assert found["batch norm is gone"]
    assert found["divisor"] == 100
    # The page's own training, which a Renyi accountant gives the epsilon 2: others come closer.
    assert 1.7 < found["epsilon of the page's training"] < 2
    shown = (RESULTS.parent / "private_opacus.py").read_text(encoding="utf-8")
    shown = shown.partition("# [opacus]")[2].partition("# [end]")[0]
    assert "target_epsilon=2.0" in shown
    assert "make_private_with_epsilon" in shown


def test_what_opacus_reads_from_the_data_is_stored():
    found = measured.private_opacus(RESULTS)
    counts = found["by number of samples"]
    assert [counts[n]["divisor"] for n in ("999", "1000", "1001")] == [99, 100, 91]
    assert [counts[n]["steps"] for n in ("999", "1000", "1001")] == [200, 200, 220]
    assert found["largest part"] <= 32
    assert found["rows of 11 persons"] == {"flattened": 44, "kept": 11}


# The figures.
def test_the_promise_is_drawn_with_the_allowance_cut_and_the_area_filled():
    figure = plotting.neighbours((1, 4), 1.0)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["σ = 1: δ = 0.13", "σ = 4: δ = 0.000003"]
    for axes, sigma in zip(figure.axes, (1, 4), strict=True):
        without, with_one, _ = (line.get_ydata() for line in axes.lines[:3])
        t = axes.lines[0].get_xdata()
        assert t[without.argmax()] == pytest.approx(0, abs=0.02 * sigma)
        assert t[with_one.argmax()] == pytest.approx(1, abs=0.02 * sigma)
        right, allowed = axes.lines[2].get_data()
        np.testing.assert_allclose(allowed, math.e * np.interp(right, t, without))
        assert allowed.max() <= 1.15 * without.max() < axes.get_ylim()[1]
        # The title says what the two curves say when they are added up.
        t = np.linspace(-8 * sigma, 1 + 8 * sigma, 100_001)
        bells = [np.exp(-((t - m) ** 2) / (2 * sigma**2)) / math.sqrt(2 * math.pi) / sigma
                 for m in (0, 1)]  # fmt: skip
        area = np.maximum(bells[1] - math.e * bells[0], 0).sum() * (t[1] - t[0])
        shown = float(axes.get_title(loc="left").rpartition(" ")[2])
        assert shown == pytest.approx(area, rel=0.03)
    filled = figure.axes[0].collections[0].get_paths()[0].vertices
    assert filled[:, 0].min() == pytest.approx(1.5, abs=0.03)  # eps / mu + mu / 2


def test_the_test_is_drawn_with_what_lies_above_the_middle():
    axes = plotting.threshold(2.0).axes[0]
    both, none = (area.get_paths()[0].vertices for area in axes.collections)
    for corners in (both, none):
        assert corners[:, 0].min() == pytest.approx(0.5, abs=0.05)
    t, without = axes.lines[0].get_data()
    assert none[:, 1].max() == pytest.approx(np.interp(0.5, t, without), rel=0.01)
    assert axes.lines[2].get_xdata()[0] == 0.5
    heights = [line.get_ydata() for line in axes.lines[:2]]
    np.testing.assert_allclose([h.sum() * (t[1] - t[0]) for h in heights], 1, atol=2e-3)


def test_an_accountant_is_a_dot_or_an_interval_and_an_estimate_is_hollow():
    axes = plotting.accountants({"CLT*": 2.0, "PRV": [2.1, 2.2, 2.4]}, "epsilon").axes[0]
    assert [text.get_text() for text in axes.texts] == ["2.000", "≤ 2.400"]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [dot.get_markerfacecolor() == "none" for dot in dots] == [True, False]
    bars = [line for line in axes.lines if line.get_marker() == "None"]
    assert [bar.get_xdata().tolist() for bar in bars] == [[2.1, 2.4]]
    assert axes.yaxis_inverted()


def test_accuracy_is_drawn_in_percent_with_the_range_of_the_runs():
    panels = {"eps": {1: [0.5, 0.7], 8: [0.9, 0.9]}, "C": {1: [0.9, 0.9], 2: [0.43, 0.9]}}
    figure = plotting.accuracy(panels, (0.95, "openly"))
    axes = figure.axes[0]
    assert axes.get_ylim() == figure.axes[1].get_ylim() == (40, 109)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [60, 90])
    runs = np.sort([axes.lines[i].get_ydata() for i in (1, 2)], axis=0)
    np.testing.assert_allclose(runs, [[50, 90], [70, 90]])
    assert axes.lines[1].get_xdata().tolist() == axes.lines[0].get_xdata().tolist()
    assert axes.lines[3].get_ydata()[0] == 95
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "8"]

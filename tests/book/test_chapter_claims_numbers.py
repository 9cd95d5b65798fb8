"""Numbers in the prose of three chapters that no cell prints, computed by the chapters' code."""

import numpy as np
import pytest

from support.pages import cells, text

pytestmark = pytest.mark.filterwarnings("ignore")  # of what a page calls
SKIPPED = {"raises-exception", "nbval-ignore-output", "hide-input"}


@pytest.fixture
def page(own_settings, capsys):
    """Return a function until(name, last) that runs a chapter's visible cells up to cell ``last``.

    It returns the chapter's text and a dict of the names that the cells define.
    """
    pytest.importorskip("sklearn")

    def until(name, last):
        names: dict = {}
        for cell in cells(f"chapters/{name}"):
            if cell.cell_type == "code" and not SKIPPED & set(cell.metadata.get("tags", [])):
                exec(compile(cell.source, cell.id, "exec"), names)
            if cell.id == last:
                return text(f"chapters/{name}"), names
        raise ValueError(f"{name} has no cell {last}")

    return until


def test_the_row_of_class_3_is_the_image_times_minus_nine_tenths(page):
    prose, names = page("01_one_gradient_per_sample", "25c6c8f1")
    assert "Here that is $0.1 - 1 = -0.9$ for each image." in prose
    np.testing.assert_allclose(names["rows"][:, 3], -0.9 * names["x"], atol=1e-6)
    assert "more than thirteen times as hard as any three" in prose
    *threes, four = names["norms"].tolist()
    assert 13 < four / max(threes) < 14
    assert "With $C = 4$, a little more than the length of the good rows" in prose
    assert 3.5 < max(threes) < 4


def test_a_step_saves_76_bytes_and_the_longest_of_ten_episodes_has_23_steps(page):
    prose, names = page("04_gradient_linearity", "b51dde2f")
    hooks = names["torch"].autograd.graph.saved_tensors_hooks
    numbers = np.random.default_rng(0)
    steps = [len(names["play"](numbers)[1]) for _ in range(10)]
    with hooks(names["pack"], lambda alias: alias):
        one, all_ten = (
            names[way](10, np.random.default_rng(0)) for way in ("one_at_a_time", "in_a_list")
        )
    assert one == 128 + 76 * max(steps)
    assert all_ten == 128 + 76 * sum(steps)
    assert "A step saves 76 bytes: " in prose
    assert "The weight of the second layer adds 128 bytes, once." in prose
    assert f"So {one} bytes are an episode of {max(steps)} steps." in prose


@pytest.mark.slow
def test_td_passes_near_the_lowest_mean_and_returns_where_it_began(page):
    prose, names = page("05_td0", "49941456")
    assert "**TD(0) passes near the lowest mean on its way to B's true value, 1; " in prose
    mean = lambda values: names["losses_of"](values, *names["split"]).mean()  # noqa: E731
    by_td, by_naive = names["by_td"], names["by_naive"]
    td, naive = (np.array([mean(v) for v in path[:21]]) for path in (by_td, by_naive))
    assert td.argmin() == 2
    np.testing.assert_allclose([td.min(), naive[20]], 1 / 32, atol=5e-4)
    np.testing.assert_allclose([td[0], td[20], naive[0]], 1 / 16, atol=5e-4)
    assert (np.diff(naive) < 1e-6).all()
    np.testing.assert_allclose([by_td[20][1], by_naive[20][1]], [1, 0.75], atol=2e-3)


@pytest.mark.slow
def test_noise_costs_steps_but_its_harm_does_not_add_up(page):
    prose, names = page("08_noise", "e1c701ff")
    assert f"one vector of {len(names['theta']):,} numbers" in prose
    seen = names["seen"]
    noisy, small, exact = (dict(zip(seen, c, strict=True)) for c in names["curves"].values())
    raised = f"*raises* the loss, from {noisy[0]:.2f} to {noisy[1]:.2f}."
    assert raised in prose
    assert f"without it, 16 are enough for a loss of {exact[16]:.2f}, and with it 32" in prose
    assert round(noisy[32], 2) == round(exact[16], 2)
    assert "the small rate 1/16, the best for one step, is overtaken by step 16" in prose
    assert noisy[8] > small[8]
    assert noisy[16] < small[16]
    assert "soon puts the loss about 0.1 above that of the exact gradient" in prose
    np.testing.assert_allclose([noisy[s] - exact[s] for s in seen[3:]], 0.1, atol=0.03)

"""The chapter on traces: its claims on stored runs, and its program against another method."""

import re

import numpy as np

from support.pages import cells, stored, text

PAGE = "chapters/10_traces"
STORED = stored("actor_critic")["lambda"]
COLUMNS = ("traces, late", "gae, late", "traces, soon")


def test_the_table_is_what_was_measured():
    shown = re.findall(r"^\| ([\d.]+) \| (.*) \| (.*) \| (.*) \|$", text(PAGE), re.MULTILINE)
    assert [float(lam) for lam, *_ in shown] == [float(lam) for lam in STORED[COLUMNS[0]]]
    for lam, *found in shown:
        for column, cell in zip(COLUMNS, found, strict=True):
            run = STORED[column][str(float(lam))]
            assert cell == f"{run['mean']:.0f} ± {run['standard error']:.0f}"


def test_what_the_text_reads_from_the_table_holds():
    mean = {column: [run["mean"] for run in STORED[column].values()] for column in COLUMNS}
    error = {c: max(run["standard error"] for run in STORED[c].values()) for c in COLUMNS}
    for column in COLUMNS[:2]:
        assert mean[column][0] < min(mean[column][1:]) / 2
    assert max(mean["gae, late"]) > 0.85 * max(mean["traces, late"])
    assert max(mean["traces, soon"]) - mean["traces, soon"][0] < error["traces, soon"]


def program(names: dict) -> dict:
    """Run the page's cells in ``names`` up to the definition of traced_update; return names."""
    with np.printoptions():  # the page sets its own
        for cell in cells(PAGE):
            if cell.cell_type == "code" and "plt" not in cell.source:
                exec(cell.source, names)
            if "traced_update" in names:
                return names
    raise AssertionError("the page has no traced_update")


def test_the_update_of_a_network_is_that_of_targets_which_look_ahead():
    """Compare with lambda-returns by definition, and gradients by central differences."""
    names = program({})
    rng, gamma, lam = np.random.default_rng(3), 0.7, 0.6
    names |= {"gamma": gamma, "lam": lam}
    theta, states = rng.normal(size=(5, 4)), rng.normal(size=(7, 2, 4))
    rewards = rng.normal(size=(6, 2))

    def value(theta, s):
        return theta[4] @ np.tanh(theta[:4] @ s)

    wanted = np.zeros_like(theta)
    for walk in range(2):
        v = [value(theta, s) for s in states[:, walk]]
        r, steps = rewards[:, walk], len(rewards)
        for k in range(steps):
            ahead = [
                sum(gamma**i * r[k + i] for i in range(n)) + gamma**n * v[k + n]
                for n in range(1, steps - k + 1)
            ]
            mixed = [(1 - lam) * lam**n * target for n, target in enumerate(ahead[:-1])]
            target = sum(mixed) + lam ** (len(ahead) - 1) * ahead[-1]
            for place in np.ndindex(theta.shape):
                moved = np.zeros_like(theta)
                moved[place] = 1e-6
                up, down = (
                    value(theta + moved, states[k, walk]),
                    value(theta - moved, states[k, walk]),
                )
                wanted[place] += (target - v[k]) * (up - down) / 2e-6
    found = names["traced_update"](theta, states, rewards)
    np.testing.assert_allclose(found, wanted, atol=1e-7)

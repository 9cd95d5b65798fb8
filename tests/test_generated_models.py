"""Generated models: their rows are those of torch.autograd, or the model is refused in words."""

import pytest
import torch
from generated_models import checked, misused, quiet, recorded
from generated_runs import calls, quick, run_all  # noqa: F401
from hypothesis import strategies as st
from outcomes import FAILED

pytestmark = pytest.mark.usefixtures("quick")

MAKES = {"recorded": recorded, "misused": misused, "checked": checked}
WORDS = {"right": "models right", "refused": "models refused"}


class Draws:
    """Draws of Hypothesis under the names of NumPy's generator; small ones make small models."""

    def __init__(self, draw):
        self.draw = draw

    def integers(self, low, high=None):
        low, high = (0, low) if high is None else (low, high)
        return self.draw(st.integers(low, high - 1))

    def random(self):
        return self.draw(st.integers(0, 99).map(lambda n: (99 - n) / 100))

    def choice(self, options):
        return self.draw(st.sampled_from(list(options)))


@calls(recorded=(40, 1600), misused=(20, 300), checked=(5, 100))
def test_models(name, count, record_property):
    def check(data):
        draws = Draws(data.draw)
        with torch.random.fork_rng([]), quiet():
            torch.manual_seed(draws.integers(2**31))
            outcome = MAKES[name](draws)
        assert outcome.kind != FAILED, outcome
        return WORDS[outcome.kind]

    run_all(record_property, "", count, st.tuples(st.data()), check)

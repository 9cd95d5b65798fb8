"""The stored measurements are read in ordinary passes, under the names of the pages."""

import math

from persample_book import measured

CASE = {
    "limits": {"ordinary pass": 2.0},
    "limits beside rows": {"ordinary pass": 4.0},
    "rows": {"Opacus hooks": 30.0, "jax jit(vmap(grad))": "no such layers"},
    "limits beside sums": {"ordinary pass": 3.0},
    "sums": {"record norms": 5.0},
}
OTHER = {"limits": {"ordinary pass": 10.0}, "rows": {"Opacus hooks": 20.0}, "sums": {}}
RUN = measured.Run({"cases": {"first": CASE, "second": OTHER}})


def test_times_are_relative_to_the_shortest_ordinary_pass_of_the_same_model():
    assert RUN.passes("Opacus") == 15
    assert RUN.passes("norms only") == 2.5
    assert RUN.passes("Opacus", "second") == 2
    assert math.isnan(RUN.passes("JAX jit(vmap)"))

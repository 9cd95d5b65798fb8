"""The stored measurements are read in ordinary passes, under the names of the page."""

import math
from pathlib import Path

import pytest

from persample_book import measured

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
CASE = {
    "limits": {"ordinary pass": 2.0, "fill once": 9.0},
    "limits beside rows": {"ordinary pass": 4.0, "fill once": 6.0},
    "rows": {"torch loop": 30.0, "NumPy layers, warm": "no such layers"},
    "limits beside sums": {"ordinary pass": 3.0, "fill once": 8.0},
    "sums": {"record norms": 5.0},
}
OTHER = {"limits": {"ordinary pass": 10.0}, "rows": {"torch loop": 20.0}, "sums": {}}
RUN = measured.Run(
    {
        "cases": {"first": CASE, "second": OTHER},
        "memory": {"record, chunks": {"32": 1.5, "64": 2.5}},
        "growth": {"batch": {"1": {"torch loop": 0.5}, "4": {"torch loop": 1.5}}},
    }
)


def test_times_are_relative_to_the_shortest_ordinary_pass_of_the_same_model():
    assert RUN.passes("loop") == 15
    assert RUN.passes("norms only") == 2.5
    assert RUN.passes("loop", "second") == 2


def test_the_reference_pass_is_an_ordinary_one_and_the_writing_measured_beside_the_rows():
    assert RUN.passes("reference pass") == 1 + 6 / 2


def test_what_was_not_measured_is_nan():
    assert math.isnan(RUN.passes("NumPy layers, out="))
    assert math.isnan(RUN.passes("Opacus"))


def test_peaks_and_growth_have_numbers_for_batch_sizes():
    assert RUN.peak("chunks of 32") == {32: 1.5, 64: 2.5}
    assert RUN.growth("loop") == {1: 0.5, 4: 1.5}


@pytest.mark.parametrize("setting", measured.SETTINGS)
def test_the_stored_runs_have_every_way_with_a_colour(setting):
    run = measured.load(RESULTS)[setting]
    # Of chunks only the memory was measured; the others are those of whole_models.py alone.
    elsewhere = {"chunks of 32", "clipped sum, Opacus fast", "clipped sum, optax"}
    for way in measured.COLOURS.keys() - elsewhere:
        assert run.passes(way) > 1, way


def test_the_stored_run_has_every_peak():
    run = measured.load(RESULTS)["default"]
    assert all(run.peak(way)[32] > 0 for way in measured.PEAKS)

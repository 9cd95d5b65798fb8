"""The stored measurements are read in ordinary passes, under the names of the pages."""

import json
from pathlib import Path

import pytest

from persample_book import measured
from persample_book.problems import mistyped

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"

# Training on a part of the digits (chapter 13) -------------------------------------------------

SELECTION = {
    "steps": {
        "5": {"all": [90.0, 93.0], "half": [80.0, 70.04]},
        "9": {"all": [1.0], "half": [2.0]},
    },
    "found": {"5": {"loss": [80, 83, 81]}, "9": {"loss": [1, 2, 1]}},
}
SCORES = {
    "good": {
        "change": [-0.5, -0.2, -0.1],
        "mended": 3,
        "ranks": [0.9, 0.5, 0.8],
        "size": [1.0, 1.2, 9.0],
    },
    "random": {"change": [-0.001, 0.3, -0.2], "mended": 0},
}
TABLES = {
    "data_selection": [
        "| trained on | 5 steps | 9 steps |",
        "| all, percent | 91.5 (90.0 to 93.0) | 1.0 (1.0 to 1.0) |",
        "| half | -16.5 (-23.0 to -10.0) | +1.0 (+1.0 to +1.0) |",
    ],
    "labels_found": [
        "| score | 5 steps | 9 steps |",
        "| loss | 81 (80 to 83) | 1 (1 to 2) |",
    ],
    "attribution": [
        "| score | rank correlation | real / score | change of loss | mended of 3 |",
        "| good | 0.80 (0.50 to 0.90) | 1.20 | -0.20 | 3 |",
        "| random |  |  | +0.00 | 0 |",
    ],
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_mean_lowest_and_highest(name, tmp_path):
    (tmp_path / "data_selection.json").write_text(json.dumps(SELECTION))
    stored = json.dumps({"questions": 3, "scores": SCORES})
    (tmp_path / "attribution.json").write_text(stored)
    head, _, *lines = getattr(measured, name)(tmp_path).splitlines()
    assert [head, *lines] == TABLES[name]


def test_a_choice_is_compared_with_a_random_one_draw_by_draw(tmp_path):
    names = [f"without {name}" for name in measured._AGAINST_RANDOM]
    runs = {name: [3.0, 5.0, 4.0, 9.0] for name in names}
    runs |= {"without 30 %, at random": [1.0, 5.0, 5.0, 8.0], "without 5 %, at random": [4.0] * 4}
    (tmp_path / "data_selection.json").write_text(json.dumps({"steps": {"7": runs}}))
    shown = [line.split(" | ")[1] for line in measured.against_random(tmp_path).splitlines()[2:]]
    assert shown == ["+0.5 (2 better, 1 worse) |"] * 4


@pytest.mark.slow
def test_a_stored_run_comes_out_again():
    stored = json.loads((RESULTS / "data_selection.json").read_text(encoding="utf-8"))
    again = mistyped.chosen(3, steps=40)
    assert again.keys() == stored["steps"]["40"].keys()
    for name, runs in stored["steps"]["40"].items():
        assert again[name] == pytest.approx(runs[3], abs=1e-3), name

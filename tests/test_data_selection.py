"""The stored runs of training on a part: the page's table shows them, and one is run again."""

import json
from pathlib import Path

import pytest

from persample.book import measured
from persample.book.problems import mistyped

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
STORED = json.loads((RESULTS / "data_selection.json").read_text(encoding="utf-8"))


def test_the_table_has_mean_lowest_and_highest(tmp_path):
    runs = {"5": {"all": [90.0, 93.0], "half": [80.0, 70.04]}, "9": {"all": [1.0], "half": [2.0]}}
    (tmp_path / "data_selection.json").write_text(json.dumps({"steps": runs}))
    assert measured.data_selection(tmp_path).splitlines() == [
        "| trained on | 5 steps | 9 steps |",
        "| --- | --- | --- |",
        "| all, percent | 91.5 (90.0 to 93.0) | 1.0 (1.0 to 1.0) |",
        "| half | -16.5 (-23.0 to -10.0) | +1.0 (+1.0 to +1.0) |",
    ]


def test_the_table_of_labels_found(tmp_path):
    stored = {"found": {"5": {"loss": [80, 83, 81]}, "9": {"loss": [1, 2, 1]}}}
    (tmp_path / "data_selection.json").write_text(json.dumps(stored))
    assert measured.labels_found(tmp_path).splitlines() == [
        "| score | 5 steps | 9 steps |",
        "| --- | --- | --- |",
        "| loss | 81 (80 to 83) | 1 (1 to 2) |",
    ]


def test_a_stored_run_comes_out_again():
    again = mistyped.chosen(3, steps=40)
    assert again.keys() == STORED["steps"]["40"].keys()
    for name, runs in STORED["steps"]["40"].items():
        assert len(runs) == 10
        assert again[name] == pytest.approx(runs[3], abs=1e-3), name


def test_what_the_page_says_of_the_means():
    mean = {
        steps: {name: sum(runs) / 10 for name, runs in by_name.items()}
        for steps, by_name in STORED["steps"].items()
    }
    said = [
        ("40", "all", 90.7),
        ("40", "without every wrong label", 91.3),
        ("40", "without the lowest 30 %", 87.1),
        ("40", "without 30 %, at random", 90.6),
        ("400", "without the lowest 30 %", 95.5),
        ("400", "without 30 %, at random", 94.7),
    ]
    assert [(s, n, round(mean[s][n], 1)) for s, n, _ in said] == said
    late = mean["400"]
    gain = late["without the highest 5 %"] - late["all"]
    assert round(gain, 1) == 0.6
    assert 0.45 < gain / (late["without every wrong label"] - late["all"]) < 0.6
    for by_name in mean.values():
        assert by_name["without the highest 30 %"] < by_name["without 30 %, at random"] - 4

"""The stored runs of training on a part: the page's table shows them, and one is run again."""

import json
from pathlib import Path

import pytest

from persample_book import measured
from persample_book.problems import mistyped

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


def test_the_table_of_some_scores_alone():
    shown = measured.labels_found(RESULTS, ["row norm"]).splitlines()
    assert shown == [*shown[:2], "| row norm | 76 (71 to 79) | 82 (79 to 84) |"]
    assert shown[2] in measured.labels_found(RESULTS).splitlines()


def test_a_choice_is_compared_with_a_random_one_draw_by_draw(tmp_path):
    names = [f"without {name}" for name in measured._AGAINST_RANDOM]
    runs = {name: [3.0, 5.0, 4.0, 9.0] for name in names}
    runs |= {"without 30 %, at random": [1.0, 5.0, 5.0, 8.0], "without 5 %, at random": [4.0] * 4}
    (tmp_path / "data_selection.json").write_text(json.dumps({"steps": {"7": runs}}))
    shown = [line.split(" | ")[1] for line in measured.against_random(tmp_path).splitlines()[2:]]
    assert shown == ["+0.5 (2 better, 1 worse) |"] * 2 + ["+0.5 (2 better, 1 worse) |"] * 2


@pytest.mark.slow
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
    found = {
        name: [round(sum(STORED["found"][steps][name]) / 10) for steps in ("40", "400")]
        for name in ("loss", "EL2N", "TracIn with itself", "loss, mean of all steps")
    }
    assert list(found.values()) == [[80, 85], [80, 85], [70, 83], [74, 84]]
    late = mean["400"]
    gain = late["without the highest 5 %"] - late["all"]
    assert round(gain, 1) == 0.6
    assert 0.45 < gain / (late["without every wrong label"] - late["all"]) < 0.6
    for by_name in mean.values():
        assert by_name["without the highest 30 %"] < by_name["without 30 %, at random"] - 4
    assert measured.against_random(RESULTS).splitlines()[2:] == [
        "| the lowest 30 % | -2.8 (2 better, 8 worse) | +1.0 (9 better, 1 worse) |",
        "| the highest 30 % | -5.0 (0 better, 10 worse) | -5.2 (0 better, 10 worse) |",
        "| the highest 5 % | +0.4 (8 better, 1 worse) | +0.4 (6 better, 3 worse) |",
        "| every wrong label | +0.5 (9 better, 1 worse) | +1.0 (10 better, 0 worse) |",
    ]

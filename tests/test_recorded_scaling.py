"""The stored table of other libraries' scales: well formed, and measured again where possible."""

import importlib.util
import json
import sys
import warnings
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
STORED = json.loads((BENCHMARKS / "results" / "recorded_scaling.json").read_text())
MISSING = [p for p in ("opacus", "backpack") if importlib.util.find_spec(p) is None]


def test_the_stored_table():
    assert STORED["versions"] == {
        "torch": "2.13.0",
        "opacus": "1.6.0",
        "backpack-for-pytorch": "1.7.1",
    }
    assert STORED["factors"] == {
        'Opacus, loss_reduction="mean" (default)': {"mean": 1.0, "sum": 4.0},
        'Opacus, loss_reduction="sum"': {"mean": 0.25, "sum": 1.0},
        "BackPACK, BatchGrad": {"mean": 0.25, "sum": 1.0},
    }


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_the_table_measured_again(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        import recorded_scaling

        assert recorded_scaling.measure() == STORED["factors"]
    sys.modules.pop("recorded_scaling")

"""Dataclasses of the engine and the recorder are values: whoever is handed one cannot change it.

Those that hold arrays are compared by identity, since `==` of two arrays is no truth value.
"""

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

import persample

pytest.importorskip("torch")  # which half of the recorder imports

# What is filled in step by step, and what holds no array.
FILLED_IN = {"engine.codegen.Text"}
WITHOUT_ARRAYS = {
    "engine.codegen.Text",
    "recorder.recording.NoiseScale",
    "recorder.rules.Rule",
    "recorder.rules.Use",
    "recorder.sites.Cut",
    "recorder.sites.Site",
}


def test_dataclasses_are_frozen_and_with_arrays_compared_by_identity():
    filled_in, compared = set(), set()
    for info in pkgutil.walk_packages(persample.__path__, "persample."):
        if not info.name.startswith(("persample.engine.", "persample.recorder.")):
            continue
        for name, kind in inspect.getmembers(importlib.import_module(info.name), inspect.isclass):
            if kind.__module__ == info.name and dataclasses.is_dataclass(kind):
                key = f"{info.name.removeprefix('persample.')}.{name}"
                filled_in |= set() if kind.__dataclass_params__.frozen else {key}
                compared |= {key} if kind.__dataclass_params__.eq else set()
    assert (filled_in, compared) == (FILLED_IN, WITHOUT_ARRAYS)

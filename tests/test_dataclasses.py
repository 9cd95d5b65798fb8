"""Dataclasses of the engine and the layers are values: whoever is handed one cannot change it.

Those that hold arrays are compared by identity, since `==` of two arrays is no truth value.
"""

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

import persample

pytest.importorskip("torch")  # which half of the layers import

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


def found():
    """Return name -> settings of each dataclass of the two packages."""
    settings = {}
    for info in pkgutil.walk_packages(persample.__path__, "persample."):
        if info.name.startswith(("persample.engine.", "persample.recorder.")):
            for name, kind in vars(importlib.import_module(info.name)).items():
                is_own = inspect.isclass(kind) and kind.__module__ == info.name
                if is_own and dataclasses.is_dataclass(kind):
                    key = f"{info.name.removeprefix('persample.')}.{name}"
                    settings[key] = kind.__dataclass_params__
    return settings


def test_dataclasses_cannot_be_changed():
    assert {name for name, settings in found().items() if not settings.frozen} == FILLED_IN


def test_dataclasses_with_arrays_are_compared_by_identity():
    assert {name for name, settings in found().items() if settings.eq} == WITHOUT_ARRAYS

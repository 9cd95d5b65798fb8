"""Fixtures that several test files share."""

import pytest

from persample.backends import torch_backend


@pytest.fixture
def light_compiler(monkeypatch):
    """Leave out Inductor, PyTorch's code generator: it takes seconds a program."""
    monkeypatch.setattr(torch_backend, "compiler", lambda: "aot_eager")

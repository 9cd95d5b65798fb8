"""The code passes `make lint`, with the settings in pyproject.toml."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT


@pytest.mark.skipif(
    shutil.which("ruff", path=Path(sys.executable).parent) is None, reason="no ruff"
)
@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=" ".join)
def test_ruff_finds_nothing(command):
    ruff = Path(sys.executable).parent / "ruff"
    done = subprocess.run(
        [ruff, *command, "."], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout

"""JupyterLab as a reader starts it: from a container too, with the chapters' markup shown."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(("user", "allowed"), [("0", True), ("1000", False)])
def test_only_root_is_told_that_it_may(tmp_path, user, allowed):
    (tmp_path / "id").write_text(f"#!/bin/sh\necho {user}\n")
    (tmp_path / "id").chmod(0o755)
    done = subprocess.run(
        ["make", "-n", f"VENV={sys.prefix}", f"--assume-old={sys.prefix}/.reader", "lab"],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("--allow-root" in done.stdout) == allowed
    assert "--ip localhost" in done.stdout


def test_the_container_calls_what_there_is():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    called = re.findall(r"(?:&& |\()make ([a-z]+)", json.dumps(container))
    assert {"book", "serve", "lab"} <= set(called) <= targets
    least = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())[1]
    assert container["image"].endswith(f":{least}")
    assert "8000" in MAKEFILE
    assert set(map(str, container["forwardPorts"])) == set(container["portsAttributes"])


@pytest.mark.slow
def test_it_starts_and_has_the_extension(tmp_path):
    pytest.importorskip("jupyterlab_myst", reason="jupyterlab-myst is not installed")
    jupyter = Path(sys.executable).with_name("jupyter")
    command = [jupyter, "lab", "--no-browser", "--port=0", "--ServerApp.token=t", "--allow-root"]
    with open(tmp_path / "log", "w") as log:
        running = subprocess.Popen([*command, "--notebook-dir", ROOT], stdout=log, stderr=log)
    try:
        for _ in range(120):
            said = (tmp_path / "log").read_text()
            if at := re.search(r"http://(?:localhost|127\.0\.0\.1):(\d+)/lab", said):
                break
            assert running.poll() is None, said
            try:
                running.wait(0.5)
            except subprocess.TimeoutExpired:
                continue
        with urllib.request.urlopen(f"http://127.0.0.1:{at[1]}/lab?token=t") as answer:
            page = answer.read().decode()
    finally:
        running.terminate()
        running.wait(20)
    assert '"jupyterlab-myst"' in page

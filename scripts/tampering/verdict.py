"""Ask the tests' own comparison whether it notices a change, without running a kernel.

pytest collects the notebook as `make test` does, guards included. The cell's test then runs as
it is, on a kernel that only repeats what one real execution gave.
"""

import contextlib
import io
import re
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError


class Replay:
    """A kernel that answers every cell with the outputs it was given."""

    def __init__(self) -> None:
        self.outputs: list[nbformat.NotebookNode] = []
        self._messages = iter(())

    def is_alive(self) -> bool:
        return True

    def execute_cell_input(self, source: str, allow_stdin: bool) -> str:
        outputs = [(out["output_type"], deepcopy(out)) for out in self.outputs]
        self._messages = iter([*outputs, ("status", {"execution_state": "idle"})])
        return "replay"

    def await_reply(self, msg_id: str, timeout: float) -> None:
        pass

    await_idle = await_reply

    def get_message(self, stream: str, timeout: float) -> dict:
        kind, content = next(self._messages)
        return {"msg_type": kind, "content": content, "parent_header": {"msg_id": "replay"}}


def flags(root: Path) -> list[str]:
    """Return the flags with which `make test` runs the notebooks."""
    return re.search(r"^NBVAL := (.*)$", (root / "Makefile").read_text(), re.M)[1].split()


class Collected:
    """pytest's plugin interface: keep the tests that were collected."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.items = list(items)


def collect(paths: list[Path], options: list[str]) -> dict[Path, list[IPyNbCell]]:
    """Return the tests of each notebook's code cells, in order, as pytest collects them."""
    collected, said = Collected(), io.StringIO()
    # Plain asserts, as nbval is imported already and cannot be rewritten any more.
    quiet = ["--collect-only", "-q", "-s", "-p", "no:cacheprovider", "--assert=plain"]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = pytest.main([*options, *quiet, *map(str, paths)], plugins=[collected])
    if code or not collected.items:
        raise RuntimeError(f"pytest does not collect {paths}:\n{said.getvalue()}")
    return {path: [item for item in collected.items if item.path == path] for path in paths}


class Judge:
    """The tests of one notebook's code cells, and one execution to compare with."""

    def __init__(self, items: list[IPyNbCell], fresh: nbformat.NotebookNode) -> None:
        self.items, self.kernel = items, Replay()
        file: IPyNbFile = items[0].parent
        file.kernel = self.kernel
        file.setup_sanitize_files()
        self.fresh = [cell.outputs for cell in fresh.cells if cell.cell_type == "code"]

    def notices(self, number: int, stored: nbformat.NotebookNode) -> bool:
        """Say whether the test of code cell ``number`` fails if ``stored`` is what is stored."""
        item = self.items[number]
        item.format_output_compare = lambda key, left, right: None  # its diffs take seconds
        item.cell, self.kernel.outputs = deepcopy(stored), self.fresh[number]
        try:
            item.runtest()
        except NbCellError:
            return True
        except pytest.skip.Exception:
            return False
        return False

    def exempt(self, number: int) -> bool:
        """Say whether a tag or comment tells nbval not to compare this cell's outputs."""
        options = self.items[number].options
        return bool(options["skip"]) or not options["check"]

    def sanitised(self, number: int, text: str) -> str:
        """Return text as it is compared: without what the sanitiser's file names."""
        return self.items[number].sanitize(text)

"""Short programs about leaf tensors give the same result in PyTorch and in `persample.tape`.

Every program can use x = [1, 2], which requires grad, and y = [3, 4], which does not; then an
expression is evaluated. The page on the engine shows the programs whose results differ, and why.
"""

import re
import warnings
from typing import Any

import nbformat
import pytest
import torch

from persample import tape
from support import ROOT

PAGE = ROOT / "reference/engine.ipynb"

# (program, observed expression)
LINES = (
    ("", "x.is_leaf, x.requires_grad"),
    ("", "y.is_leaf, y.requires_grad"),
    ("z = x * y", "z.is_leaf, z.requires_grad"),
    ("z = y * y", "z.is_leaf, z.requires_grad"),
    ("z = x.detach()", "z.is_leaf, z.requires_grad"),
    ("z = x[0]", "z.is_leaf, z.requires_grad"),
    ("z = x.to(x.dtype)", "z is x"),
    ("with no_grad(): z = x * y", "z.is_leaf, z.requires_grad"),
    ("z = tensor([1, 2], requires_grad=True)", "z"),
    ("z = x * y; z.requires_grad = False", "z"),
    ("z = x * y", "z.retains_grad"),
    ("z = x * y; z.retain_grad()", "z.retains_grad"),
    ("x.retain_grad()", "x.retains_grad"),
    ("y.retain_grad()", "y"),
    ("(x * y).sum().backward()", "x.grad, y.grad"),
    ("for _ in range(2): (x * y).sum().backward()", "x.grad"),
    ("z = x * y; z.sum().backward()", "z.grad"),
    ("z = x * y; z.retain_grad(); z.sum().backward()", "z.grad"),
    ("(y * y).sum().backward()", "y"),
    ("(x * y).backward()", "x"),
    ("x += 1.0", "x"),
    ("x[0] = 5.0", "x"),
    ("with no_grad(): x += 1.0", "x, x.is_leaf"),
    ("x.detach()[0] = 5.0", "x"),
    ("loss = (x * y).sum(); y += 1.0; loss.backward()", "x.grad"),
    ("loss = (x * x).sum(); loss.backward(); loss.backward()", "x.grad"),
    ("", "x.numpy()"),
    ("loss = (x + y).sum(); loss.backward(); loss.backward()", "x.grad"),
    ("loss = (x + y).sum(); y += 1.0; loss.backward()", "x.grad"),
    ("z = x * y; z += 1.0", "z.is_leaf, z.requires_grad"),
    ("y += x", "y.is_leaf, y.requires_grad"),
)

# The programs on which the two differ, and why.
REASONS = {
    LINES[-4][0]: "a sum saves nothing, so PyTorch has nothing to miss; ours frees every node",
    LINES[-3][0]: "the rule of a sum reads no value, so PyTorch watches none; ours watches all",
    LINES[-2][0]: "PyTorch records the change as an operation and gives z a new history",
    LINES[-1][0]: "likewise: y, a leaf until then, gets a history; ours refuses",
}


def answer(program: str, observed: str, library: Any) -> str:
    """Run a program with ``tensor`` and ``no_grad`` of a library; return ``observed`` as text.

    For a RuntimeError the text is the name of its type; for a warning " (warns)" is appended.
    """
    tensor = library.tensor
    names = {"tensor": tensor, "no_grad": library.no_grad}
    names |= {"x": tensor([1.0, 2.0], requires_grad=True), "y": tensor([3.0, 4.0])}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(program, names)
            value = eval(observed, names)
        except RuntimeError as error:
            return type(error).__name__
    return _text(value) + " (warns)" * bool(caught)


def _text(value) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_text, value))
    return str(value.detach().numpy().tolist() if hasattr(value, "detach") else value)


@pytest.fixture
def in_double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.usefixtures("in_double")
@pytest.mark.parametrize(("program", "observed"), LINES)
def test_a_line_differs_where_there_is_a_reason_and_only_there(program, observed):
    theirs, ours = (answer(program, observed, library) for library in (torch, tape))
    assert (theirs != ours) == (program in REASONS), (theirs, ours)


@pytest.mark.usefixtures("in_double")
def test_the_page_shows_the_lines_that_differ():
    text = "\n".join(cell.source for cell in nbformat.read(PAGE, as_version=4).cells)
    shown = re.findall(r"^\| `(.*?)` \| `(.*?)`: (.*?) \| (.*) \|$", text, re.MULTILINE)
    wanted = [(p, o, answer(p, o, torch), REASONS[p]) for p, o in LINES if p in REASONS]
    assert shown == wanted
    assert f"Of {len(LINES)} short programs" in text
    assert f"{len(LINES) - len(wanted)} have equal answers" in text

"""The README and the landing page: their code, picture, numbers and install line hold."""

import ast
import datetime
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
import zipfile
from pathlib import Path

import draw_pictures
import matplotlib
import nbformat
import numpy as np
import pytest
import torch
from PIL import Image

from persample_book import measured

ROOT = Path(__file__).resolve().parents[1]
README, LANDING = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "index.md"))
SNIPPET = re.compile(r"^```python\n(.*?)^```$\n\n^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SNIPPETS = SNIPPET.findall(README)
FIRST = nbformat.read(ROOT / "chapters/01_one_gradient_per_sample.ipynb", as_version=4)
CHAPTERS = sorted(path.stem for path in ROOT.glob("chapters/*.ipynb"))


def fresh(*arguments: str, cwd: Path) -> str:
    """Run Python in a new process and return what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_pages_have_the_same_snippets_each_with_its_output():
    assert len(SNIPPETS) == 2 == README.count("```python") == LANDING.count("```python")
    assert SNIPPET.findall(LANDING) == SNIPPETS


@pytest.mark.parametrize(("code", "output"), SNIPPETS, ids=["PyTorch", "NumPy"])
def test_a_snippet_runs_as_pasted_and_prints_what_stands_below_it(code, output, tmp_path):
    assert fresh("-c", code, cwd=tmp_path) == output


@pytest.fixture(scope="module")
def printed() -> str:
    """Return all that chapter 1 prints."""
    cells = (cell for cell in FIRST.cells if cell.cell_type == "code")
    return "".join(out.text for cell in cells for out in cell.outputs if "text" in out)


def found_in(printed: str, start: str) -> list[list[int]]:
    """Return the ranges that chapter 1 prints behind some words: "6 to 41" is [6, 41]."""
    line = re.search(rf"^{start}[ :]+(\d+ to .*)$", printed, re.MULTILINE)[1]
    return [[int(n) for n in pair] for pair in re.findall(r"(\d+) to (\d+)", line)]


@pytest.fixture(scope="module")
def ways() -> dict[int, dict[str, tuple[float, float]]]:
    """Return the fewest and most of 100 new images, for each way, as the picture has them."""
    reached = draw_pictures.reached()
    return {
        bad: {way: (min(runs), max(runs)) for way, runs in reached[f"{bad} bad images"].items()}
        for bad in (70, 140)
    }


LAST = "each image clipped", "pixels standardised", "removed by hand"


def test_the_percentages_are_those_of_the_picture(ways):
    ordinary, clipped, removed = map(ways[70].get, ("ordinary training", LAST[0], LAST[2]))
    ends = {"good": [], "other": []}
    for found in ways.values():
        for way, runs in found.items():
            if way != "ordinary training":
                ends["good" if way in LAST else "other"] += runs
    good, other = (f"{min(runs):.0f} to {max(runs):.0f}" for runs in ends.values())
    for page in (README, LANDING):
        assert f"recognises at most {ordinary[1]:.0f} % of new digits: it has learned" in page
        assert "it recognises {:.0f} to {:.0f} %, about as many".format(*clipped) in page
        assert "without the 70 ({:.0f} to {:.0f} %).**".format(*removed) in page
        assert (
            f": {other}. Each image clipped, pixels standardised, removed by hand: {good}" in page
        )
    for found in ways.values():  # no other remedy comes near, in its worst draw
        assert max(found["ordinary training"]) < 10
        assert found[LAST[0]][0] > max(found[way][0] for way in found if way not in LAST) + 10
        assert min(found[LAST[0]][0], found[LAST[1]][0]) > found[LAST[2]][0] - 2


def test_chapter_1_prints_the_runs_of_the_picture(printed):
    """Its table has the mean of each way, and other settings beside."""
    for place, bad in enumerate((70, 140)):
        for way, runs in draw_pictures.reached()[f"{bad} bad images"].items():
            line = re.search(rf"^{way}((?: +\d+)+)$", printed, re.MULTILINE)
            assert line[1].split()[place] == f"{np.mean(runs):.0f}"


def test_the_other_claims_are_what_chapter_1_prints(printed):
    assert "bad images:  norms  792 to 1148\n" in printed
    assert "good images: norms  2.9 to  4.6\n" in printed
    (rows,), (losses,) = found_in(printed, "row norm"), found_in(printed, "loss")
    assert rows <= losses  # wrong labels the loss finds as well
    capped, tens, clipped = (
        [low for low, _ in found_in(printed, way)]
        for way in ("losses capped at 5", "losses capped at 10", "each image clipped")
    )
    assert max(capped[0], tens[0]) >= clipped[0]
    assert max(capped[1], tens[1]) < clipped[1] - 5
    for page in (README, LANDING):
        assert "have norms of 792 to 1148, all others 2.9 to 4.6 (from zero weights)" in page
        assert "**find broken inputs** before the first step. (Wrong labels the loss find" in page
        assert "a well-chosen cap on the losses does as well for 70 bad images, and worse" in page


def test_the_price_is_the_one_measured(printed):
    run = measured.load(ROOT / "benchmarks/results")["default"]
    times, rows = (
        [run.passes(way, model) for model in run.models]
        for way in ("clipped sum", "torch.func vmap")
    )
    assert len(times) == len(rows) == 4
    date = datetime.date.fromisoformat(run.stored["date"])
    # The pasted loss makes the rows, and then an ordinary pass with a weight for each sample.
    pasted = f"takes {min(rows) + 1:.0f} to {max(rows) + 1:.0f} times as long with the lines of"
    package = f"{min(times):.1f} to {max(times):.1f} times with the book's package (CPU, four"
    for page in (README, LANDING):
        assert f"**Price:** a training step {pasted} chapter 1, and {package}" in page
        assert f"(CPU, four networks, {date:%d %B %Y}" in page
    assert f"rows from torch.func   {min(rows):.1f} to {max(rows):.1f}\n" in printed
    assert f"record.clipped_sum     {min(times):.1f} to  {max(times):.1f}\n" in printed


def pasted() -> tuple[list[str], list[str]]:
    """Return the imports and the three functions of chapter 1 that a reader pastes."""
    imports, functions = [], []
    for cell in FIRST.cells:
        if cell.id in ("c600b5de", "first-norms", "first-clipped"):
            for node in ast.parse(cell.source).body:
                source = ast.get_source_segment(cell.source, node)
                if isinstance(node, ast.Import | ast.ImportFrom):
                    imports.append(source)
                elif isinstance(node, ast.FunctionDef):
                    functions.append(source)
    return imports, functions


def test_the_pasted_lines_are_as_many_as_is_said():
    """Without empty lines and comments."""
    imports, functions = pasted()
    lines = [line.strip() for line in "\n".join(functions).splitlines()]
    assert len([line for line in lines if line and not line.startswith("#")]) == 18
    assert len(imports) == 3
    for page in (README, LANDING, FIRST.cells[2].source):
        assert "eighteen lines of PyTorch (21 with the imports)" in page


def test_the_pasted_loss_has_a_gradient_where_most_rows_are_zero():
    space = {}
    exec("\n".join(sum(pasted(), [])), space)
    model = torch.nn.Linear(2, 2, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(1e4 * torch.eye(2))  # the softmax is exactly 0 or 1
    x = torch.tensor([[1.0, 0]] * 3 + [[0, 1.0]], dtype=torch.float64)
    y = torch.tensor([0, 0, 0, 0])
    assert space["norms_of"](space["rows_of"](model, x, y)).tolist()[:3] == [0, 0, 0]
    space["bounded_loss"](model, x, y).backward()
    assert model.weight.grad.isfinite().all()
    assert model.weight.grad.abs().max() < 1e-11  # the page: nothing moves
    x[0, 0] = torch.nan
    assert space["bounded_loss"](model, x, y).isnan()


def pixels(path: Path) -> np.ndarray:
    """Return the pixels of a picture, colours weighted by opacity, and the opacity."""
    values = np.asarray(Image.open(path).convert("RGBA"), float)
    return np.concatenate([values[..., :3] * values[..., 3:] / 255, values[..., 3:]], axis=-1)


def test_the_committed_pictures_are_those_that_the_script_draws(tmp_path):
    kept = np.get_printoptions(), warnings.formatwarning, torch.get_default_dtype()
    threads = torch.get_num_threads()
    with matplotlib.rc_context():
        draw_pictures.draw(tmp_path)
    np.set_printoptions(**kept[0])
    warnings.formatwarning = kept[1]
    torch.set_default_dtype(kept[2])
    torch.set_num_threads(threads)
    drawn, stored = (sorted(p.name for p in f.iterdir()) for f in (tmp_path, draw_pictures.IMAGES))
    assert drawn == stored, "run python scripts/draw_pictures.py"
    for name in ("outcomes-light.png", "outcomes-dark.png"):
        old, new = pixels(draw_pictures.IMAGES / name), pixels(tmp_path / name)
        assert old.shape == new.shape
        assert np.abs(old - new).max() <= 24, f"{name}: run python scripts/draw_pictures.py"
    number = r"-?\d+(?:\.\d+)?"
    texts = [
        (folder / "overview.svg").read_text(encoding="utf-8")
        for folder in (tmp_path, draw_pictures.IMAGES)
    ]
    assert re.split(number, texts[0]) == re.split(number, texts[1])
    numbers = [[float(n) for n in re.findall(number, text)] for text in texts]
    np.testing.assert_allclose(*numbers, atol=0.01)


def test_every_file_that_the_readme_links_is_there_and_both_pages_show_the_picture():
    links = re.findall(r"\]\(([^)#]+)\)|(?:src|srcset)=\"([^\"]+)\"", README)
    names = {a or b for a, b in links}
    assert {Path(name).name for name in names} >= {"outcomes-light.png", "outcomes-dark.png"}
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert re.search(r"\{figure\} [\w/]*outcomes-light.png", LANDING)


def test_both_pages_list_every_chapter_in_order_by_its_title():
    listed = re.findall(r"^\d+\. \[(.*?)\]\(chapters/(\w+)\.ipynb\)", README, re.MULTILINE)
    assert [stem for _, stem in listed] == CHAPTERS
    assert re.findall(r"^\d+\. \{doc\}`chapters/(\w+)`", LANDING, re.MULTILINE) == CHAPTERS
    for title, stem in listed:
        first = nbformat.read(ROOT / f"chapters/{stem}.ipynb", as_version=4).cells[0].source
        assert re.search(r"^# (.*)$", first, re.MULTILINE)[1].startswith(title), stem


def test_the_commands_and_the_install_lines_name_what_there_is():
    first_screen = README[: README.index("\n## ")]
    assert "\n    make book " in first_screen
    assert "\n    make test " in first_screen
    assert len(first_screen.split()) < 350
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wheel = f"persample-{project['version']}-py3-none-any.whl"  # it lies beside the landing page
    for page, what in ((README, "."), (LANDING, wheel)):
        lines = re.findall(r"^ *pip install (\S+)", page, re.MULTILINE)
        assert [line.strip('"').partition("[")[0] for line in lines] == [what, what]
        extras = re.search(rf'"{re.escape(what)}\[(.*?)\]"', page)[1].split(",")
        assert set(extras) <= set(project["optional-dependencies"])
    assert f'href="files/{wheel}"' in LANDING
    assert f'href="files/per-sample-gradients-{project["version"]}.zip"' in LANDING


def test_the_wheel_runs_the_numpy_snippet_without_torch_and_jax(tmp_path):
    """`pip install .` installs this wheel; its two other packages are here already."""
    command = "import setuptools.build_meta as b; b.build_wheel({!r})"
    source = tmp_path / "source"  # a build leaves files behind
    shutil.copytree(ROOT / "src/persample", source / "src/persample")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    fresh("-c", command.format(str(tmp_path)), cwd=source)
    (wheel,) = tmp_path.glob("*.whl")
    modules = {p.relative_to(ROOT / "src").as_posix() for p in ROOT.glob("src/persample/**/*.py")}
    with zipfile.ZipFile(wheel) as archive:
        assert modules == {name for name in archive.namelist() if name.endswith(".py")}
    alone = (
        f"import sys; sys.path.insert(0, {str(wheel)!r})\n"
        "sys.modules['torch'] = sys.modules['jax'] = None    # cannot be imported\n"
    )
    code, output = SNIPPETS[1]
    where = "print('.whl' in ps.__file__)\n"
    assert fresh("-c", alone + code + where, cwd=tmp_path) == output + "True\n"


def test_no_address_is_invented():
    """Only `make repository` writes some, beginning with the book's own."""
    settings = (ROOT / "_config.yml").read_text(encoding="utf-8")
    own = re.search(r'^repository:\n  url: "(.*)"$', settings, re.MULTILINE)[1]
    services = ("https://colab.research.google.com", "https://mybinder.org")
    found = re.findall(r"https?://[^\s)]+|\w+@\w+", README + LANDING)
    assert [one for one in found if not (own and one.startswith((own, *services)))] == []

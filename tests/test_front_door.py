"""The README and the landing page: their code, picture, numbers and install line hold."""

import ast
import datetime
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import draw_pictures
import nbformat
import numpy as np
import pytest
import torch
from PIL import Image

from persample_book import measured
from persample_book.problems import mistyped, unscaled

ROOT = Path(__file__).resolve().parents[1]
README, LANDING = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "index.md"))
SNIPPET = re.compile(r"^```python\n(.*?)^```$\n\n^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SNIPPETS = SNIPPET.findall(README)
FIRST = nbformat.read(ROOT / "chapters/01_first_rows.ipynb", as_version=4)
CHAPTERS = sorted(path.stem for path in ROOT.glob("chapters/*.ipynb"))


def fresh(*arguments: str, cwd: Path) -> str:
    """Run Python in a new process and return what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed() -> str:
    """Return all that chapter 1 prints."""
    cells = (cell for cell in FIRST.cells if cell.cell_type == "code")
    return "".join(out.text for cell in cells for out in cell.outputs if "text" in out)


def test_every_python_block_is_followed_by_its_output_and_both_pages_have_the_same():
    assert len(SNIPPETS) == 2 == README.count("```python")
    assert SNIPPET.findall(LANDING) == SNIPPETS
    assert LANDING.count("```python") == 2


@pytest.mark.parametrize(("code", "output"), SNIPPETS, ids=["PyTorch", "NumPy"])
def test_a_snippet_runs_as_pasted_and_prints_what_stands_below_it(code, output, tmp_path):
    assert fresh("-c", code, cwd=tmp_path) == output


def percentages(bad: int) -> dict[str, tuple[float, float]]:
    """Return the fewest and most of 100 new images, for each way, as the picture has them."""
    runs = draw_pictures.reached()[f"{bad} bad images"]
    return {way: (min(each), max(each)) for way, each in runs.items()}


@pytest.mark.parametrize("page", [README, LANDING], ids=["README", "landing page"])
def test_the_percentages_are_those_of_the_picture(page):
    found = percentages(70)
    said = "recognises at most {:.0f} % of new digits: it has learned the wrong labels"
    assert said.format(found["ordinary training"][1]) in page
    clipped, removed = found["each image clipped"], found["removed by hand"]
    assert "it recognises {:.0f} to {:.0f} %, about as many".format(*clipped) in page
    assert "without the 70 ({:.0f} to {:.0f} %).**".format(*removed) in page


@pytest.mark.parametrize("bad", [70, 140])
def test_no_other_remedy_comes_near(bad):
    """Not in its worst draw, and not for more bad images than it was tuned for."""
    found = percentages(bad)
    clipped, removed = found.pop("each image clipped"), found.pop("removed by hand")
    standard = found.pop("pixels standardised")
    assert clipped[0] > max(worst for worst, _ in found.values()) + 10
    assert clipped[0] > removed[0] - 2
    assert standard[0] > removed[0] - 2


def test_the_words_for_the_picture_say_what_it_shows():
    both = [percentages(bad) for bad in (70, 140)]
    last = "each image clipped", "pixels standardised", "removed by hand"
    ranges = {}
    for kind, ways in (("good", last), ("other", {*both[0]} - {"ordinary training", *last})):
        runs = [n for found in both for way in ways for n in found[way]]
        ranges[kind] = f"{min(runs):.0f} to {max(runs):.0f}"
    assert max(found["ordinary training"][1] for found in both) < 10
    for page in (README, LANDING):
        assert f": {ranges['other']}. Each image clipped, pixels standardised, removed by " in page
        assert f"removed by hand: {ranges['good']}." in page


def test_the_rankings_are_those_that_chapter_1_prints():
    for line in ("bad images:  norms  792 to 1148", "good images: norms  2.9 to  4.6"):
        assert f"{line}\n" in printed()
    of = {
        name: re.search(rf"^{start} *: *(\d+ to \d+) of 90$", printed(), re.MULTILINE)[1]
        for name, start in (("rows", "row norm"), ("losses", "loss"))
    }
    rows, losses = ([int(n) for n in of[name].split(" to ")] for name in ("rows", "losses"))
    assert rows[0] <= losses[0]
    assert rows[1] <= losses[1]
    for page in (README, LANDING):
        assert "have norms of 792 to 1148, all others 2.9 to 4.6 (from zero weights)" in page
        assert "**find broken inputs** before the first step. (Wrong labels the loss find" in page


def test_the_runs_with_a_hidden_layer_are_those_that_chapter_1_prints():
    ways = "losses capped at 5", "losses capped at 10", "each image clipped", "removed by hand"
    said = {}
    for way in ways:
        found = re.search(rf"^{way} +(\d+ to \d+) +(\d+ to \d+)$", printed(), re.MULTILINE)
        said[way] = found.groups()
        for text, bad in zip(found.groups(), (70, 140), strict=True):
            kind, _, cap = way.partition(" at ")
            bound = float(cap) if cap else None
            runs = unscaled.with_hidden_layer(kind, range(12), bad=bad, bound=bound)
            assert f"{min(runs):.0f} to {max(runs):.0f}" == text
    worst = {way: [int(text.split()[0]) for text in texts] for way, texts in said.items()}
    capped, clipped = worst["losses capped at 5"], worst["each image clipped"]
    tens = worst["losses capped at 10"]
    assert max(capped[0], tens[0]) >= clipped[0]
    assert max(capped[1], tens[1]) < clipped[1] - 5
    for page in (README, LANDING):
        assert "a well-chosen cap on the losses does as well for 70 bad images, and worse" in page


def test_the_price_is_the_one_measured():
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
    assert f"rows from torch.func   {min(rows):.1f} to {max(rows):.1f}\n" in printed()
    assert f"record.clipped_sum     {min(times):.1f} to  {max(times):.1f}\n" in printed()


def test_chapter_1_prints_the_runs_of_the_picture():
    """Its table has the mean of each way, and other settings beside."""
    for place, bad in enumerate((70, 140)):
        for way, runs in draw_pictures.reached()[f"{bad} bad images"].items():
            line = re.search(rf"^{way}((?: +\d+)+)$", printed(), re.MULTILINE)
            assert line[1].split()[place] == f"{np.mean(runs):.0f}"


def test_the_alt_text_of_the_figure_of_chapter_1_has_its_numbers():
    ways = {bad: percentages(bad) for bad in (70, 140)}

    def span(*names: str) -> str:
        ends = [end for found in ways.values() for name in names for end in found[name]]
        return f"between {min(ends):.0f} and {max(ends):.0f}"

    (cell,) = [cell for cell in FIRST.cells if cell.id == "first-outcomes"]
    alt = cell.metadata["mystnb"]["image"]["alt"]
    others = "clip_grad_norm_", "losses capped", "largest losses left out"
    assert f"left out are scattered {span(*others)}, and fall" in alt
    assert f"removed by hand lie {span('each image clipped', 'removed by hand')} in both" in alt
    assert f"pixels standardised {span('pixels standardised')}." in alt


def test_a_chapter_takes_as_long_as_it_is_said_to():
    assert any("In twenty minutes you have" in cell.source for cell in FIRST.cells[:5])
    for page in (README, LANDING):
        assert "twenty minutes, and eighteen lines of PyTorch (21 with the imports)" in page


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
    assert "eighteen lines of PyTorch (21 with the imports)" in FIRST.cells[2].source


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


def test_every_image_of_the_gallery_carries_a_changed_label():
    """The twenty largest rows of chapter 1: its alt text says the first three."""
    given, scores = mistyped.scores(seed=0)
    shown = mistyped.ranked(scores["row norm"])[:20]
    assert given.wrong[shown].all()
    assert (given.digits[shown] != given.labels[shown]).all()
    pairs = list(zip(given.digits[shown], given.labels[shown], strict=True))
    said = "a {} was labelled {}, a {} was labelled {}, a {} was labelled {},".format(
        *(number for pair in pairs[:3] for number in pair)
    )
    (cell,) = [cell for cell in FIRST.cells if "relabelled" in cell.source]
    assert said in cell.metadata["mystnb"]["image"]["alt"]


def pixels(path: Path) -> np.ndarray:
    """Return the pixels of a picture, colours weighted by opacity, and the opacity."""
    values = np.asarray(Image.open(path).convert("RGBA"), float)
    return np.concatenate([values[..., :3] * values[..., 3:] / 255, values[..., 3:]], axis=-1)


def shape_of_svg(path: Path) -> tuple[list[str], list[float]]:
    """Return an SVG's text without its numbers, and the numbers."""
    text = path.read_text(encoding="utf-8")
    number = r"-?\d+(?:\.\d+)?"
    return re.split(number, text), [float(n) for n in re.findall(number, text)]


def test_the_committed_pictures_are_those_that_the_script_draws(tmp_path):
    fresh(draw_pictures.__file__, str(tmp_path), cwd=ROOT)
    drawn, stored = (sorted(p.name for p in f.iterdir()) for f in (tmp_path, draw_pictures.IMAGES))
    assert drawn == stored, "run python scripts/draw_pictures.py"
    for name in ("outcomes-light.png", "outcomes-dark.png"):
        old, new = pixels(draw_pictures.IMAGES / name), pixels(tmp_path / name)
        assert old.shape == new.shape
        assert old.shape[1] >= 2 * 638  # two pixels for each one of the page
        assert np.abs(old - new).max() <= 24, f"{name}: run python scripts/draw_pictures.py"
    (texts, numbers), (old_texts, old_numbers) = (
        shape_of_svg(folder / "overview.svg") for folder in (tmp_path, draw_pictures.IMAGES)
    )
    assert texts == old_texts
    np.testing.assert_allclose(numbers, old_numbers, atol=0.01)


def test_both_pages_show_the_picture_and_the_readme_has_one_for_dark_pages():
    assert '<img src="chapters/images/outcomes-light.png"' in README
    assert '"(prefers-color-scheme: dark)" srcset="chapters/images/outcomes-dark.png"' in README
    assert "{figure} chapters/images/outcomes-light.png" in LANDING


def test_every_file_that_the_readme_links_is_there():
    links = re.findall(r"\]\(([^)#]+)\)|(?:src|srcset)=\"([^\"]+)\"", README)
    names = {a or b for a, b in links}
    assert len(names) > 9
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_both_pages_have_a_line_for_every_chapter_in_order():
    assert re.findall(r"^\d+\. \[.*?\]\(chapters/(\w+)\.ipynb\)", README, re.MULTILINE) == CHAPTERS
    assert re.findall(r"^\d+\. \{doc\}`chapters/(\w+)`", LANDING, re.MULTILINE) == CHAPTERS


def test_the_readme_calls_every_chapter_by_its_own_title():
    titles = dict(re.findall(r"^\d+\. \[(.*?)\]\(chapters/(\w+)\.ipynb\)", README, re.MULTILINE))
    for title, stem in titles.items():
        first = nbformat.read(ROOT / f"chapters/{stem}.ipynb", as_version=4).cells[0].source
        heading = re.search(r"^# (.*)$", first, re.MULTILINE)[1]
        assert heading.startswith(title), stem


def test_the_two_commands_stand_on_the_first_screen():
    first_screen = README[: README.index("\n## ")]
    assert "\n    make book " in first_screen
    assert "\n    make test " in first_screen
    assert len(first_screen.split()) < 350


def test_the_install_lines_name_extras_that_there_are():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wheel = f"persample-{project['version']}-py3-none-any.whl"  # it lies beside the landing page
    for page, what in ((README, "."), (LANDING, wheel)):
        lines = re.findall(r"^ *pip install (\S+)", page, re.MULTILINE)
        assert [line.strip('"').partition("[")[0] for line in lines] == [what, what]
        extras = re.search(rf'"{re.escape(what)}\[(.*?)\]"', page)[1].split(",")
        assert extras == ["torch", "jax"]
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

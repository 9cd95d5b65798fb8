"""The README and the landing page: their code, picture, numbers and install line are right."""

import re
import tomllib
import zipfile
from functools import partial
from pathlib import Path

import draw_pictures
import matplotlib
import nbformat
import numpy as np
import pytest
from PIL import Image

from support import ROOT
from support.processes import python

README, LANDING = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "index.md"))
SNIPPET = re.compile(r"^```python\n(.*?)^```$\n\n^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SNIPPETS = SNIPPET.findall(README)
CHAPTERS = sorted(path.stem for path in ROOT.glob("chapters/*.ipynb"))


def test_both_pages_have_the_same_snippets_each_with_its_output():
    assert len(SNIPPETS) == 2 == README.count("```python") == LANDING.count("```python")
    assert SNIPPET.findall(LANDING) == SNIPPETS


@pytest.mark.parametrize(("code", "output"), SNIPPETS, ids=["NumPy", "PyTorch"])
def test_a_snippet_runs_as_pasted_and_prints_what_stands_below_it(code, output, tmp_path):
    assert python("-c", code, cwd=tmp_path).stdout == output


def test_the_numbers_of_the_picture_are_those_of_chapter_1():
    """Check that `.grad` looks like the 4 and the mean of the clipped gradients like a 3."""
    names = draw_pictures.computed()
    grad, x = -names["model"].weight.grad[3], names["x"]
    clipped, threes = -names["clipped"][3], x[:7].mean(0)
    cosine = partial(names["torch"].cosine_similarity, dim=0)
    assert cosine(grad, x[7]) > 0.95 > cosine(grad, threes)
    assert cosine(clipped, threes) > 0.98 > cosine(clipped, x[7])
    for page in (README, LANDING):
        assert "`.grad`, the mean of the eight gradients, shows a 4." in page
        assert "A look at the pixels would find this fault, too." in page


def pixels(path: Path) -> np.ndarray:
    """Return an image as RGBA with premultiplied alpha: float64, (height, width, 4), 0 to 255."""
    values = np.asarray(Image.open(path).convert("RGBA"), float)
    return np.concatenate([values[..., :3] * values[..., 3:] / 255, values[..., 3:]], axis=-1)


def test_the_committed_pictures_are_those_that_the_script_draws(tmp_path):
    with matplotlib.rc_context():
        draw_pictures.draw(tmp_path)
    drawn, stored = (sorted(p.name for p in f.iterdir()) for f in (tmp_path, draw_pictures.IMAGES))
    assert drawn == stored == ["digits-dark.png", "digits-light.png"]
    for name in drawn:
        old, new = pixels(draw_pictures.IMAGES / name), pixels(tmp_path / name)
        assert old.shape == new.shape
        assert np.abs(old - new).max() <= 24, f"{name}: run python scripts/draw_pictures.py"


def test_every_file_that_the_readme_links_is_there_and_both_pages_show_the_picture():
    links = re.findall(r"\]\(([^)#]+)\)|(?:src|srcset)=\"([^\"]+)\"", README)
    names = {a or b for a, b in links}
    assert {Path(name).name for name in names} >= {"digits-light.png", "digits-dark.png"}
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert re.search(r"\{figure\} [\w/]*digits-light.png", LANDING)


def test_both_pages_list_every_chapter_in_order_by_its_title():
    listed = re.findall(r"^\d+\. \[(.*?)\]\(chapters/(\w+)\.ipynb\)", README, re.MULTILINE)
    cards = re.findall(
        r'^(\d+)\. <img src="_static/([\w-]+\.svg)" width="160" alt="">\n\n'
        r" +\[(.*?)\]\(chapters/(\w+)\.ipynb\)\n\n +\S.*\?$",
        LANDING,
        re.MULTILINE,
    )
    assert [stem for _, stem in listed] == [stem for *_, stem in cards] == CHAPTERS
    assert [int(number) for number, *_ in cards] == list(range(1, len(CHAPTERS) + 1))
    for (short, stem), (_, drawing, title, _) in zip(listed, cards, strict=True):
        cells = nbformat.read(ROOT / f"chapters/{stem}.ipynb", as_version=4).cells
        assert re.search(r"^# (.*)$", cells[0].source, re.MULTILINE)[1] == title
        assert title.startswith(short)
        image = re.compile(r"!\[[^]]+\]\(\.\./_static/([\w-]+\.svg)\)")
        shown = [image.findall(cell.source) for cell in cells if cell.cell_type == "markdown"]
        assert drawing in next(filter(None, shown))  # the first text that has a drawing


def test_the_commands_and_the_install_lines_name_what_there_is():
    first_screen = README[: README.index("\n## ")]
    assert "\n    make book " in first_screen
    assert "\n    make test " in first_screen
    prose = README[: README.index("## The package in your own code")]
    prose = re.sub(r"^```.*?^```$|<[^>]*>|\]\([^)]*\)", "", prose, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= 500
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wheel = f"persample-{project['version']}-py3-none-any.whl"  # it lies beside the landing page
    for page, what in ((README, "."), (LANDING, wheel)):
        lines = re.findall(r"^ *pip install (\S+)", page, re.MULTILINE)
        assert [line.strip('"').partition("[")[0] for line in lines] == [what, what]
        extras = re.search(rf'"{re.escape(what)}\[(.*?)\]"', page)[1].split(",")
        assert set(extras) <= set(project["optional-dependencies"])
    assert f'href="files/{wheel}"' in LANDING
    assert f'href="files/per-sample-gradients-{project["version"]}.zip"' in LANDING


def test_the_wheel_runs_the_numpy_snippet_without_torch_and_jax(wheel, tmp_path):
    """Run the snippet from the wheel, with NumPy and other requirements from this environment."""
    modules = {p.relative_to(ROOT / "src").as_posix() for p in ROOT.glob("src/persample/**/*.py")}
    with zipfile.ZipFile(wheel) as archive:
        assert modules == {name for name in archive.namelist() if name.endswith(".py")}
    alone = (
        f"import sys; sys.path.insert(0, {str(wheel)!r})\n"
        "sys.modules['torch'] = sys.modules['jax'] = None    # cannot be imported\n"
    )
    code, output = SNIPPETS[0]
    where = "print('.whl' in ps.__file__)\n"
    assert python("-c", alone + code + where, cwd=tmp_path).stdout == output + "True\n"

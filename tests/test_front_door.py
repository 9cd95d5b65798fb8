"""The README and the landing page: their code, picture, numbers and install line hold."""

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
from PIL import Image

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


def test_the_numbers_beside_the_picture_are_those_that_chapter_1_prints():
    for count, found in ((20, 20), (90, 79)):
        assert f"wrong among the first {count}: {found}\n" in printed()
    for page in (README, LANDING):
        assert "Of 1,797 images, the twenty whose own gradients have the largest norms" in page
        assert "Every one of the twenty labels is wrong" in page
        assert "changed 90 labels on purpose; the first 90 images of this ranking hold 79" in page


def test_the_degrees_are_those_that_chapter_1_prints():
    """The broken image of the first step, whose loss is that of all others."""
    lines = (
        "norm of the broken image's row: 53",
        "largest of the others:          4.3",
        "mean:         45 degrees off",
        "clipped rows:  6 degrees off",
    )
    assert [line for line in lines if line not in printed().splitlines()] == []
    for page in (README, LANDING):
        assert "every image has the loss ln 10. One image of 64 whose pixels miss" in page
        assert "has a row of norm 53, the others at most 4.3." in page
        assert "It turns the step by 45 degrees; with clipped rows, by 6;" in page


def test_the_loss_is_said_to_rank_as_well_where_it_does():
    assert "wrong among the first 90 by loss: 79\n" in printed()
    for page in (README, LANDING):
        assert "A ranking by the loss finds as many." in page


def test_clipped_rows_train_as_well_as_chapter_1_says():
    """The accuracies in percent, worst draw and best: wide margins between the worst ones."""
    pattern = r"^{} +(\d+) to (\d+) +(\d+) to (\d+)$"
    ways = "mean", "clip_grad_norm_", "largest losses out", "rows clipped"
    found = {way: re.search(pattern.format(way), printed(), re.MULTILINE) for way in ways}
    worst = {way: int(match[3]) for way, match in found.items()}
    assert worst["mean"] + 5 < worst["clip_grad_norm_"] < worst["rows clipped"] - 5
    assert abs(worst["largest losses out"] - worst["rows clipped"]) < 3
    right = [int(match[1]) for match in found.values()]
    assert max(right) - min(right) < 5


def test_a_chapter_takes_as_long_as_it_is_said_to():
    assert "In twenty minutes you have" in FIRST.cells[2].source
    for page in (README, LANDING):
        assert "twenty minutes, and ten lines of PyTorch" in page
        assert "fifteen" not in page


def test_every_image_of_the_picture_carries_a_changed_label():
    given, shown = draw_pictures.worst()
    assert len(set(shown)) == 20
    assert given.wrong[shown].all()
    assert (given.digits[shown] != given.labels[shown]).all()
    # The alt texts say the first three.
    pairs = list(zip(given.digits[shown], given.labels[shown], strict=True))
    said = "a {} was labelled {}, a {} was labelled {}, a {} was labelled {},".format(
        *(number for pair in pairs[:3] for number in pair)
    )
    assert said in README
    assert said in LANDING


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
    for name in ("mislabelled-light.png", "mislabelled-dark.png"):
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
    assert '<img src="images/mislabelled-light.png"' in README
    assert '"(prefers-color-scheme: dark)" srcset="images/mislabelled-dark.png"' in README
    assert "{figure} images/mislabelled-light.png" in LANDING


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
    assert re.findall(r"https?://\S+|\w+@\w+", README + LANDING) == []

"""Every recipe runs as it stands, without persample, and its numbers are those of a loop."""

import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import pytest
from notebook_rules import RECIPE

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PAGE = ROOT / "reference" / "recipes.ipynb"
CELLS = {
    cell.id: cell
    for cell in nbformat.read(PAGE, as_version=4).cells
    if RECIPE in cell.metadata.get("tags", [])
}
CASES = [(name.partition("-")[0], name) for name in CELLS]

# A mistake in each recipe that its check must notice: what is written, and what is wrong.
SPOILED = {
    "torch-func": ("grad(loss_of_one), in", "grad(lambda *a: 2 * loss_of_one(*a)), in"),
    "torch-hooks": ('reduction="sum"', 'reduction="mean"'),
    "torch-norms": ("is None else 1", "is None else 0"),
    "torch-clipped": (".clamp(max=1)", ""),
    "torch-chunks": ("functional_call(model, parameters, x[None])", "model(x[None])"),
    "torch-list": ("(loss / len(episodes)).backward()", "loss.backward()"),
    "torch-accumulate": ("loss * len(x[part]) / N", "loss / 3"),
    "jax-tree": ('params["hidden"], params["out"]', 'params["hidden"], {**params["out"], "b": 0}'),
    "jax-apply": ("[y]", "[0]"),
    "jax-chunks": ("(g**2).sum() for", "jnp.abs(g).sum() for"),
    "jax-td": ("jax.lax.stop_gradient(target)", "target"),
    "numpy-linear": ("@ W.T + b - y", "@ W.T - y"),
    "numpy-two-layers": ("(1 - h**2)", "(1 - h)"),
}
# Where the mistake is in the loss itself, the program's own check makes it too.
SHARED = {"torch-hooks", "torch-chunks", "jax-tree", "jax-apply"}


def run(jobs: list[dict], folder: Path) -> list[dict]:
    """Run programs in a new interpreter, isolated, that starts in an empty folder."""
    done = subprocess.run(
        [sys.executable, "-I", TESTS / "recipe_runner.py", TESTS / "recipe_checks.py"],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def job(name: str, **more) -> dict:
    return {"source": CELLS[name].source, "check": name.replace("-", "_"), **more}


def jobs_of(name: str) -> dict[str, dict]:
    """Return what is run of a recipe: as it stands, in double precision, cut and spoiled.

    Spoiled without its own asserts, the loop alone has to notice.
    """
    spoiled = CELLS[name].source.replace(*SPOILED[name])
    return {
        "as it stands": job(name),
        "in double": job(name, double=True),
        "without its check": job(name, source=before_check(CELLS[name].source)),
        "spoiled": job(name, source=without_asserts(spoiled)),
        "spoiled, with its check": job(name, source=spoiled),
    }


def before_check(source: str) -> str:
    """Return what a reader keeps of a program: all above the line marked `# check`."""
    lines = source.splitlines()
    (marked,) = (number for number, line in enumerate(lines) if "# check" in line)
    return "\n".join(lines[:marked])


def without_asserts(source: str) -> str:
    """Return a program without its own checks."""

    class Drop(ast.NodeTransformer):
        def visit_Assert(self, node):
            return ast.copy_location(ast.Pass(), node)

    return ast.unparse(Drop().visit(ast.parse(source)))


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """Return a function: all results of a recipe. A framework is loaded once, when first asked."""

    @cache
    def of_framework(framework: str) -> dict:
        names = [name for kind, name in CASES if kind == framework]
        asked = {(name, how): job for name in names for how, job in jobs_of(name).items()}
        done = run([*asked.values()], tmp_path_factory.mktemp(framework))
        return dict(zip(asked, done, strict=True))

    return lambda framework, name, how: of_framework(framework)[name, how]


def stored(name: str) -> str:
    return "".join(out.text for out in CELLS[name].outputs)


def test_there_are_recipes_for_each_framework():
    assert {framework for framework, _ in CASES} == {"torch", "jax", "numpy"}
    assert SPOILED.keys() == CELLS.keys()


@pytest.mark.parametrize(("framework", "name"), CASES)
def test_a_recipe_prints_what_the_page_shows_and_agrees_with_a_loop(framework, name, results):
    result = results(framework, name, "as it stands")
    assert result["error"] == ""
    assert result["printed"] == stored(name) != ""


@pytest.mark.parametrize(("framework", "name"), CASES)
def test_no_printed_digit_depends_on_rounding(framework, name, results):
    result = results(framework, name, "in double")
    assert result["error"] == ""
    assert result["printed"] == stored(name)


@pytest.mark.parametrize(("framework", "name"), CASES)
def test_a_mistake_in_a_recipe_is_noticed(framework, name, results):
    assert CELLS[name].source.count(SPOILED[name][0]) == 1
    assert "AssertionError" in results(framework, name, "spoiled")["error"]


@pytest.mark.parametrize(("framework", "name"), CASES)
def test_what_follows_check_can_be_deleted(framework, name, results):
    source = CELLS[name].source
    check = source.removeprefix(before_check(source))
    assert "assert " in check
    assert "print(" not in check
    result = results(framework, name, "without its check")
    assert result["error"] == ""
    assert result["printed"] == stored(name)


OWN_CHECK = [case for case in CASES if case[1] not in SHARED]


@pytest.mark.parametrize(("framework", "name"), OWN_CHECK)
def test_the_check_of_a_recipe_notices_the_mistake(framework, name, results):
    error = results(framework, name, "spoiled, with its check")["error"]
    assert f'File "{name.replace("-", "_")}"' in error
    assert "AssertionError" in error


@pytest.mark.parametrize(("framework", "name"), CASES)
def test_what_a_reader_replaces_is_one_block(framework, name):
    blocks = before_check(CELLS[name].source).split("\n\n")
    marked = [block.strip() for block in blocks if "# yours" in block]
    assert len(marked) == 1
    assert marked[0].splitlines()[0].endswith("  # yours")


def test_the_page_and_the_entry_pages_say_how_many_and_with_which_versions():
    page = nbformat.read(PAGE, as_version=4).cells[0].source
    required = dict(
        line.split("==")
        for line in (ROOT / "requirements.txt").read_text().split()
        if "==" in line
    )
    for package in ("torch", "jax", "numpy"):
        assert f"{package} {required[package].rpartition('.')[0]}" in page
    assert len(CELLS) == 13
    for name in ("README.md", "index.md"):
        assert "has thirteen programs in PyTorch, JAX and NumPy" in (ROOT / name).read_text()


@pytest.mark.parametrize(("framework", "name"), CASES)
def test_a_recipe_imports_its_framework_alone(framework, name):
    assert imported(CELLS[name].source) == {framework}


def imported(source: str) -> set[str]:
    """Return the packages that a program imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("source", ["import persample", "from persample.losses import td_loss"])
def test_a_recipe_cannot_use_the_package(source, tmp_path):
    (result,) = run([{"source": source, "check": "close"}], tmp_path)
    assert "ModuleNotFoundError" in result["error"]
    assert imported(source) == {"persample"}


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "name"), CASES)
def test_a_recipe_runs_in_an_interpreter_of_its_own(framework, name, tmp_path):
    (result,) = run([job(name)], tmp_path)
    assert (result["printed"], result["error"]) == (stored(name), "")

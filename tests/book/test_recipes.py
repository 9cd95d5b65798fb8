"""Every recipe runs unchanged without persample, and its numbers are those of a loop."""

import json
import re
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest
from notebook_rules import programs

from support import ROOT
from support.processes import python

SUPPORT = ROOT / "tests/support"
PAGE = ROOT / "reference" / "recipes.ipynb"
RECIPES = programs(PAGE)
CASES = [(name.partition("-")[0], name) for name in RECIPES]


def run(jobs: list[dict], folder: Path) -> list[dict]:
    """Return the results of jobs that recipe_runner.py runs in an isolated interpreter."""
    runner = "-I", SUPPORT / "recipe_runner.py", SUPPORT / "recipe_checks.py"
    done = python(*runner, input=json.dumps(jobs), cwd=folder)
    assert done.stderr == ""
    return json.loads(done.stdout)


def job(name: str, **more) -> dict:
    return {"source": RECIPES[name][0], "check": name.replace("-", "_"), **more}


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """Return a function of (framework, recipe, variant) that returns the result of that job.

    All jobs of a framework run together when the first result is needed.
    """

    @cache
    def of_framework(framework: str) -> dict:
        names = [name for kind, name in CASES if kind == framework]
        asked = {(name, "in double"): job(name, double=True) for name in names}
        asked |= CLAIMED[framework]()
        done = run([*asked.values()], tmp_path_factory.mktemp(framework))
        return dict(zip(asked, done, strict=True))

    return lambda framework, name, how: of_framework(framework)[name, how]


def test_there_are_recipes_for_each_framework_and_the_pages_say_how_many():
    assert {framework for framework, _ in CASES} == {"torch", "jax", "numpy"}
    assert len(RECIPES) == 15
    for name in ("README.md", "index.md"):
        assert "has fifteen programs in PyTorch, JAX and NumPy" in (ROOT / name).read_text()
    page = nbformat.read(PAGE, as_version=4).cells[0].source
    for line in (ROOT / "requirements.txt").read_text().split():
        package, _, version = line.partition("==")
        if package in ("torch", "jax", "numpy"):
            assert f"{package} {version.rpartition('.')[0]}" in page


@pytest.mark.parametrize(("framework", "name"), CASES)
def test_a_recipe_prints_what_the_page_shows_and_agrees_with_a_loop(framework, name, results):
    """Run it in double precision, which must not change a printed digit."""
    result = results(framework, name, "in double")
    assert result["error"] == ""
    assert result["printed"] == RECIPES[name][1] != ""


# A model that is not the page's: another shape, no Sequential, a skip connection, parts frozen.
OTHER = """class Net(nn.Module):  # yours
    def __init__(self):
        super().__init__()
        self.first, self.middle = nn.Linear(5, 4), nn.Linear(4, 4, bias=False)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        h = torch.tanh(self.first(x))
        return self.out(h + torch.tanh(self.middle(h)))

model = Net()
for name, p in model.named_parameters():
    p.data.copy_(torch.arange(1.0, p.numel() + 1).sin().view(p.shape))
    p.requires_grad_(not name.startswith(FROZEN))
x = torch.arange(35.0).cos().view(7, 5)
y = DATA
episodes = [(x[:2], y[:2]), (x[2:6], y[2:6]), (x[6:], y[6:])]
"""
CLASSES, TARGETS = "torch.tensor([0, 1, 2, 0, 1, 2, 0])", "torch.arange(21.0).sin().view(7, 3)"
FROZEN = ["first", "out", ("first.weight", "middle", "out.weight")]
TORCH = [name for framework, name in CASES if framework == "torch"]


def of_another_model(name: str, frozen: str | tuple) -> dict:
    """Return the job of a recipe whose block `# yours` has another, partly frozen, model."""
    source, _ = RECIPES[name]
    (block,) = (block for block in source.split("\n\n") if "# yours" in block)
    data = CLASSES if "cross_entropy" in source else TARGETS
    other = OTHER.replace("FROZEN", repr(frozen)).replace("DATA", data)
    check = name.replace("-", "_")
    general = {"torch-list", "torch-accumulate"}
    return {
        "source": source.replace(block.strip("\n"), other),
        "check": f"{check}_of_any" if name in general else check,
    }


SEVERAL = """
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(2, 3), nn.Linear(4, 3)

    def forward(self, a, b):
        return self.one(a) * self.two(b)

model = Two()
batch = {"a": torch.arange(8.0).sin().view(4, 2), "b": torch.arange(16.0).cos().view(4, 4)}
y = torch.tensor([0, 1, 2, 0])

def loss_of_two(parameters, a, b, y):
    return cross_entropy(functional_call(model, parameters, (a[None], b[None])), y[None])

def loss_of_dict(parameters, batch, y):
    one = {k: v[None] for k, v in batch.items()}
    return cross_entropy(functional_call(model, parameters, (), one), y[None])

parameters = {k: p.detach() for k, p in model.named_parameters()}
rows = vmap(grad(loss_of_two), in_dims=(None, 0, 0, 0))(parameters, *batch.values(), y)
same = vmap(grad(loss_of_dict), in_dims=(None, 0, 0))(parameters, batch, y)
cross_entropy(model(**batch), y).backward()
for k, p in model.named_parameters():
    assert torch.allclose(rows[k].mean(0), p.grad, atol=1e-6)
    assert torch.equal(rows[k], same[k])
"""
ATTENTION = """
layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
x = torch.arange(160.0).sin().view(4, 5, 8)

def loss_of_one(parameters, x):
    return functional_call(model, parameters, (x[None],)).square().mean()

parameters = {k: p.detach() for k, p in model.named_parameters()}
with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    rows = vmap(grad(loss_of_one), in_dims=(None, 0))(parameters, x)
model(x).square().mean().backward()
for k, p in model.named_parameters():
    assert torch.allclose(rows[k].mean(0), p.grad, atol=1e-5)
"""
JAX_FROZEN = """
def loss_with(trained, frozen, x, y):
    return loss_of_one({**trained, **frozen}, x, y)

trained, frozen = {"out": params["out"]}, {"hidden": params["hidden"]}
some = jax.vmap(jax.grad(loss_with), in_axes=(None, None, 0, 0))(trained, frozen, x, y)
assert some.keys() == {"out"}
assert jnp.allclose(some["out"]["w"], rows["out"]["w"], atol=1e-6)
"""


def of_torch() -> dict:
    """Return {(recipe, change): job} of further programs in PyTorch."""
    asked = {(name, frozen): of_another_model(name, frozen) for name in TORCH for frozen in FROZEN}
    start = RECIPES["torch-func"][0].partition("\n\n")[0] + "\n"
    texts = {"several arguments": SEVERAL, "attention": ATTENTION}
    claims = {("torch-func", what): job("torch-func", source=start + text, check="nothing")
              for what, text in texts.items()}  # fmt: skip
    return asked | claims


# What the pages say of other models than their own.
CLAIMED = {
    "torch": of_torch,
    "jax": lambda: {
        ("jax-tree", "frozen"): job("jax-tree", source=RECIPES["jax-tree"][0] + JAX_FROZEN)
    },
    "numpy": dict,
}


@pytest.mark.parametrize("frozen", FROZEN, ids=str)
@pytest.mark.parametrize("name", TORCH)
def test_a_recipe_runs_with_a_model_that_is_not_its_own(name, frozen, results):
    result = results("torch", name, frozen)
    assert result["error"] == ""
    assert result["printed"] != ""


@pytest.mark.parametrize(
    "name", ["jax-tree frozen", *(f"torch-func {x}" for x in ("several arguments", "attention"))]
)
def test_what_the_first_recipes_say_of_other_models_holds(name, results):
    name, _, what = name.partition(" ")
    assert results(name.partition("-")[0], name, what)["error"] == ""


def test_the_pages_say_of_recurrent_layers_what_test_errors_page_finds():
    chapter = nbformat.read(ROOT / "chapters/01_one_gradient_per_sample.ipynb", as_version=4)
    for page in (nbformat.read(PAGE, as_version=4), chapter):
        said = " ".join(cell.source for cell in page.cells)
        assert re.search("`nn.GRU`, `nn.RNN`( and|,) float64 `nn.LSTM`", said)
        assert "(in float32, `nn.LSTM` runs on some CPUs)" in said
    said = nbformat.read(PAGE, as_version=4).cells[1].source
    assert "unless your model hands the layer an initial state made from its input" in said


# Programs that the notebook shows and does not run, since it needs no more than the frameworks.
OF_LIBRARIES = {"jax-equinox": ("equinox", 0.7), "jax-nnx": ("flax", 1.0)}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_LIBRARIES)
def test_a_recipe_for_models_of_a_library_agrees_with_a_loop_and_with_the_package(name, capsys):
    library, bound = OF_LIBRARIES[name]
    pytest.importorskip(library)
    import jax

    import persample as ps

    cells = nbformat.read(PAGE, as_version=4).cells
    (text,) = (cell.source for cell in cells if cell.id == f"{name}-text")
    source = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    names: dict = {}
    exec(compile(source, name, "exec"), names)
    assert capsys.readouterr().out == source.splitlines()[-1].removeprefix("# ") + "\n"

    loss, params, x, y = (names[k] for k in ("loss_of_one", "params", "x", "y"))
    loop = [jax.tree.leaves(jax.grad(loss)(params, *pair)) for pair in zip(x, y, strict=True)]
    norms = np.array([sum((g**2).sum() for g in row) ** 0.5 for row in loop])
    factors = np.minimum(1, bound / norms)
    assert 0 < (factors < 1).sum() < len(x), "some rows are clipped and some are not"
    total = [sum(f * g for f, g in zip(factors, g, strict=True)) for g in zip(*loop, strict=True)]
    assert_near(names["norms"], norms)
    assert_near(ps.per_sample_norms(loss)(params, x, y), norms)
    for clipped in names["clipped"], ps.clipped_grad_sum(loss)(params, x, y, max_norm=bound):
        for found, wanted in zip(jax.tree.leaves(clipped), total, strict=True):
            assert_near(found, wanted)
    for found, wanted in zip(jax.tree.leaves(names["rows"]), zip(*loop, strict=True), strict=True):
        assert_near(found, np.stack(wanted))


def assert_near(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)

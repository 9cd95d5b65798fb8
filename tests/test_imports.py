"""The package's layers: a module imports only from lines below its own, siblings not at all.

Read from the source by ``ast``, so that an import inside a function counts as well.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

import persample

ROOT = Path(persample.__file__).parent

# Top to bottom; modules of one line are siblings. A package stands for all of its modules.
LAYERS = [
    ["privacy"],
    ["statistics"],
    ["per_sample"],
    ["losses"],
    ["recorder"],
    ["recorder.capture"],
    ["recorder.passes", "recorder.reduction", "recorder.model"],
    ["recorder.sites", "recorder.replay"],
    ["recorder.rules"],
    ["recorder.layer_forms", "recorder.recording"],
    ["recorder.check"],
    ["recorder.forms", "recorder.graph"],
    ["recorder.axes"],
    ["recorder.buffers"],
    ["projection"],
    ["checks"],
    ["arrays"],
    ["backends"],
    ["backends.numpy_backend", "backends.torch_backend", "backends.jax_backend"],
    ["backends.base"],
    ["tape"],
    ["engine"],
    ["engine.jit"],
    ["engine.codegen", "engine.optimise"],
    ["engine.staging", "engine.batching", "engine.reverse"],
    ["engine.tracer", "engine.vjps"],
    ["engine.vjps_more", "engine.numpy_functions"],
    ["engine.numpy_calls.products", "engine.numpy_calls.shapes"],
    ["engine.numpy_calls.elementwise", "engine.numpy_calls.reductions"],
    ["engine.numpy_calls"],
    ["engine.namespace"],
    ["engine.functions.linalg"],
    ["engine.functions.along_axes", "engine.functions.products"],
    ["engine.functions.steps", "engine.functions.creation"],
    ["engine.functions.elementwise", "engine.functions.shapes"],
    ["engine.functions"],
    ["engine.indexing"],
    ["engine.operations"],
    ["engine.primitives"],
    ["engine.core", "engine.contraction"],
    ["batches", "names"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Who may import a framework, and where in the file.
FRAMEWORKS = {
    "torch": {
        ("backends.torch_backend", "top"),
        ("recorder.axes", "top"),
        ("recorder.capture", "top"),
        ("recorder.check", "top"),
        ("recorder.forms", "top"),
        ("recorder.graph", "top"),
        ("recorder.layer_forms", "top"),
        ("recorder.model", "top"),
        ("recorder.passes", "top"),
        ("recorder.reduction", "top"),
        ("recorder.replay", "top"),
        ("recorder.rules", "top"),
        ("recorder.sites", "top"),
    },
    "jax": {
        ("backends.jax_backend", "top"),
    },
}


@cache
def source_trees():
    """Return name -> (syntax tree, whether it is a package) of every module, as in LAYERS."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text()), path.name == "__init__.py"
    return found


def modules():
    """Return `source_trees` in a dict of one's own."""
    return dict(source_trees())


def room(name):
    """Return the entry of LAYERS that a module belongs to: its own, or its package's."""
    while name and name not in LEVEL:
        name = name.rpartition(".")[0]
    return name


def layer(name):
    """Return the line of a module's room; None if it has no room."""
    return LEVEL.get(room(name))


def imports(name, tree, is_package, known):
    """Yield (line, imported module, "top" or "function"), absolute names without the package's."""
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        place = "top" if id(node) in top else "function"
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.removeprefix("persample."), place
        elif isinstance(node, ast.ImportFrom):
            parts = name.split(".") if name else []
            up = node.level - is_package if node.level else 0
            base = parts[: len(parts) - up] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            base = base[1:] if base[:1] == ["persample"] else base
            for alias in node.names:
                full = ".".join([*base, alias.name])
                yield node.lineno, full if full in known else ".".join(base), place


def violations(found):
    """List every import that goes up or sideways, and every framework imported elsewhere."""
    wrong = []
    for name, (tree, is_package) in found.items():
        for line, target, place in imports(name, tree, is_package, found):
            where = f"{name or 'persample'}, line {line}: imports {target}"
            framework = target.partition(".")[0]
            if framework == "persample_book":
                wrong.append(f"{where}, which is the book's")
            if framework in FRAMEWORKS and (name, place) not in FRAMEWORKS[framework]:
                wrong.append(f"{where}, which belongs to its backend")
            if not name or target not in found:
                continue  # the package itself is above everything
            if layer(target) <= layer(name) and room(target) != room(name):
                wrong.append(f"{where}, which is not below it")
    return wrong


def test_every_module_has_a_layer():
    unknown = [name for name in modules() if name and layer(name) is None]
    assert unknown == []
    assert {"engine.core", "backends.torch_backend", "batches"} <= set(modules())


def test_no_import_goes_up_or_sideways():
    assert violations(modules()) == []


@pytest.mark.parametrize(
    ("name", "statement", "complaint"),
    [
        ("batches", "from .arrays import backend_of", "arrays, which is not below it"),
        ("arrays", "def f():\n    from . import losses", "losses, which is not below it"),
        ("engine.batching", "from .reverse import grad", "engine.reverse, which is not below"),
        ("engine.core", "from .. import per_sample", "per_sample, which is not below it"),
        ("arrays", "from persample_book import notebook", "persample_book, which is the book's"),
        ("engine.core", "from persample.losses import td_loss", "losses, which is not below it"),
        ("losses", "import persample.per_sample", "per_sample, which is not below it"),
        ("backends.torch_backend", "from . import jax_backend", "jax_backend, which is not below"),
        ("losses", "import torch.func", "torch.func, which belongs to its backend"),
        ("arrays", "def f():\n    import jax", "jax, which belongs to its backend"),
    ],
)
def test_a_wrong_import_is_found(name, statement, complaint):
    found = modules()
    found[name] = ast.parse(statement), found[name][1]
    assert [text for text in violations(found) if text.startswith(name) and complaint in text]

"""The package's layers: a module imports only from layers below its own in LAYERS.

Imports are read from the source by ``ast``, so that imports inside functions count too. The
modules that an import loads are listed in a separate process.
"""

import ast
from functools import cache
from pathlib import Path

import persample
from support.processes import python

ROOT = Path(persample.__file__).parent

# Top to bottom; modules on one line are siblings. A package includes all of its modules.
LAYERS = [
    ["clipping", "privacy"],
    ["per_sample"],
    ["losses"],
    ["recorder"],
    ["recorder.capture"],
    ["recorder.recording", "recorder.trial"],
    ["recorder.passes", "recorder.model"],
    ["recorder.check", "recorder.sites", "recorder.parameter_rows"],
    ["recorder.merging", "recorder.paths", "recorder.rules"],
    ["recorder.replay"],
    ["recorder.graph", "recorder.layer_forms", "recorder.recurrent"],
    ["recorder.axes", "recorder.forms"],
    ["recorder.layouts", "recorder.buffers"],
    ["statistics"],
    ["projection"],
    ["checks"],
    ["arrays"],
    ["backends"],
    ["backends.numpy_backend", "backends.torch_backend", "backends.jax_backend"],
    ["backends.base", "factored.in_engine", "factored.in_jax"],
    ["factored"],
    ["tape"],
    ["engine"],
    ["engine.jit"],
    ["engine.codegen", "engine.optimise"],
    ["engine.staging", "engine.batching", "engine.reverse"],
    ["engine.tracer", "engine.vjps"],
    ["engine.numpy_functions"],
    ["engine.numpy_calls.products", "engine.numpy_calls.shapes"],
    ["engine.numpy_calls.elementwise", "engine.numpy_calls.reductions"],
    ["engine.numpy_calls"],
    ["engine.namespace"],
    ["engine.functions.linalg"],
    ["engine.functions.along_axes", "engine.functions.products"],
    ["engine.functions.zero_derivative", "engine.functions.creation"],
    ["engine.functions.elementwise", "engine.functions.shapes"],
    ["engine.functions"],
    ["engine.indexing"],
    ["engine.operations"],
    ["engine.primitives"],
    ["engine.core", "engine.contraction"],
    ["batches", "names"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Who may import a framework, at the top of the file.
FRAMEWORKS = {
    "torch": ("backends.torch_backend", "recorder."),
    "jax": ("backends.jax_backend", "factored.in_jax"),
}


@cache
def source_trees():
    """Return {name as in LAYERS: (syntax tree, whether it is a package)} of every module."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text()), path.name == "__init__.py"
    return found


def room(name):
    """Return the name in LAYERS of a module or of the innermost package that contains it."""
    while name and name not in LEVEL:
        name = name.rpartition(".")[0]
    return name


def imports(name, tree, is_package, known):
    """Yield (line number, imported module relative to the package, whether at module level)."""
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = name.split(".") if name else []
            base = parts[: len(parts) - node.level + is_package] if node.level else []
            base += node.module.split(".") if node.module else []
            full = [".".join([*base, alias.name]) for alias in node.names]
            found = [x if x.removeprefix("persample.") in known else ".".join(base) for x in full]
        else:
            continue
        for target in found:
            yield node.lineno, target.removeprefix("persample."), id(node) in top


def violations(found):
    """List imports from the same or a higher layer, and frameworks imported in other modules."""
    wrong = []
    for name, (tree, is_package) in found.items():
        for line, target, at_top in imports(name, tree, is_package, found):
            where = f"{name or 'persample'}, line {line}: imports {target}"
            framework = target.partition(".")[0]
            if framework == "persample_book":
                wrong.append(f"{where}, which is the book's")
            if framework in FRAMEWORKS and not (at_top and name.startswith(FRAMEWORKS[framework])):
                wrong.append(f"{where}, which belongs to its backend")
            if not name or target not in found:
                continue  # the package itself is above everything
            if LEVEL[room(target)] <= LEVEL[room(name)] and room(target) != room(name):
                wrong.append(f"{where}, which is not below it")
    return wrong


def test_no_import_goes_up_or_sideways():
    found = source_trees()
    assert [name for name in found if name and not room(name)] == []
    assert {"engine.core", "backends.torch_backend", "batches"} <= set(found)
    assert violations(found) == []


# What is loaded: by the import alone, and where arrays are NumPy's.
LATE = ("numpy_functions", "numpy_calls", "recorder.capture", "recorder.forms", "torch_", "jax_")
NUMPY_PROGRAM = """
import numpy as np

rows = ps.per_sample_grad(ps.td_loss, jit=True, chunk_size=1)
rows(np.ones(2), np.ones((3, 2)), np.ones(3), np.ones((3, 2)))
ps.loop_grad(ps.squared_loss)(np.ones(2), np.ones((3, 2)), np.ones(3))
ps.mean_grad(ps.squared_loss)(np.ones(2), np.ones((3, 2)), np.ones(3))
ps.to_numpy(ps.stop_gradient(np.ones(2)))
ps.tape.tensor([1.0], requires_grad=True).sum().backward()
"""


def loaded_by(program):
    """Return the modules that are loaded when a program ends."""
    program = f"import sys, persample as ps\n{program}\nprint('loaded:', *sys.modules)"
    return python("-c", program).stdout.partition("loaded:")[2].split()


def test_importing_the_package_loads_no_more_than_it_needs():
    """Check that the modules in LATE and the frameworks are not loaded before they are used."""
    loaded = loaded_by("")
    assert "persample.per_sample" in loaded
    own = [name for name in loaded if name.startswith("persample")]
    assert [name for name in own if any(x in name for x in LATE)] == []
    assert {name.partition(".")[0] for name in loaded} & {"torch", "jax", "scipy"} == set()


def test_the_numpy_path_loads_neither_torch_nor_jax():
    loaded = {name.partition(".")[0] for name in loaded_by(NUMPY_PROGRAM)}
    assert loaded & {"torch", "jax", "jaxlib", "matplotlib"} == set()

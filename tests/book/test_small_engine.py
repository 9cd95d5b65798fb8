"""The engine of chapter 6, and the page that adds arrays to it.

Their cells need only NumPy, and the results agree with the package's. The losses use all the
primitives; each goes through every sequence of up to three of grad, vmap and jit.
"""

import importlib.util
import itertools
from functools import partial
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import write_small_engine

import persample as ps
from persample import engine
from persample.engine import namespace as xp
from persample_book import sources
from support.processes import python
from support.tolerances import assert_close

NOTEBOOK = nbformat.read(write_small_engine.CHAPTER, as_version=4)
ARRAYS = nbformat.read(write_small_engine.PAGE, as_version=4)
TRANSFORMS, AXES = ("grad", "vmap", "jit"), (None, 0, 0)
MIXTURES = [m for n in (1, 2, 3) for m in itertools.product(TRANSFORMS, repeat=n)]
SIZES = (2, 3, 2)  # of the batches of nested vmaps, from the outermost


def tagged(notebook):
    """Return the source of the cells that belong to the engine."""
    cells = [cell for cell in notebook.cells if "engine" in cell.metadata.get("tags", [])]
    return "\n\n".join(cell.source for cell in cells)


def load():
    """Return the written file of the engine as a new module, with arrays."""
    spec = importlib.util.spec_from_file_location("small_engine", write_small_engine.FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    exec(tagged(ARRAYS), vars(module))
    return module


small = load()
OURS = SimpleNamespace(
    grad=small.grad,
    vmap=small.vmap,
    jit=small.jit,
    tanh=small.tanh,
    hold=small.stop_gradient,
    total=small.total,
)
PACKAGE = SimpleNamespace(
    grad=engine.grad,
    vmap=engine.vmap,
    jit=engine.jit,
    tanh=xp.tanh,
    hold=ps.stop_gradient,
    total=xp.sum,
)


def test_the_file_is_the_cells_of_the_chapter():
    text = write_small_engine.FILE.read_text(encoding="utf-8")
    message = "run python scripts/write_small_engine.py"
    assert text == write_small_engine.joined(NOTEBOOK), message


def test_the_pages_say_how_many_lines_of_code_the_engine_has():
    """Count lines without blank lines, comments and docstrings."""
    text = write_small_engine.FILE.read_text(encoding="utf-8")
    of_numbers, whole = sources.code_lines(text), sources.code_lines(text + tagged(ARRAYS))
    assert of_numbers < 150 < whole <= 200
    assert sum(f"{of_numbers} lines of your own" in c.source for c in NOTEBOOK.cells) == 1
    assert sum(f"{whole} lines of NumPy" in c.source for c in ARRAYS.cells) == 1


@pytest.mark.parametrize("notebook", [NOTEBOOK, ARRAYS], ids=["numbers", "arrays"])
def test_the_cells_pasted_in_order_run_with_numpy_alone(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(write_small_engine.PAGE.parent)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    alone = [c.source for c in code if "compare" not in c.metadata.get("tags", [])]
    assert len(code) - 5 < len(alone) < len(code)
    blocked = "import sys\nfor name in ('torch', 'jax', 'persample'): sys.modules[name] = None"
    pasted = tmp_path / "pasted.py"
    pasted.write_text("\n".join([blocked, *alone]), encoding="utf-8")
    python(pasted)


TWO, THREE = np.array([0.7, -1.2]), np.array([0.4, -0.9, 1.3])
# The shapes of theta and x, and the loss in the functions of an engine.
LOSSES = {
    "vectors": ((3,), (3,), lambda m, t, x: m.tanh(t @ x) * x - 0.5 * t),
    "matrix, vector": ((2, 3), (3,), lambda m, t, x: m.tanh(t @ x) @ t + x * t),
    "vector, matrix": ((3,), (3, 2), lambda m, t, x: m.tanh(t @ x) * TWO - x),
    "matrices": ((2, 3), (3, 2), lambda m, t, x: m.tanh(t @ x) @ t - 2.0 * t),
    "column, row": ((3, 1), (1, 3), lambda m, t, x: m.tanh(t @ x) @ t - t),
    "row, matrix": ((3,), (2, 3), lambda m, t, x: (t * x + m.tanh(t - x)) @ THREE),
    "number, array": ((), (2, 3), lambda m, t, x: t * m.tanh(t - x) + THREE * t),
    "array, number": ((2, 3), (), lambda m, t, x: m.tanh(x * t) @ THREE + (x - t) @ THREE),
    "vector, cube": ((2,), (4, 3, 2), lambda m, t, x: m.tanh(t * x) + t * TWO),
    "cube, matrix": ((4, 3, 2), (3, 2), lambda m, t, x: m.tanh(x + t) * t - x),
    "held": ((3,), (2, 3), lambda m, t, x: m.hold(m.tanh(t * x)) * t + m.hold(t @ t) * t),
    "totals": ((3,), (3,), lambda m, t, x: m.total(t * x) * m.tanh(m.total(x * x) - t)),
    "theta alone": ((2, 3), (3,), lambda m, t, x: m.tanh(m.tanh(0.3 * t) * t)),
    "x alone": ((3,), (2, 3), lambda m, t, x: m.tanh(x) * 2.0 + 0.0 * t),
}


def mixed(kit, f, mixture):
    """Apply the transforms of ``kit`` named in ``mixture``, last name first; sum before grad."""
    for name in reversed(mixture):
        if name == "vmap":
            f = kit.vmap(f, (None, 0))
        elif name == "jit":
            f = kit.jit(f)
        else:
            f = kit.grad(lambda theta, x, f=f: kit.total(f(theta, x)))
    return f


@pytest.mark.parametrize("what", LOSSES)
def test_a_loss_agrees_with_the_package_under_every_mixture(what):
    of_theta, of_x, loss = LOSSES[what]
    rng = np.random.default_rng(0)
    for mixture in MIXTURES:
        batch = SIZES[: mixture.count("vmap")]
        given = rng.normal(size=of_theta), rng.normal(size=(*batch, *of_x))
        wanted = np.asarray(mixed(PACKAGE, partial(loss, PACKAGE), mixture)(*given))
        run = mixed(OURS, partial(loss, OURS), mixture)
        for _ in range(2):  # a program is run again
            found = np.asarray(run(*given))
            assert found.shape == wanted.shape, mixture
            assert_close(found, wanted, 1e-12, f"{what} under {mixture}")


def refusals():
    """Yield (call, exception class, part of its message) for programs that must raise."""
    x, ones = np.ones(3), np.ones
    question = r"no `if` here: .* is not one known number"
    no_array = "is no constant; jit needs it as an argument"
    tests = [lambda a: a > 0, lambda a: a < 0, lambda a: a == 1, lambda a: a != 1, bool]
    for test in tests:

        def choose(a, test=test):
            return a if test(a) else -a

        yield lambda f=choose: small.vmap(f, (0,))(x), TypeError, question
        yield lambda f=choose: small.jit(f)(1.0), TypeError, question
    for lost in (float, int, np.sum, np.tanh):
        yield lambda f=lost: small.grad(lambda a: f(a) * a)(2.0), TypeError, "Tracer"
    for lost in (lambda a: np.dot(a, x), lambda a: np.where(x > 0, a, 0.0), lambda a: (a, a)):
        yield lambda f=lost: small.grad(f)(x), TypeError, no_array
    yield lambda: small.vmap(lambda a: (a, a), (0,))(x), TypeError, no_array
    yield lambda: small.jit(lambda a: (a, a))(x), TypeError, no_array
    yield lambda: small.grad(lambda a: small.jit(lambda b: a * b)(2.0))(3.0), TypeError, no_array
    yield lambda: small.grad(small.tanh)(x), ValueError, "not one number"
    yield lambda: small.grad(lambda a: None)(x), ValueError, "the loss is None"
    yield lambda: small.add(ones((2, 1)), ones((2, 3))), ValueError, "do not fit"
    yield lambda: small.multiply(ones(2), ones((2, 3))), ValueError, "do not fit"
    yield lambda: small.matmul(ones((2, 1)), x), ValueError, r"shapes \(2, 1\) and \(3,\)"
    yield lambda: small.matmul(ones((2, 3)), 2.0), ValueError, r"shapes \(2, 3\) and \(\)"
    yield lambda: small.vmap(lambda a, b: a * b, (0, 0))(x, ones(2)), ValueError, "sizes"
    yield lambda: small.vmap(lambda a, b: a * b, (0, 1))(x, ones((2, 3))), ValueError, "axes"


def test_what_would_be_wrong_in_silence_is_refused():
    for call, error, words in refusals():
        with pytest.raises(error, match=words):
            call()


def test_an_if_under_grad_sees_the_number():
    for test in (lambda a: a > 1, lambda a: a < 3, lambda a: a == 2, lambda a: a != 3, bool):

        def cube(a, test=test):
            return a * a * a if test(a) else a

        assert small.grad(small.grad(cube))(2.0) == 12.0


def test_a_loss_that_does_not_depend_on_the_argument_has_the_gradient_zero():
    for loss in (3.0, np.float64(3.0), np.array(3.0)):
        assert small.grad(lambda x, loss=loss: loss)(2.0) == 0.0


def test_a_whole_number_stays_a_number():
    assert small.fit(2, (3,)) == 2
    assert "multiply(x, 2)" in small.record(lambda x: 2 * x, x=np.ones(3))[0]


def test_a_program_has_numbers_that_are_not_finite():
    for number in (np.inf, -np.inf, np.nan, 1e300, np.float64(0.1)):
        run = small.jit(lambda x, number=number: x * number)
        run(2.0)
        np.testing.assert_array_equal(run(1.0), number)


def test_the_levels_are_needed():
    """Show that the page's first `choose`, which takes the first trace, gives wrong results."""
    (first,) = (c.source for c in NOTEBOOK.cells if "return traces[0]" in c.source)
    exec(first, vars(early := load()))
    for module, found in ((early, 0.0), (small, 6.0)):
        square = module.grad(lambda x, grad=module.grad: x * grad(lambda y: x * y)(2.0))
        assert square(3.0) == found


def test_the_table_says_who_wrote_each_line():
    texts = [cell.source for cell in NOTEBOOK.cells]
    (table,) = [text for text in texts if "| lines | written by |" in text]
    first, x = SimpleNamespace(), np.ones(2)
    exec(tagged(NOTEBOOK), vars(first))  # without the arrays

    def loss(w, x, y):
        delta = x * w - y
        return 0.5 * delta * delta

    def program(f, x):
        text, _scope = first.record(f, w=2.0, x=x, y=x)
        return dict(line.split(" = ") for line in text.split("\n    ")[1:-1])

    forwards = program(first.vmap(loss, AXES), x)
    lines, of_one = program(first.vmap(first.grad(loss), AXES), x), program(first.grad(loss), 1.0)
    shared = [name for name in lines if lines[name] == forwards.get(name)]
    backwards = [name for name in lines if name not in shared]
    for names in ((shared[0], shared[-1]), (backwards[0], backwards[-1])):
        assert "| `{}` to `{}` |".format(*names) in table
    assert lines == of_one  # vmap has written none
    assert lines["_3"] == "add(_1, _2)"
    assert lines["_10"] == "add(_7, _8)"
    assert "| none | `vmap`" in table


def test_the_three_transforms_are_complete_before_the_loss_of_chapter_5():
    """Check their number of lines on the page, with only sums and products as primitives."""
    cells = [cell for cell in NOTEBOOK.cells if cell.cell_type == "code"]
    end = next(k for k, cell in enumerate(cells) if cell.source.startswith("compiled = jit("))
    kept = [c.source for c in cells[:end] if "engine" in c.metadata.get("tags", [])]
    lines = sources.code_lines("\n\n".join(kept))
    assert sum(f"complete, in {lines} lines" in cell.source for cell in NOTEBOOK.cells) == 1


def test_an_array_may_stand_on_the_left_of_a_number():
    ours = small.grad(lambda x: small.total(np.array([1.0, 2.0]) * x))
    assert ours(3.0) == small.grad(lambda x: np.float64(3.0) * x)(2.0) == 3.0

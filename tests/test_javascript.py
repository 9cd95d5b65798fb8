"""What the book's live figures compute, in a browser, against the same functions in Python."""

from itertools import islice

import numpy as np
import pytest
from optree import tree_leaves
from random_programs import Program
from specs import CASE_IDS, CASES
from tolerances import assert_close

from persample import losses
from persample.engine import grad, jit, make_graph, value_and_grad, vmap
from persample.engine import namespace as xp
from persample.engine.primitives import PRIMITIVES, apply
from persample_book.javascript import javascript
from persample_book.javascript.arrays import ARRAYS
from persample_book.javascript.program import KINDS
from persample_book.javascript.scalars import SCALARS, TRUTH

EXACT = 1e-12
CALL = "([source, args]) => { const f = eval(`(${source})`); return [f(...args)].flat()" + (
    ".map((x) => typeof x === 'number' ? x : Array.from(x)); }"
)
FEW = {"nextafter", "argsort", "solve", "cholesky", "log_abs_det", "sign_of_det"}
WHOLE = {"bitwise_left_shift", "bitwise_right_shift"}  # of integers, which JavaScript lacks


@pytest.fixture(scope="module")
def page(chromium):
    page = chromium.new_page()
    yield page
    page.close()


def run(page, f, *args) -> list[np.ndarray]:
    """Run a function in the browser; return its results in the shapes that Python gives them."""
    outputs = jit(f).graph(*args).outputs
    flat = [x for arg in args for x in tree_leaves(arg) if hasattr(x, "shape")]
    given = [np.asarray(x, float).ravel().tolist() if x.shape else float(x) for x in flat]
    found = page.evaluate(CALL, [javascript(f, *args), given])
    return [np.reshape(x, v.shape) for x, v in zip(found, outputs, strict=True)]


def check(page, f, *args, what="") -> None:
    expected = tree_leaves(f(*args))
    assert_close(run(page, f, *args), [np.asarray(x, float) for x in expected], EXACT, what)


def has_form(name, case) -> bool:
    """Say whether JavaScript has a form: whole numbers have no bits there, and floats are 64."""
    args = case.draw()
    kinds = {x.dtype.kind for x in args}
    dtypes = {x.dtype for x in (*args, apply(name, *args, **case.params))}
    if name in FEW | WHOLE or (name in TRUTH and kinds != {"b"}):
        return False
    return dtypes <= KINDS


KNOWN = [pair for pair in zip(CASES, CASE_IDS, strict=True) if has_form(*pair[0])]


@pytest.mark.parametrize(("name", "case"), [pair[0] for pair in KNOWN], ids=[p[1] for p in KNOWN])
def test_a_primitive_and_its_gradient(page, name, case):
    args = case.draw(seed=3)

    def f(*xs):
        return apply(name, *xs, **case.params)

    check(page, f, *args, what=name)
    real = tuple(i for i, x in enumerate(args) if x.dtype.kind == "f")
    if real and f(*args).dtype.kind == "f":
        check(page, grad(lambda *xs: xp.sum(xp.tanh(f(*xs))), real), *args, what=name)


def test_most_cases_of_the_table_are_tried():
    assert len(KNOWN) > 0.8 * len(CASES)
    assert {name for (name, _), _ in KNOWN} == set(PRIMITIVES) - FEW - WHOLE


def test_every_primitive_has_a_form_or_is_named_here():
    missing = set(PRIMITIVES) - {*SCALARS, *ARRAYS, "astype"}
    assert missing == FEW | WHOLE


@pytest.mark.parametrize("chunk", range(10))
def test_rows_and_values_of_random_losses(page, chunk):
    """Ten losses of each chunk, a hundred in all; those in single precision are left out."""
    programs = filter(in_float64, map(Program, range(chunk, 1000, 10)))
    for program in islice(programs, 10):
        rows = vmap(value_and_grad(lambda *xs, p=program: p(xp, *xs), (0, 1, 2)))
        check(page, rows, *program.inputs, what=str(program))


def in_float64(program) -> bool:
    return all(step[0] != "float32 and back" for step in program.steps)


BOOK = {
    "td_loss": [(3,), (3,), (), (3,)],
    "squared_loss": [(3,), (3,), ()],
    "logistic_loss": [(3,), (3,), ()],
}


@pytest.mark.parametrize("name", BOOK)
def test_rows_of_the_losses_of_the_book(page, name):
    rng = np.random.default_rng(0)
    theta, *sample = [rng.normal(size=(5, *shape)) for shape in BOOK[name]]
    rows = vmap(grad(getattr(losses, name)), (None, *[0] * len(sample)))
    check(page, rows, theta[0], *sample)


def test_rows_of_a_classifier(page):
    rng = np.random.default_rng(0)
    params = {"W": rng.normal(size=(4, 3)), "b": rng.normal(size=3)}

    def loss(params, x, label):
        return losses.cross_entropy_loss(xp.matmul(x, params["W"]) + params["b"], label)

    rows = vmap(grad(loss), (None, 0, 0))
    check(page, rows, params, rng.normal(size=(6, 4)), np.array([0, 2, 1, 1, 0, 2]))


def test_results_share_memory_with_nothing(page):
    def f(x, y):
        z = y * 2.0
        return x, x, z, xp.reshape(x, (2, 1)), z, xp.reshape(xp.exp(z), (1, 2)), np.ones(2)

    source = javascript(f, np.ones(2), np.ones(2))
    program = """(source) => {
      const f = eval(`(${source})`), x = [1, 2], y = [3, 4];
      const outs = f(x, y);
      outs.forEach((out, i) => out.fill(10 * i));
      return [[x, y], outs.map((out) => Array.from(out)), new Set([x, y, ...outs]).size];
    }"""
    kept, outs, different = page.evaluate(program, source)
    assert kept == [[1, 2], [3, 4]]
    assert outs == [[10 * i, 10 * i] for i in range(7)]
    assert different == 9


def test_what_is_read_twice_is_computed_once():
    def f(x, y):
        z = xp.exp(x)
        rows = xp.reshape(z * y, (3, 1)) * xp.ones((3, 4))  # each number is read four times
        return z * z + xp.permute_dims(xp.reshape(z, (3, 1)), (1, 0))[0], rows

    source = javascript(f, np.ones(3), np.ones(3))
    assert source.count("Math.exp") == 1
    assert source.count("new Float64Array(12)") == 1
    (line,) = [line for line in source.splitlines() if "4 * i + j" in line]
    assert "y[" not in line


def test_a_constant_that_is_returned_is_not_copied(page):
    constant = np.array([1.0, -2.0])

    def f(x):
        return constant, constant, x + constant

    check(page, f, np.ones(2))
    source = javascript(f, np.ones(2))
    assert source.count("Float64Array.of(1.0, (-2.0))") == 1
    assert source.count("new Float64Array(2)") == 2  # the second time, and the sum


def test_names_and_numbers_that_javascript_reads_otherwise(page):
    def new(let, function, Math, i, wrap):
        return let * function + xp.exp(Math) * i - wrap * -1.5 + 1e-300 + 0.1

    check(page, new, *np.arange(1.0, 6.0))
    check(page, lambda x: xp.where(x < 0, xp.inf, x) - (-x), np.array([-1.0, 2.0]))
    check(page, lambda x: x + np.array([1e-17, 1 / 3, -2.0]), np.ones(3))
    check(
        page,
        lambda x, y: -xp.negative(x) - (-y) - (x - y) / (x / y),
        np.float64(3.0),
        np.float64(7.0),
    )
    check(page, lambda x, y: (x < y) == (y < x), np.float64(3.0), np.float64(7.0))


def test_a_comparison_of_truth_values(page):
    def f(x, y):
        return apply("less", apply("equal", x, y), apply("less_equal", x, y))

    check(page, f, np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]))


def test_halves_and_signs(page):
    check(page, xp.round, np.array([0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, -3.5, 2.3, 1e17]))
    x, y = np.array([7.0, -7.0, 7.0, -7.0, 6.0, -6.0]), np.array([3.0, 3, -3, -3, -3, 3])
    check(page, lambda x, y: (xp.remainder(x, y), xp.floor_divide(x, y)), x, y)
    check(page, xp.signbit, np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf]))
    check(page, lambda x: xp.logaddexp(x, x[::-1]), np.array([-np.inf, 1000.0, -np.inf]))


def test_indices_from_the_end_and_empty_axes(page):
    check(page, lambda x: xp.take(x, np.array([-1, 0, -2])), np.arange(4.0))
    check(page, lambda x: xp.sum(x, axis=0), np.ones((0, 2)))
    check(page, lambda x: xp.concat([x[:0], x[::-1]]), np.arange(3.0))


@pytest.mark.parametrize(
    ("f", "args", "message"),
    [
        (lambda x: xp.linalg.cholesky(x), [np.eye(2)], "no form for cholesky; .* can use abs,"),
        (lambda x: xp.sum(x), [np.ones(2, "float32")], "in float64; float32 has no form"),
        (lambda x: xp.bitwise_and(x, 3), [np.arange(3)], "no form for bitwise_and"),
        (lambda x: xp.bitwise_invert(x), [np.arange(3)], "no form for bitwise_invert"),
    ],
)
def test_what_a_page_cannot_compute_is_refused(f, args, message):
    with pytest.raises(NotImplementedError, match=message):
        javascript(f, *args)


def test_a_wrong_form_is_found_out(page, monkeypatch):
    monkeypatch.setitem(SCALARS, "exp", lambda x: SCALARS["multiply"](x, x))
    with pytest.raises(AssertionError):
        check(page, lambda x: xp.exp(x), np.arange(3.0))


def test_a_program_says_the_shapes_it_is_for():
    source = javascript(grad(losses.squared_loss), np.ones(2), np.ones(2), np.ones(()))
    assert "// theta[2], x[2], y[] -> [2]" in source
    assert make_graph(losses.squared_loss)(np.ones(2), np.ones(2), np.ones(())).inputs

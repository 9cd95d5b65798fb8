"""Losses that write into a NumPy array: rows are right, or the error names a remedy."""

import re
from functools import partial

import numpy as np
import pytest

from persample import engine
from persample.backends import BACKENDS
from support.cases import WAYS, arrays
from support.errors_page import PAGE
from support.missing import MISSING
from support.tolerances import assert_close

THETA, X = np.array([1.0, 2.0, -0.5]), np.array([1.0, 3.0, -2.0, 0.5])


# Each fills an array by parts, and has the name of how it does it.
def one_number(theta, x):
    r = np.zeros(3)
    r[0] = theta[0] * x
    r[2] = theta[1] * x * x
    return np.sum(r)


def step_by_step(theta, x):
    """Compute each entry from the one before, as a filter or an integration does."""
    h = np.empty(4)
    h[0] = x
    for i in range(3):
        h[i + 1] = np.tanh(theta[i] * h[i])
    return h[-1]


def from_behind(theta, x):
    r = np.ones(3)
    r[-1] = np.exp(theta @ theta) / x
    return r @ r


def entry_of_a_matrix(theta, x):
    a = np.eye(2)
    a[0, 1] = theta[0] * x
    a[1, 0] = theta[2]
    return np.sum(a @ a)


def rotation(theta, x):
    r = np.zeros((2, 2))
    r[0, 0] = r[1, 1] = np.cos(theta[0])
    r[1, 0] = np.sin(theta[0])
    r[0, 1] = -r[1, 0]
    return (r @ np.array([1.0, 2.0]))[0] * x


def line_of_a_matrix(theta, x):
    a = np.zeros((2, 3))
    a[1] = theta * x
    return np.sum(a)


def column(theta, x):
    a = np.zeros((3, 2))
    a[:, 1] = theta * x
    return np.sum(a * a)


def line_from_a_list(theta, x):
    a = np.zeros((2, 2))
    a[0] = [theta[0], theta[1] * x]
    return np.sum(a)


def by_a_mask(theta, x):
    r = np.zeros(5)
    r[np.array([True, False, True, True, False])] = theta
    return x * np.sum(r)


def by_indices(theta, x):
    r = np.zeros(4)
    r[[2, 0, 3]] = theta
    return x * (r @ np.arange(4.0))


def by_an_ellipsis(theta, x):
    r = np.zeros(3)
    r[...] = theta
    return x * np.sum(r)


def of_no_axes(theta, x):
    r = np.zeros(())
    r[()] = theta[0] * x
    return 1.0 * r


def flat_number(theta, x):
    a = np.zeros((2, 2))
    a.flat[3] = theta[0] * x
    return np.sum(a)


def flat_part(theta, x):
    a = np.zeros((2, 2))
    a.flat[1:] = theta * x
    return np.sum(a)


def half_precision(theta, x):
    r = np.zeros(2, np.float16)
    r[1] = theta[1] * x
    return np.sum(r)


def like_the_parameters(theta, x):
    r = np.zeros_like(theta)
    r[1] = theta[1] * x
    return np.sum(r)


def like_the_data(theta, x):
    r = np.full_like(x, 2.0)
    r[()] = theta[1] * x
    return np.sum(r)


def a_copy(theta, x):
    r = theta.copy()
    r[0] = x * theta[0]
    return np.sum(r)


def added_to(theta, x):
    r = np.ones(2)
    for i in range(3):
        r[i % 2] += theta[i] * x
    return r[0] * r[1]


def part_added_to(theta, x):
    r = np.ones(4)
    r[1:] += theta * x
    return np.sum(r)


def whole_multiplied(theta, x):
    r = np.ones(3)
    r *= theta * x
    return np.sum(r)


def filled(theta, x):
    r = np.zeros(2)
    r.fill(theta[0] * x)
    return np.sum(r)


def diagonal(theta, x):
    a = np.zeros((3, 3))
    np.fill_diagonal(a, theta * x)
    return np.sum(a)


def copied_into(theta, x):
    r = np.zeros(3)
    np.copyto(r, theta * x)
    return np.sum(r)


def put(theta, x):
    r = np.zeros(3)
    np.put(r, [0, 1, 2], theta * x)
    return np.sum(r)


def scattered(theta, x):
    """Add up entries by index with np.add.at, as in a histogram."""
    r = np.zeros(2)
    np.add.at(r, [0, 1, 0], theta * x)
    return r[0] * r[1]


def out_of_a_function(theta, x):
    r = np.zeros(3)
    np.multiply(theta, x, out=r)
    return np.sum(r)


def field(theta, x):
    r = np.zeros(1, [("a", float), ("b", float)])
    r[0]["a"] = theta[0] * x
    return np.sum(r["a"])


def from_an_iterator(theta, x):
    return np.sum(np.fromiter((theta[i] * x for i in range(3)), float))


def in_a_view(theta, x):
    a = np.zeros((2, 2))
    line = a[1]
    line[0] = theta[0] * x
    return np.sum(a)


def of_another_function(theta, x):
    def fill(r, values):
        for i, value in enumerate(values):
            r[i] = value
        return r

    return np.sum(fill(np.zeros(3), theta * x))


def of_objects(theta, x):
    r = np.empty(2, object)
    r[0], r[1] = theta[0] * x, theta[1] * x
    return r[0] * r[1]


PROGRAMS = [
    *(one_number, step_by_step, from_behind, entry_of_a_matrix, rotation, line_of_a_matrix),
    *(column, line_from_a_list, by_a_mask, by_indices, by_an_ellipsis, of_no_axes, flat_number),
    *(flat_part, half_precision, like_the_parameters, like_the_data, a_copy, added_to),
    *(part_added_to, whole_multiplied, filled, diagonal, copied_into, put, scattered),
    *(out_of_a_function, field, from_an_iterator, in_a_view, of_another_function, of_objects),
]
CURE = "stack|concat|use the result"  # a = a + x for a += x


def said(error):
    """Return the messages and notes of an error and of its causes, one per line."""
    texts = []
    while error is not None:
        texts += [str(error), *getattr(error, "__notes__", ())]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(texts)


def exact(program, x):
    """Return the gradient of program(theta, x) at THETA by central differences."""
    columns = []
    for step in 1e-4 * np.eye(3):
        up, down = program(THETA + step, x), program(THETA - step, x)
        columns.append(float(up - down) / 2e-4)
    return np.array(columns)


def right_or_cured(call, expected):
    error = None
    try:
        found = call()
    except (TypeError, ValueError) as caught:
        error = caught
    if error is None:
        assert_close(found, expected, 1e-6)
        return
    assert re.search(CURE, said(error)), said(error)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_loss_that_fills_an_array_is_right_or_says_how_to_write_it(program, way):
    if program is not half_precision:
        expected = np.stack([exact(program, x) for x in X])
    else:
        expected = np.stack([[0.0, x, 0.0] for x in X])
    right_or_cured(lambda: WAYS[way](program)(THETA, X), expected)


@pytest.mark.parametrize("program", [one_number, added_to, flat_number, line_from_a_list])
def test_so_does_vmap_alone_where_no_gradient_is_asked_for(program):
    expected = np.array([program(THETA, x) for x in X])
    for run in (engine.vmap(program, (None, 0)), engine.jit(engine.vmap(program, (None, 0)))):
        right_or_cured(partial(run, THETA, X), expected)


@pytest.mark.parametrize("program", [one_number, flat_number, filled, step_by_step])
def test_so_does_jit_alone(program):
    right_or_cured(lambda: engine.jit(program)(THETA, np.float64(3.0)), program(THETA, 3.0))


def test_an_error_of_numpys_that_has_nothing_to_do_with_it_keeps_its_words():
    """Assign a list where a number is needed, and an array of the wrong shape."""

    def ragged(theta, x):
        r = np.zeros(2)
        r[0] = [1.0, 2.0]
        return theta @ theta * x

    def uneven(theta, x):
        r = np.zeros(2)
        r[:] = np.ones(3)
        return theta @ theta * x

    for program, words in ((ragged, "with a sequence"), (uneven, "broadcast")):
        for way in WAYS.values():
            with pytest.raises(ValueError, match=words) as caught:
                way(program)(THETA, X)
            assert not re.search("stack|concat", said(caught.value))


def test_a_work_array_of_data_alone_is_no_fault():
    """Write numbers that depend neither on a parameter nor on the sample."""

    def smoothed(theta, x):
        kernel = np.zeros(3)
        for i in range(3):
            kernel[i] = 0.5**i
        kernel[1:] *= 2
        return theta @ kernel * x

    for way in WAYS.values():
        assert_close(way(smoothed)(THETA, X), X[:, None] * np.array([1.0, 1.0, 0.5]))


# The cures, as the sentence has them.
def stacked(theta, x):
    return np.sum(np.stack([theta[0] * x, 0 * x, theta[1] * x * x]))


def joined(theta, x):
    a = np.concatenate([np.zeros(1), theta * x])
    return np.sum(a * a)


def listed(theta, x):
    h = [x]
    for i in range(3):
        h.append(np.tanh(theta[i] * h[-1]))
    return np.stack(h)[-1]


@pytest.mark.parametrize(
    ("cure", "program"), [(stacked, one_number), (joined, column), (listed, step_by_step)]
)
def test_the_cures_are_right_in_every_way(cure, program):
    expected = np.stack([exact(program, x) for x in X])
    for way in WAYS.values():
        assert_close(way(cure)(THETA, X), expected, 1e-6)


# Elsewhere: nothing may pass in silence.
@pytest.mark.usefixtures("light_compiler")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", [one_number, line_of_a_matrix, added_to])
@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "numpy"])
def test_in_the_other_backends_it_is_no_row_of_zeros(backend, program, way):
    if backend in MISSING:
        pytest.skip(f"{backend} is not installed")
    given = arrays((THETA, X), backend)
    with pytest.raises(Exception) as caught:  # noqa: PT011, most words are the framework's
        WAYS[way](program)(*given)
    assert str(caught.value)


def test_the_index_of_errors_finds_numpys_own_words():
    start = PAGE.index("setting an array element with a sequence")
    entry = PAGE[start : PAGE.index("\n### ", start)]
    assert re.search("np.stack|np.concatenate", entry)

"""What a loss takes from outside: which values are found, and which changes are noticed."""

import enum
import functools
import types

import numpy as np
import pytest

from persample import squared_loss
from persample.captured import MANY, SMALL, Captured

LARGEST = SMALL // 8  # float64 numbers in the largest array whose numbers are compared
GLOBAL_ARRAY, ONES, ZEROS = np.array([4.0]), np.ones(1), np.zeros(1)


def names_of(f):
    return {name for name, _ in Captured(f).arrays()}


def marks_of(value):
    """Return the marks of a function that takes nothing but ``value`` from outside."""
    return Captured(lambda: value).marks()


def same(before, after):
    return marks_of(before) == marks_of(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (2.0, 3.0),
        (0.0, -0.0),
        (0, 0.0),
        (1, 1.0),
        (1, True),
        (0, None),
        ("a", "b"),
        ("", b""),
        (np.zeros(2), np.zeros((2, 1))),
        (np.zeros(2), np.zeros(2, np.int64)),
        (np.zeros(LARGEST), np.ones(LARGEST)),
        (np.zeros(2), np.array([0.0, -0.0])),
        (np.zeros(LARGEST + 1), np.zeros(LARGEST + 1)),  # another array: compared by identity
        ([1.0, 2.0], [1.0, 3.0]),
        ([1.0], [1.0, 1.0]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ({"a": [np.zeros(2)]}, {"a": [np.ones(2)]}),
        (list(range(MANY)), [*range(MANY - 1), 0]),
        (dict.fromkeys(range(MANY), 1), dict.fromkeys(range(MANY), 2)),
        ([0] * (MANY + 1), [0] * (MANY + 1)),
        (object(), object()),
        (squared_loss, lambda: 0),
    ],
)
def test_a_change_that_is_noticed(before, after):
    assert not same(before, after)
    assert same(before, before)
    assert same(after, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (2.0, float("2")),
        ("ab", "".join(["a", "b"])),
        (1j, complex(0, 1)),
        (np.zeros(LARGEST), np.zeros(LARGEST)),
        ([1, (2.0, "x")], [1, (2.0, "x")]),
        ({"a": np.ones(3)}, {"a": np.ones(3)}),
        ([0] * MANY, [0] * MANY),
        (dict.fromkeys(range(MANY)), dict.fromkeys(range(MANY))),
    ],
)
def test_an_equal_value_is_no_change(before, after):
    assert same(before, after)


def test_objects_inside_an_array_are_compared_by_the_array():
    """Their bytes are addresses, which say nothing of their values."""
    holder = np.array([[1.0], "x"], dtype=object)
    assert same(holder, holder)
    assert not same(holder, holder.copy())


class Model:
    shared = 5.0

    def __init__(self):
        self.weight, self.unused, self.rate = np.array([1.0]), np.array([2.0]), 3.0

    def loss(self, x):
        return self.weight * x * self.rate

    def __call__(self, x):
        return self.weight + x


def plain(x, y):
    return x + y


def with_defaults(x, a=ONES, *, b=ZEROS):
    return x + a + b


def reads_a_global(x):
    return x * GLOBAL_ARRAY


def outer_loss(x):
    return reads_a_global(x) + 1


def test_every_way_in_which_an_array_reaches_a_function():
    cell = np.array([1.0])
    parts = {"a": [np.ones(1)], "b": 2.0}
    model = Model()
    assert names_of(lambda x: cell * x) == {"cell"}
    assert names_of(lambda x: x * parts["a"][0]) == {"parts"}
    assert names_of(with_defaults) == {"a", "b"}
    assert names_of(functools.partial(plain, cell)) == {"argument 0 of a partial"}
    assert names_of(functools.partial(plain, y=cell)) == {"y"}
    read_weight = lambda x, m: m.weight * x  # noqa: E731, a loss
    assert names_of(functools.partial(read_weight, m=model)) == {"m.weight"}
    assert names_of(functools.partial(functools.partial(read_weight), 1, model)) == {
        "argument 1 of a partial.weight"
    }
    assert names_of(functools.partial(np.add, model)) == set()
    assert names_of(reads_a_global) == {"GLOBAL_ARRAY"}
    assert names_of(outer_loss) == {"GLOBAL_ARRAY"}
    assert names_of(model.loss) == {"self.weight"}
    assert names_of(model) == {"self.weight"}
    assert names_of(lambda x: model.weight * x) == {"model.weight"}
    assert names_of(plain) == names_of(squared_loss) == set()


Colour = enum.Enum("Colour", "RED BLUE")


def test_an_array_is_found_in_a_dict_whose_keys_have_no_order():
    table = {Colour.RED: ONES, Colour.BLUE: [2.0, ZEROS], None: 1.0}
    found = Captured(lambda x: table[Colour.RED] * x).arrays()
    assert [name for name, _ in found] == ["table", "table"]
    assert {id(x) for _, x in found} == {id(ONES), id(ZEROS)}


def circle(number):
    """Return a list that holds itself, directly and in a dict, and an array."""
    held = [number]
    held += [held, {"again": held}, ONES]
    return held


def test_what_holds_itself_is_looked_through_once():
    held = circle(1.0)
    captured = Captured(lambda x: held[0] * x)
    assert captured.arrays() == [("held", ONES)]
    before = captured.marks()
    assert captured.marks() == before
    held[0] = 2.0
    assert captured.marks() != before
    assert same(held, held)
    assert not same(held, circle(2.0))  # another circle: compared by identity


def wrapped(f):
    """Return f behind a function whose own code names no attribute."""

    @functools.wraps(f)
    def run(*given):
        return f(*given)

    return run


class Wrapped:
    def __init__(self):
        self.weight = np.array([1.0])

    @functools.cache  # noqa: B019, the object lives as long as its test
    def rate(self):
        return self.weight * 2.0

    @wrapped
    def loss(self, x):
        return self.weight * x

    @functools.cache  # noqa: B019
    def __call__(self, x):
        return self.weight + x


def test_the_attributes_that_a_wrapped_method_reads_are_found():
    owner = Wrapped()
    rate = owner.rate
    assert names_of(lambda x: rate() * x) == {"self.weight"}
    assert names_of(owner.loss) == {"self.weight"}
    assert names_of(owner) == {"self.weight"}


def test_two_values_of_one_name_are_both_there():
    def of_the_first(x, a=ONES):
        return x + a

    def of_the_second(x, a=ZEROS):
        return of_the_first(x) + a

    found = dict(Captured(of_the_second).arrays())
    assert set(found) == {"a", "a'"}
    assert {float(x[0]) for x in found.values()} == {0.0, 1.0}


def test_a_function_inside_the_function_is_read_too():
    def loss(x):
        inner = lambda y: y * GLOBAL_ARRAY  # noqa: E731, a function inside
        return inner(x)

    assert names_of(loss) == {"GLOBAL_ARRAY"}


def test_each_value_is_read_anew():
    cell, model = 2.0, Model()
    captured = Captured(lambda x: cell * model.rate * x)
    before = captured.marks()
    assert captured.marks() == before
    cell = 3.0
    changed = captured.marks()
    assert changed != before
    model.rate = 4.0
    assert captured.marks() != changed
    cell, model.rate = 2.0, 3.0
    assert captured.marks() == before


def test_defaults_are_read_by_their_place():
    def loss(x, y, a=1.0, b=2.0):
        return x + y + a + b

    captured = Captured(loss)
    before = captured.marks()
    assert len(before) == 2
    loss.__defaults__ = (1.0, 3.0)
    assert captured.marks() != before
    loss.__defaults__ = (0.0, 2.0)
    assert captured.marks() != before
    loss.__defaults__ = (1.0, 2.0)
    assert captured.marks() == before


def test_what_is_gone_is_a_change_and_no_error():
    box = types.SimpleNamespace(scale=2.0)
    captured = Captured(lambda x: box.scale * x)
    before = captured.marks()
    del box.scale
    assert captured.marks() != before
    assert captured.arrays() == []


def test_a_cell_that_is_filled_later_is_read_then():
    def loss(x):
        return later * x

    captured = Captured(loss)
    assert captured.arrays() == []
    later = np.ones(1)
    assert [name for name, _ in captured.arrays()] == ["later"]
    assert later.sum() == 1


def test_modules_and_classes_are_passed_over():
    assert Captured(lambda x: np.exp(x) + types.FunctionType).marks() == []


def test_a_wrapper_of_another_package_is_seen_through():
    wrapper = types.FunctionType(plain.__code__, {"__name__": "elsewhere"})
    assert names_of(wrapper) == set()
    wrapper.__wrapped__ = reads_a_global
    assert names_of(wrapper) == {"GLOBAL_ARRAY"}


def test_a_function_that_calls_itself_is_followed_once():
    def loss(n, a=ONES):
        return a if n == 0 else loss(n - 1)

    assert names_of(loss) == {"a"}

"""Trees: the order of their leaves, and that taking apart and putting together are inverse."""

from collections import namedtuple

import pytest

from persample.trees import (
    flatten,
    flatten_keys,
    has_none,
    leaf_names,
    leaves_of,
    tree_map,
    unflatten,
)

Pair = namedtuple("Pair", "left right")
TREES = {
    "a leaf": 5,
    "a string is a leaf": "ab",
    "dict": {"b": 1, "a": 2},
    "tuple": (1, 2),
    "list": [1, 2],
    "named tuple": Pair(1, (2, 3)),
    "nested": {"w": [1, {"x": 2, "y": ()}], "b": (3,)},
    "empty": [],
    "keys of two types": {1: "one", "a": "letter", 0: "zero"},
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_what_is_taken_apart_is_put_together_again(tree):
    leaves, structure = flatten(tree)
    again = unflatten(structure, leaves)
    assert again == tree
    assert type(again) is type(tree)
    assert hash(structure) == hash(flatten(tree)[1])


def test_leaves_come_left_to_right_and_dicts_by_sorted_key():
    assert flatten({"b": 1, "a": [2, (3, 4)]})[0] == [2, 3, 4, 1]
    assert flatten({"b": 1, "a": 2})[0] == flatten({"a": 2, "b": 1})[0] == [2, 1]
    # Keys of one type stand together; int before str, as their names do.
    assert flatten({"a": 1, 10: 2, "B": 3, 9: 4})[0] == [4, 2, 3, 1]
    assert flatten_keys({"b": 1, "a": {"z": 0}, 3: 2}) == [3, "a", "b"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 2), [1, 2]),
        ((1, 2), (1, 2, 3)),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, (1,)),
        (Pair(1, 2), (1, 2)),
        ((1, (2, 3)), ((1, 2), 3)),
        (1, (1,)),
    ],
)
def test_trees_that_differ_have_structures_that_differ(one, other):
    assert flatten(one)[1] != flatten(other)[1]
    with pytest.raises(ValueError, match="the trees differ in structure") as caught:
        tree_map(lambda x, y: x, one, other)
    assert str(flatten(one)[1]) in str(caught.value)
    assert str(flatten(other)[1]) in str(caught.value)


def test_a_leaf_is_shown_as_an_asterisk():
    with pytest.raises(ValueError, match=r"\(\* and \(<class 'tuple'>, None, \('\*',\)\)\)"):
        tree_map(lambda x, y: x, 1, (1,))


def test_the_leaves_themselves_do_not_matter_to_the_structure():
    assert flatten({"a": 1, "b": ["x"]})[1] == flatten({"b": [0.5], "a": "*"})[1]
    assert flatten(Pair(1, 2))[1] == flatten(Pair(3, 4))[1]
    assert flatten([1, None])[1] != flatten([1, 2])[1]  # an empty place is part of the structure


def test_a_map_of_several_trees_pairs_the_leaves():
    one, two, three = ({"w": n, "b": (2 * n, 3 * n)} for n in (1, 10, 100))
    assert tree_map(lambda *xs: xs, one, two, three) == {
        "w": (1, 10, 100),
        "b": ((2, 20, 200), (3, 30, 300)),
    }
    assert tree_map(lambda x: -x, Pair(1, [2])) == Pair(-1, [-2])


def test_one_iterator_of_leaves_serves_several_trees_in_turn():
    _, structure = flatten((0, [0]))
    leaves = iter([1, 2, 3, 4])
    assert unflatten(structure, leaves) == (1, [2])
    assert unflatten(structure, leaves) == (3, [4])


def test_leaves_have_names_that_say_where_they_are():
    tree = {"W": [1, 2], "b": ({"x": 3},), 7: 4}
    assert leaf_names(tree, "params") == ["params_7", "params_W_0", "params_W_1", "params_b_0_x"]
    assert leaf_names(3.0, "theta") == ["theta"]
    assert len(leaf_names(tree, "p")) == len(flatten(tree)[0])


@pytest.mark.parametrize("tree", [None, [1, None], (None, 1), {"a": 1, "b": [(None,)]}])
def test_none_is_an_empty_place(tree):
    assert has_none(tree)
    assert unflatten(flatten(tree)[1], flatten(tree)[0]) == tree
    assert tree_map(lambda x: x, tree) == tree
    assert leaves_of(tree) == flatten(tree)[0]
    assert len(leaf_names(tree, "p")) == len(leaves_of(tree))


def test_a_tree_without_none_has_none_nowhere():
    for tree in (1, [], {}, [1, 2], {"a": (1, [0])}, "None"):
        assert not has_none(tree)
    assert leaves_of("leaf") == ["leaf"]
    assert leaves_of(Pair(1, [2])) == [1, 2]

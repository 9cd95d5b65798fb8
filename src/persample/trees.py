"""Trees: dicts, tuples and lists of arrays, taken apart and put together again.

Separate because every layer needs them and they know nothing of arrays: anything that is
not a dict, tuple or list is a leaf *of the tree* (no relation to a leaf *tensor*). None is an
empty tree, without a leaf, as in JAX: a layer without a bias may have the bias None.
"""

from collections.abc import Callable
from typing import Any

LEAF, NONE = "*", "None"
CONTAINERS = (dict, tuple, list)


def flatten(tree: Any) -> tuple[list, Any]:
    """Return the leaves, left to right (dicts by sorted key), and the hashable structure."""
    leaves: list = []
    return leaves, _walk(tree, leaves)


def _walk(tree: Any, leaves: list) -> Any:
    if tree is None:
        return NONE
    if isinstance(tree, dict):
        keys = sorted(tree, key=lambda key: (type(key).__name__, key))
        return (dict, tuple(keys), tuple([_walk(tree[key], leaves) for key in keys]))
    # A tuple of types: the torch.compile of PyTorch 2.6 cannot follow `tuple | list` in here.
    if isinstance(tree, (tuple, list)):
        return (type(tree), None, tuple([_walk(child, leaves) for child in tree]))
    leaves.append(tree)
    return LEAF


def unflatten(structure: Any, leaves: list) -> Any:
    """Put ``leaves`` back where ``flatten`` found them."""
    return _build(structure, iter(leaves))  # several trees may consume one iterator in sequence


def _build(structure: Any, leaves) -> Any:
    if structure is LEAF:
        return next(leaves)
    if structure is NONE:
        return None
    kind, keys, children = structure
    built = [_build(child, leaves) for child in children]
    if kind is dict:
        return dict(zip(keys, built, strict=True))
    return kind(*built) if hasattr(kind, "_fields") else kind(built)


def tree_map(function: Callable, tree: Any, *others: Any) -> Any:
    """Apply ``function`` leaf by leaf to trees of one structure; None stays None.

    Example
    -------
    >>> tree_map(lambda x, y: x + y, {"w": 1, "b": (2, 3)}, {"w": 10, "b": (20, 30)})
    {'b': (22, 33), 'w': 11}
    """
    if not any(map(_is_tree, (tree, *others))):
        return function(tree, *others)
    leaves, structure = flatten(tree)
    columns = [flatten(other) for other in others]
    for _, other in columns:
        if other != structure:
            raise ValueError(
                f"tree_map: the trees differ in structure ({structure} and {other}); "
                "give trees with the same keys and lengths."
            )
    mapped = [function(*row) for row in zip(leaves, *[c[0] for c in columns], strict=True)]
    return unflatten(structure, mapped)


def leaves_of(tree: Any) -> list:
    """Return the leaves alone; of one array without a walk."""
    return flatten(tree)[0] if _is_tree(tree) else [tree]


def _is_tree(x):
    return isinstance(x, CONTAINERS) or x is None


def has_none(tree: Any) -> bool:
    """Say whether None is anywhere in the tree."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, tuple | list):
        return any(has_none(child) for child in tree)
    return tree is None


def leaf_names(tree: Any, prefix: str) -> list[str]:
    """Return one readable identifier for each leaf: ``params_W1``, ``params_0_b``, ..."""
    if tree is None:
        return []
    if isinstance(tree, dict):
        children = [(key, tree[key]) for key in flatten_keys(tree)]
    elif isinstance(tree, tuple | list):
        children = list(enumerate(tree))
    else:
        return [prefix]
    return [name for key, child in children for name in leaf_names(child, f"{prefix}_{key}")]


def flatten_keys(tree: dict) -> list:
    """Return a dict's keys in the order in which ``flatten`` visits them."""
    return list(_walk(tree, [])[1])

"""All the answers that a very small language model can give, and all groups of them.

Separate from the library: with everything listed, an expectation is a sum and nothing is sampled.
"""

from itertools import combinations_with_replacement, product
from math import factorial, prod

import numpy as np

END = 0  # the token that ends an answer


def listed(words: int, limit: int) -> list[tuple[int, ...]]:
    """Return every answer, shorter ones first: tokens 1 to ``words``, then END or the limit.

    An answer ends with END, or has ``limit`` tokens none of which is END.

    Raises
    ------
    ValueError
        "listed: words and limit must be at least 1, got 0 and 3"

    Example
    -------
    >>> listed(1, 3)
    [(0,), (1, 0), (1, 1, 0), (1, 1, 1)]
    """
    if words < 1 or limit < 1:
        raise ValueError(f"listed: words and limit must be at least 1, got {words} and {limit}")
    tokens = range(1, words + 1)
    ended = [(*begun, END) for length in range(limit) for begun in product(tokens, repeat=length)]
    return ended + list(product(tokens, repeat=limit))


def groups(p: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return every group of ``size`` independent answers, order left out, and its probability.

    Parameters
    ----------
    p : (K,) the probability of each answer; their sum may differ from 1 by rounding.
    size : answers in a group, at least 1.

    Returns
    -------
    members (N, size) numbers of answers in ascending order, and (N,) probabilities: of a group
    with the counts c_k it is size! / (c_1! c_2! ...) times the product of its answers' p.

    Raises
    ------
    ValueError
        "groups: size must be at least 1, got 0"
        "groups: p must hold one probability per answer, got an array of shape (2, 2)"
        "groups: the probabilities must be at least 0 and add up to 1, got a sum of 0.9"

    Example
    -------
    >>> members, chance = groups(np.array([0.5, 0.5]), 2)
    >>> members.tolist(), chance.tolist()
    ([[0, 0], [0, 1], [1, 1]], [0.25, 0.5, 0.25])
    """
    p = np.asarray(p, dtype=float)
    if size < 1:
        raise ValueError(f"groups: size must be at least 1, got {size}")
    if p.ndim != 1:
        raise ValueError(
            f"groups: p must hold one probability per answer, got an array of shape {p.shape}"
        )
    if not (p >= 0).all() or not abs(p.sum() - 1) < 1e-6:
        raise ValueError(
            "groups: the probabilities must be at least 0 and add up to 1, "
            f"got a sum of {p.sum():.9g}"
        )
    p = p / p.sum()
    members = np.array(list(combinations_with_replacement(range(len(p)), size)))
    orders = [
        factorial(size) // prod(factorial(count) for count in np.bincount(group))
        for group in members
    ]
    return members, np.array(orders, dtype=float) * p[members].prod(axis=1)

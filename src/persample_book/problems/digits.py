"""Noisy images of digits, drawn where they are needed: ten shapes of 7 by 5 pixels, moved about.

Separate from the other problems because it is no task for an agent: images and labels.
"""

import numpy as np

NAMES = "0123456789"

_DRAWN = """
.###. ..#.. .###. .###. ...#. ##### .###. ##### .###. .###.
#...# .##.. #...# #...# ..##. #.... #.... ....# #...# #...#
#..## ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ..##. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# ..#.. #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ....#
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .###.
"""

SHAPES = np.array([[list(row) for row in line.split()] for line in _DRAWN.split("\n") if line])
SHAPES = (SHAPES == "#").astype(float).transpose(1, 0, 2)  # (10, 7, 5)


def images(rng: np.random.Generator, count: int, noise: float = 0.2):
    """Return images (count, 9, 9), ink 1 on ground 0 plus normal noise, and labels (count,).

    The shape lies up to one pixel off the centre, in both directions.

    Example
    -------
    >>> x, y = images(np.random.default_rng(0), 5)
    >>> x.shape, y.shape
    ((5, 9, 9), (5,))
    """
    labels = rng.integers(10, size=count)
    corners = rng.integers(3, size=(count, 2)) + [0, 1]
    drawn = noise * rng.normal(size=(count, 9, 9))
    for image, label, (top, left) in zip(drawn, labels, corners, strict=True):
        image[top : top + 7, left : left + 5] += SHAPES[label]
    return drawn, labels

"""The contrast of two colours, and what a dark page makes of a figure's colours."""

import numpy as np

# hue-rotate(180deg) of the style sheet, as the standard of CSS filters has it.
TURN = [[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]]


def contrast(one, other) -> float:
    """Return the contrast ratio of two colours (red, green, blue), each from 0 to 1, by WCAG 2."""
    low, high = sorted(_luminance(np.asarray(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour):
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def on_a_dark_page(colour) -> np.ndarray:
    """Return a figure's colour after book.css: invert(.91) hue-rotate(180deg)."""
    return np.clip(TURN @ (0.91 - 0.82 * np.asarray(colour)), 0, 1)

"""Ways to spoil a stored picture, each small enough that only a close comparison sees it."""

import base64
import io

import numpy as np
from PIL import Image, ImageFilter

MOVE = 3  # pixels, a line's own width
TINT = 40  # of 255: white becomes a light yellow
MARK = 8  # pixels: a point or a letter of a small label
LABEL = (16, 44)  # height and width of the window that a short label fills
BLUR = 3  # radius in pixels that makes the digits of a label unreadable


def decode(png: str) -> Image.Image:
    """Return a stored PNG as a picture with red, green, blue and alpha."""
    return Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA")


def encode(pixels: np.ndarray) -> str:
    """Return pixels (height, width, 4) as a notebook stores a PNG."""
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8), "RGBA").save(buffer, format="png", compress_level=1)
    return base64.b64encode(buffer.getvalue()).decode()


def line_moved(pixels: np.ndarray) -> np.ndarray:
    """Move what has the commonest colour but the background's a few pixels down."""
    background, drawn = _commonest(pixels)[:2]
    mask = (pixels == drawn).all(-1)
    moved = pixels.copy()
    moved[mask] = background
    moved[np.roll(mask, MOVE, axis=0)] = drawn
    return moved


def patch_recoloured(pixels: np.ndarray) -> np.ndarray:
    """Tint a rectangle in the middle that is 5 % of the picture a light yellow."""
    height, width = pixels.shape[:2]
    rows, columns = round(height * 0.05**0.5), round(width * 0.05**0.5)
    top, left = (height - rows) // 2, (width - columns) // 2
    spoiled = pixels.astype(int)
    patch = spoiled[top : top + rows, left : left + columns]
    patch[..., 2] = np.where(patch[..., 2] >= TINT, patch[..., 2] - TINT, patch[..., 2] + TINT)
    patch[patch[..., 3] == 0] = 255, 255, 0, TINT  # nothing is drawn here, so no colour shows
    return spoiled


def label_blurred(pixels: np.ndarray) -> np.ndarray:
    """Blur the window with the most edges, which is a label, until it cannot be read."""
    window = _busiest(pixels, *LABEL)
    blurred = Image.fromarray(pixels, "RGBA").filter(ImageFilter.GaussianBlur(BLUR))
    spoiled = pixels.copy()
    spoiled[window] = np.asarray(blurred)[window]
    return spoiled


def label_mirrored(pixels: np.ndarray) -> np.ndarray:
    """Mirror the window with the most edges: other letters with as much ink."""
    window = _busiest(pixels, *LABEL)
    spoiled = pixels.copy()
    spoiled[window] = pixels[window][:, ::-1]
    return spoiled


def mark_erased(pixels: np.ndarray) -> np.ndarray:
    """Paint the commonest colour over one small mark."""
    spoiled = pixels.copy()
    spoiled[_busiest(pixels, MARK, MARK)] = _commonest(pixels)[0]
    return spoiled


def half_transparent(pixels: np.ndarray) -> np.ndarray:
    """Halve the alpha channel; the colours stay."""
    spoiled = pixels.copy()
    spoiled[..., 3] = pixels[..., 3] // 2
    return spoiled


def background_switched(pixels: np.ndarray) -> np.ndarray:
    """Make an opaque background transparent, and a transparent one opaque and white."""
    spoiled = pixels.copy()
    empty = pixels[..., 3] == 0
    if empty.any():
        spoiled[empty] = 255
    else:
        spoiled[(pixels[..., :3] == pixels[0, 0, :3]).all(-1), 3] = 0
    return spoiled


KINDS = (
    line_moved,
    patch_recoloured,
    label_blurred,
    label_mirrored,
    mark_erased,
    half_transparent,
    background_switched,
)


def _commonest(pixels: np.ndarray) -> np.ndarray:
    """Return the colours of a picture, the most frequent first."""
    packed = np.ascontiguousarray(pixels, dtype=np.uint8).view(np.uint32)  # one number for each
    colours, counts = np.unique(packed, return_counts=True)
    return colours[np.argsort(counts)[::-1]].view(np.uint8).reshape(-1, 4)


def _busiest(pixels: np.ndarray, height: int, width: int) -> tuple[slice, slice]:
    """Return the window of this size in which neighbouring pixels differ most."""
    grey = (pixels[..., :3].mean(-1) * pixels[..., 3] + 255.0 * (255 - pixels[..., 3])) / 255
    edges = np.zeros_like(grey)
    edges[1:] += np.abs(np.diff(grey, axis=0))
    edges[:, 1:] += np.abs(np.diff(grey, axis=1))
    sums = np.pad(edges, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    in_window = sums[height:, width:] - sums[:-height, width:]
    in_window = in_window - sums[height:, :-width] + sums[:-height, :-width]
    top, left = np.unravel_index(np.argmax(in_window), in_window.shape)
    return slice(top, top + height), slice(left, left + width)

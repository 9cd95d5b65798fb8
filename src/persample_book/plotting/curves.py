"""Names of curves at their ends."""

from collections.abc import Mapping


def name_ends(axes, ends: Mapping[str, tuple[float, float]]) -> None:
    """Write each curve's name at its end, to the right of the axes, in the curve's colour.

    Names that would overlap are moved apart. Set the scales and limits of the axes beforehand.
    """
    axes.get_ylim()  # or what was drawn last has not changed the limits yet
    pixels = 72 / axes.figure.dpi  # to points
    lines = [line for line in axes.lines if line.get_label() in ends]
    points = [axes.transData.transform(ends[line.get_label()]) * pixels for line in lines]
    placed = []  # ends more than 60 points apart leave room for a name between them
    for (x, height), line in sorted(zip(points, lines, strict=True), key=lambda pair: pair[0][1]):
        place = max([height, *(other + 14 for at, other in placed if abs(at - x) < 60)])
        placed.append((x, place))
        axes.annotate(
            line.get_label(),
            ends[line.get_label()],
            (6, place - height),
            textcoords="offset points",
            color=line.get_color(),
            va="center",
            annotation_clip=False,
        )

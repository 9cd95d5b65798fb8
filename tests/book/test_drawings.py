"""The chapters' opening drawings are to scale and show the numbers of their pages."""

import re
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest
import torch

from support import ROOT

SVG = "{http://www.w3.org/2000/svg}"
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
SHOWN = re.compile(r"!\[[^]]*\]\(\.\./_static/([\w-]+)\.svg\)")


def drawing(name: str) -> ElementTree.Element:
    return ElementTree.parse(ROOT / f"_static/{name}.svg").getroot()


def texts(name: str) -> list[str]:
    return ["".join(text.itertext()) for text in drawing(name).iter(f"{SVG}text")]


def bars(name: str) -> np.ndarray:
    """Return an array (n, 4): x, y, width and height of each rectangle of a drawing."""
    found = drawing(name).iter(f"{SVG}rect")
    return np.array([[float(r.get(k)) for k in ("x", "y", "width", "height")] for r in found])


def page(subject: str) -> str:
    """Return the sources and text outputs of a chapter's cells as one string."""
    (path,) = (path for path in CHAPTERS if path.stem.endswith(subject))
    cells = nbformat.read(path, as_version=4).cells
    outputs = [out for c in cells for out in c.get("outputs", [])]
    shown = [out.get("text", out.get("data", {}).get("text/plain", "")) for out in outputs]
    return "\n".join([*(cell.source for cell in cells), *shown])


def test_every_chapter_opens_with_a_drawing_of_its_own():
    first = [SHOWN.search(path.read_text("utf-8"))[1] for path in CHAPTERS]
    assert len(set(first)) == len(CHAPTERS)
    unused = {p.stem for p in (ROOT / "_static").glob("*.svg")} - {"logo", "favicon"}
    assert unused == {name for p in CHAPTERS for name in SHOWN.findall(p.read_text("utf-8"))}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_word_leaves_its_drawing(path):
    for name in SHOWN.findall(path.read_text("utf-8")):
        root = drawing(name)
        width = float(root.get("width"))
        for text in root.iter(f"{SVG}text"):
            said, size = "".join(text.itertext()), float(text.get("font-size") or 14)
            long = 0.5 * size * len(said)  # a letter is about half as wide as high
            left = float(text.get("x")) - long * {"end": 1, "middle": 0.5}.get(
                text.get("text-anchor"), 0
            )
            assert left > -8, said
            assert left + long < width + 8, said


def test_the_rows_of_three_moves():
    lengths = [5.4, 1.131, 317.809]
    assert "Array([  5.4  ,   1.131, 317.809]" in page("_td0")
    assert [f"{x:.1f}" for x in lengths] == [t for t in texts("td0") if re.fullmatch(r"[\d.]+", t)]
    widths = bars("td0")[:, 2]
    np.testing.assert_allclose(widths[:3] / widths[2], np.array(lengths) / lengths[2], atol=1e-3)
    assert widths[3] == pytest.approx(widths[2] / 3, rel=0.01)  # a mean of three


def test_memory_is_drawn_to_scale():
    text = page("_cost")
    assert re.search(r"`vmap\(grad\(loss\)\)` \| 33 \| 200 \|", text)
    assert re.search(r"`clipped_sum`, above \| 1\.1 \| 3 \|", text)
    assert {"all rows: 200 MiB", "33 ordinary passes"} <= set(texts("cost"))
    assert {"clipped sum: 3 MiB", "1.1 ordinary passes"} <= set(texts("cost"))
    (_, _, *whole), (_, _, *part) = bars("cost")
    assert np.prod(whole) / np.prod(part) == pytest.approx(200 / 3, rel=0.01)


def test_a_value_comes_to_where_its_target_was_and_the_target_is_further():
    w = 1.098 ** np.array([0, 7, 14, 21])  # the factor of a step is on the page
    assert r"1.098\,w" in page("td0_control")
    shown = [text for text in texts("chase") if re.fullmatch(r"[\d.]+", text)]
    assert shown == [f"{x:.1f}" for pair in zip(w, 1.98 * w, strict=True) for x in pair]
    x = np.array([float(c.get("cx")) for c in drawing("chase").iter(f"{SVG}circle")])
    unit = (x[1] - x[0]) / 0.98
    np.testing.assert_allclose(x - x[0], unit * (np.ravel([w, 1.98 * w], "F") - 1), atol=0.1)
    assert np.all(np.abs(w[1:] - 1.98 * w[:-1]) < 0.03 * w[1:])  # almost there


def test_the_value_and_its_target():
    value = 1.098 ** np.array([0, 10, 20, 30])
    assert "1.098\\,w" in page("_td0_control")
    both = np.stack([value, 0.99 * 2 * value], 1).ravel()
    assert [f"{x:.1f}" for x in both] == [t for t in texts("divergence") if re.match(r"\d+\.", t)]
    heights = bars("divergence")[:, 3]
    np.testing.assert_allclose(heights / heights[-1], both / both[-1], atol=2e-3)


def test_two_processes_share_the_sum_of_their_clipped_rows():
    assert "x = jnp.array([[6.0, 8], [1, 2], [-3, 1], [8, -6]])" in page("_many_devices")
    rows = np.array([[6.0, 8], [1, 2], [-3, 1], [8, -6]])
    clipped = rows * np.minimum(1, 5 / np.linalg.norm(rows, axis=1))[:, None]
    wanted = []
    for number, own in enumerate((slice(0, 2), slice(2, 4))):
        wanted += np.stack([rows[own], clipped[own]], axis=1).ravel().tolist()
        wanted += [*clipped[own].sum(0), *clipped.sum(0), clipped.sum(0)[number]]
    shown = [t.replace("−", "-") for t in texts("processes") if re.fullmatch(r"−?\d+", t)]
    assert [float(number) for number in shown] == pytest.approx(wanted)


def test_as_many_images_are_spoiled_as_the_page_says():
    assert "383 of 397" in page("_gram")
    assert "Eight that were read correctly are now wrong" in page("_gram")
    dots = [dot.get("fill") for dot in drawing("gram").iter(f"{SVG}circle")]
    orange, blue = (dots.count(colour) - 1 for colour in ("#b0560f", "#35709f"))  # less the key
    (others,) = (p for p in drawing("gram").iter(f"{SVG}path") if "h0" in p.get("d"))
    assert (others.get("d").count("h0") + orange + blue, orange, blue) == (397, 8, 1)


def test_the_squares_of_a_column():
    zero, unit = 88, 56
    rects = list(drawing("fisher").iter(f"{SVG}rect"))
    drawn = np.array([[float(r.get(k)) for k in ("x", "y", "width", "height")] for r in rects])
    rows = np.where(drawn[:10, 1] < zero, 1, -1) * drawn[:10, 3] / unit
    assert rows == pytest.approx([-0.3] * 3 + [0.7] + [-0.3] * 6, abs=1e-3)
    mean, mark = (p.get("d") for p in drawing("fisher").iter(f"{SVG}path"))
    assert (zero - float(re.match(r"M20 ([\d.]+)h", mean)[1])) / unit == pytest.approx(
        rows.mean(), abs=1e-3
    )
    ends = [*drawn[10:, 2], float(re.match(r"M([\d.]+) ", mark)[1])]
    wanted = [(rows**2).mean(), rows.mean() ** 2, 0.7 * 0.3]
    assert np.array(ends) / ends[2] == pytest.approx(np.array(wanted) / wanted[2], abs=0.005)
    shown = [t.split(": ")[-1] for t in texts("fisher") if re.search(r"(^|: )0\.\d{3}$", t)]
    assert shown == [f"{x:.3f}" for x in wanted]
    assert [r.get("fill") for r in rects[9:]] == ["#22262b", "#22262b", "#b0560f"]


def test_means_of_four_times_as_many_scatter_half_as_widely():
    found = [(c.get("fill"), float(c.get("r"))) for c in drawing("noise").iter(f"{SVG}circle")]
    assert [r for fill, r in found if fill == "none"] == [60, 30, 15]


def test_the_mean_gradient_is_a_third_of_the_sum():
    paths = [path.get("d") for path in drawing("linearity").iter(f"{SVG}path")]
    tips = [np.array(re.match(r"M([\d.]+) ([\d.]+)", d).groups(), float) for d in paths[1::2]]
    first, second, third = tips[:3]
    (dashed,) = (d for d in paths if d.count("L") == 1 and "Z" not in d and d == paths[6])
    start, end = np.array(re.findall(r"[\d.]+", dashed), float).reshape(2, 2)
    assert np.allclose(third, end)
    mean = np.array(re.match(r"M([\d.]+) ([\d.]+)", paths[8]).groups(), float)
    assert np.allclose(mean - start, (end - start) / 3, atol=0.1)
    assert len({tuple(tip) for tip in (first, second, third)}) == 3


def test_one_program_has_as_many_boxes_as_copies_of_the_loss():
    assert "B = 64: 2305 1 37 equations" in page("_dynamic_vs_static_graphs")
    found = [text for text in texts("programs") if "equation" in text]
    assert found == ["2,305 equations", "1 equation", "37 equations"]
    left, widths = bars("programs")[:, 0], bars("programs")[:, 2]
    assert list(widths) == [14] * 64 + [18, 144]
    assert left[:64].max() < left[64] < left[65]
    lines = [path.get("d") for path in drawing("programs").iter(f"{SVG}path")]
    places = np.array([re.findall(r"M([\d.]+) ", d) * ("h0" in d) for d in lines], object)
    x = np.array([float(v) for line in places for v in line])
    assert [((x >= start) & (x < start + 144)).sum() for start in (8, 188, 368)] == [64] * 3


def test_the_name_goes_with_the_result_and_the_gradient_stays_with_the_leaf():
    leaf = torch.tensor([0.5, -0.5], requires_grad=True)
    result = leaf.to(torch.float64)
    marked = torch.tensor([0.5, -0.5]).to(torch.float64).requires_grad_()
    for w in (result, marked):
        (w * w).sum().backward()
    assert leaf.grad.tolist() == marked.grad.tolist() == [1, -1]
    assert (leaf.is_leaf, result.is_leaf, marked.is_leaf) == (True, False, True)
    shown = texts("moved")
    assert [text for text in shown if "grad" in text] == [
        ".grad [1, −1]",
        "w.grad None",
        "w.grad [1, −1]",
    ]
    assert shown.count("[0.5, −0.5]") == 4
    assert "marked, then converted: leaf False" in page("_leaf_tensors")


def test_two_steps_and_how_long_each_thing_lives():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    values, gradients = [w.tolist()], []
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).sum().backward()
        gradients.append(w.grad.tolist())
        optimizer.step()
        values.append(w.tolist())
    pairs = [f"[{a:.3g}, {b:.3g}]" for a, b in values + gradients]
    assert [text for text in texts("lifetimes") if "[" in text] == pairs
    lines = {}  # the heights at which the program's lines stand
    for text in drawing("lifetimes").iter(f"{SVG}text"):
        if text.get("x") == "8":
            lines.setdefault(text.text, []).append(float(text.get("y")) - 5)
    clear, forward, back, step = (np.array(heights) for heights in lines.values())
    assert list(lines) == ["zero_grad()", "(w * w).sum()", ".backward()", "step()"]
    spans = [(y, y + height) for _, y, _, height in bars("lifetimes")]
    end = spans[2][1]
    assert spans[:3] == [(30, step[0]), tuple(step), (step[1], end)]
    assert spans[3::2] == [*zip(forward, back, strict=True)]
    assert spans[4::2] == [(back[0], clear[1]), (back[1], end)]

"""The live figures, each alone in a page, opened from a file in a browser.

What they compute is compared with Python on a hundred random states; how they are worked is
tried with mouse, finger, keyboard and address.
"""

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from contrast import contrast
from matplotlib.colors import to_rgb
from tolerances import assert_close

from persample import losses, per_sample
from persample.recorder import forms
from persample_book import work
from persample_book.problems import random_walk

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from browser import HTML, pages  # noqa: E402
from live_pages import FIGURES, ROOT, book_live, write  # noqa: E402
from notebook_rules import chapters, prose  # noqa: E402

EXACT, STATES = 1e-12, 100
LARGEST = 20_000  # bytes of a figure, with what it shares with others
RECALL = """(address) => {
  history.replaceState(null, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
}"""


@pytest.fixture
def opened(chromium, tmp_path):
    """Return a function that opens a figure's page; errors of its scripts fail the test."""
    contexts, errors = [], []

    def open_page(name, address="", theme="light", **options):
        context = chromium.new_context(**{"viewport": {"width": 800, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(write(tmp_path, name, theme).as_uri() + address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def state(page, name):
    return page.evaluate(f"live.figures.{name}.state")


def address(name, **changes) -> str:
    texts = [f"{key}={','.join(map(repr, np.ravel(v).tolist()))}" for key, v in changes.items()]
    return f"#live-{name}?{'&'.join(texts)}"


def values(page, name, **changes):
    """Bring a figure into a state by the address; return what it computes, lists for arrays."""
    page.evaluate(RECALL, address(name, **changes))
    found = page.evaluate(
        f"JSON.stringify(live.figures.{name}.values, (key, x) =>"
        " x instanceof Float64Array ? Array.from(x) : x)"
    )
    for key, value in changes.items():
        assert state(page, name)[key] == np.asarray(value).tolist()
    return json.loads(found)


# What they compute -------------------------------------------------------------------------


def clip(row, bound):
    norm = np.linalg.norm(row)
    return row if norm <= bound else row * bound / norm


def test_clip_agrees_with_python(opened):
    page, rng = opened("clip"), np.random.default_rng(0)
    rows_of = per_sample.loop_grad(losses.squared_loss)
    for _ in range(STATES):
        t, y = rng.uniform(-1.2, 1.2, 4).round(3), rng.uniform(-2, 2, 4).round(3)
        bound = round(rng.uniform(0.1, 4), 3)
        found = values(page, "clip", t=t, y=y, bound=bound)
        rows = rows_of(np.array([0.0, 0.5]), np.stack([np.ones(4), t], axis=1), y)
        clipped = np.stack([clip(row, bound) for row in rows])
        assert_close(np.reshape(found["rows"], (4, 2)), rows, EXACT)
        assert_close(np.reshape(found["clipped"], (4, 2)), clipped, EXACT)
        means = [rows.mean(0), clip(rows.mean(0), bound), clipped.mean(0)]
        assert_close(np.array(found["means"]), np.stack(means), EXACT)


def moves(walk: int):
    """Walk as the page does: a state from 1 to 5 and the state reached, again and again."""
    x, at = walk, 3
    for _ in range(10):
        x = 16807 * x % (2**31 - 1)
    while True:
        x = 16807 * x % (2**31 - 1)
        to = at + (1 if x > 2**30 - 1 else -1)
        yield at, to
        at = to if 1 <= to <= 5 else 3


def test_td_agrees_with_python(opened):
    page, rng = opened("td"), np.random.default_rng(0)
    rows_of = per_sample.loop_grad(losses.td_loss)
    for _ in range(STATES):
        alpha, walk = round(rng.uniform(0, 1), 3), int(rng.integers(1, 1000))
        count = int(rng.integers(0, 120))
        found = values(page, "td", alpha=alpha, moves=count, walk=walk)
        theta, rows = np.full(5, 0.5), []
        for _, (at, to) in zip(range(count), moves(walk), strict=False):
            s, s_next = random_walk.features(np.array([at, to]))
            reward = np.array([float(to == 6)])
            rows = [*rows_of(theta, s[None], reward, s_next[None]), *rows]
            theta = theta - alpha * rows[0]
        assert_close(np.array(found["theta"]), theta, EXACT)
        assert_close(np.array([row["row"] for row in found["rows"]]), np.array(rows[:3]), EXACT)
        error = np.sqrt(np.mean((theta - random_walk.true_values()) ** 2))
        assert abs(found["error"] - error) < EXACT


def test_td_comes_near_the_true_values(opened):
    page = opened("td")
    errors = [values(page, "td", alpha=0.05, moves=n)["error"] for n in (0, 200, 1000)]
    assert errors[0] > 2 * errors[1] > 3 * errors[2]
    steps = [to - at for _, (at, to) in zip(range(3000), moves(1), strict=False)]
    assert abs(np.mean(steps)) < 0.05


def test_the_question_above_the_walk_has_an_answer(opened):
    """A large step size is best for ten episodes, the smallest for hundreds."""
    page = opened("td")
    ends = [n for n, (_, to) in zip(range(3000), moves(1), strict=False) if to in (0, 6)]
    best = {}
    for episodes in (10, 100, 300):
        errors = {
            alpha: values(page, "td", alpha=alpha, moves=ends[episodes - 1] + 1)["error"]
            for alpha in np.arange(0.05, 1.01, 0.05).round(2).tolist()
        }
        best[episodes] = min(errors, key=errors.get)
    assert best == {10: 0.25, 100: 0.05, 300: 0.05}


def short(v) -> str:
    """Write a number, or a list of them, as the figure does: at most two decimals."""
    if np.ndim(v):
        return f"[{', '.join(map(short, v))}]"
    text = f"{v:.2f}".rstrip("0").rstrip(".")
    return {"-0": "0"}.get(text, text).replace("-", "−")


def sum_in_torch(v1, v2):
    v_sum = v1 + v2
    product = v_sum * 5
    return v_sum, product, product.sum()


def network_in_torch(x, w1, b1, w2, y):
    z = w1 * x + b1
    h = torch.tanh(z)
    p = w2 * h
    return z, h, p, (p - y) ** 2 / 2


GRAPHS = [
    (sum_in_torch, {"v1": (2,), "v2": (2,)}),
    (network_in_torch, dict.fromkeys(("x", "w1", "b1", "w2", "y"), ())),
]


@pytest.mark.parametrize("number", range(len(GRAPHS)))
def test_the_graph_agrees_with_pytorch(opened, number):
    """Values, cotangents and what is kept in .grad, for each choice of marks."""
    page, rng = opened("graph"), np.random.default_rng(0)
    program, shapes = GRAPHS[number]
    for _ in range(STATES):
        marks = rng.integers(0, 2, len(shapes))
        numbers = {name: rng.uniform(-9, 9, shape).round(3) for name, shape in shapes.items()}
        marked = {f"mark_{name}": mark for name, mark in zip(shapes, marks, strict=True)}
        step = 7 + 2 * number
        found = values(page, "graph", graph=number, step=step, **numbers, **marked)
        leaves = [
            torch.tensor(v, dtype=torch.float64, requires_grad=bool(mark))
            for v, mark in zip(numbers.values(), marks, strict=True)
        ]
        tensors = [*leaves, *program(*leaves)]
        assert found["needs"] == [t.requires_grad for t in tensors]
        for value, tensor in zip(found["values"], tensors, strict=True):
            assert_close(np.array(value, float), tensor.detach().numpy(), EXACT)
        texts = page.locator("#live-graph svg:visible text").all_text_contents()
        texts = [text for text in texts if text.startswith(".grad")]
        said = page.locator(".live-words").inner_text()
        if not any(marks):
            with pytest.raises(RuntimeError) as error:
                tensors[-1].backward()
            assert said.startswith(f"RuntimeError: {error.value}.")
            assert texts == []
            continue
        for tensor in tensors:
            if tensor.requires_grad:
                tensor.retain_grad()
        tensors[-1].backward()
        for cotangent, tensor, reached in zip(
            found["cotangents"], tensors, found["reached"], strict=True
        ):
            assert reached == (tensor.grad is not None)
            if reached:
                assert_close(np.array(cotangent, float), tensor.grad.numpy(), EXACT)
        kept = [f".grad {'None' if x.grad is None else short(x.grad.numpy())}" for x in leaves]
        assert texts == kept + [".grad None"] * (len(tensors) - len(leaves))


def test_each_step_of_the_network_computes_one_box_more(opened):
    """Forward the value of a box, backward the derivatives of all that it reads."""
    page = opened("graph")
    values(page, "graph", graph=1, mark_x=1)
    drawn = """() => [...document.querySelectorAll("#live-graph svg")].filter((e) =>
      e.checkVisibility()).flatMap((svg) => [...svg.querySelectorAll(".live-name")]
      .map((e) => e.textContent && e.getAttribute("fill"))).filter(Boolean)"""
    value, derivative = "#0072B2", "#B34700"
    found = []
    for _ in range(10):
        colours = page.evaluate(drawn)
        found.append((colours.count(value), colours.count(derivative)))
        page.get_by_role("button", name="Step").press("Enter")
    forward = [(0, 0), (3, 0), (4, 0), (6, 0), (8, 0)]
    assert found == [*forward, (8, 0), (8, 1), (8, 3), (8, 4), (8, 7)]


def test_the_means_agree_with_python(opened):
    page, rng = opened("means"), np.random.default_rng(0)
    for _ in range(STATES):
        lengths = rng.integers(1, 13, 2).tolist()
        found = values(page, "means", first=lengths[0], second=lengths[1])
        keep = np.arange(12) < np.array(lengths)[:, None]
        assert_close(np.reshape(found["weights"], (2, 12)), keep / keep.sum(1)[:, None] / 2, EXACT)
        assert_close(np.reshape(found["right"], (2, 12)), keep / keep.sum(), EXACT)
        tall = "(e) => 0.5 * e.getAttribute('height') / 120"
        bars = [bar.evaluate(tall) for bar in page.locator("#live-means svg rect").all()[:1]]
        assert bars[0] == pytest.approx(found["weights"][0], abs=1e-9)


def test_the_line_without_a_point_agrees_with_a_refit(opened):
    page, rng = opened("leave"), np.random.default_rng(0)
    for _ in range(STATES):
        t, y = rng.uniform(0, 10, (2, 6)).round(3)
        out = int(rng.integers(1, 7))
        found = values(page, "leave", x=t, y=y, out=out)
        kept = np.arange(6) != out - 1
        x = np.stack([np.ones(6), t], axis=1)
        everything, without = (
            np.linalg.lstsq(x[part], y[part], rcond=None)[0] for part in (slice(None), kept)
        )
        row = per_sample.loop_grad(losses.squared_loss)(everything, x, y)[out - 1]
        estimate = everything + np.linalg.solve(x.T @ x, row)
        h = np.einsum("ij,jk,ik->i", x, np.linalg.inv(x.T @ x), x)
        assert_close(np.array(found["lines"]), np.stack([everything, without, estimate]), 1e-10)
        assert_close(np.array(found["leverage"]), h, EXACT)
        assert_close(estimate - everything, (1 - h[out - 1]) * (without - everything), 1e-10)


def products(samples: int, positions: int, width: int) -> list[int]:
    """Let PyTorch count the multiplications of a pass, of both forms of the norms, of a sum."""
    layer = torch.nn.Linear(width, width, bias=False, device="meta")
    h = torch.empty(samples, positions, width, device="meta", requires_grad=True)
    z_bar = torch.empty_like(h)
    form, one = forms.OuterSum(z_bar, h), forms.OuterSum(z_bar[:1], h[:1])
    runs = (
        lambda: layer(h).sum().backward(),
        lambda: forms._gram_squares(z_bar, h),
        lambda: forms._direct_squares(z_bar, h),
        lambda: form.weighted_sum(torch.empty(samples, device="meta")),
    )
    counts = [work.matrix_products(run) // 2 for run in runs]
    taken = work.matrix_products(lambda: one.squared_norms(None)) // 2
    assert taken * samples == min(counts[1:3])  # record takes the form with fewer
    return counts


SIZE = r"([\d.]+) (B|kB|MB|GB|TB)"


def bytes_of(text: str, number: int = -1) -> float:
    """Return the bytes of one of the sizes that a text names, "33.6 MB", the last if not said."""
    amount, unit = re.findall(SIZE, text.replace("\xa0", " "))[number]
    return float(amount) * 1000 ** ["B", "kB", "MB", "GB", "TB"].index(unit)


def assert_bars_are_drawn(page, bars) -> None:
    """Compare the parts of the dial's bars: one pixel at least, and cut where the axis ends."""
    widths = page.locator("#live-dial rect").evaluate_all(
        "(all) => all.map((e) => +e.getAttribute('width'))"
    )
    unit = widths[0]  # of both axes: the first bar is an ordinary pass
    wanted = np.zeros((8, 3))
    for line, parts in zip(wanted, bars, strict=True):
        ends = np.minimum(2, np.cumsum(parts))
        line[: len(parts)] = np.maximum(1, unit * np.diff(ends, prepend=0))
    assert_close(np.reshape(widths, (8, 3)), wanted, EXACT)
    beyond = page.locator("#live-dial path[visibility=visible]").count()
    assert beyond == sum(sum(parts) > 2 for parts in bars)


def test_the_dial_agrees_with_what_pytorch_counts(opened):
    page, rng = opened("dial"), np.random.default_rng(0)
    for _ in range(STATES):
        b, t, d = (int(rng.integers(*span)) for span in ((0, 13), (0, 15), (4, 15)))
        found = values(page, "dial", samples=b, positions=t, width=d)
        assert found["work"] == products(2**b, 2**t, 2**d)
        numbers = [4**d, 2 ** (b + t + d + 1), 2 ** (b + 2 * t + 1), 2**b * 4**d]
        assert found["room"] == [4 * n for n in numbers]
        unit, gram, direct, clipped = found["work"]
        _, kept, _, rows = found["room"]
        said = page.get_by_role("status").inner_text().replace("\xa0", " ")
        few = "Both" if gram == direct else "The Gram" if gram < direct else "The direct"
        assert said.startswith(f"{few} form")
        assert ("is below d/2" in said, "is above d/2" in said) == (gram < direct, gram > direct)
        words = ("less than all", "as much as all", "more than all")
        assert [word in said for word in words] == [kept < rows, kept == rows, kept > rows]
        best = min(gram, direct)
        ratios = [1, 1 + gram / unit, 1 + direct / unit, 1 + (best + clipped) / unit]
        texts = page.locator("#live-dial .live-name").all_text_contents()
        totals = [text.split(": ")[-1] for text in texts[:4]]
        for ratio, total in zip(ratios, totals, strict=True):
            number = float(total.replace(",", ""))
            assert abs(number - ratio) < (0.51 if ratio > 10 else 0.0051)
        sums = [best / unit, (best + clipped) / unit]
        percents = [float(number) for number in re.findall(r"([\d.]+) %", said)]
        assert percents == pytest.approx([100 * x for x in sums], rel=0.3, abs=0.5)
        the_best = totals[1 if gram <= direct else 2]
        assert [f"{1 + x / 100:.9f}" for x in percents] == [
            f"{float(total):.9f}" for total in (the_best, totals[3])
        ]
        work_bars = [[1], [1, gram / unit], [1, direct / unit], [1, best / unit, clipped / unit]]
        rooms = re.fullmatch(
            f"all rows = ([\\d,]+) × weights: {SIZE}", texts[7].replace("\xa0", " ")
        )
        times, weights = int(rooms[1].replace(",", "")), found["room"][0]
        assert times == 2**b == rows / weights
        sizes = [bytes_of(text) for text in texts[4:]]
        assert sizes == pytest.approx(found["room"], rel=0.005)
        assert times * sizes[0] == pytest.approx(sizes[3], rel=0.01)  # also as it is written
        assert [bytes_of(said, -2), bytes_of(said, -1)] == [sizes[1], sizes[3]]
        room_bars = [[size / rows] for size in found["room"]]
        assert_bars_are_drawn(page, work_bars + room_bars)


def test_the_dial_counts_the_memory_that_both_forms_take(opened):
    """A small layer for real: the bytes of all that each form makes, but for the norms."""
    page, rng = opened("dial"), np.random.default_rng(0)
    for _ in range(STATES):
        b, t, d = (int(rng.integers(*span)) for span in ((0, 4), (0, 7), (4, 7)))
        _, kept, grams, rows = values(page, "dial", samples=b, positions=t, width=d)["room"]
        z_bar, h = torch.zeros(2, 2**b, 2**t, 2**d)
        assert kept == z_bar.nbytes + h.nbytes
        for form, size in ((forms._gram_squares, grams), (forms._direct_squares, rows)):
            _, new = work.operations_and_bytes(partial(form, z_bar, h))
            assert new - 4 * 2**b == size


def test_the_answer_under_the_dial_is_right(opened):
    page = opened("dial")
    said = page.get_by_role("status")
    for width in range(7, 15):
        costs = values(page, "dial", positions=0, width=width)["work"]
        assert costs[1] < 0.01 * costs[0]
        for positions in range(15):
            found = values(page, "dial", positions=positions, width=width)
            _, kept, grams, rows = found["room"]
            if positions == width - 1:  # as many multiplications, half the memory
                assert found["work"][1] == found["work"][2]
                assert grams == rows / 2
            assert (found["work"][1] < found["work"][2]) == (2**positions < 2**width / 2)
            assert (kept > rows) == (2**positions > 2**width / 2)
    values(page, "dial", samples=5, positions=7, width=9)
    assert said.inner_text().replace("\xa0", " ") == (
        "The Gram form takes fewer multiplications: T = 128 is below d/2 = 256. Norms add 17 % to"
        " an ordinary pass, norms and clipped sum 50 %. The inputs and cotangents kept for this"
        " take 16.8 MB, less than all rows (33.6 MB)."
    )
    assert page.get_by_role("slider", name="width d").get_attribute("aria-valuetext") == "512"


def test_the_dial_marks_where_the_forms_change_places(opened):
    """The thumb of the slider for T stands at the mark where T = d/2."""
    page = opened("dial")
    for width in (4, 9, 14):
        values(page, "dial", positions=width - 1, width=width)
        mark = page.locator(".live-mark").bounding_box()
        track = page.get_by_role("slider", name="positions T").bounding_box()
        thumb = track["x"] + 8 + (width - 1) / 14 * (track["width"] - 16)
        assert mark["x"] + mark["width"] / 2 == pytest.approx(thumb, abs=0.5)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_focus_ring_of_the_dial_holds_the_mark_and_leaves_room_for_a_finger(opened, width):
    page = opened("dial", viewport={"width": width, "height": 900}, has_touch=width == 390)
    mark, track = (
        page.locator(f".live-{part}").bounding_box() for part in ("mark", "track input")
    )
    assert track["y"] < mark["y"]
    assert mark["y"] + mark["height"] <= track["y"] + track["height"]
    if width == 390:
        for kind in ("input", "button"):
            for place in page.locator(f"#live-dial {kind}").all():
                assert place.bounding_box()["height"] >= 44


def swipe(page, name, across: int, down: int):
    """Put a finger on the right quarter of a slider, and draw it away in ten moves."""
    tools = page.context.new_cdp_session(page)
    box = page.get_by_role("slider", name=name).bounding_box()
    x, y = box["x"] + 0.75 * box["width"], box["y"] + box["height"] / 2
    for n in range(12):
        kind = "touchStart" if n == 0 else "touchMove" if n < 11 else "touchEnd"
        points = [] if n == 11 else [{"x": x + across * n / 10, "y": y + down * n / 10}]
        tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_timeout(20)


def test_a_swipe_that_begins_on_a_slider_scrolls_and_changes_nothing(opened):
    page = opened("dial", has_touch=True, viewport={"width": 390, "height": 500})
    page.evaluate("document.body.style.paddingBottom = '2000px'")
    page.get_by_role("slider", name="samples B").scroll_into_view_if_needed()
    start, top = state(page, "dial"), page.evaluate("scrollY")
    swipe(page, "samples B", across=4, down=-200)
    page.wait_for_function(f"scrollY > {top + 50}")
    assert state(page, "dial") == start
    page.evaluate(f"scrollTo(0, {top})")
    swipe(page, "samples B", across=-30, down=5)
    moved = state(page, "dial")
    assert moved["samples"] > start["samples"]
    assert {**moved, "samples": start["samples"]} == start


def test_the_dial_says_that_counts_are_not_times(opened):
    page = opened("dial")
    said = page.locator("#live-dial p").all_text_contents()
    assert any("Counts are not times" in text and "makes all rows" in text for text in said)


def test_the_ticks_of_the_dial_keep_off_its_labels(opened):
    """A mark begins below the line of its label, and ends above the capitals of the next."""
    page = opened("dial")
    for line in page.locator("#live-dial path.live-zero").all():
        ticks = re.findall(r" (\d+)v(\d+)", line.get_attribute("d"))
        names = page.locator("#live-dial .live-name").evaluate_all(
            "(all) => all.slice(0, 4).map((e) => +e.getAttribute('y'))"
        )
        for (y, length), name in zip(ticks, names, strict=True):
            assert name + 4 < int(y)
            assert int(y) + int(length) < name + 36 - 10


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_the_box_of_the_dial_keeps_its_height(opened, width):
    page = opened("dial", viewport={"width": width, "height": 900})
    heights = set()
    for state in ((0, 0, 4), (12, 14, 14), (9, 13, 14), (5, 3, 4), (12, 13, 13), (7, 14, 14)):
        values(page, "dial", **dict(zip(("samples", "positions", "width"), state, strict=True)))
        heights.add(page.locator("#live-dial").bounding_box()["height"])
    assert len(heights) == 1


def test_the_bars_of_the_dial_stand_out_from_a_light_and_a_dark_page(opened):
    """The same colours on both, each at least 3:1 to the ground; the text at least 4.5:1."""
    colours = set()
    for theme in ("light", "dark"):
        page = opened("dial", theme=theme)
        fills, ground, text, turned = page.evaluate("""() => {
          const of = (selector) => getComputedStyle(document.querySelector(selector));
          const all = [...document.querySelectorAll("#live-dial rect")];
          return [all.map((e) => e.getAttribute("fill")), of("#live-dial").backgroundColor,
            of("#live-dial .live-name").fill, of("#live-dial svg").filter];
        }""")
        assert turned == "none"
        fills = {to_rgb(fill) for fill in fills if fill != "none"}
        assert len(fills) == 5
        colours.add(frozenset(fills))
        ground, text = (np.array(re.findall(r"\d+", c)[:3], float) / 255 for c in (ground, text))
        assert min(contrast(fill, ground) for fill in fills) >= 3
        assert contrast(text, ground) >= 4.5
    assert len(colours) == 1


# How they are worked -----------------------------------------------------------------------


def drawn_tip(page, number):
    """Return where an arrow of the figure of rows ends, in its own units."""
    heads = page.locator("#live-clip g[clip-path] path[stroke=none]")
    x, y = map(float, re.match(r"M(\S+) (\S+?)L", heads.nth(number).get_attribute("d")).groups())
    middle = page.locator("#live-clip g[clip-path] circle")
    cx, cy = (float(middle.get_attribute(key)) for key in ("cx", "cy"))
    return np.array([x - cx, cy - y]) / 50


def test_clip_draws_what_it_computes(opened):
    page = opened("clip")
    found = values(page, "clip", y=[1.0, -1.0, 0.5, -0.5], bound=0.7)
    for number, mean in zip((9, 8, 10), found["means"], strict=True):  # the thick arrow is below
        assert_close(drawn_tip(page, number), mean, 1e-9)
    for point in range(4):
        assert_close(drawn_tip(page, 2 * point), found["rows"][2 * point : 2 * point + 2], 1e-9)
    said = page.locator(".live-words").inner_text()
    mean = found["means"][0]
    assert f"Mean ({mean[0]:.2f}, {mean[1]:.2f})".replace("-", "−") in said


def test_clip_says_what_the_bound_does_to_the_point_that_was_moved(opened):
    page = opened("clip")
    found = [values(page, "clip", y=[0.7, 0.7, 1.2, low])["means"] for low in (-0.8, -1.9)]
    still = [np.allclose(*pair) for pair in zip(*found, strict=True)]
    assert still == [False, False, True]
    said = page.get_by_role("status")
    assert "Point 4 puts (0.60, 0.60) into the mean, and (0.14, 0.14), norm 0.20," in (
        said.inner_text()
    )
    assert said.inner_text().endswith("never more than bound/4 = 0.200.")
    page.get_by_role("slider", name="Point 2").press("ArrowUp")
    assert "Point 2 puts" in said.inner_text()
    page.get_by_role("button", name="Reset").click()
    assert "Point 4 puts" in said.inner_text()
    names = page.locator("#live-clip .live-name").all_text_contents()
    assert {"row", "clipped row", "bound"} < set(names)


def test_td_says_no_surprise_and_knows_its_ends(opened):
    page = opened("td")
    back = page.get_by_role("button", name="Back")
    assert back.get_attribute("aria-disabled") == "true"
    page.get_by_role("button", name="Step").click()
    assert back.get_attribute("aria-disabled") == "false"
    zero = "no surprise: 0 + 0.50 − 0.50."
    assert zero in page.get_by_role("status").inner_text()
    texts = page.locator("#live-td svg text").all_text_contents()
    assert {"learned", "rows, newest first:", "value falls", "value rises"} < set(texts)
    page.evaluate(RECALL, "#live-td?moves=0")
    page.get_by_role("button", name="10 episodes", exact=True).click()
    assert "Episode 10 has ended." in page.get_by_role("status").inner_text()


def test_the_answer_under_the_walk_is_right(opened):
    """Of the three step sizes, 0.2 is best after 10 episodes and 0.05 after 310."""
    page = opened("td")
    ends = [n for n, (_, to) in zip(range(3000), moves(1), strict=False) if to in (0, 6)]
    for episodes, best in ((10, 0.2), (310, 0.05)):
        errors = {
            alpha: values(page, "td", alpha=alpha, moves=ends[episodes - 1] + 1)["error"]
            for alpha in (0.05, 0.2, 0.5)
        }
        assert min(errors, key=errors.get) == best


def test_the_graph_knows_its_ends_and_says_what_it_refuses(opened):
    page = opened("graph")
    said = page.get_by_role("status")
    back, step = (page.get_by_role("button", name=name) for name in ("Back", "Step"))
    grey = [button.get_attribute("aria-disabled") for button in (back, step)]
    assert grey == ["true", "false"]
    page.evaluate(RECALL, "#live-graph?step=7")
    grey = [button.get_attribute("aria-disabled") for button in (back, step)]
    assert grey == ["false", "true"]
    assert "v_res changes, .grad stays [5, 5], as the slope is 5" in said.inner_text()
    field = page.get_by_role("spinbutton", name="v1[0]")
    field.fill("100")
    assert said.inner_text().startswith("Out of range: v1 takes −99 to 99. ")
    assert field.input_value() == "99"
    field.fill("3")
    assert said.inner_text().startswith("Backward")
    assert "live-error" not in said.get_attribute("class")
    page.evaluate(RECALL, "#live-graph?step=4&mark_v1=0")
    assert "live-error" in said.get_attribute("class")
    assert step.get_attribute("aria-disabled") == "true"
    step.press("Enter")
    assert state(page, "graph")["step"] == 4


def test_dividing_by_all_tokens_flattens_the_bars(opened):
    page = opened("means")
    tops = """() => [...document.querySelectorAll("#live-means rect")]
      .map((e) => [+e.getAttribute("y"), +e.getAttribute("height")]).filter((e) => e[1])
      .map((e) => e[0])"""
    assert len(set(page.evaluate(tops))) == 2
    page.get_by_role("radio", name="all tokens").check()
    level = float(page.locator("#live-means line[stroke-dasharray]").get_attribute("y1"))
    found = page.evaluate(tops)
    assert len(found) == 13
    assert_close(np.array(found), np.full(13, level), 1e-9)
    assert "1/13 = 0.077, on the dashed line" in page.get_by_role("status").inner_text()
    colours = [page.locator("#live-means rect").nth(n).get_attribute("fill") for n in (0, 12)]
    assert colours == ["#D55E00", "#0072B2"]  # as in the static figure
    for width in (320, 390, 1280):  # a name stands under the middle of its bars
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)
        centre = "(e) => { const b = e.getBoundingClientRect(); return (b.left + b.right) / 2; }"
        name = page.locator("#live-means text[text-anchor=middle]").first.evaluate(centre)
        assert abs(page.locator("#live-means rect").first.evaluate(centre) - name) < 1


def test_a_point_that_is_moved_is_the_one_left_out(opened):
    page = opened("leave")
    said = page.get_by_role("status")
    assert "moves by 4.23; the estimate says 0.69." in said.inner_text()
    assert said.inner_text().endswith("finds 1 − h = 0.16 of the move.")
    bar = page.locator("#live-leave rect[fill='#D55E00']")
    assert float(bar.get_attribute("height")) / 280 == pytest.approx(0.1639, abs=1e-4)
    page.get_by_role("slider", name="Point 2").press("ArrowUp")
    assert state(page, "leave")["out"] == 2
    assert said.inner_text().startswith("Without point 2 ")
    for key, sign in (("x", 1), ("y", 0)):  # h depends on places alone, the move on heights too
        before = values(page, "leave", out=6)["leverage"][5]
        changed = [*state(page, "leave")[key][:5], 7.0]
        after = values(page, "leave", **{key: changed})["leverage"][5]
        assert (after < before) == bool(sign)
        page.get_by_role("button", name="Reset").click()
    found = values(page, "leave", x=[3, 3, 3, 3, 3, 9], out=6)
    assert found["lines"][1] == [None, None]  # JSON's word for what is no number
    assert "the others stand at one place" in said.inner_text()
    lines = "#live-leave path:not([fill])"
    assert page.locator(f"{lines}[stroke='#009E73']").last.get_attribute("d") == ""


def centre(page, name):
    box = page.get_by_role("slider", name=name).locator(".live-dot").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_click_or_the_focus_chooses_a_point_and_does_not_move_it(opened):
    page = opened("leave")
    start = state(page, "leave")
    said = page.get_by_role("status")
    x, y = centre(page, "Point 3")
    page.mouse.move(x + 6, y - 5)
    page.mouse.down()
    page.mouse.move(x + 8, y - 6)  # a hand trembles
    page.mouse.up()
    assert state(page, "leave") == {**start, "out": 3}
    assert said.inner_text().startswith("Without point 3 ")
    page.keyboard.press("Shift+Tab")
    assert state(page, "leave") == {**start, "out": 2}
    page.get_by_role("button", name="Reset").click()
    assert state(page, "leave") == start
    page.get_by_role("slider", name="Point 2").focus()
    page.evaluate(RECALL, "#live-leave?out=6")
    page.mouse.click(*centre(page, "Point 2"))  # it has the focus already
    assert state(page, "leave") == {**start, "out": 2}


def test_a_finger_chooses_a_point_too(opened):
    page = opened("leave", has_touch=True, viewport={"width": 390, "height": 900})
    start = state(page, "leave")
    page.get_by_role("slider", name="Point 4").tap()
    assert state(page, "leave") == {**start, "out": 4}


def test_two_arrows_show_the_move_and_its_estimate_at_the_point(opened):
    page = opened("leave")
    tips = """() => [...document.querySelectorAll("#live-leave g[clip-path] path[stroke=none]")]
      .map((e) => e.getAttribute("d").match(/M(\\S+) (\\S+?)L/).slice(1).map(Number))"""
    shafts = """() => [...document.querySelectorAll("#live-leave g[clip-path] path[fill=none]")]
      .map((e) => e.getAttribute("d").match(/M(\\S+) (\\S+?)L/).slice(1).map(Number))"""
    for changes in ({}, {"out": 2, "y": [7.0, 1, 3, 4, 5, 6]}):
        found = values(page, "leave", **changes)
        here = state(page, "leave")
        at = here["x"][here["out"] - 1]
        everything, *others = (a + b * at for a, b in found["lines"])
        for (x0, y0), (x, y), height in zip(
            page.evaluate(shafts), page.evaluate(tips), others, strict=False
        ):
            assert x0 == x
            assert (y0 - y) / 28 == pytest.approx(height - everything, abs=1e-9)  # 280 for 10
    said = page.get_by_role("status")
    assert "The three lines are one" not in said.inner_text()
    found = values(page, "leave", x=[0, 1, 2, 3, 4, 5], y=[0, 1, 2, 3, 4, 5], out=6)
    assert said.inner_text().startswith("The three lines are one: ")


def test_a_point_follows_the_mouse(opened):
    page = opened("clip")
    point = page.get_by_role("slider", name="Point 4")
    box = point.locator(".live-dot").bounding_box()
    x, y = box["x"] + 11, box["y"] + 11
    before = state(page, "clip")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 100, steps=4)
    page.mouse.up()
    page.mouse.move(x, y - 200)
    after = state(page, "clip")
    assert after["y"][:3] == before["y"][:3]
    assert after["y"][3] == pytest.approx(before["y"][3] + 100 * 4.6 / 280, abs=0.02)


def test_a_point_follows_a_finger_and_the_page_scrolls_elsewhere(opened):
    page = opened("clip", has_touch=True, viewport={"width": 390, "height": 600})
    tools = page.context.new_cdp_session(page)
    point = page.get_by_role("slider", name="Point 1")
    point.scroll_into_view_if_needed()
    box = point.locator(".live-dot").bounding_box()
    x, y = box["x"] + 11, box["y"] + 11
    before = state(page, "clip")["y"][0]
    for kind, down in [
        ("touchStart", 0),
        ("touchMove", 20),
        ("touchMove", 40),
        ("touchEnd", None),
    ]:
        points = [] if down is None else [{"x": x, "y": y + down}]
        tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    page.wait_for_function(f"live.figures.clip.state.y[0] < {before - 0.5}")
    middle = page.locator("#live-clip svg").bounding_box()
    x, y = middle["x"] + middle["width"] / 2, 500
    for kind, up in [("touchStart", 0), ("touchMove", 40), ("touchMove", 300), ("touchEnd", None)]:
        points = [] if up is None else [{"x": x, "y": y - up}]
        tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    page.wait_for_function("scrollY > 100")


def focused(page):
    return page.evaluate("document.activeElement.dataset.key ?? document.activeElement.tagName")


RING = """(e) => [getComputedStyle(e).outlineStyle,
  getComputedStyle(e.querySelector(".live-ring") ?? e).strokeWidth]"""
STOPS = {
    "graph": [
        *("the sum", "Back", "Step", "Reset"),
        *("v1 0", "v1 1", "mark_v1", "v2 0", "v2 1", "mark_v2"),
    ],
    "means": ["first", "second", "each sequence", "Reset"],
    "dial": ["samples", "positions", "width", "Reset"],
    "leave": [*(f"point {n}" for n in range(1, 7)), "Reset"],
    "clip": ["point 1", "point 2", "point 3", "point 4", "bound", "Reset"],
    "td": [
        *("Back", "Step", "Episode", "10 episodes", "100 episodes", "Another walk", "Reset"),
        "alpha",
    ],
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_keyboard_reaches_everything_and_shows_where_it_is(opened, name):
    page = opened(name)
    page.locator("a").first.focus()
    for stop in STOPS[name]:
        page.keyboard.press("Tab")
        assert focused(page) == stop
        outline, stroke = page.locator(":focus").evaluate(RING)
        assert outline == "solid" or stroke == "2px"
    page.keyboard.press("Tab")
    assert focused(page) == "BODY"


def test_the_keyboard_moves_points_and_bound(opened):
    page = opened("clip")
    page.get_by_role("slider", name="Point 2").focus()
    for key in ("ArrowUp", "ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert (state(page, "clip")["t"][1], state(page, "clip")["y"][1]) == (-0.3, 0.3)
    assert page.get_by_role("slider", name="Point 2").get_attribute("aria-valuenow") == "0.3"
    page.get_by_role("slider", name="bound").focus()
    page.keyboard.press("ArrowRight")
    assert state(page, "clip")["bound"] == 0.9
    page.get_by_role("button", name="Reset").press("Enter")
    assert state(page, "clip")["bound"] == 0.8


def test_the_keyboard_walks(opened):
    page = opened("td")
    said = page.get_by_role("status")
    assert "stands at C" in said.inner_text()
    page.get_by_role("button", name="Step").press("Enter")
    page.keyboard.press("Space")
    assert said.inner_text().startswith("Move 2, ")
    assert focused(page) == "Step"
    page.get_by_role("button", name="Back").press("Enter")
    assert state(page, "td")["moves"] == 1
    page.get_by_role("button", name="Episode", exact=True).press("Enter")
    assert "Episode 1 has ended." in said.inner_text()
    count = state(page, "td")["moves"]
    page.get_by_role("button", name="100 episodes").press("Enter")
    assert "Episode 101 has ended." in said.inner_text()
    assert state(page, "td")["moves"] > count + 400
    page.get_by_role("button", name="Another walk").press("Enter")
    assert state(page, "td")["walk"] == 2


def test_the_graph_is_stepped_and_marked_by_keyboard(opened):
    page = opened("graph")
    said = page.get_by_role("status")
    forward = []
    for _ in range(8):
        forward.append(re.split(":| =", said.inner_text())[0])
        page.get_by_role("button", name="Step").press("Enter")
    through = [f"Backward through {name}" for name in ("v_res", "product", "v_sum")]
    assert forward == ["Parameters", *["Forward"] * 3, "Backward", *through]
    assert "v1 gets [5, 5] × 1 = [5, 5], kept as its .grad; v2 gets nothing: it is data." in (
        said.inner_text()
    )
    page.get_by_role("checkbox", name="v2 requires grad").press("Space")
    assert "v2 gets [5, 5] × 1 = [5, 5], kept as its .grad." in said.inner_text()
    for mark in ("v1", "v2"):
        page.get_by_role("checkbox", name=f"{mark} requires grad").press("Space")
    assert said.inner_text().startswith("RuntimeError: element 0 of tensors")
    field = page.get_by_role("spinbutton", name="v1[0]")
    field.fill("")
    field.press_sequentially("-2.5")
    assert state(page, "graph")["v1"] == [-2.5, 1]
    assert field.input_value() == "-2.5"


def test_the_network_is_chosen_and_frozen_by_keyboard(opened):
    page = opened("graph")
    said = page.get_by_role("status")
    page.get_by_role("button", name="Step").press("Enter")
    page.get_by_role("radio", name="the sum").focus()
    page.keyboard.press("ArrowRight")
    assert focused(page) == "a small network"
    assert (state(page, "graph")["graph"], state(page, "graph")["step"]) == (1, 0)
    assert said.inner_text() == "Parameters: w1, b1, w2. Data: x, y."
    fields = [
        key for name in ("x", "w1", "b1", "w2", "y") for key in (f"{name} 0", f"mark_{name}")
    ]
    for stop in ["Back", "Step", "Reset", *fields]:
        page.keyboard.press("Tab")
        assert focused(page) == stop
    field = page.get_by_role("spinbutton", name="w2")
    field.press("ArrowUp")
    assert state(page, "graph")["w2"] == 2.1
    field.fill("2")
    for leaf in ("w1", "b1"):
        page.get_by_role("checkbox", name=f"{leaf} requires grad").press("Space")
    step, sentences = page.get_by_role("button", name="Step"), []
    for _ in range(9):
        step.press("Enter")
        sentences.append(said.inner_text())
    assert sentences[0] == "Forward: z = w1 * x + b1 is 1. Not recorded: no input requires grad."
    assert sentences[2] == "Forward: p = w2 * h is 1.52. Recorded, for an input requires grad."
    assert sentences[4:] == [
        "Backward: the derivative of loss with respect to itself is 1.",
        "Backward through loss = (p - y)² / 2: p gets 1 × (p - y) = 0.52, passed on, not kept;"
        " y gets nothing: it is data.",
        "Backward through p = w2 * h: w2 gets 0.52 × h = 0.4, kept as its .grad;"
        " h gets nothing: it requires no grad.",
        "Backward: h requires no grad, and its derivative is not computed.",
        "Backward: z requires no grad, and its derivative is not computed."
        " A marked weight's .grad is the derivative at the box that it leads to, times its input"
        " there: x for w1, h for w2, 1 for b1.",
    ]
    here = "#live-graph?graph=1&step=9&mark_w1=0&mark_b1=0"
    page.wait_for_function(f"location.hash === '{here}'")
    page.reload()
    assert said.inner_text() == sentences[-1]
    page.get_by_role("button", name="Reset").press("Enter")  # the network, from its start
    assert said.inner_text() == "Parameters: w1, b1, w2. Data: x, y."
    assert state(page, "graph")["graph"] == 1


def test_a_finger_chooses_the_network_and_steps(opened):
    page = opened("graph", has_touch=True, viewport={"width": 390, "height": 900})
    page.get_by_text("a small network").tap()
    page.get_by_role("button", name="Step").tap()
    page.get_by_role("checkbox", name="x requires grad").tap()
    found = state(page, "graph")
    assert (found["graph"], found["step"], found["mark_x"]) == (1, 1, 1)


@pytest.mark.parametrize("width", [390, 690, 1280])
@pytest.mark.parametrize("number", range(len(GRAPHS)))
def test_what_a_graph_says_stands_apart_and_inside(opened, number, width):
    page = opened("graph", viewport={"width": width, "height": 900})
    marks = {f"mark_{name}": 1 for name in GRAPHS[number][1]}
    long = {"x": -2.5, "w2": -8.3}  # their derivatives have many digits
    values(page, "graph", graph=number, step=7 + 2 * number, **marks, **long)
    wrong = page.evaluate("""() => {
      const all = [...document.querySelectorAll("#live-graph svg")];
      const svg = all.find((e) => e.checkVisibility());
      const frame = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll("text")].filter((e) => e.textContent).map((e) => {
        const {left, right, top, bottom} = e.getBoundingClientRect();
        const line = (bottom - top) / 4;  // above and below the letters
        return {text: e.textContent, left, right, top: top + line, bottom: bottom - line};
      });
      const out = ({left, right, top, bottom}) => left < frame.left || right > frame.right
        || top < frame.top || bottom > frame.bottom;
      const meet = (a, b) => a.left < b.right && b.left < a.right
        && a.top < b.bottom && b.top < a.bottom;
      const close = (a, i) => texts.slice(i + 1).some((b) => meet(a, b));
      return [texts.filter(out), texts.filter(close)]
        .map((list) => list.map(({text}) => text));
    }""")
    assert wrong == [[], []]


@pytest.mark.parametrize("name", FIGURES)
def test_everything_has_a_name(opened, name):
    page = opened(name)
    for role in ("button", "slider", "img", "checkbox", "radio", "spinbutton"):
        for element in page.locator("#live-" + name).get_by_role(role).all():
            tag = element.evaluate("(e) => e.labels?.[0]?.innerText || e.ariaLabel || e.innerText")
            assert tag.strip(), element.evaluate("(e) => e.outerHTML")
    box = page.locator(f"#live-{name}")
    assert page.locator(f"#{box.get_attribute('aria-labelledby')}").inner_text() == "Words."
    assert page.get_by_role("status").inner_text()


CHANGED = {
    "clip": ("bound", 0.1),
    "td": ("alpha", 0),
    "means": ("second", 1),
    "leave": ("out", 1),
    "dial": ("width", 4),
    "graph": ("step", 1),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_state_stands_in_the_address(opened, name):
    page = opened(name)
    key, low = CHANGED[name]
    if name == "graph":
        page.get_by_role("button", name="Step").click()
    elif name == "leave":
        page.get_by_role("slider", name="Point 1").focus()
    else:
        page.locator(f"[data-key={key}]").press("Home")
    page.wait_for_function("location.hash !== ''")
    assert page.evaluate("location.hash") == f"#live-{name}?{key}={low}"
    page.reload()
    assert state(page, name)[key] == low
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function("location.hash === ''")


def test_an_address_that_says_nonsense_is_passed_over(opened):
    page = opened("clip")
    start = state(page, "clip")
    for text in ("bound=x", "y=1,2", "toString=1", "bound=", "bound", "%", "y=1,2,,3", ""):
        page.evaluate(RECALL, f"#live-clip?{text}")
        assert state(page, "clip") == start, text
    page.evaluate(RECALL, "#live-td?bound=2")
    assert state(page, "clip") == start
    page.evaluate(RECALL, "#live-clip?bound=99&y=0%2C9,-9,0")
    assert (state(page, "clip")["bound"], state(page, "clip")["y"]) == (4, [0, 2, -2, 0])
    page.evaluate(RECALL, "#live-clip?bound=2")
    assert state(page, "clip") == {**start, "bound": 2}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_figure_fits_its_page_and_turns_with_it(opened, name, width):
    page = opened(name, viewport={"width": width, "height": 900})
    sideways = "document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(sideways) <= 0
    cut = """() => [...document.querySelectorAll(".live svg text")].filter((e) => {
      const box = e.getBoundingClientRect(), frame = e.ownerSVGElement.getBoundingClientRect();
      return box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom;
    }).map((e) => e.textContent)"""
    assert page.evaluate(cut) == []
    small = "Math.min(...[...document.querySelectorAll('.live text')].map((e) =>"
    assert page.evaluate(f"{small} parseFloat(getComputedStyle(e).fontSize)))") >= 12
    first = page.locator("[data-key]").first
    first.focus()
    key = focused(page)
    page.set_viewport_size({"width": width + 200, "height": 900})
    page.wait_for_timeout(200)
    assert focused(page) == key
    assert page.evaluate(sideways) <= 0


@pytest.mark.parametrize("name", FIGURES)
def test_without_javascript_and_in_print_there_is_nothing(opened, name):
    page = opened(name, java_script_enabled=False)
    assert not page.locator(".live").is_visible()
    page = opened(name)
    assert page.locator(".live").is_visible()
    page.emulate_media(media="print")
    assert not page.locator(".live").is_visible()


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_moves_by_itself_for_readers_who_want_that(opened, name):
    page = opened(name, reduced_motion="reduce")
    moving = """() => [...document.querySelectorAll(".live *")].filter((e) => {
      const style = getComputedStyle(e);
      return parseFloat(style.transitionDuration) > 0 || style.animationName !== "none";
    }).length"""
    assert page.evaluate(moving) == 0


def test_a_dark_page_turns_the_drawing_round(opened):
    for theme, turned in (("light", False), ("dark", True)):
        page = opened("clip", theme=theme)
        style = page.locator(".live svg").evaluate("(e) => getComputedStyle(e).filter")
        assert ("invert" in style) == turned


# What they are made of ---------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_small_and_asks_nobody(name):
    scripts = book_live.scripts(name)
    assert list(scripts) == ["live", *["chart"] * (name in ("clip", "leave")), name]
    assert sum(len(text.encode()) for text in scripts.values()) < LARGEST
    for text in scripts.values():
        assert set(re.findall(r"https?://[^\"'\s]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"\b(fetch|XMLHttpRequest|import|eval|localStorage|cookie)\b", text)


@pytest.mark.skipif(not (HTML / "index.html").is_file(), reason="the book is not built")
def test_every_figure_stands_in_a_page_beside_a_static_figure_or_output():
    found = {}
    for name in pages():
        soup = BeautifulSoup((HTML / name).read_text(encoding="utf-8"), "html.parser")
        for box in soup.select(".live"):
            found[box["id"].removeprefix("live-")] = name
            assert box.has_attr("hidden")
            assert len(box.get_text().split()) > 10
            assert box.find_parent("section").select("figure, .cell_output")
        used = [tag["src"] for tag in soup.find_all("script", src=re.compile("_static/live/"))]
        names = [box["id"].removeprefix("live-") for box in soup.select(".live")]
        needed = {part for figure in names for part in book_live.scripts(figure)}
        assert sorted(Path(src.split("?")[0]).stem for src in used) == sorted(needed)
    assert sorted(found) == FIGURES


@pytest.mark.skipif(not (HTML / "index.html").is_file(), reason="the book is not built")
@pytest.mark.parametrize("scripts", [True, False])
def test_a_page_of_the_book_shows_its_figures_from_a_folder_too(chromium, scripts):
    for name in pages():
        html = (HTML / name).read_text(encoding="utf-8")
        if 'class="live"' in html:
            context = chromium.new_context(java_script_enabled=scripts)
            page = context.new_page()
            page.goto((HTML / name).as_uri())
            for box in page.locator(".live").all():
                assert box.is_visible() == scripts
                assert box.locator("svg:visible").count() == int(scripts)
            context.close()


def test_the_box_of_a_figure_says_where_it_runs():
    found = []
    for path in chapters(ROOT):
        for box in re.findall(r"^````.*\n:class: live-.*\n.*\n\n", prose(path), re.MULTILINE):
            title, kind, note = box.splitlines()[:3]
            assert title == "````{admonition} Live figure"
            page = path.relative_to(ROOT).with_suffix(".html").as_posix()
            assert note == f"It runs on the built page: `make serve`, then `{page}`."
            found.append(kind.removeprefix(":class: live-"))
    assert sorted(found) == FIGURES


def test_a_figure_that_is_not_there_is_named():
    with pytest.raises(FileNotFoundError):
        book_live.script("none")


def test_the_script_of_a_figure_holds_the_program_that_python_writes():
    assert "function clipped_rows(theta, x, y, bound) {" in book_live.script("clip")
    assert "function td_step(theta, s, r, s_next, alpha) {" in book_live.script("td")

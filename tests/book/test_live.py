"""The live figures, each alone in a page, opened from a file in a browser.

Their values are compared with Python on a hundred random states; their controls are tried by
mouse, touch and keyboard.
"""

import bisect
import functools
import itertools
import json
import re
import warnings
from statistics import NormalDist
from xml.etree import ElementTree

import book_live
import draw_field
import nbformat
import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from persample import losses, per_sample
from support import ROOT
from support.tolerances import assert_close

pytestmark = pytest.mark.site
FIGURES = book_live.FIGURES
EXACT, STATES = 1e-12, 100
SAY = (book_live.SCRIPTS.parent / "templates/say.js").read_text(encoding="utf-8")
LARGEST = 26_000  # bytes of a figure, with what it shares with others


def script(name: str) -> str:
    return (book_live.SCRIPTS / f"{name}.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def contexts(chromium):
    """Return a function that returns the browser context with the options, made once."""
    made = {}

    def context(**options):
        options = {"viewport": {"width": 800, "height": 900}, **options}
        key = json.dumps(options, sort_keys=True)
        if key not in made:
            made[key] = chromium.new_context(**options)
        return made[key]

    yield context
    for one in made.values():
        one.close()


@pytest.fixture
def opened(contexts, tmp_path):
    """Return a function that opens a figure's page; errors of its scripts fail the test."""
    tabs, errors = [], []
    style = (ROOT / "_static/book.css").read_text(encoding="utf-8")

    def open_page(name, words="", **options):
        parts = ["const bookWords = {};" + SAY, *map(script, book_live.scripts(name))]
        tags = "".join(f"<script>{part}</script>" for part in parts)
        box = book_live.opening(name) + f"<p id={book_live.label(name)}>Words.</p></div></div>"
        path = tmp_path / f"{name}.html"
        path.write_text(
            f"<!doctype html><html lang=en data-theme=light><meta charset=utf-8><title>P</title>"
            f"<meta name=viewport content='width=device-width'><style>{style}</style>"
            f"<main class=bd-article><a href='#'>before</a>{box}{words}{tags}<p>after</p></main>",
            encoding="utf-8",
        )
        page = contexts(**options).new_page()
        tabs.append(page)
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield open_page
    for page in tabs:
        page.close()
    assert errors == []


def state(page, name):
    return page.evaluate(f"live.figures.{name}.state")


def values(page, name, *states) -> list[dict]:
    """Set a figure to each of several states; return the values that it computes."""
    given = [{k: np.asarray(v).tolist() for k, v in changes.items()} for changes in states]
    found = page.evaluate(
        "([name, states]) => states.map((changes) => { const figure = live.figures[name];"
        " figure.set(changes); return JSON.stringify([figure.state, figure.values]); })",
        [name, given],
    )
    pairs = [json.loads(text) for text in found]
    for changes, (now, _) in zip(given, pairs, strict=True):
        assert changes.items() <= now.items()
    return [computed for _, computed in pairs]


def said(page) -> str:
    return page.get_by_role("status").inner_text().replace("\xa0", " ")


def press(page, role, name, key="Enter") -> None:
    page.get_by_role(role, name=name, exact=True).press(key)


# What they compute: a random state, and what Python makes of it ------------------------------


def clip_state(rng):
    t, y = rng.uniform(-1.2, 1.2, 4).round(3), rng.uniform(-2, 2, 4).round(3)
    return {"t": t, "y": y, "bound": round(rng.uniform(0.1, 4), 3)}


def clip(row, bound):
    norm = np.linalg.norm(row)
    return row if norm <= bound else row * bound / norm


def clip_in_python(t, y, bound):
    rows_of = per_sample.loop_grad(losses.squared_loss)
    rows = rows_of(np.array([0.0, 0.5]), np.stack([np.ones(4), t], axis=1), y)
    clipped = np.stack([clip(row, bound) for row in rows])
    means = [rows.mean(0), clip(rows.mean(0), bound), clipped.mean(0)]
    return {"rows": rows, "clipped": clipped, "means": np.stack(means)}


def moves(walk: int):
    """Yield the steps of a walk, (state from 1 to 5, next state), drawn as the page draws them."""
    x, at = walk, 3
    for _ in range(10):
        x = 16807 * x % (2**31 - 1)
    while True:
        x = 16807 * x % (2**31 - 1)
        to = at + (1 if x > 2**30 - 1 else -1)
        yield at, to
        at = to if 1 <= to <= 5 else 3


def td_state(rng):
    alpha, walk = round(rng.uniform(0, 1), 3), int(rng.integers(1, 1000))
    return {"alpha": alpha, "moves": int(rng.integers(3, 120)), "walk": walk}


def td_in_python(alpha, moves, walk):
    theta, rows = np.full(5, 0.5), []
    for _, (at, to) in zip(range(moves), globals()["moves"](walk), strict=False):
        s, s_next = (np.array([[at], [to]]) == np.arange(1, 6)) * 1.0
        rows.insert(0, -(float(to == 6) + s_next @ theta - s @ theta) * s)
        theta = theta - alpha * rows[0]
    error = np.sqrt(np.mean((theta - np.arange(1, 6) / 6) ** 2))
    sizes = np.linspace(0, 1, 21).round(2)
    errors = [(size, error_of(size, moves, walk)) for size in sizes]
    return {"theta": theta, "rows": np.array(rows[:3]), "error": error, "errors": errors}


@functools.cache
def error_of(alpha, count, walk):
    """Return the root mean square error of the values that TD(0) has learned."""
    values = np.array([0, *[0.5] * 5, 0])  # with the two ends
    for at, to in itertools.islice(moves(walk), count):
        values[at] += alpha * ((to == 6) + values[to] - values[at])
    return np.sqrt(np.mean((values[1:6] - np.arange(1, 6) / 6) ** 2))


def left(walk: int) -> list:
    """Return the states of a corridor that a random walk leaves, drawn as the page draws them."""
    x, places = walk, [0]
    for _ in range(10):
        x = 16807 * x % (2**31 - 1)
    while places[-1] < 6 and len(places) <= 30:
        x = 16807 * x % (2**31 - 1)
        places.append(max(0, places[-1] + (1 if x > 715827882 else -1)))
    return [place for place in places if place < 6][:30]


def trace_state(rng):
    walk = int(rng.integers(1, 1000))
    steps = int(rng.integers(1, len(left(walk)) + 1))
    return {"lambda": round(rng.uniform(0, 1), 3), "steps": steps, "walk": walk}


def trace_in_python(walk, steps, **given):
    places, fading = left(walk)[:steps], given["lambda"]
    weights = fading ** np.arange(steps - 1.0, -1, -1)
    trace = weights @ np.eye(6)[places]
    return {"places": places, "trace": trace, "weights": weights, "length": len(left(walk))}


PLACES = [  # features of the states left, and of those reached
    ([[1.0]], [[1.0]]),
    ([[1.0]], [[2.0]]),
    ([[1.0], [2.0]], [[2.0], [0.0]]),
]
BAIRD = np.zeros((7, 8))
BAIRD[:6, :6], BAIRD[:6, 7], BAIRD[6, 6:] = 2 * np.eye(6), 1, (1, 2)
PLACES.append((BAIRD, np.tile(BAIRD[6], (7, 1))))


def divergence_state(rng):
    alpha, gamma = round(rng.uniform(0.01, 1.5), 3), round(rng.uniform(0, 0.99), 3)
    use, steps = int(rng.integers(4)), 10 * int(rng.integers(1, 40))
    return {"use": use, "alpha": alpha, "gamma": gamma, "steps": steps}


def divergence_in_python(use, alpha, gamma, steps):
    """Return the divergence figure's values under TD(0) with step sizes alpha and alpha / 10.

    Curves of the largest |value|, divided by the maximum of all; spectral radii of the mean
    update; where each comes to rest, if it is within 1 % of it; the bound 1 / (1 - gamma).
    """
    s, s_next = map(np.array, PLACES[use])
    curves, radii, rest = [], [], []
    for size in (alpha, alpha / 10):
        theta = np.array([1.0, 1, 1, 1, 1, 1, 10, 1]) if use == 3 else np.ones(1)
        curve = [abs(s @ theta).max()]
        while len(curve) <= steps and curve[-1] <= 1e6:
            delta = 1 + gamma * s_next @ theta - s @ theta
            theta = theta + size * (delta[:, None] * s).mean(0)
            curve.append(abs(s @ theta).max())
        curves.append(np.pad(curve, (0, steps + 1 - len(curve))))
        A = s.T @ (s - gamma * s_next) / len(s)
        roots = np.linalg.eigvals(A)
        moving = roots[np.argsort(abs(roots))[use == 3 :]]  # what no step moves neither grows
        radii.append(abs(1 - size * moving).max())
        end = abs(s @ np.linalg.lstsq(A, s.mean(0))[0]).max()
        near = radii[-1] < 1 and abs(curve[-1] - end) <= 0.01 * end
        rest.append(end if near else np.nan)
    found = {"curves": curves / np.max(curves), "radii": radii, "rest": rest}
    return {**found, "bound": 1 / (1 - gamma)}


def branch_state(rng):
    first, second = rng.uniform(-2, 2, 2).round(3).tolist()
    return {"first": first, "second": second, "way": int(rng.integers(2))}


def branch_in_python(first, second, way):
    """Return the branch figure's values, computed in PyTorch.

    Every operation's result, and masks of the operations that are needed, on the tape, and
    evaluated (under `where`, all).
    """
    W = torch.tensor([[0.5, -1.0], [1.0, 0.5]], dtype=torch.float64)
    x, yes = torch.tensor([first, second], dtype=torch.float64), first > 0
    road = [W @ x, (W @ x).tanh(), W @ (W @ x).tanh(), (W @ (W @ x).tanh()).tanh(), W @ x]
    h = road[3] if yes else road[4]
    values = [*road, h, h - 1, (h - 1) ** 2]
    total = ((h - 1) ** 2).sum()
    numbers = [[float(yes)], *(v.tolist() for v in values), [float(total)], [float(total) / 2]]
    taken = np.array([True, *[yes] * 4, not yes, *[True] * 5])
    recorded = taken & (np.arange(11) % 6 != 0)  # neither the question nor the choice
    found = {"values": np.concatenate(numbers), "wanted": taken, "recorded": recorded}
    return {**found, "computed": taken if way else np.ones(11)}


def draws(seed: int):
    """Return a function that draws from range(n), with the random numbers of the page."""
    x = [seed]

    def draw(n):
        x[0] = 16807 * x[0] % (2**31 - 1)
        return x[0] * n // (2**31 - 1)

    for _ in range(10):
        draw(1)
    return draw


def batch_state(rng):
    size, seed = int(rng.integers(1, 65)), int(rng.integers(1, 1000))
    return {"size": size, "again": int(rng.integers(2)), "seed": seed}


def batch_in_python(size, again, seed):
    """Return the batch figure's values; the mean of a batch is computed as weights times rows."""
    draw = draws(1)
    numbers = np.array([sum(draw(1000) for _ in range(3)) for _ in range(128)])
    rows = (numbers.reshape(64, 2) - 1498.5) / 500 + [0.8, -0.3]
    draw, weights = draws(seed), np.zeros((200, 64))
    for line in weights:
        left = list(range(64))
        for k in range(size):
            j = draw(64) if again else k + draw(64 - k)
            if not again:
                left[k], left[j] = left[j], left[k]
            line[j if again else left[k]] += 1 / size
    means, exact = weights @ rows, rows.mean(0)
    assert again or np.all(weights <= 1 / size)
    distance = np.sqrt(((means - exact) ** 2).sum(1).mean())
    spread = np.sqrt(rows.var(0).sum())
    return {"means": means, "exact": exact, "distance": distance, "spread": spread}


def means_state(rng):
    first, second = rng.integers(1, 13, 2).tolist()
    return {"first": first, "second": second}


def means_in_python(first, second):
    keep = np.arange(12) < np.array([[first], [second]])
    each = keep / keep.sum(1)[:, None] / 2
    return {"weights": each.ravel(), "right": (keep / keep.sum()).ravel()}


def divisor_state(rng):
    first, second, by = rng.integers([1, 1, 0], [9, 9, 3]).tolist()
    credits = rng.uniform(-1, 1, 2).round(3).tolist()
    return {"first": first, "second": second, "by": by, **dict(zip(CREDITS, credits, strict=True))}


CREDITS = ("credit1", "credit2")


def divisor_in_python(first, second, credit1, credit2, by):
    """Return minus the gradient of the loss of chapter 16 chosen by ``by``, and its extremes.

    The gradient, (16,), is with respect to the tokens' log-probabilities; the extremes are minus
    the smallest and the largest entry over all three losses.
    """
    page = nbformat.read(ROOT / "chapters/16_token_rows.ipynb", as_version=4)
    program = re.search(r"```python\n(own = .+?)```", page.cells[0].source, re.DOTALL)[1]
    log_p = torch.zeros(2, 8, dtype=torch.float64, requires_grad=True)
    mask = (torch.arange(8) < torch.tensor([[first], [second]])).double()
    credit = torch.tensor([[credit1], [credit2]], dtype=torch.float64)
    made = {"longest": 8, "mask": mask, "each": -credit * log_p * mask}
    exec(program, made)
    losses = [made[name] for name in ("own", "every", "constant")]
    weights = [-torch.autograd.grad(loss, log_p, retain_graph=True)[0] for loss in losses]
    low, high = torch.stack(weights).aminmax()
    return {"weights": weights[by].flatten(), "needed": [-low, high]}


def cost_state(rng):
    most = {"positions": 1024, "inputs": 1024, "outputs": 1024, "batch": 256}
    low = {"inputs": 8, "outputs": 8}
    return {key: int(rng.integers(low.get(key, 1), high + 1)) for key, high in most.items()}


class Written(TorchDispatchMode):
    """Counts the numbers that matrix products write."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if "mm" in str(func):
            self.count += out.numel()
        return out


@functools.cache
def squares_at_positions():
    """Return the function that solves the exercise of chapter 11 on a layer at many positions."""
    page = nbformat.read(ROOT / "chapters/11_cost.ipynb", as_version=4)
    solved = [c.source for c in page.cells if c.source.startswith("def squares_at_positions")]
    made = {"torch": torch}
    exec(solved[-1].partition("\n\n")[0], made)
    return made["squares_at_positions"]


def products_of(run, *inputs) -> tuple:
    """Return how many multiplications the products of ``run`` need, and the numbers they write."""
    with FlopCounterMode(display=False) as counter, Written() as written:
        run(*inputs)
    return counter.get_total_flops() // 2, written.count  # a flop is a product or a sum


def cost_in_python(positions, inputs, outputs, batch):
    """Return what PyTorch counts while it computes norms, without numbers (on device meta)."""
    z_bar = torch.empty(batch, positions, outputs, device="meta")
    h = torch.empty(batch, positions, inputs, device="meta")
    rows, table = products_of(lambda z, h: z.mT @ h, z_bar, h)
    one, row = products_of(lambda z, h: z.mT @ h, z_bar[:1], h[:1])
    without, pairs = products_of(squares_at_positions(), z_bar, h)
    return {"products": [rows / batch, one, without / batch], "numbers": [table, row, pairs]}


def test_the_answers_under_the_costs_are_right(opened):
    """Show where rows become cheaper, and that the batch moves the memory alone."""
    page = opened("cost")

    def first(**layer):
        """Return from how many positions on rows need fewer products, one row fewer numbers."""

        def takes(key, way, positions):
            (found,) = values(page, "cost", {"positions": positions, **layer})
            return found[key][way] < found[key][2]

        return [
            1 + bisect.bisect_left(range(1, 1025), True, key=functools.partial(takes, key, way))
            for key, way in (("products", 0), ("numbers", 1))
        ]

    press(page, "button", "Reset")
    assert "12.8 million multiplications with its row, 4.26 million without. Fewest: no" in said(
        page
    )
    assert said(page).endswith("Least memory: row by row, 200,704 numbers.")
    assert first() == [193, 20]
    assert first(batch=1) == [193, 317]
    assert first(inputs=256, outputs=10)[0] == 10
    rng = np.random.default_rng(2)
    for _ in range(10):
        layer = {key: cost_state(rng)[key] for key in ("inputs", "outputs")}
        narrow = min(layer.values())
        assert narrow / 2 < first(**layer)[0] <= narrow
    page = opened("cost")
    for name, wanted in (("positions T", 128), ("inputs d", 1024), ("outputs m", 362)):
        press(page, "slider", name, "ArrowRight")
        assert page.get_by_role("slider", name=name).evaluate("(e) => e.ariaValueText") == (
            str(wanted)
        )


def test_the_number_of_positions_is_dragged_in_both_diagrams(opened):
    page = opened("cost")
    for place, across in ((0, 40), (1, -40)):
        before = state(page, "cost")["positions"]
        grip = page.locator("#live-cost .live-dot").nth(place).bounding_box()
        x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + across, y, steps=4)
        page.mouse.up()
        line = page.locator("#live-cost .live-zero").first.bounding_box()["width"]
        wanted = before * 1024 ** (across / line)
        assert state(page, "cost")["positions"] == pytest.approx(wanted, abs=2)


def digits_state(rng):
    label, keep = rng.integers(3, 5, 8).tolist(), rng.integers(0, 2, 8).tolist()
    scale, bound = rng.uniform(0.1, 16, 8).round(3), round(rng.uniform(0.5, 60), 3)
    return {"label": label, "scale": scale, "keep": keep, "bound": bound}


def digits_in_python(label, scale, keep, bound):
    """Return the values of the first page's figure, by one backward pass for each image."""
    images, digits = load_digits(return_X_y=True)
    eight = [*(digits == 3).nonzero()[0][:7], (digits == 4).nonzero()[0][0]]
    x = torch.tensor(images[eight] / 16)
    weight = torch.zeros(10, 64, dtype=torch.float64, requires_grad=True)
    rows = []
    for image, times, of in zip(x, scale, label, strict=True):
        loss = torch.nn.functional.cross_entropy(weight @ (image * times), torch.tensor(of))
        rows.append(torch.autograd.grad(loss, weight)[0].numpy())
    kept = [row for row, k in zip(rows, keep, strict=True) if k] or [np.zeros((10, 64))]
    means = [-np.mean(many, 0)[3] for many in (kept, [clip(row, bound) for row in kept])]
    norms = [np.linalg.norm(row) for row in rows]
    return {"norms": norms, "mean": means[0], "clipped": means[1]}


def influence_state(rng):
    return {"chosen": int(rng.integers(0, 18)), "step": round(rng.uniform(0.01, 0.3), 3)}


@functools.cache
def program_of_chapter_15() -> dict:
    """Run chapter 15 up to the images that weigh on a misread 3; return its variables."""
    page = nbformat.read(ROOT / "chapters/15_influence.ipynb", as_version=4)
    cells = [cell.source for cell in page.cells if cell.cell_type == "code"]
    first = next(i for i, cell in enumerate(cells) if "load_digits" in cell)
    last = next(i for i, cell in enumerate(cells) if cell.startswith("ranked ="))
    ranked = "\n".join(cells[last].splitlines()[:2])
    made, dtype = {}, torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            exec("\n".join(["import torch", *cells[first:last], ranked]), made)
    finally:
        torch.set_default_dtype(dtype)
    return made


def influence_in_python(chosen, step):
    """Return the influence figure's values for one SGD step on an image, computed in PyTorch.

    Test losses before and after, their change, its first-order prediction, and the predicted
    digits. Weights are rounded to 1/250.
    """
    page, entropy = program_of_chapter_15(), torch.nn.functional.cross_entropy
    theta = (page["theta"] * 250).round() / 250
    i = int([*page["opponents"], *page["proponents"], 235, 368][chosen])
    tests = [int(page["j"]), 587, 273, 268, 645, 283]
    x, y = page["x_test"][tests], page["y_test"][tests]
    row = page["rows_of"](theta, page["x"][[i]], page["y"][[i]])[0]
    before, after = (
        entropy(x @ w.T, y, reduction="none").numpy() for w in (theta, theta - step * row)
    )
    products = page["rows_of"](theta, x, y).flatten(1) @ row.flatten()
    read = (x @ (theta - step * row).T).argmax(1)
    found = {"norm": row.norm(), "before": before, "after": after, "read": read.numpy()}
    return {**found, "first": -step * products.numpy(), "real": after - before}


def test_the_answers_under_the_influence_are_right(opened):
    """Show that a step helps images of its own label, whether proponents or opponents."""
    page, made = opened("influence"), program_of_chapter_15()
    both = [*made["opponents"], *made["proponents"]]
    digits, labels = made["digits"][both], made["labels"][both]
    shown = page.locator(".live-tile").all_inner_texts()
    said_of = [f"{d}→{of}" if d != of else f"{d}" for d, of in zip(digits, labels, strict=True)]
    assert [text.strip() for text in shown] == [*said_of, "3", "7"]
    assert said_of[state(page, "influence")["chosen"]] == "3→7"  # the one the page asks about
    assert said(page).startswith("A step on a 3 labelled 7")
    values(page, "influence", {"chosen": 0})
    assert "the loss of our 3, 1.25, by +0.48, to first order by +0.44." in said(page)
    found = values(page, "influence", *[{"chosen": i, "step": 0.05} for i in range(18)])
    ours = np.array([one["real"][0] for one in found[:16]])
    assert ((ours < 0) == (labels == 3)).all()
    assert (made["score"][made["opponents"], made["j"]] < 0).all()
    assert sum(labels[:8] == 3) == 4
    wrong = shown.index("3→7")
    assert [np.sign(found[wrong]["real"][k]) for k in (0, 1, 3)] == [1, -1, -1]
    assert np.argmax(found[wrong]["real"]) == 0
    for one in found[16:]:
        assert one["norm"] < 0.1
        assert np.abs(one["real"]).max() < 0.01
    assert max(abs(one["real"][5]) for one in found) < 0.01
    for one in values(page, "influence", *[{"chosen": i, "step": 0.3} for i in range(18)]):
        assert (np.array(one["real"]) >= one["first"]).all()
    (large,) = values(page, "influence", {"chosen": 0, "step": 0.2})
    assert large["first"][1] < 0 < large["real"][1]


def test_a_step_is_taken_by_a_click_and_by_keys(opened):
    page = opened("influence")
    values(page, "influence", {"chosen": 0})
    page.locator(".live-tile").nth(4).click()
    assert state(page, "influence")["chosen"] == 4
    assert said(page).startswith("A step on a 3 labelled 7, whose row has the norm ")
    bars = page.locator("#live-influence svg[role=img] rect[width='36']")
    heights = [
        float(h) for h in bars.evaluate_all("(all) => all.map((e) => e.height.baseVal.value)")
    ]
    (found,) = values(page, "influence", {})
    assert_close(np.array(heights) / heights[0], np.abs(found["real"]) / found["real"][0], 1e-5)
    kinds = bars.evaluate_all("(all) => all.map((e) => e.getAttribute('class'))")
    assert kinds == ["live-plus" if v < 0 else "live-minus" for v in found["real"]]
    press(page, "radio", "3 labelled 7, opponents", "ArrowRight")
    assert state(page, "influence")["chosen"] == 5
    press(page, "slider", "size of the step", "End")
    assert state(page, "influence")["step"] == 0.3


def conflict_state(rng):
    second, angle = round(rng.uniform(0.2, 1.2), 3), round(rng.uniform(0, 180), 3)
    return {"second": second, "angle": angle, "surgery": int(rng.integers(2))}


def conflict_in_python(second, angle, surgery):
    """Return the conflict figure's values: rates of two losses along a step, as in chapter 17."""
    lengths, angles = torch.tensor([[1.0, second], [0.0, angle]], dtype=torch.float64)
    rows = torch.view_as_real(torch.polar(lengths, angles.deg2rad()))
    w = torch.zeros(2, dtype=torch.float64)
    used = rows.clone()
    if surgery and rows[0] @ rows[1] < 0:
        for k in (0, 1):  # what is left of a row at right angles to the other
            q, _ = torch.linalg.qr(rows[1 - k][:, None], mode="complete")
            used[k] = (rows[k] @ q[:, 1]) * q[:, 1]

    def rates(direction):
        return rows @ (w + direction) - rows @ w  # the losses are linear in w

    alone = torch.stack([rates(-row) for row in rows]).diagonal()
    cosine = torch.cosine_similarity(*rows, dim=0)
    found = {"rows": rows, "used": used, "mean": used.mean(0), "cosine": cosine}
    return {**found, "gains": rates(-used.mean(0)) / alone}


@functools.cache
def tasks_of_chapter_17() -> dict:
    """Run chapter 17 up to the products of its ten tasks; return its variables."""
    page = nbformat.read(ROOT / "chapters/17_gram.ipynb", as_version=4)
    cells = [c.source for c in page.cells if c.cell_type == "code" and "plt." not in c.source]
    last = next(i for i, cell in enumerate(cells) if cell.startswith("tasks ="))
    made = {}
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        exec("\n".join(cells[: last + 1]), made)
    return made


def test_the_answers_under_the_conflict_are_right(opened):
    """Show where the tip of row 2 must be for harm, and that the pairs of digits are as told."""
    page, rng = opened("conflict"), np.random.default_rng(1)
    assert said(page).endswith("sample 2: sample 2 is harmed.")
    states = [conflict_state(rng) for _ in range(STATES)]
    for given, found in zip(states, values(page, "conflict", *states), strict=True):
        harmed = [gain < 0 for gain in found["gains"]]
        x, y = found["rows"][1]
        marked = [x < -1, (x + 0.5) ** 2 + y**2 < 0.25]  # beyond a line, in a circle
        assert harmed == ([False, False] if given["surgery"] else marked)
    lengths = [{"second": v, "angle": 150} for v in (0.86, 0.87, 1, 1.15, 1.16)]
    equal = [{"second": 1, "angle": angle} for angle in (90, 120, 179)]
    found = values(page, "conflict", *[{**s, "surgery": 0} for s in (*lengths, *equal)])
    assert [np.sign(one["gains"]).tolist() for one in found[:5]] == [
        [1, -1], [1, 1], [1, 1], [1, 1], [-1, 1]]  # fmt: skip
    assert all(min(one["gains"]) > 0 for one in found[5:])

    made = tasks_of_chapter_17()
    tasks, length, cosine = (made[name].numpy() for name in ("tasks", "length", "cosine"))
    harmed = (tasks + tasks.diagonal()[:, None]) < 0  # a: harmed by the mean of a and b
    assert np.argwhere(harmed).tolist() == [[0, 1]]
    assert cosine[1, 8] == cosine.min() < cosine[0, 1] < 0
    for state, other in zip(STATED["conflict"], (8, 0), strict=False):
        given = dict(one.split("=") for one in state.split())
        assert float(given["second"]) == round(length[other] / length[1], 2)
        assert float(given["angle"]) == round(np.degrees(np.arccos(cosine[1, other])))


def devices_state(rng):
    x, y = rng.uniform(-10, 10, (2, 4)).round(3) * rng.choice([0.1, 1])
    return {"x": x.round(3), "y": y.round(3), "by": int(rng.integers(3))}


def devices_in_python(x, y, by):
    """Return the devices figure's values: three programs on lists, an entry for each device."""
    rows = np.stack([x, y], axis=1)
    parts = [rows[:2], rows[2:]]
    right = sum(clip(row, 5) for row in rows)
    if by == 0:
        used = [np.stack([clip(row, 5) for row in part]) for part in parts]
        sent, cut = [part.sum(0) for part in used], rows
        result = sum(sent)
    if by == 1:  # as under DDP, whose .grad is clipped
        used, sent = parts, [part.sum(0) for part in parts]
        result, cut = clip(sum(sent), 5), [*rows, sum(sent)]
    if by == 2:  # a psum for each place, as chapter 13 writes it; every device clips its copy
        sent = [sum(part[place] for part in parts) for place in (0, 1)]
        used = [np.stack([clip(row, 5) for row in sent]) for _ in parts]
        result, cut = np.concatenate(used).sum(0), [*rows, *sent]
    gap = np.linalg.norm(result - right)
    return {
        "rows": rows,
        "used": used,
        "sent": sent,
        "right": right,
        "result": result,
        "gap": gap,
        "same": gap < 0.005,
        "whole": all(np.linalg.norm(row) <= 5 for row in cut),  # nothing is clipped
    }


def test_the_devices_begin_with_what_chapter_13_prints(opened):
    page = nbformat.read(ROOT / "chapters/13_many_devices.ipynb", as_version=4)
    outputs = [out.get("text", "") for c in page.cells for out in c.get("outputs", [])]
    (printed,) = (out for out in outputs if out.startswith("[24. 10.]"))
    numbers = np.array(re.findall(r"-?[\d.]+", printed.split("\n")[1]), float).reshape(2, 2)
    page = opened("devices")
    assert said(page) == (
        "Each device sends one sum of clipped rows, (4, 6) and (1, −2). "
        "The result is (5, 4), the clipped sum of the batch."
    )
    (found,) = values(page, "devices", {"by": 2})
    assert_close(np.round([found["result"], found["right"]], 1), numbers, 1e-9)
    assert said(page) == (
        "What is sent are sums over the devices, one for each place: (3, 9) and (9, −4). "
        "Both devices clip them. The result is (12.3, 5.43) instead of (5, 4)."
    )


CHAIN = """() => [...document.querySelectorAll("#live-devices g[pointer-events=none] > path")]
  .filter((one) => one.getAttribute("stroke") === "none")
  .map((one) => one.getAttribute("d").match(/[\\d.]+/g).slice(0, 2).map(Number))"""


def test_the_chain_of_the_devices_ends_at_the_result_and_in_the_ring_if_it_is_right(opened):
    """Compare the drawn arrows, head to tail, with the values, and the ring with the sum."""
    page, rng = opened("devices"), np.random.default_rng(2)
    for by in (0, 1, 2):
        for _ in range(10):
            (found,) = values(page, "devices", {**devices_state(rng), "by": by})
            tips = np.array(page.evaluate(CHAIN))[1:8:2]  # of a device, of the chain, in turn
            dot, ring, origin = (
                np.array(page.evaluate(CENTRE, one))
                for one in ("circle[r='5.5']", "circle[r='10']", "circle[r='3']")
            )
            wanted = np.concatenate(found["used"]).cumsum(0)
            scale = np.linalg.norm(tips[0] - origin) / np.linalg.norm(wanted[0])
            drawn = [(at - origin) / scale * [1, -1] for at in (tips, dot, ring)]
            assert_close(drawn[0], wanted, 0.5 / scale)
            assert_close(drawn[1], np.array(found["result"]), 0.5 / scale)
            assert_close(drawn[2], np.array(found["right"]), 0.5 / scale)
            missed = page.get_by_text("missed by")
            assert missed.is_visible() == (not found["same"])
            assert missed.text_content() == f"missed by {found['gap']:.1f}"


CENTRE = """(one) => ["cx", "cy"].map((at) => Number(
  document.querySelector(`#live-devices svg > g > ${one}, #live-devices svg > ${one}`)
    .getAttribute(at)))"""


def test_a_wrong_program_of_the_devices_may_agree(opened):
    """Check the answer: the first program is right for all rows, the others for some."""
    page, rng = opened("devices"), np.random.default_rng(1)
    states = [devices_state(rng) for _ in range(STATES)]
    for by in (0, 1, 2):
        same = [one["same"] for one in values(page, "devices", *({**s, "by": by} for s in states))]
        assert all(same) if by == 0 else not all(same)
    short = {"x": [1, 0, -1, 1], "y": [0, 1, 1, 0], "by": 1}
    opposite = {"x": [3, 1, -3, -1], "y": [1, 1, -1, -1], "by": 2}
    balanced = {"x": [6, 1, -6, -1], "y": [0, 1, 0, -1], "by": 1}
    ends = ("right: nothing is clipped.", "right: nothing is clipped.", "right, but by chance.")
    for given, end in zip((short, opposite, balanced), ends, strict=True):
        assert values(page, "devices", given)[0]["same"]
        assert said(page).endswith(f", which is {end}")
        assert page.locator(".live-found").text_content() == ""
    press(page, "radio", "clip first", "Space")
    assert said(page).endswith(", the clipped sum of the batch.")


def test_where_nothing_is_clipped_shard_map_gives_twice_the_sum(opened):
    """Check the answer on short rows: adding first is right there, and shard_map is not."""
    page, rng = opened("devices"), np.random.default_rng(3)
    for _ in range(20):
        rows = {key: rng.uniform(-1, 1, 4).round(3) for key in "xy"}
        first, added, mapped = values(page, "devices", *({**rows, "by": by} for by in (0, 1, 2)))
        assert [one["whole"] for one in (first, added, mapped)] == [True] * 3
        assert [one["same"] for one in (first, added, mapped)] == [True, True, False]
        assert_close(np.array(mapped["result"]), 2 * np.array(first["right"]), EXACT)
        assert ", twice (" in said(page)
        assert page.locator(".live-found").text_content() == FOUND_BY_SHORT_ROWS
    values(page, "devices", {"x": [6, 1, -3, 8], "y": [8, 2, 1, -6], "by": 2})
    assert page.locator(".live-found").text_content() == ""


FOUND_BY_SHORT_ROWS = "✓ Found: shard_map, twice the sum"


@pytest.mark.parametrize("way", ["mouse", "touch"])
def test_a_row_of_a_device_is_dragged(opened, way):
    page = opened("devices", has_touch=way == "touch", viewport={"width": 390, "height": 900})
    x, y = centre(page, "tip of row 3")
    unit = page.locator("#live-devices rect.live-frame").first.bounding_box()["width"] / 22.4
    moves = [(x - 2 * unit * k, y - 3 * unit * k) for k in (0, 0.5, 1)]
    if way == "mouse":
        page.mouse.move(*moves[0])
        page.mouse.down()
        for at in moves:
            page.mouse.move(*at)
        page.mouse.up()
    else:
        tools = page.context.new_cdp_session(page)
        for kind, at in zip(("touchStart", "touchMove", "touchMove"), moves, strict=True):
            points = [dict(zip("xy", at, strict=True))]
            tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            page.wait_for_timeout(20)
        tools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert state(page, "devices") == {"x": [6, 1, -3, 6], "y": [8, 2, 1, -3], "by": 0}
    for key, wanted in (("ArrowLeft", [5.5, -3]), ("ArrowUp", [5.5, -2.5]), ("End", [5.5, 10])):
        press(page, "slider", "tip of row 3", key)
        assert [state(page, "devices")[k][3] for k in "xy"] == wanted


def test_the_field_holds_what_chapter_17_computes(opened):
    """Compare every image with the chapter's own network; products have three digits."""
    made, page = tasks_of_chapter_17(), opened("field")
    y, read, now, products, broken = (
        made[name].numpy() for name in ("y", "read", "now", "products", "broken")
    )
    found = values(page, "field", *({"chosen": k} for k in range(len(y))))
    for key, wanted in (("label", y), ("read", read), ("now", now)):
        assert [int(one[key]) for one in found] == wanted.tolist()
    shown = np.array([one["product"] for one in found])
    assert (np.sign(shown) == np.sign(products)).all()
    assert np.max(abs(shown / products - 1)) < 0.01
    order = products.argsort()
    places = order.argsort() + 1
    assert abs(np.array([one["place"] for one in found]) - places).max() <= 2  # some differ little
    assert all(one["places"] == sorted(places[broken].tolist()) for one in found)

    # What the page says.
    assert found[0]["places"] == [2, 4, 5, 6, 9, 28, 29, 33]
    assert (broken[order[:9]].sum(), (read != y)[order[:9]].sum()) == (5, 4)
    lower = products < 0
    assert ((now == y)[lower].sum(), lower.sum()) == (241, 257)


def test_the_files_of_the_field_are_those_of_chapter_17():
    made = tasks_of_chapter_17()
    shown = np.asarray(Image.open(draw_field.IMAGES).convert("RGBA"))[..., 3]
    for k, image in enumerate(made["x"].numpy()):
        x, y = 8 * (k % 20), 8 * (k // 20)
        assert abs(shown[y : y + 8, x : x + 8].ravel() / 255 - image).max() < 0.01
    assert draw_field.IMAGES.stat().st_size < 12_000
    assert draw_field.still(made) == draw_field.STILL.read_text("utf-8"), "run draw_field.py"


DOTS = """[...document.querySelectorAll("#live-field circle.live-moves")]
  .map((e) => [getComputedStyle(e).fill, e.cx.baseVal.value, e.cy.baseVal.value])"""


@pytest.mark.parametrize("width", [390, 800])
def test_the_field_is_ordered_by_product(opened, width):
    """Check that no two dots share a place, and that harm is to the left of the middle."""
    page = opened("field", viewport={"width": width, "height": 900})
    made = tasks_of_chapter_17()
    products, broken = made["products"].numpy(), made["broken"].numpy()
    for ordered in (0, 1):
        values(page, "field", {"ordered": ordered})
        page.wait_for_timeout(300)
        colours, x, y = zip(*page.evaluate(DOTS), strict=True)
        assert len(set(zip(x, y, strict=True))) == len(products)
        assert {c for c, b in zip(colours, broken, strict=True) if b} == {colours[broken.argmax()]}
        assert [c == colours[broken.argmax()] for c in colours] == broken.tolist()
    middle = page.locator("#live-field .live-picture").bounding_box()["width"] / 2
    assert ((np.array(x) > middle) == (products > 0)).all()
    assert (np.diff(np.array(x)[products.argsort()]) >= 0).all()


def press_dot(page, k, way="mouse"):
    x, y = page.evaluate(DOTS)[k][1:]
    frame = page.locator("#live-field .live-picture > svg").bounding_box()
    x, y = frame["x"] + x + 2, frame["y"] + y - 2
    page.touchscreen.tap(x, y) if way == "touch" else page.mouse.click(x, y)


@pytest.mark.parametrize("way", ["mouse", "touch"])
def test_a_dot_is_pressed_and_its_image_shown(opened, way):
    page = opened("field", has_touch=way == "touch", viewport={"width": 390, "height": 900})
    window = "document.querySelector('#live-field svg svg').getAttribute('viewBox')"
    text = "[...document.querySelectorAll('#live-field .live-picture > svg > text')]"
    shown = f"{text}.map((e) => e.textContent)"
    for ordered in (0, 1):
        values(page, "field", {"ordered": ordered})
        page.wait_for_timeout(300)
        for k in (276, 294, 295, 299, 14):
            press_dot(page, k, way)
            assert state(page, "field") == {"chosen": k, "ordered": ordered}
            assert page.evaluate(window) == f"{8 * (k % 20)} {8 * (k // 20)} 8 8"
        press_dot(page, 276, way)
        assert page.evaluate(shown)[-3:] == [
            "image 276, a 1",
            "read as 1, then as 8: spoilt",
            "product −25.4: a short step harms it",
        ]


def test_the_ring_of_the_field_is_dragged_and_moved_by_keys(opened):
    page = opened("field")
    press(page, "checkbox", "order by product", "Space")
    page.wait_for_timeout(300)
    places = page.evaluate(DOTS)
    frame = page.locator("#live-field .live-picture > svg").bounding_box()
    for k in (14, 396, 123):  # from one dot over another to a third
        page.mouse.move(frame["x"] + places[k][1], frame["y"] + places[k][2])
        page.mouse.down()
        assert state(page, "field")["chosen"] == k
    page.mouse.up()
    products = tasks_of_chapter_17()["products"].numpy()
    order = products.argsort().tolist()
    ring = page.get_by_role("slider", name="the chosen image")
    for key, wanted in (
        ("ArrowRight", order[2]),
        ("ArrowUp", order[11]),
        ("Home", order[0]),
        ("ArrowLeft", order[0]),
        ("End", order[-1]),
    ):
        ring.press(key)
        assert state(page, "field")["chosen"] == wanted
    assert ring.get_attribute("aria-valuenow") == "397"
    press(page, "button", "Reset")
    assert ring.get_attribute("aria-valuetext").startswith("image 14, an 8, read as 1, then")
    for key, wanted in (
        ("ArrowRight", 15),
        ("ArrowDown", 48),
        ("ArrowUp", 15),
        ("Home", 0),
        ("ArrowUp", 0),
        ("End", 396),
    ):
        ring.press(key)
        assert state(page, "field")["chosen"] == wanted


def test_gradient_surgery_answers_the_question_too(opened):
    page = opened("conflict")
    press(page, "checkbox", "gradient surgery", "Space")
    assert page.locator(".live-found").inner_text().endswith("gradient surgery")
    press(page, "slider", "angle of the rows", "End")  # the row is turned
    assert page.locator(".live-found").inner_text() == ""


def test_an_angle_has_its_sign(opened):
    page = opened("conflict")
    slider = page.get_by_role("slider", name="angle of the rows")
    assert slider.evaluate("(e) => e.ariaValueText") == "150°"
    assert page.locator(".live-value").nth(1).inner_text() == "150°"
    tip = page.get_by_role("slider", name="tip of row 2")
    assert tip.get_attribute("aria-valuetext") == "length 0.50, angle 150°"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_tip_of_a_row_covers_no_words_and_stays_in_the_picture(opened, width):
    page = opened("conflict", viewport={"width": width, "height": 900}, reduced_motion="reduce")
    svg = page.locator("#live-conflict svg").bounding_box()
    for angle, second in itertools.product((0, 90, 150, 170, 180), (0.2, 0.5, 1.2)):
        values(page, "conflict", {"angle": angle, "second": second, "map": 1})
        ring = page.locator("#live-conflict .live-ring").bounding_box()
        assert svg["x"] - 0.1 <= ring["x"] <= svg["x"] + svg["width"] - ring["width"] + 0.1
        for name in page.get_by_text(re.compile("^(row [12]:|harms)")).all():
            assert name.bounding_box()["y"] + 3 >= ring["y"] + ring["height"]


def test_the_tip_of_a_row_is_dragged(opened):
    page = opened("conflict")
    grip = page.locator("#live-conflict .live-dot").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 100, steps=4)
    page.mouse.up()
    now = state(page, "conflict")
    wanted = np.array([-0.5 * 0.75**0.5, 0.25 + 100 / 232])
    assert now["second"] == pytest.approx(np.hypot(*wanted), abs=0.02)
    assert now["angle"] == pytest.approx(np.degrees(np.arctan2(*wanted[::-1])), abs=1)
    assert said(page).endswith("neither is harmed. But row 2 was turned, from 150°.")
    press(page, "button", "Reset")
    for key, wanted in (
        ("ArrowUp", (0.55, 150)),
        ("ArrowRight", (0.55, 148)),
        ("End", (1.2, 148)),
    ):
        press(page, "slider", "tip of row 2", key)
        now = state(page, "conflict")
        assert (now["second"], now["angle"]) == wanted
    press(page, "slider", "angle of the rows", "End")
    assert state(page, "conflict")["angle"] == 180
    press(page, "checkbox", "mark harm", "Space")
    assert page.get_by_text("harms 2", exact=True).is_visible()
    press(page, "checkbox", "gradient surgery", "Space")
    assert not page.get_by_text("harms 2", exact=True).is_visible()
    box = page.get_by_role("checkbox", name="mark harm: none after surgery", exact=True)
    assert box.is_disabled()
    press(page, "button", "Reset")
    assert page.get_by_role("checkbox", name="mark harm", exact=True).is_enabled()
    assert said(page).endswith("sample 2 is harmed.")


def fisher_state(rng):
    p, y = rng.integers(2, 99).item() / 100, rng.integers(0, 2, 10).tolist()
    return {"p": p, "y": y, "other": int(rng.integers(2))}


def fisher_in_python(p, y, other):
    """Return the values of the figure from the gradients of -log p(label) of a bias."""
    bias = torch.tensor([p], dtype=torch.float64).logit()

    def loss(bias, label):
        return -torch.nn.functional.logsigmoid((2 * label - 1) * bias[0])

    labels = torch.tensor([0.0, 1.0], dtype=torch.float64)
    zero, one = per_sample.loop_grad(loss, in_axes=(None, 0))(bias, labels)[:, 0]
    own = torch.where(torch.tensor(y) == 1, one, zero)
    leaf = bias.clone().requires_grad_()
    torch.stack([loss(leaf, label) for label in y]).mean().backward()
    fisher = (1 - p) * zero**2 + p * one**2  # each label by its probability
    squares = [leaf.grad[0] ** 2, own.square().mean(), fisher]
    return {"rows": own, "mean": leaf.grad[0], "squares": squares, "ones": np.mean(y)}


def test_the_answers_under_the_fisher_are_right(opened):
    """Show where the data's labels give the Fisher, for any labels, and what the sentence says."""
    page = opened("fisher")
    told = "The data’s labels give 62 % of the Fisher: they surprise the model less often than"
    assert said(page) == f"{told} its own draws. The squared .grad is 19 % of it."
    levels = np.arange(2, 99) / 100
    for ones in (0, 1, 4, 5, 9, 10):
        y = [1] * ones + [0] * (10 - ones)
        found = values(page, "fisher", *[{"p": p, "y": y} for p in levels])
        grad, data, exact = np.array([one["squares"] for one in found]).T
        equal = np.isclose(data, exact, atol=1e-12)
        assert levels[equal].tolist() == sorted({ones / 10, 0.5} & set(levels.tolist()))
        assert np.isclose(grad, 0, atol=1e-12).tolist() == (levels == ones / 10).tolist()
        for p, smaller in list(zip(levels[~equal], (data < exact)[~equal], strict=True))[::15]:
            values(page, "fisher", {"p": p, "y": y})
            likely, expected = (ones, p) if p > 0.5 else (10 - ones, 1 - p)
            assert smaller == (likely / 10 > expected)
            assert ("less often" in said(page)) == smaller
            assert page.locator(".live-found").text_content() == ""
    press(page, "button", "Reset")
    (start,) = values(page, "fisher", {})
    assert start["squares"][0] < start["squares"][1] < start["squares"][2]
    (sure,) = values(page, "fisher", {"p": float(STATED["fisher"][0].removeprefix("p="))})
    assert sure["squares"][1] > 3 * sure["squares"][2]
    assert said(page).startswith("The data’s labels give 3.3 times the Fisher: they surprise the")
    values(page, "fisher", {"p": 0.5})
    assert "100 % of the Fisher: all rows are equally long, whatever the labels." in said(page)
    assert page.locator(".live-found").text_content() == "✓ Found: at p = 0.5, whatever the labels"
    values(page, "fisher", {"p": 0.9})
    assert said(page).endswith(
        "As .grad is zero, its square says that the weight does not matter."
    )


def test_labels_change_by_a_press_and_by_keys(opened):
    page = opened("fisher", has_touch=True)
    start, samples = state(page, "fisher"), page.locator("#live-fisher svg [role=checkbox]")
    assert [one.get_attribute("aria-checked") == "true" for one in samples.all()] == [
        label == 1 for label in start["y"]
    ]
    samples.nth(3).click()
    assert state(page, "fisher")["y"] == [1] * 10
    samples.nth(9).tap()
    assert state(page, "fisher")["y"] == [1] * 9 + [0]
    samples.first.focus()
    for key, wanted in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("ArrowLeft", 1)):
        page.keyboard.press(key)
        assert focused(page) == f"sample {wanted}"
    page.keyboard.press("ArrowLeft")
    for key, wanted in (("Space", 0), ("Enter", 1), (" ", 0)):
        page.keyboard.press(key)
        assert focused(page) == "sample 1"
        assert state(page, "fisher")["y"][0] == wanted
        assert samples.first.get_attribute("aria-checked") == ("true" if wanted else "false")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert state(page, "fisher")["p"] == 0.98
    page.keyboard.press("Home")
    assert state(page, "fisher")["p"] == 0.02
    press(page, "button", "Reset")
    assert state(page, "fisher") == start
    press(page, "checkbox", "rows with the other label", "Space")
    assert state(page, "fisher") == {**start, "other": 1}


FISHER_BARS = """() => {
  const all = [...document.querySelectorAll("#live-fisher svg > rect")];
  const [mark, mean] = ["blue", "orange"].map((one) => document
    .querySelector(`#live-fisher path[stroke='var(--l-${one})']`).getAttribute("d"));
  return [...all.map((e) => Number(e.getAttribute("width"))), mark, mean];
}"""


def test_the_bars_of_the_squares_reach_the_line_of_the_fisher_as_they_should(opened):
    """Compare lengths with the values; while something is held, the axis only grows."""
    page, rng = opened("fisher"), np.random.default_rng(4)
    size = page.locator("#live-fisher svg").bounding_box()["width"]

    def drawn(given):
        (found,) = values(page, "fisher", given)
        data, grad, mark, mean = page.evaluate(FISHER_BARS)
        line = float(re.match(r"M([\d.]+) ", mark)[1])
        squares = found["squares"]
        assert_close(np.array([grad, data]) / line, np.array(squares[:2]) / squares[2], 1e-6)
        height = float(re.match(r"M20 ([\d.]+)h", mean)[1])
        assert height == pytest.approx(88 - 56 * found["mean"], abs=1e-6)
        assert max(data, grad, line) <= size - 56
        return line / squares[2]

    for _ in range(20):
        drawn(fisher_state(rng))
    start = drawn({"p": 0.7, "y": [1] * 9 + [0]})
    page.evaluate(HOLD, "fisher")
    small = drawn({"p": 0.95, "y": [0] * 10})
    assert small == pytest.approx(0.3 * start)
    assert drawn({"p": 0.7, "y": [1] * 9 + [0]}) == pytest.approx(small)
    page.evaluate("dispatchEvent(new PointerEvent('pointerup'))")
    assert drawn({"p": 0.7}) == pytest.approx(start)


def texts_state(rng):
    return {"bound": rng.integers(10, 111).item() / 10, "split": int(rng.integers(2))}


def products_of_texts() -> np.ndarray:
    """Return the products of the rows that the figure has, (8, 8)."""
    lines = re.findall(r"^ *\[([-\d., ]+)\],$", script("texts"), re.MULTILINE)
    lower = np.zeros((8, 8))
    for i, line in enumerate(lines):
        lower[i, : i + 1] = [float(v) for v in line.split(",")]
    return lower + np.tril(lower, -1).T


def texts_in_python(bound, split):
    """Return the values of the figure from rows that have its products."""
    values, vectors = np.linalg.eigh(products_of_texts())
    rows = vectors * np.sqrt(values)
    clipped = np.stack([clip(row, bound) for row in rows])
    norms = [np.linalg.norm(some, axis=1) for some in (rows, clipped)]
    own = (rows * clipped).sum(1) / 8
    gains, whole = rows @ clipped.mean(0), rows @ rows.mean(0)
    return {
        "norms": norms[0],
        "clipped": norms[1],
        "own": own,
        "gains": gains,
        "whole": whole,
    }


@functools.cache
def rows_of_chapter_12() -> dict:
    """Run chapter 12 up to the table of rows; return its variables."""
    page = nbformat.read(ROOT / "chapters/12_whole_models.ipynb", as_version=4)
    cells = [c.source for c in page.cells if c.cell_type == "code"]
    last = next(i for i, cell in enumerate(cells) if "norms = rows.norm(dim=1)" in cell)
    made = {}
    exec("\n".join(cells[: last + 1]), made)
    return made


def test_the_figure_of_the_texts_is_the_model_of_chapter_12(opened):
    """Compare its numbers with the chapter's rows, and its gains with their clipped mean."""
    made, page = rows_of_chapter_12(), opened("texts")
    rows = made["rows"].double().numpy()
    products, norms = rows @ rows.T, np.linalg.norm(rows, axis=1)
    assert np.abs(products_of_texts() - products).max() < 0.01 * norms.max()
    assert np.abs((products_of_texts() - products) / np.outer(norms, norms)).max() < 0.01
    shown = page.locator("#live-texts svg text.live-code").all_text_contents()
    assert shown == [line.strip() for line in made["lines"]]
    bounds = np.arange(10, 111) / 10
    for bound, found in zip(
        bounds, values(page, "texts", *[{"bound": v} for v in bounds]), strict=True
    ):
        wanted = rows @ np.stack([clip(row, bound) for row in rows]).mean(0)
        assert_close(np.array(found["gains"]), wanted, 0.01)


def test_the_answers_under_the_texts_are_right(opened):
    page = opened("texts")
    told = "Per unit of the step size, the ruler gains 11.0: 14.4 by its own row, −3.4 by the"
    assert said(page) == f"{told} others. A line of English gains 3.8 on average."
    bound = float(STATED["texts"][0].removeprefix("bound="))
    whole, cut = (np.array(one["gains"]) for one in values(page, "texts", {}, {"bound": bound}))
    assert page.locator(".live-found").text_content() == "✓ Found: no, a seventeenth"
    assert round(whole[4] / cut[4]) == 17
    assert whole.argmax() == 4 == cut.argmin()
    assert np.delete(cut > whole, 4).all()
    (found,) = values(page, "texts", {"bound": bound})
    assert found["clipped"][4] / found["norms"][4] < 1 / 3
    assert "the ruler gains 0.6: 4.0 by its own row, −3.4 by the others." in said(page)
    for other in (2.9, 3.1):
        values(page, "texts", {"bound": other})
        assert page.locator(".live-found").text_content() == ""


def test_the_picture_of_the_texts_is_the_start(opened):
    page = opened("texts", viewport={"width": 480, "height": 900})
    shown = page.locator("#live-texts svg text").all_text_contents()
    root = ElementTree.parse(ROOT / "_static/table-models.svg").getroot()
    assert [e.text for e in root.iter() if e.tag.endswith("}text")] == shown
    (found,) = values(page, "texts", {})
    rects = [e for e in root.iter() if e.tag.endswith("}rect")]
    norms, clipped, whole, gains = (
        np.array([float(e.get("width")) for e in rects[k::4]]) for k in range(4)
    )
    assert_close(norms / norms[4], np.array(found["norms"]) / found["norms"][4], 0.005)
    assert_close(gains / gains[4], np.array(found["gains"]) / found["gains"][4], 0.005)
    assert_close(clipped, norms, 0)
    assert_close(whole, gains, 0)


TEXT_BARS = """() => ["x", "width"].map((at) =>
  [...document.querySelectorAll("#live-texts svg > rect")]
    .map((e) => Number(e.getAttribute(at))))"""


def test_the_bars_of_the_texts_are_the_values_and_their_parts(opened):
    """Compare with the values: outlined, without the bound; when split, one part after another."""
    page = opened("texts")
    for bound in (11, 3, 1.5):
        for split in (0, 1):
            (found,) = values(page, "texts", {"bound": bound, "split": split})
            starts, widths = np.array(page.evaluate(TEXT_BARS)).reshape(2, 8, 5)
            norms, clipped, whole, others, own = widths.T
            gains, mine = np.array(found["gains"]), np.array(found["own"])
            unit, scale = norms[4] / found["norms"][4], whole[4] / found["whole"][4]
            assert_close(norms / unit, np.array(found["norms"]), 1e-9)
            assert_close(clipped / unit, np.array(found["clipped"]), 1e-9)
            assert_close(whole / scale, np.array(found["whole"]), 1e-9)
            assert_close(own / scale, mine if split else gains, 1e-9)
            assert_close(others / scale, abs(gains - mine) if split else np.zeros(8), 1e-9)
            zero = starts[:, 4]
            ends = np.where(gains < mine, zero - others, zero + own)  # to the other side
            assert_close(starts[:, 3], ends if split else zero + own, 1e-9)
    press(page, "button", "Reset")
    press(page, "checkbox", "own row and others apart", "Space")
    assert state(page, "texts") == {"bound": 11, "split": 1}


def test_the_bound_of_the_texts_is_dragged(opened):
    page = opened("texts", has_touch=True)
    unit = "document.querySelectorAll('#live-texts svg rect')[20].getAttribute('width') / 10.72"
    unit = page.evaluate(unit)  # of the ruler's whole row
    grip = page.locator("#live-texts .live-dot").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 5 * unit, y, steps=4)
    page.mouse.up()
    assert state(page, "texts")["bound"] == pytest.approx(6, abs=0.15)
    tools = page.context.new_cdp_session(page)
    for kind, way in ("touchStart", 5), ("touchMove", 7), ("touchMove", 7.9):
        points = [{"x": x - way * unit, "y": y}]
        tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_timeout(20)
    tools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("live.figures.texts.state.bound === 3")  # easy to keep
    for key, wanted in (("ArrowRight", 3.1), ("Home", 1), ("End", 11)):
        press(page, "slider", "bound C", key)
        assert state(page, "texts")["bound"] == wanted
    assert page.locator(".live-found").text_content() == ""


def bells_state(rng):
    sigma, line = rng.uniform([5, -3], [40, 5]).round(3).tolist()
    return {"sigma": sigma, "steps": int(rng.integers(1, 101)), "line": line}


@functools.cache
def program_of_chapter_14() -> dict:
    """Return the names of the cell that computes epsilon from mu."""
    page = nbformat.read(ROOT / "chapters/14_privacy.ipynb", as_version=4)
    (cell,) = (c.source for c in page.cells if "def epsilon_of" in c.source)
    made = {"np": np, "exp": np.exp}
    exec("\n".join(line for line in cell.splitlines() if "print" not in line), made)
    return made


def bells_in_python(sigma, steps, line):
    """Return the values of the bells: T sums, each moved by 1 with you, with the noise sigma."""
    made, noise = program_of_chapter_14(), np.sqrt(steps) * sigma
    without, with_you = (NormalDist(mean, noise) for mean in (0, steps))
    at, middle = line * noise, steps / 2

    def right(number):  # half of the cases are with you
        return (without.cdf(number) + 1 - with_you.cdf(number)) / 2

    mu, times = steps / noise, with_you.pdf(at) / without.pdf(at)
    found = {"mu": mu, "epsilon": made["epsilon_of"](mu), "right": right(at)}
    return {**found, "best": right(middle), "times": times}


def test_the_answers_under_the_bells_are_right(opened):
    page = opened("bells")
    assert said(page).startswith("Guessing by this line is right in 53.0 % of cases, by the best")
    assert "line in 69.1 %." in said(page)
    lines = np.arange(-3, 5, 0.05).round(2)
    found = values(page, "bells", *[{"line": line} for line in lines])
    assert lines[np.argmax([one["right"] for one in found])] == 0.5
    assert "ε is 4.38." in said(page)
    (same,) = values(page, "bells", {"steps": 25, "sigma": 5})
    assert same == found[-1]  # the same bells
    assert same["times"] > np.exp(same["epsilon"])
    press(page, "button", "Reset")
    told = []
    for given in STATED["bells"]:
        changes = {k: float(v) for k, v in (one.split("=") for one in given.split())}
        told += values(page, "bells", changes)
        assert "line" not in changes or told[-1]["right"] == told[-1]["best"]
    shown = [f"{one['best']:.0%} {one['epsilon']:.2f}" for one in told]
    assert shown == ["55% 0.93", "60% 1.99", "60% 1.99", "84% 10.00"]


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_names_of_the_bells_stand_above_the_line_and_the_bells(opened, width):
    page = opened("bells", viewport={"width": width, "height": 900})
    shapes = "(all) => Math.min(...all.map((e) => e.getBoundingClientRect().top))"
    for sigma, steps, line in itertools.product((5, 10, 40), (1, 100), (-3, -1, 1, 2.5, 5)):
        values(page, "bells", {"sigma": sigma, "steps": steps, "line": line})
        top = page.locator("#live-bells path[stroke-width='2.5'], .live-handle line")
        for name in ("without you", "with you"):
            box = page.get_by_text(name, exact=True).bounding_box()
            assert box["y"] + box["height"] - 4 <= top.evaluate_all(shapes)
        assert page.evaluate(INSIDE, True) == []


def test_the_line_between_two_guesses_is_dragged(opened):
    page = opened("bells")
    grip = page.locator("#live-bells .live-dot").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    unit = (page.locator("#live-bells svg").bounding_box()["width"] - 24) / 8
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 2.25 * unit, y, steps=4)
    page.mouse.up()
    assert state(page, "bells")["line"] == pytest.approx(0.25, abs=0.02)
    for key, wanted in (("End", 5), ("Home", -3)):
        press(page, "slider", "the line", key)
        assert state(page, "bells")["line"] == wanted


def tape_state(rng):
    step, stops = rng.integers(0, [17, 2]).tolist()
    return {"step": step, "stops": stops, "reward": round(rng.uniform(-3, 3), 3)}


def small_engine() -> dict:
    """Return the variables of chapter 6: its engine, its loss and its transitions."""
    page = nbformat.read(ROOT / "chapters/06_build_your_own.ipynb", as_version=4)
    (loss,) = (c.source for c in page.cells if "def td_loss" in c.source)
    made = {}
    exec((ROOT / "chapters/files/small_engine.py").read_text(encoding="utf-8"), made)
    exec(loss, made)
    return made


def tape_in_python(step, stops, reward):
    """Return the tape figure's values, computed by the engine of chapter 6 on the same nodes."""
    made = small_engine()
    if not stops:
        made["stop_gradient"] = lambda x: x
    tape = made["Tape"]()
    leaf = made["Tracer"](tape, made["theta"])
    loss = made["td_loss"](leaf, made["s"][0], reward, made["s_next"][0])
    nodes, places = tape.nodes, {leaf: 0, **{x: k + 1 for k, x in enumerate(tape.nodes)}}
    reads = min(max(step - len(nodes), 0), len(nodes))
    tape.nodes = nodes[len(nodes) - reads :]
    cts = made["backward"](tape, {loss: 1.0}) if reads else {}
    inputs = [x for node in nodes for x in node.note[1]]
    return {
        "values": [node.value for node in nodes],
        "names": [list(made["compute"]).index(node.note[0]) for node in nodes],
        "inputs": [places[x] if isinstance(x, made["Tracer"]) else -1 for x in inputs],
        "written": min(step, len(nodes)),
        "reads": reads,
        "reached": [x in cts for x in places],
        "cts": [cts[x] for x in places if x in cts],
    }


def callers_state(rng):
    by, step, width = rng.integers([0, 0, 1], [4, 5, 10]).tolist()
    return {"by": by, "step": step, "width": width}


@functools.cache
def engine_with_area() -> dict:
    """Return the variables of chapter 6's engine, and its function `area`."""
    page = nbformat.read(ROOT / "chapters/06_build_your_own.ipynb", as_version=4)
    (cell,) = (c.source for c in page.cells if "def area" in c.source)
    made = small_engine()
    exec(re.search(r"def area.*?\n\n", cell, re.DOTALL)[0], made)
    return made


def area_steps(made, x) -> list:
    """Return the input of `area` and the results of its operations, in order."""
    tape = made["Tape"]()
    made["area"](made["Tracer"](tape, x))
    return [x, *(node.value for node in tape.nodes)]


def notes_in_python(by, width) -> list:
    """Return what grad (1) or jit (3) notes of `area`: of grad the tape, as lines of numbers."""
    made = engine_with_area()
    if by == 3:
        return [line.strip() for line in made["record"](made["area"], width=width)[0].split("\n")]
    tape = made["Tape"]()
    made["area"](made["Tracer"](tape, width))
    opened = [(node, *made["opened"](node.note[1], tape)) for node in tape.nodes]
    return [f"{n.value:g} = {n.note[0]}({x}, {y if y == 5.0 else f'{y:g}'})" for n, x, y in opened]


def callers_in_python(by, step, width):
    """Return the figure's numbers and rates, computed by the engine of chapter 6."""
    made, at = engine_with_area(), min(step, 4 if by == 1 else 2)
    tape = made["Tape"]()
    leaf = made["Tracer"](tape, width)
    end = made["area"](leaf)
    places = [leaf, *tape.nodes]
    tape.nodes = tape.nodes[4 - at :] if at > 2 else []  # the nodes that have been read
    cts = made["backward"](tape, {end: 1.0}) if at > 2 else {}
    numbers = {0: area_steps(made, width), 1: area_steps(made, width), 3: []}
    if by == 2:
        widths = np.arange(width, width + 4)
        sums = made["vmap"](lambda x: x + 5.0, (0,))(widths)
        numbers[2] = [widths, sums, made["vmap"](made["area"], (0,))(widths)]
    held = np.array(numbers[by][: at + 1], float).ravel()
    return {"at": at, "numbers": held, "rates": [cts[x] for x in places if x in cts]}


def place(word: str) -> int:
    """Return the position on the tape of an input's name: 0 is the leaf, -1 a constant."""
    return 0 if word == "theta" else int(word[1:]) if re.fullmatch(r"_\d+", word) else -1


def test_the_tape_is_stepped_and_says_what_chapter_6_computes(opened):
    page = opened("tape")
    assert "multiply(theta, s_next) is done, and node _1 keeps" in said(page)
    press(page, "button", "Back")
    assert said(page).startswith("Nothing is on the tape.")
    press(page, "button", "Step")
    assert "multiply(theta, s_next) is done, and node _1 keeps" in said(page)
    press(page, "slider", "step", "ArrowRight")
    press(page, "slider", "step", "ArrowLeft")
    press(page, "slider", "step", "ArrowRight")
    assert state(page, "tape")["step"] == 2
    values(page, "tape", {"step": 8})
    assert said(page).endswith("1.125. It is the loss, the last node. No cotangent is known.")
    values(page, "tape", {"step": 10})
    assert said(page).endswith("_6 gets 0.75, and now has 0.75 + 0.75 = 1.5.")
    press(page, "slider", "step", "End")
    step = page.get_by_role("button", name="Step")
    assert step.get_attribute("aria-disabled") == "true"
    assert "The gradient is what theta has, −3." in said(page)
    shown = page.locator("#live-tape svg text").all_text_contents()
    assert shown.count("passed over") == 2
    press(page, "checkbox", "the target is held fixed (stop_gradient)", "Space")
    assert "−3 + 1.5 = −1.5." in said(page)
    press(page, "button", "Back")
    assert state(page, "tape")["step"] == 13
    press(page, "button", "Step")
    press(page, "button", "Step")
    assert state(page, "tape")["step"] == 14


def test_the_picture_of_the_tape_is_that_of_its_last_step(opened):
    page = opened("tape", viewport={"width": 390, "height": 900})
    values(page, "tape", {"step": 16})
    shown = [text for text in page.locator("#live-tape svg text").all_text_contents() if text]
    picture = ElementTree.parse(ROOT / "_static/tape.svg").getroot()
    assert [e.text for e in picture.iter() if e.tag.endswith("}text")] == shown
    lines = [e.get("stroke") for e in picture.iter() if e.tag.endswith("}path")]
    assert lines.count("#35709f") == 3  # nothing came back along these
    drawn = page.locator("#live-tape svg path")
    colours = drawn.evaluate_all("(all) => all.map((e) => e.getAttribute('stroke'))")
    assert [colour == "var(--l-blue)" for colour in colours] == [c == "#35709f" for c in lines]


CALLERS = ["Python", "grad", "vmap", "jit"]


def callers_shown(page) -> list:
    """Return the words below the function that can be seen in the callers figure."""
    read = """(all) => all.filter((e) => e.checkVisibility({visibilityProperty: true}))
      .map((e) => e.textContent).filter((text) => text)"""
    return page.locator("#live-callers svg g text").evaluate_all(read)


def test_area_stays_and_its_callers_note_what_the_engine_of_chapter_6_does(opened):
    page, made = opened("callers"), engine_with_area()
    code = page.locator("#live-callers svg > text").all_text_contents()[1:3]
    assert said(page) == "grad multiplies, and notes how the 14 was made. Step on: it goes back."
    values(page, "callers", {"step": 4})
    assert said(page).endswith("7 + 2 = 9 times as fast as the width: the gradient.")
    for by, name in enumerate(CALLERS):
        press(page, "radio", name, "Space")
        assert state(page, "callers") == {"by": by, "step": 4, "width": 2}
        for width in (2, 9):
            (found,) = values(page, "callers", {"width": width})
            texts = page.locator("#live-callers svg > text").all_text_contents()
            assert texts[1:3] == code
            wanted = (np.arange(width, width + 4 if by == 2 else width + 1)) + 5.0
            if by != 1:  # the call that is written, run by the engine, gives what is shown
                result = np.ravel(eval(texts[0], dict(made)))
                assert result.tolist() == (wanted * (wanted - 5)).tolist()
            if by in (0, 2):
                assert found["held"][2] == result.tolist()
            if by in (1, 3):
                lines = notes_in_python(by, width)
                assert found["notes"][1:] == (lines if by == 1 else lines[1:3])
                assert set(found["notes"][1:]) <= set(callers_shown(page))
            assert bool(found["notes"]) == (by in (1, 3))
            assert texts[3] == ("notes" if by in (1, 3) else "no notes")
            given = page.get_by_role("slider", name="width").evaluate("(e) => e.ariaValueText")
            assert given == (f"{width} to {width + 3}" if by == 2 else f"{width}")
            assert given == page.locator(".live-value").inner_text()
            box = page.locator("#live-callers svg g > rect").first.bounding_box()
            svg = page.locator("#live-callers svg").bounding_box()
            whole = box["x"] + box["width"] > svg["x"] + svg["width"] - 3
            assert whole == (by in (0, 2))  # where there are no notes, the boxes have the room
        press(page, "button", "Reset")
        values(page, "callers", {"step": 4})
    (grad,) = values(page, "callers", {"by": 1, "step": 4, "width": 3})
    assert sum(grad["rates"][0]) == eval("grad(area)(3)", dict(made)) == 11
    assert said(page).endswith("8 + 3 = 11 times as fast as the width: the gradient.")
    names = ["\n".join(code).replace("\xa0", " "), ""]
    ours, theirs = {}, made["area"]
    exec("\n".join(names), ours)
    assert [ours["area"](x) for x in range(9)] == [theirs(x) for x in range(9)]


def test_the_callers_are_worked_by_keys(opened):
    page = opened("callers")
    back, step = (page.get_by_role("button", name=name) for name in ("Back", "Step"))
    for _ in range(2):  # the first thing to press, and back to the width
        assert step.get_attribute("aria-disabled") == "false"
        press(page, "button", "Step")
    assert step.get_attribute("aria-disabled") == "true"
    press(page, "button", "Step")
    assert state(page, "callers")["step"] == 4
    press(page, "radio", "grad", "ArrowLeft")
    assert state(page, "callers")["by"] == 0
    press(page, "button", "Back")
    assert state(page, "callers")["step"] == 1
    press(page, "radio", "Python", "ArrowRight")
    assert state(page, "callers")["by"] == 1
    for _ in range(4):  # three to its end
        press(page, "button", "Step")
    assert state(page, "callers")["step"] == 4
    press(page, "radio", "grad", "ArrowRight")
    press(page, "slider", "width", "End")
    assert state(page, "callers") == {"by": 2, "step": 4, "width": 9}
    assert page.locator(".live-found").text_content() == ""
    for _ in range(3):  # from the end of vmap, which has two steps
        press(page, "button", "Back")
    assert back.get_attribute("aria-disabled") == "true"
    assert state(page, "callers")["step"] == 0
    assert said(page) == "vmap gives area one tracer, with four widths in it."
    press(page, "radio", "vmap", "ArrowRight")
    assert page.locator(".live-found").text_content() == ""
    press(page, "button", "Step")
    press(page, "button", "Step")
    assert page.locator(".live-found").text_content() == "✓ Found: those of jit"


def test_the_picture_of_the_callers_is_that_of_their_last_steps(opened):
    page = opened("callers")
    picture = ElementTree.parse(ROOT / "_static/callers.svg").getroot()
    drawn = [e.text for e in picture.iter() if e.tag.endswith("}text")]
    wanted = ["width", "the sum", "the product"]
    for by, name in enumerate(CALLERS):
        (found,) = values(page, "callers", {"by": by, "step": 4})
        held = [", ".join(map(str, all_of)) for all_of in found["held"]]
        rates = [text for text in callers_shown(page) if text.startswith("rate")]
        wanted += [
            name,
            *(note or text for note, text in zip(found["notes"] or held, held, strict=True)),
        ]
        wanted += rates
    assert drawn == wanted


@pytest.mark.parametrize(
    ("name", "still"),
    [
        ("conflict", "conflict"),
        ("bells", "privacy"),
        ("cost", "positions"),
        ("fisher", "fisher"),
        ("field", "gram"),
        ("devices", "devices"),
        ("td", "walk"),
    ],
)
def test_the_still_picture_is_the_start(opened, name, still):
    texts = opened(name).locator(f"#live-{name} svg text")
    read = """(all) => all.filter((e) => e.checkVisibility({visibilityProperty: true}))
      .map((e) => e.textContent)"""
    shown = texts.evaluate_all(read)
    picture = ElementTree.parse(ROOT / f"_static/{still}.svg").getroot()
    drawn = [e.text for e in picture.iter() if e.tag.endswith("}text")]
    assert sorted(drawn) == sorted(shown)


def test_the_digits_say_what_chapter_1_prints(opened):
    page = opened("digits")
    assert ".grad looks like a 4." in said(page)
    press(page, "button", ASKS["digits"])
    assert ".grad looks like a 4: cosine 0.96, with a 3 it is 0.76." in said(page)
    page.locator("summary").press("Enter")
    last = "shortens 1 of 8 gradients; the mean looks like a 3: cosine 0.99, with a 4 it is 0.65."
    assert said(page).endswith(last)
    press(page, "radio", "0 to 1", "Space")
    assert said(page).startswith(".grad looks like a 3")
    press(page, "button", "Reset")
    press(page, "button", ASKS["digits"])
    page.locator("svg g").nth(2).click()
    assert state(page, "digits")["chosen"] == 2
    assert not page.get_by_role("checkbox", name="in the batch").is_visible()
    page.locator("summary").press("Enter")
    press(page, "checkbox", "in the batch", "Space")
    assert state(page, "digits")["keep"] == [1, 1, 0, 1, 1, 1, 1, 1]


INK = """[...document.querySelectorAll('#live-digits svg > g')[9].querySelectorAll('rect')]
  .reduce((sum, one) => sum + Number(one.getAttribute('fill-opacity') ?? 0), 0)"""


def test_the_digits_open_with_one_mean_and_one_button(opened):
    """Check that the second mean comes when asked for, on a phone with the controls, and goes."""
    page = opened("digits", viewport={"width": 390, "height": 900})
    ask, controls = page.locator(".live-ask"), page.locator(".live-controls")
    for key in ("Enter", "click"):
        assert page.evaluate(INK) == 0
        assert ask.is_visible()
        assert not controls.is_visible()
        assert "3:" not in said(page)
        page.locator("svg g").nth(2).click()
        assert state(page, "digits")["chosen"] == 7
        frame = page.locator("svg > g").nth(9).locator(".live-frame").bounding_box()
        button = ask.bounding_box()  # it stands in the middle of where that comes
        for at, size in (("x", "width"), ("y", "height")):
            assert 0 < button[size] < frame[size]
            middle = button[at] + button[size] / 2
            assert middle == pytest.approx(frame[at] + frame[size] / 2, abs=1)
        ask.click() if key == "click" else ask.press(key)
        assert page.evaluate(INK) > 1
        assert not ask.is_visible()
        assert controls.is_visible()
        assert focused(page) == "bound"
        press(page, "button", "Reset")
        assert focused(page) == ASKS["digits"]


def test_what_changes_an_image_comes_when_asked_for_and_by_keys(opened):
    """Check the fold behind the bound: closed at first, open after a turn, closed by Reset."""
    page = opened("digits", viewport={"width": 390, "height": 900})
    press(page, "button", ASKS["digits"])
    assert page.locator(".live-controls input:visible").count() == 1  # the bound
    page.locator("summary").press("Enter")
    for stop in ("8", "3", "0 to 16", "keep"):
        page.keyboard.press("Tab")
        assert focused(page) == stop
    page.set_viewport_size({"width": 800, "height": 900})
    page.wait_for_timeout(100)
    assert focused(page) == "keep"
    press(page, "button", "Reset")
    press(page, "button", ASKS["digits"])
    assert page.locator(".live-controls input:visible").count() == 1


def test_print_leaves_the_fold_of_the_first_figure_as_it_was(opened):
    """Open and close its fold as `book.js` does, while the figure is drawn anew in between."""
    page = opened("digits")
    page.evaluate("window.folds = document.querySelectorAll('details:not([open])')")
    page.evaluate("folds.forEach((fold) => (fold.open = true))")
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_timeout(200)
    assert page.evaluate("document.querySelector('.live details').open")
    page.evaluate("folds.forEach((fold) => (fold.open = false))")
    assert not page.evaluate("document.querySelector('.live details').open")


REACHED = {  # states that answer the question of a figure, and what is then said
    "batch": ({"size": 64}, "half, each time"),
    "bells": ({"steps": 25, "sigma": 5}, "noise 5"),
    "branch": ({"first": -0.1}, "only the left one"),
    "callers": ({"by": 3}, "those of jit"),
    "clip": ({"y": [0.6, 1.8, 1.3, -1.9]}, "“clipped first” stays"),
    "conflict": ({"second": 1}, "a longer row 2"),
    "cost": ({"positions": 193}, "from the crossing on"),
    "digits": ({"scale": [1] * 8}, "the longest gradients decide"),
    "divergence": ({"steps": 5000}, "neither of these two"),
    "devices": ({"by": 2, "x": [1, 1, 1, 1], "y": [0, 1, 0, 1]}, "shard_map, twice the sum"),
    "field": ({"ordered": 1}, "all in the lowest 33"),
    "divisor": ({"by": 2}, "only if own tokens divide"),
    "fisher": ({"p": 0.9}, "where p is the share of label 1"),
    "graph": ({"step": 7}, "marked leaves alone"),
    "loop": ({"update": 2, "at": 12}, "w = w - …, in the second step"),
    "means": ({"first": 12}, "all bars are equal"),
    "td": ({"alpha": 0.25}, "0.25 after 10 episodes"),
    "texts": ({"bound": 3}, "no, a seventeenth"),
    "trace": ({"lambda": 1, "steps": 30}, "yes, place 3, which was left more often"),
}


@pytest.mark.parametrize("name", REACHED)
def test_a_figure_says_that_its_answer_is_found_and_where_the_page_stands_still(opened, name):
    changes, answer = REACHED[name]
    folded = "document.querySelector('.live').insertAdjacentHTML('beforeend', '<details>"
    page = opened(name, viewport={"width": 390, "height": 1200})
    if name != "digits":  # on a page, an answer is folded below
        page.evaluate(f"{folded}<summary>Answer</summary></details>')")
    line, box = page.locator(".live-found"), page.locator(".live")
    assert line.get_attribute("aria-live") == "polite"
    assert line.text_content() == ""
    before = box.bounding_box()["height"]
    values(page, name, changes)
    assert line.inner_text() == f"✓ Found: {answer}"
    if name != "digits":  # above the fold's colour, beside its word
        y = page.locator("details").bounding_box()["y"]
        assert line.bounding_box()["y"] == pytest.approx(y, abs=1)
        line.evaluate("(e) => (e.style.pointerEvents = 'auto')")
        above = f"(e) => document.elementFromPoint(innerWidth - 80, {y + 10}) === e"
        assert line.evaluate(above)
    if name == "means":
        assert box.bounding_box()["height"] == before
    for other in ("reset()", f"set({json.dumps(changes)})", "reset()"):
        page.evaluate(f"live.figures.{name}.{other}")
        assert bool(line.text_content()) == other.startswith("set")


def test_no_answer_is_found_where_the_question_is_not_answered(opened):
    page = opened("clip")
    line = page.locator(".live-found")
    for changes in ({"bound": 4}, {"y": [0.6, 1.8, 1.3, 1.9]}, {"t": [1.2, 0, 0.8, 1]}):
        values(page, "clip", {"t": [-1.1, 0, 0.8, 1], "y": [0.6, 1.8, 1.3, -0.8], **changes})
        assert line.text_content() == ""
    page = opened("graph")
    values(page, "graph", {"step": 7, "mark_v1": 0})
    assert page.locator(".live-found").text_content() == ""


@pytest.mark.parametrize("name", [f for f in FIGURES if f not in ("graph", "loop", "field")])
def test_a_figure_computes_what_python_does(opened, name):
    rng = np.random.default_rng(0)
    states = [globals()[f"{name}_state"](rng) for _ in range(STATES)]
    for given, found in zip(states, values(opened(name), name, *states), strict=True):
        if name == "td":
            found["rows"] = [row["row"] for row in found["rows"]]
        if name == "branch":
            found["values"] = np.concatenate([np.atleast_1d(v) for v in found["values"]])
        if name == "divergence":  # a curve ends where it leaves the axis; against its height
            curves = [c + [0] * (given["steps"] + 1 - len(c)) for c in found["curves"]]
            found["curves"] = np.array(curves) / np.max(curves)
        if name == "callers":  # names have no numbers
            held = itertools.chain(*found["held"])
            found["numbers"] = [v for v in held if not isinstance(v, str)]
            found["rates"] = [sum(parts) for parts in found["rates"]]
        if name == "tape":
            known = list(small_engine()["compute"])
            nodes = found["nodes"]
            found["values"] = [node["value"] for node in nodes]
            found["names"] = [known.index(node["name"]) for node in nodes]
            found["inputs"] = [place(word) for node in nodes for word in node["words"]]
            found["reached"] = [bool(parts) for parts in found["parts"]]
            found["cts"] = [sum(parts) for parts in found["parts"] if parts]
        for key, wanted in globals()[f"{name}_in_python"](**given).items():
            assert_close(np.array(found[key], float), np.asarray(wanted, float), EXACT, key)


def short(v) -> str:
    """Format a number, or a list of numbers, as the figure does: with at most two decimals."""
    if np.ndim(v):
        return f"[{', '.join(map(short, v))}]"
    text = f"{v:.2f}".rstrip("0").rstrip(".")
    return {"-0": "0"}.get(text, text).replace("-", "−")


def sum_in_torch(v1, v2):
    v_sum = v1 + v2
    product = v_sum * 2
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


def test_the_small_network_fits_a_phone(opened):
    """Check the height below the words above the drawing; the page adds those, and an answer."""
    page = opened("graph", viewport={"width": 390, "height": 844})
    values(page, "graph", {"graph": 1, "step": 9})
    box, picture = (page.locator(part).bounding_box() for part in (".live", ".live-picture"))
    assert box["y"] + box["height"] - picture["y"] <= 780 - 144


def evaluated(text, known):
    return eval(text.replace("²", " ** 2"), {"tanh": np.tanh, **known})


@pytest.mark.parametrize("number", range(len(GRAPHS)))
def test_the_graph_agrees_with_pytorch(opened, number):
    """Compare values, cotangents, .grad and the sentence, for each choice of marked tensors."""
    page, rng = opened("graph"), np.random.default_rng(0)
    program, shapes = GRAPHS[number]
    for _ in range(STATES):
        marks = rng.integers(0, 2, len(shapes)).tolist()
        numbers = {name: rng.uniform(-9, 9, shape).round(3) for name, shape in shapes.items()}
        marked = {f"mark_{name}": mark for name, mark in zip(shapes, marks, strict=True)}
        changes = {"graph": number, "step": 7 + 2 * number, **numbers, **marked}
        (found,) = values(page, "graph", changes)
        leaves = [
            torch.tensor(v, dtype=torch.float64, requires_grad=bool(mark))
            for v, mark in zip(numbers.values(), marks, strict=True)
        ]
        tensors = [*leaves, *program(*leaves)]
        assert list(found["needs"].values()) == [t.requires_grad for t in tensors]
        known = found["values"]
        for value, tensor in zip(known.values(), tensors, strict=True):
            assert_close(np.array(value, float), tensor.detach().numpy(), EXACT)
        texts = page.locator("#live-graph svg:visible text").all_text_contents()
        texts = [text for text in texts if text.startswith(".grad")]
        if not any(marks):
            with pytest.raises(RuntimeError) as error:
                tensors[-1].backward()
            assert said(page).startswith(f"RuntimeError: {error.value}.")
            assert texts == [".grad None"] * len(tensors)
            continue
        for tensor in tensors:
            if tensor.requires_grad:
                tensor.retain_grad()
        tensors[-1].backward()
        for (name, box), tensor in zip(found["boxes"].items(), tensors, strict=True):
            ct, reached = found["cotangents"][name], found["reached"][name]
            assert reached == (tensor.grad is not None)
            if reached:
                assert_close(np.array(ct, float), tensor.grad.numpy(), EXACT)
            assert ("formula" in box) == (name not in shapes)
            if number and name not in shapes:  # a text says what its box computes
                assert evaluated(box["formula"], known) == pytest.approx(known[name])
                for of, (slope, _) in box["slopes"].items():
                    product = ct * evaluated(slope, known)
                    assert product == pytest.approx(found["cotangents"][of], abs=1e-9)
        kept = [f".grad {'None' if x.grad is None else short(x.grad.numpy())}" for x in leaves]
        assert texts == kept + [".grad None"] * (len(tensors) - len(leaves))


MEETS = """() => {
  const svg = [...document.querySelectorAll("#live-graph svg")].find((e) => e.checkVisibility());
  const box = (e, more = 0) => {
    const {left, right, top, bottom} = e.getBoundingClientRect();
    return {left: left - more, right: right + more, top: top - more, bottom: bottom + more};
  };
  const texts = [...svg.querySelectorAll("text")].filter((e) => e.textContent).map((e) => {
    const {left, right, top, bottom} = box(e), line = (bottom - top) / 5;
    return [e.textContent, {left, right, top: top + line, bottom: bottom - line}];
  });
  const lines = [...svg.querySelectorAll("path")].filter((e) =>
    e.checkVisibility({visibilityProperty: true}) && e.getTotalLength());
  const points = lines.flatMap((e) => {
    const end = e.getTotalLength(), frame = svg.getBoundingClientRect();
    return Array.from({length: 41}, (_, k) => {
      const {x, y} = e.getPointAtLength(end * k / 40);
      return {left: frame.left + x - 1, right: frame.left + x + 1,
        top: frame.top + y - 1, bottom: frame.top + y + 1};
    });
  });
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom
    && b.top < a.bottom;
  const frames = [...svg.querySelectorAll("rect")].map((e) => box(e, 1));
  return [texts.length + points.length, texts.flatMap(([text, a], i) => [
    ...texts.slice(i + 1).filter(([, b]) => meet(a, b)).map(([other]) => [text, other]),
    ...points.filter((b) => meet(a, b)).slice(0, 1).map(() => [text, "an arrow"]),
    ...frames.some((b) => a.left >= b.left && a.right <= b.right && a.top >= b.top
      && a.bottom <= b.bottom) ? [] : [[text, "outside its box"]],
  ])];
}"""


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_in_no_step_of_the_graph_does_a_word_meet_another_or_an_arrow(opened, width):
    page = opened("graph", viewport={"width": width, "height": 900}, reduced_motion="reduce")
    marks = dict.fromkeys(("mark_x", "mark_y", "mark_v2"), 1)
    long = {**marks, "x": -2.5, "w2": -8.3, "v1": [-99, -99], "v2": [-99, -99]}
    wrong, seen = {}, []
    for number, changes in itertools.product((0, 1), ({}, marks, long)):
        for step in range(8 + 2 * number):
            values(page, "graph", {"graph": number, "step": step, **changes})
            count, found = page.evaluate(MEETS)
            seen.append(count)
            if found:
                wrong[number, step, str(changes)] = found
    assert min(seen) > 40
    assert wrong == {}


def lines_run(lines) -> list:
    """Run three training steps; return, for each line, w and .grad after it, or its error."""
    made = {"tensor": functools.partial(torch.tensor, dtype=torch.float64)}
    made["no_grad"] = torch.no_grad
    found = []
    for number in [0, *[2, 3, 4, 5] * 3]:
        line, error = lines[number].strip(), None
        if line.startswith("#"):
            continue
        with warnings.catch_warnings(action="ignore"):  # of the .grad of a result
            try:
                exec(line, made)
            except (RuntimeError, TypeError) as raised:
                error = f"{type(raised).__name__}: {raised}"
            grad = made["w"].grad
        found.append((number, made["w"].tolist(), None if grad is None else grad.tolist(), error))
        if error:
            break
    return found


def test_the_loop_shows_what_its_program_does_in_pytorch(opened):
    page, errors = opened("loop"), set()
    for clear, loss, update in itertools.product(range(2), range(3), range(3)):
        changes = {"at": 12, "clear": clear, "loss": loss, "update": update}
        (found,) = values(page, "loop", changes)
        wanted = lines_run(page.locator(".live-code").all_text_contents())
        assert len(found["frames"]) == len(wanted)
        for frame, (number, w, grad, error) in zip(found["frames"], wanted, strict=True):
            assert frame["line"] == number
            assert_close(np.array(frame["w"]), np.array(w), EXACT)
            assert (frame["grad"] is None) == (grad is None)
            assert_close(np.array(frame["grad"] or 0.0), np.array(grad or 0.0), EXACT)
            assert ("error" in frame) == (error is not None)
        if error:
            errors.add(error)
            assert said(page).startswith(error.partition(". ")[0])
            assert "live-error" in page.get_by_role("status").get_attribute("class")
    assert len(errors) == 3


LEVELS = """() => [...document.querySelectorAll("#live-loop svg > g[transform]")].map((bucket) => {
  const paths = [...bucket.querySelectorAll("path")];
  const [old, added, , line] = paths.map((path) => -path.getBBox().y);
  return [old, added, line];
})"""


@pytest.mark.parametrize("changes", [{}, {"clear": 0}, {"clear": 0, "loss": 1}, {"update": 2}])
def test_a_bucket_is_as_full_as_grad_with_a_line_at_the_gradient(opened, changes):
    page = opened("loop")
    (found,) = values(page, "loop", {"at": 12, **changes})
    shown = np.array(page.evaluate(LEVELS))
    after = [frame for frame in found["frames"] if frame["line"] == 4]
    grads = np.array([frame["grad"][1] if frame["grad"] else 0 for frame in after])
    adds = np.array([frame["added"][1] if frame["grad"] else 0 for frame in after])
    wanted = np.array([grads - adds, grads, [2 * frame["w"][1] for frame in after]]).T
    unit = shown[0, 2] / wanted[0, 2]
    assert unit > 5
    assert_close(shown[: len(after)], unit * wanted, 0.01)
    if changes == {"clear": 0}:  # the old .grad alone is more than the gradient
        assert shown[2, 0] > 3 * shown[2, 2]


def test_a_line_of_the_loop_is_changed_by_a_click_and_stepped_by_keys(opened):
    page = opened("loop")
    assert "adds [2, 4] to nothing: [2, 4]. The gradient is 2w, [2, 4]." in said(page)
    values(page, "loop", {"at": 0})
    for text in ("w.grad = None", "loss = (w * w).sum()", "with no_grad"):
        page.locator(".live-code", has_text=text).click()
    for _ in range(2):
        press(page, "button", "Step")
    assert state(page, "loop") == {"at": 2, "clear": 0, "loss": 1, "update": 1}
    assert "adds [1, 2] to nothing: [1, 2]. The gradient is 2w, [2, 4]." in said(page)
    press(page, "button", "Step")
    assert said(page).startswith("RuntimeError: a leaf Variable that requires grad")


def test_the_answers_under_the_batches_are_right(opened):
    page, sizes = opened("batch"), (1, 4, 16, 64)
    for seed in (1, 2, 3):
        states = [{"size": B, "again": again, "seed": seed} for again in (1, 0) for B in sizes]
        found = values(page, "batch", *states)
        twice, once = np.array([one["distance"] for one in found]).reshape(2, 4)
        assert_close(twice[:-1] / twice[1:], np.full(3, 2.0), 0.06)
        assert once[1] < 1.06 * twice[1]
        assert once[2] < 0.95 * twice[2]
        assert once[3] < EXACT
    press(page, "checkbox", "a row can come twice", "Space")
    press(page, "button", "Draw again")
    assert state(page, "batch") == {"size": 64, "again": 1, "seed": 4}
    assert said(page).startswith("200 batches of 64: their means lie 0.1")


def test_the_distances_are_marked_where_they_were_computed(opened):
    page = opened("batch")
    (found,) = values(page, "batch", {"size": 5})  # a mark of its own
    places = page.locator("#live-batch path[stroke-linecap=round]").get_attribute("d")
    marks = [[float(v) for v in re.findall(r"[\d.]+", one)[:2]] for one in places.split("M")[1:]]
    assert len(marks) == len(found["curve"]) + 1
    x, y = np.array(marks).T
    sizes = [1, 2, 3, 4, 5, 6, 8, 11, 16, 23, 32, 45, 64]
    assert_close((x - x[0]) / (x[-1] - x[0]), np.log2(sizes) / 6, 1e-9)
    distances = dict(found["curve"]) | {5: found["distance"]}
    heights = np.array([distances[size] for size in sizes])
    slope = (y[-1] - y[0]) / (heights[-1] - heights[0])
    assert_close(y - y[0], slope * (heights - heights[0]), 1e-9)


ON_THE_CURVE = """() => {
  const svg = document.querySelector("#live-batch svg");
  const curve = svg.querySelector(".live-curve");
  const {x, y, width, height} = [...svg.querySelectorAll("text")].at(-1).getBBox();
  const length = curve.getTotalLength();
  const points = Array.from({length: 800}, (_, i) => curve.getPointAtLength(length * i / 799));
  return points.some((p) => p.x > x && p.x < x + width && p.y > y + 3 && p.y < y + height - 3);
}"""


@pytest.mark.parametrize("width", [390, 720])
def test_the_distance_stands_above_its_curve(opened, width):
    page = opened("batch", viewport={"width": width, "height": 900}, reduced_motion="reduce")
    for again in (0, 1):
        for size in (1, 2, 3, 4, 6, 11, 23, 32, 48, 56, 64):
            values(page, "batch", {"size": size, "again": again})
            assert not page.evaluate(ON_THE_CURVE), (size, again)


def test_the_distance_at_the_ring_can_be_read_on_dots(opened):
    halo = """(e) => {
      const {paintOrder, strokeWidth, stroke} = getComputedStyle(e);
      const {backgroundColor} = getComputedStyle(document.querySelector(".live"));
      return [paintOrder, strokeWidth, stroke === backgroundColor];
    }"""
    number = opened("batch").get_by_text("0.71", exact=True).first
    assert number.evaluate(halo) == ["stroke", "8px", True]


def test_the_slider_of_the_batches_lies_as_its_curve_does(opened):
    page = opened("batch")
    at = """() => {
      const {min, max, valueAsNumber} = document.querySelector("#live-batch input");
      const {e} = document.querySelector("#live-batch .live-handle").transform.baseVal[0].matrix;
      return [(valueAsNumber - min) / (max - min), e];
    }"""
    found = []
    for size in (1, 2, 8, 11, 64):
        values(page, "batch", {"size": size})
        found.append(page.evaluate(at))
    slid, drawn = np.array(found).T
    assert_close(slid, (drawn - drawn[0]) / (drawn[-1] - drawn[0]), 0.05)
    slider = page.get_by_role("slider", name="rows in a batch")
    for wanted in (45, 32, 23):
        slider.press("ArrowLeft")
        assert state(page, "batch")["size"] == wanted
        assert slider.evaluate("(e) => e.ariaValueText") == str(wanted)
    slider.press("Home")
    for _ in range(2):
        slider.press("ArrowRight")
    assert state(page, "batch")["size"] == 2


def test_the_divisor_decides_which_answer_is_charged_more(opened):
    page = opened("divisor")
    assert said(page).startswith("A token of answer 1 is charged 0.125, one of answer 2 charged")
    assert said(page).endswith("a token of the shorter answer weighs 4 times as much.")
    for choice in ("all tokens", "constant"):
        press(page, "radio", choice, "Space")
        assert said(page).endswith("With equal credits, all tokens weigh the same, at any length.")
    found = values(page, "divisor", *[{"by": 0, "second": n} for n in range(2, 9)])
    first, second = np.array([one["weights"] for one in found])[:, [0, 8]].T
    assert (first == -1 / 8).all()
    assert_close(second, -0.5 / (2 * np.arange(2, 9)), EXACT)
    found = values(page, "divisor", *[{"by": 2, "second": n} for n in range(2, 9)])
    assert {(one["weights"][0], one["weights"][8]) for one in found} == {(-1 / 32, -1 / 32)}
    press(page, "button", "Reset")
    for name in ("credit of answer 1", "credit of answer 2"):
        press(page, "slider", name, "End")
    assert said(page).startswith("A token of answer 1 is paid 0.250, one of answer 2 paid 0.063.")


BARS = """() => Math.max(...[...document.querySelectorAll("#live-divisor rect.live-moves")]
  .map((e) => e.height.baseVal.value)) / 170"""  # of the height of the plot


def test_the_bars_of_the_answers_use_the_plot(opened):
    """Check their height for many answers; all three divisors are on one scale."""
    page, rng = opened("divisor", reduced_motion="reduce"), np.random.default_rng(0)
    heights = []
    for _ in range(STATES):
        values(page, "divisor", {**divisor_state(rng), "by": 0})
        heights.append(page.evaluate(BARS))
        before = page.evaluate(TICKS, "divisor")
        values(page, "divisor", {"by": 2})
        assert page.evaluate(TICKS, "divisor") == before
    assert max(heights) <= 1
    assert np.median(heights) > 0.5
    press(page, "button", "Reset")
    assert page.evaluate(BARS) == pytest.approx(0.125 / 0.15)
    assert page.evaluate(TICKS, "divisor") == "−0.15 −0.1 −0.05 0"


def test_the_axis_of_the_answers_grows_with_a_credit_and_shrinks_when_it_is_let_go(opened):
    page = opened("divisor", reduced_motion="reduce")
    page.evaluate(HOLD, "divisor")
    for credit, wanted in (
        (-1, 0.25 / 0.3),  # of an axis from -0.3
        (1, 0.25 / 0.6),  # and to 0.3
        (-0.2, 0.05 / 0.6),
    ):
        values(page, "divisor", {"credit1": credit})
        assert page.evaluate(BARS) == pytest.approx(wanted)
    page.evaluate("dispatchEvent(new PointerEvent('pointerup'))")
    assert page.evaluate(BARS) == pytest.approx(1)  # from -0.05


@pytest.mark.parametrize("way", ["mouse", "touch"])
def test_the_tokens_of_an_answer_are_dragged_and_set_by_keys_and_nothing_repeats_them(opened, way):
    page = opened("divisor", has_touch=way == "touch", viewport={"width": 390, "height": 900})
    assert page.get_by_role("slider", name="tokens of answer").count() == 2
    assert page.locator("#live-divisor input[type=range]").count() == 2  # of the credits
    handle = page.get_by_role("slider", name="tokens of answer 1")
    ring = handle.locator(".live-ring").bounding_box()
    assert min(ring["width"], ring["height"]) >= 24
    bar = page.locator("#live-divisor rect.live-moves").nth(1).bounding_box()
    x, y = centre(page, "tokens of answer 1")
    assert x == pytest.approx(bar["x"] + bar["width"] + 1, abs=0.5)
    to = x + 3 * (bar["width"] + 2)
    if way == "mouse":
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(to, y, steps=4)
        page.mouse.up()
    else:
        tools = page.context.new_cdp_session(page)
        for kind, at in ("touchStart", x), ("touchMove", (x + to) / 2), ("touchMove", to):
            points = [{"x": at, "y": y}]
            tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            page.wait_for_timeout(20)
        tools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("live.figures.divisor.state.first === 5")
    for key, wanted in (("ArrowLeft", 4), ("ArrowUp", 5), ("Home", 1), ("End", 8)):
        handle.press(key)
        assert state(page, "divisor")["first"] == wanted
        assert handle.get_attribute("aria-valuenow") == str(wanted)
    assert state(page, "divisor")["second"] == 8
    assert page.get_by_text("8 tokens", exact=True).count() == 2
    handle.press("Home")
    assert page.get_by_text("1 token", exact=True).is_visible()


def names_in_torch(first) -> list:
    """Return the names of a loss's autograd nodes, from the first operation to the loss."""
    W, x = torch.tensor([[0.5, -1.0], [1.0, 0.5]], requires_grad=True), torch.tensor([first, 1.0])
    h = torch.tanh(W @ torch.tanh(W @ x)) if first > 0 else W @ x
    node, names = (0.5 * ((h - 1) ** 2).sum()).grad_fn, []
    while node is not None:
        names.insert(0, type(node).__name__.removesuffix("Backward0"))
        before = [one for one, _ in node.next_functions if one is not None]
        node = before[-1] if before else None  # the vector of a product, if it has a graph
    return [name for name in names if name != "AccumulateGrad"]


def names_in_jax(way) -> list:
    """Return the names of a jaxpr's operations, with those in the branches of a `cond`."""
    jax = pytest.importorskip("jax")

    def loss(W, x, y):
        roads = (lambda: jax.numpy.tanh(W @ jax.numpy.tanh(W @ x)), lambda: W @ x)
        if way == "cond":
            h = jax.lax.cond(x[0] > 0, *roads)
        else:
            h = jax.numpy.where(x[0] > 0, *[road() for road in roads])
        return 0.5 * ((h - y) ** 2).sum()

    def names(equations):
        for one in equations:
            yield one.primitive.name
            for part in one.params.get("branches", [one.params.get("jaxpr")]):
                yield from names(part.jaxpr.eqns if part else [])

    given = jax.numpy.eye(2), jax.numpy.ones(2), jax.numpy.ones(2)
    return list(names(jax.make_jaxpr(loss)(*given).jaxpr.eqns))


def shown(page, column) -> list:
    """Return the names in a graph's boxes, from top to bottom; column 0 is PyTorch, 1 is JAX."""
    read = "(texts) => texts.filter((e) => !e.classList.length).map((e) => e.textContent)"
    texts = page.locator("#live-branch svg text").evaluate_all(read)
    names = {"x[0] > 0": "gt", "where": "select_n"}  # what JAX writes for them
    return [names.get(text, text) for text in texts[11 * column : 11 * column + 11] if text]


def test_the_branch_shows_what_pytorch_records_and_jax_traces(opened):
    page = opened("branch")
    assert "recorded 8 operations" in said(page)
    assert "Loss 2.763." in said(page)  # as chapter 2 prints for its first sample
    traced = {}
    for first in (1.0, -1.0):
        for number, way in enumerate(("where", "cond")):
            values(page, "branch", {"first": first, "second": 1, "way": number})
            assert shown(page, 0) == names_in_torch(first)
            traced.setdefault(way, shown(page, 1))
            assert shown(page, 1) == traced[way]
    assert "Loss 4.250." in said(page)
    for way, names in traced.items():
        wanted = [name for name in names_in_jax(way) if name in names]
        assert sorted(wanted) == sorted(names)


def test_the_answers_under_the_walk_are_right(opened):
    """Show that of the slider's step sizes 0.25 is best after 10 episodes and 0.05 after 310."""
    page = opened("td")
    assert "Episode 10 ends." in said(page)
    ends = [n for n, (_, to) in zip(range(3000), moves(1), strict=False) if to in (0, 6)]
    for episodes, best in ((10, 0.25), (310, 0.05)):
        count = ends[episodes - 1] + 1
        sizes = np.linspace(0, 1, 21).round(2).tolist()
        states = [{"alpha": alpha, "moves": count, "walk": 1} for alpha in sizes]
        errors = [found["error"] for found in values(page, "td", *states)]
        assert sizes[int(np.argmin(errors))] == best
        answers = []
        for given in states:
            values(page, "td", given)
            answers.append(page.locator(".live-found").text_content())
        wanted = f"✓ Found: {best} after {episodes} episodes"
        late = episodes == 310  # its curve shows that a smaller one is best, wherever the dot is
        assert answers == [wanted if late or alpha == best else "" for alpha in sizes]
        values(page, "td", {"alpha": best, "moves": count, "walk": 2})
        assert page.locator(".live-found").text_content() == ""


def test_the_answers_under_the_divergence_are_right(opened):
    """Show which settings stay below the bound, and which exceed it at any step size."""
    page = opened("divergence")
    long = {"steps": 5000, "gamma": 0.99}

    def last(**changes):
        (found,) = values(page, "divergence", {**long, **changes})
        return found["curves"][0][-1], found["radii"]

    end, (radius, _) = last(use=0, alpha=0.1)
    assert 99 < end < 100
    assert radius < 1
    for use in (1, 3):  # a smaller step grows as well, until it leaves the axis
        for alpha in (0.02, 0.1, 1.0):
            end, radii = last(use=use, alpha=alpha)
            assert end > 1e6
            assert min(radii) > 1
    end, (large, small) = last(use=2, alpha=1.4)
    assert end > 1e6
    assert large > 1 > small
    assert last(use=2, alpha=1.3)[1][0] < 1
    end, (radius, _) = last(use=1, alpha=0.1, gamma=0.4)  # above the bound, and at rest
    assert end == pytest.approx(5)
    assert radius < 1
    for use, gamma in ((1, 0.5), (3, 0.88)):  # the discount decides
        assert last(use=use, alpha=0.01, gamma=gamma)[1][0] <= 1
        assert last(use=use, alpha=0.01, gamma=gamma + 0.02)[1][0] > 1


def test_the_divergence_opens_with_one_curve_above_the_bound(opened):
    """Check that the other is far below, and that what the page asks is not answered."""
    page = opened("divergence")
    (found,) = values(page, "divergence", {})
    fast, slow = (curve[-1] for curve in found["curves"])
    assert found["bound"] < fast < 3 * found["bound"]
    assert slow < 3
    assert page.locator(".live-found").text_content() == ""
    read = """() => {
      const svg = document.querySelector("#live-divergence svg");
      const {y, height} = svg.querySelector("rect.live-minus").getBBox();
      return [y, y + height, svg.querySelector("g.live-handle").transform.baseVal[0].matrix.f,
        [...svg.querySelectorAll("path")].map((e) => e.getBBox().y)];
    }"""
    top, end, bound, curves = page.evaluate(read)
    assert end == pytest.approx(bound)
    assert top < curves[0] < bound < curves[1]
    word = page.get_by_text("no true value here", exact=True)
    assert word.is_visible()
    values(page, "divergence", {"steps": 20})  # the bound is where the axis ends
    assert not word.is_visible()


def test_the_trace_opens_with_a_walk_that_fills_the_picture(opened):
    """Check that at first no place gets more than the last, and that a step, or all, change it."""
    page = opened("trace")

    def answered(**changes):
        (found,) = values(page, "trace", changes)
        return max(found["trace"]) > found["trace"][found["places"][-1]] + 0.005

    assert not answered()
    oldest = """() => Math.max(...[...document.querySelectorAll("#live-trace circle.live-press")]
      .filter((e) => e.checkVisibility({visibilityProperty: true}))
      .map((e) => e.cy.baseVal.value))"""
    drawn = page.locator("#live-trace svg text")
    assert {"last step", "5 ago", "10 ago"} <= set(drawn.all_text_contents())
    for steps in (11, 16):  # always from top to bottom
        values(page, "trace", {"steps": steps})
        page.wait_for_timeout(300)
        tall = page.locator("#live-trace svg").bounding_box()["height"]
        assert tall - page.evaluate(oldest) == pytest.approx(8, abs=1)
    assert answered(steps=10)
    assert answered(steps=16)
    assert answered(**{"steps": 15, "lambda": 1})
    assert not answered(**{"steps": 15, "lambda": 0.8})


def test_the_error_of_each_step_size_is_drawn_and_dragged_along(opened):
    page = opened("td", viewport={"width": 390, "height": 900}, reduced_motion="reduce")
    page.locator("#live-td svg").scroll_into_view_if_needed()
    dot = page.locator("#live-td .live-handle .live-dot")

    def at():
        box = dot.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    places = [values(page, "td", {"alpha": alpha}) and at() for alpha in (0, 0.25, 1)]
    (left, high), (x, low), (right, _) = places
    assert (x - left) / (right - left) == pytest.approx(0.25, abs=0.005)
    assert low - high == pytest.approx((0.2357 - 0.0943) * 52 / 0.4, abs=0.6)
    values(page, "td", {"alpha": 0.1})
    page.mouse.move(*at())
    page.mouse.down()
    page.mouse.move(x + 3, low, steps=4)  # to the slider's next step size
    page.mouse.up()
    assert state(page, "td")["alpha"] == 0.25
    assert page.locator(".live-found").text_content() == "✓ Found: 0.25 after 10 episodes"


@pytest.mark.parametrize("width", [390, 800])
def test_the_names_of_the_values_stand_still(opened, width):
    page = opened("td", viewport={"width": width, "height": 900})
    read = """(all) => Object.fromEntries(all.map((e) =>
      [e.textContent, [e.x.baseVal[0].value, e.y.baseVal[0].value]]))"""
    places = []
    for moves in (0, 40, 106, 3000):
        values(page, "td", {"moves": moves})
        at = page.locator("#live-td svg > text").evaluate_all(read)
        places.append([at[name] for name in ("value", "true", "learned")])
    assert all(place == places[0] for place in places)
    assert len({y for _, y in places[0]}) == 1  # on one line


# How they are drawn --------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 1280])
def test_the_names_of_the_curves_stand_apart(opened, width):
    page = opened("divergence", viewport={"width": width, "height": 900})
    read = "(all) => all.map((e) => [e.textContent, e.y.baseVal[0].value])"
    for steps in (3500, 4000, 4500, 5000):
        values(page, "divergence", {"alpha": 0.01, "steps": steps})
        names = dict(page.locator("#live-divergence svg > text.live-name").evaluate_all(read))
        assert abs(names["bound 100"] - names["α = 0.001"]) > 18


WORDS = """() => {
  const svg = document.querySelector("#live-divergence svg");
  const seen = (e) => e.textContent && e.checkVisibility({visibilityProperty: true});
  const curves = [...svg.querySelectorAll("path[stroke]")].map((curve) => {
    const length = curve.getTotalLength();
    return Array.from({length: 1000}, (_, i) => curve.getPointAtLength(length * i / 999));
  });
  const on = ({x, y, width, height}) => curves.some((all) => all.some((p) =>
    p.x > x && p.x < x + width && p.y > y + 3 && p.y < y + height - 3));
  const right = svg.querySelector("rect.live-minus").getBBox();
  const edge = ({x, width}) => x < right.x + right.width && x + width > right.x + right.width;
  const names = [...svg.querySelectorAll(".live-name")].filter(seen);
  const none = [...svg.querySelectorAll("text")].filter((e) => /^no true/.test(e.textContent));
  const words = [...names, ...none.filter(seen)].map((e) => [e, e.getBBox()]);
  return words.filter(([_, box]) => on(box) || edge(box)).map(([e]) => e.textContent);
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_no_word_of_the_divergence_lies_on_a_curve_an_edge_or_another(opened, width):
    page = opened("divergence", viewport={"width": width, "height": 900})
    rng = np.random.default_rng(0)
    played = [{"use": use, "steps": n} for use in range(4) for n in (50, 200, 400, 1580, 5000)]
    seen = 0
    for changes in [*played, *(divergence_state(rng) for _ in range(STATES))]:
        values(page, "divergence", {"alpha": 0.1, "gamma": 0.99, **changes})
        assert page.evaluate(INSIDE, True) == [], changes
        assert page.evaluate(WORDS) == [], changes
        seen += page.get_by_text("no true value here", exact=True).is_visible()
    assert seen > 20


def test_a_curve_that_settles_or_has_left_the_picture_says_so(opened):
    page, rng = opened("divergence"), np.random.default_rng(0)
    read = """(all) => all.filter((e) => e.textContent).map((e) => e.textContent)"""
    notes, said_of = page.locator("#live-divergence svg text.live-small.live-name"), set()
    for _ in range(STATES):
        given = divergence_state(rng)
        (found,) = values(page, "divergence", given)
        texts = notes.evaluate_all(read)
        wanted = []
        for curve, radius, rest in zip(
            found["curves"], found["radii"], found["rest"], strict=True
        ):
            grows, settles = curve[-1] > 1e6, rest is not None
            assert radius > 1 or not grows
            assert radius < 1 or not settles
            if settles:
                assert curve[-1] == pytest.approx(rest, rel=0.01)
                fixed = f"{rest:.2f}" if rest < 10 else f"{rest:.0f}"
                wanted.append(f"settles at {fixed}")
            wanted += ["grows"] * grows
        assert texts == wanted
        said_of |= {text.split()[0] for text in texts}
    assert said_of == {"grows", "settles"}


def test_clip_draws_what_it_computes_and_says_what_the_bound_does(opened):
    page = opened("clip")
    assert "Point 4 then adds an arrow of length 0.175, not 0.460;" in said(page)
    (found,) = values(page, "clip", {"y": [1.0, -1.0, 0.5, -0.5], "bound": 0.7})
    kinds = "[stroke=none]", "[fill=none]"
    heads, shafts = (page.locator(f"#live-clip g[clip-path] path{kind}") for kind in kinds)
    bounds = page.locator("#live-clip g[clip-path] circle").all()

    def tip(number):
        circle = bounds[number >= 8]  # of the rows, or of the means, in a larger scale
        origin = np.array([float(circle.get_attribute(key)) for key in ("cx", "cy")])
        unit = float(circle.get_attribute("r")) / 0.7
        ends = [parts.nth(number).get_attribute("d") for parts in (heads, shafts)]
        end, begin = (np.array(re.findall(r"[\d.-]+", text)[:2], float) for text in ends)
        assert_close(begin, origin, 1e-9)
        return (end - begin) * [1, -1] / unit

    for number, mean in zip((10, 8, 9), found["means"], strict=True):  # the thicker ones are below
        assert_close(tip(number), np.array(mean), 1e-9)
    for point in range(4):
        assert_close(tip(2 * point), np.array(found["rows"][point]), 1e-9)
    assert said(page).endswith("none adds more than bound/4 = 0.175.")
    values(page, "clip", {"chosen": 3, "t": [0, 0, 0, 0], "y": [1, 1, 1, 0.5]})
    assert "Point 4 adds its whole arrow, of length 0.125;" in said(page)


ROWS = """() => {
  const plane = document.querySelector("#live-clip g[clip-path]");
  const at = (e) => [Number(e.getAttribute("x")), Number(e.getAttribute("y")) - 5];
  const tip = (e) => e.getAttribute("d").match(/[\\d.]+/g).slice(0, 2).map(Number);
  const all = (kind, place) => [...plane.querySelectorAll(kind)].map(place);
  return [all("text", at), all("path[stroke=none]", tip)];
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_the_name_of_a_row_lies_on_no_arrowhead_and_no_other_name(opened, width):
    page, rng = opened("clip", viewport={"width": width, "height": 900}), np.random.default_rng(0)
    for _ in range(STATES):
        given = clip_state(rng)
        given["y"] = (0.5 * given["t"] + rng.normal(0, 0.4, 4)).round(3)  # near the line
        values(page, "clip", given)
        names, tips = map(np.array, page.evaluate(ROWS))
        others = names[np.triu_indices(4, 1)[0]] - names[np.triu_indices(4, 1)[1]]
        assert np.linalg.norm(others, axis=1).min() > 10
        assert np.linalg.norm(names[:, None] - tips[None], axis=2).min() > 10


def test_the_grids_of_chapter_1_are_numbered_by_round_numbers(opened):
    page, rng = opened("clip"), np.random.default_rng(0)
    words = [dict(one.split("=") for one in given.split()) for given in STATED["clip"]]
    told = [{k: json.loads(f"[{v}]" if "," in v else v) for k, v in one.items()} for one in words]
    for changes in [*told, *(clip_state(rng) for _ in range(20))]:
        page.evaluate("live.figures.clip.reset()")
        values(page, "clip", changes)
        texts = page.evaluate(TICKS, "clip").split()
        ticks = {abs(float(text.replace("\u2212", "-"))) for text in texts}
        assert len(ticks) >= 4
        digits = {f"{tick:g}".replace(".", "").strip("0") for tick in ticks - {0}}
        assert digits <= {*"12456", "15"}  # multiples of 1, 2 or 5


INSIDE = """(close) => {
  const shown = {visibilityProperty: true, opacityProperty: true};
  const seen = (e) => e.textContent && e.checkVisibility(shown);
  const all = [...document.querySelectorAll(".live svg")].filter((e) => e.checkVisibility());
  return all.flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(seen).map((e) => {
      const {left, right, top, bottom} = e.getBoundingClientRect();
      const line = (bottom - top) / 4;  // above and below the letters
      return {text: e.textContent, left, right, top: top + line, bottom: bottom - line};
    });
    const out = texts.filter(({left, right, top, bottom}) => left < frame.left - 1
      || right > frame.right + 1 || top < frame.top - 1 || bottom > frame.bottom + 1);
    const meet = (a, b) => a.left < b.right && b.left < a.right
      && a.top < b.bottom && b.top < a.bottom;
    const both = close ? texts.filter((a, i) => texts.slice(i + 1).some((b) => meet(a, b))) : [];
    return [...out, ...both].map(({text}) => text);
  });
}"""


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_fits_a_phone_and_a_desk_and_keeps_the_focus_when_turned(opened, name):
    page = opened(name, viewport={"width": 320, "height": 900})
    page.locator("[data-key]").first.focus()
    key = focused(page)
    small = "Math.min(...[...document.querySelectorAll('.live text')].map((e) =>"
    for width in (320, 390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.evaluate(f"{small} parseFloat(getComputedStyle(e).fontSize)))") >= 12
        assert page.evaluate(INSIDE, False) == [], width
        assert focused(page) == key
        if name == "graph":  # what it says stands apart, of derivatives with many digits too
            long = {"x": -2.5, "w2": -8.3, **dict.fromkeys(("mark_x", "mark_y", "mark_v2"), 1)}
            for number in (0, 1):
                values(page, name, {"graph": number, "step": 7 + 2 * number, **long})
                assert page.evaluate(INSIDE, True) == []


@pytest.mark.parametrize("name", FIGURES)
def test_picture_first_control_and_sentence_are_on_one_screen_of_a_phone(opened, name):
    page = opened(name, viewport={"width": 390, "height": 844})
    parts = "[...document.querySelector('.live').children].map((e) => e.className)"
    wanted = ["", "live-picture", "live-controls", "live-words", "live-found"]
    assert page.evaluate(parts) == wanted
    top = page.locator(".live-picture").bounding_box()["y"]
    if name in ASKS:
        asks = page.get_by_role("button", name=ASKS[name])
        assert asks.bounding_box()["y"] + asks.bounding_box()["height"] - top <= 720
        asks.click()
    control = page.locator(".live-controls > *").first.bounding_box()
    assert control["y"] + control["height"] - top <= 720
    # Below the drawing all controls, and then what changed, with room between.
    drawing, said = (page.locator(f".live-{part}").bounding_box() for part in ("picture", "words"))
    rows = [row.bounding_box() for row in page.locator(".live-controls > *:visible").all()]
    parts = [drawing, *rows, said]
    assert said["y"] + said["height"] - top <= 720
    gaps = [b["y"] - a["y"] - a["height"] for a, b in zip(parts, parts[1:], strict=False)]
    assert min(gaps) >= 8
    reset = page.locator(".live-reset")
    if reset.count():  # in a row with something else: the sentence, at whose right end it is
        row, at = reset.locator("xpath=.."), reset.bounding_box()["y"]
        mine, line = reset.bounding_box(), page.locator(".live-words").bounding_box()
        assert mine["x"] + mine["width"] == pytest.approx(line["x"] + line["width"], abs=8)
        assert mine["y"] + mine["height"] / 2 == pytest.approx(line["y"] + 11, abs=3)
        others = [one.bounding_box()["y"] for one in row.locator("xpath=./*").all()]
        assert sum(abs(y - at) < 20 for y in others) > 1
    room = page.locator(".live-words").bounding_box()["height"]
    for index in range(page.locator(".live-controls button").count()):
        page.locator(".live-controls button").nth(index).dispatch_event("click")
        again = page.locator(".live-words").bounding_box()["height"]
        assert again >= room  # what has made room keeps it
        room = again


def test_the_still_picture_of_chapter_1_is_the_start_of_its_figure(opened):
    (found,) = values(opened("clip"), "clip", {})
    picture = ElementTree.parse(ROOT / "_static/clip.svg").getroot()
    paths = [e for e in picture.iter() if e.tag.endswith("}path") and e.get("stroke") is None]
    points = [re.findall(r"[\d.]+", e.get("d"))[:2] for e in paths]
    tips = (np.array(points, float) - [419, 190]) * [1, -1] / 50
    pairs = [v for both in zip(found["rows"], found["clipped"], strict=True) for v in both]
    means = [found["means"][k] for k in (1, 0, 2)]
    assert_close(tips, np.array([*pairs, *means]), 0.003)
    (circle,) = [e for e in picture.iter() if e.get("cx") == "419"]
    assert float(circle.get("r")) == 50 * 0.7


TICKS = """(name) => [...document.querySelectorAll(`#live-${name} svg text.live-small`)]
  .map((e) => e.textContent).filter((text) => /^[\\u2212\\d.\\u00b2-\\u2079]+$/.test(text))
  .join(" ")"""
HOLD = "(n) => document.querySelector(`#live-${n}`).dispatchEvent(new PointerEvent('pointerdown'))"
DRAGGED = ("batch", "cost", "divergence", "divisor", "means", "td")


@pytest.mark.parametrize("name", DRAGGED)
def test_an_axis_stands_still_while_something_is_dragged(opened, name):
    page = opened(name)
    limits, start = page.evaluate("(n) => [live.figures[n].limits, live.figures[n].start]", name)
    before = page.evaluate(TICKS, name)
    assert len(before.split()) > 2
    page.evaluate(HOLD, name)
    # The number of steps is an axis's own end; with a credit an axis grows.
    for key in set(limits) - {"steps", "moves", "credit1", "credit2"}:
        for end in limits[key][:2]:
            value = [end] * len(start[key]) if isinstance(start[key], list) else end
            values(page, name, {**start, key: value})
            assert page.evaluate(TICKS, name) == before, (key, end)
            assert page.evaluate(INSIDE, False) == [], (key, end)
    page.evaluate("dispatchEvent(new PointerEvent('pointerup'))")


def test_bars_grow_while_the_step_is_dragged(opened):
    page = opened("influence")
    values(page, "influence", {"chosen": 4})
    high = "document.querySelector('#live-influence rect[width=\"36\"]').height.baseVal.value"
    before = page.evaluate(high)
    page.evaluate(HOLD, "influence")
    values(page, "influence", {"step": 0.01})
    assert page.evaluate(high) < 0.3 * before
    page.evaluate("dispatchEvent(new PointerEvent('pointerup'))")
    assert page.evaluate(high) > 0.9 * before


TIPS = """() => [...document.querySelectorAll("#live-clip g[clip-path]")].map((plane) => {
  const frame = plane.previousElementSibling.firstElementChild.getBBox();
  return [...plane.querySelectorAll("path[stroke=none]")].every((head) => {
    const [x, y] = head.getAttribute("d").match(/[\\d.]+/g).map(Number);
    return x >= frame.x && x <= frame.x + frame.width
      && y >= frame.y && y <= frame.y + frame.height;
  });
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_no_arrow_leaves_its_square_while_a_point_is_dragged(opened, width):
    """Hold the figure and move the points: both scales grow at once, and neither shrinks again."""
    page, rng = opened("clip", viewport={"width": width, "height": 900}), np.random.default_rng(0)
    radii = """[...document.querySelectorAll('#live-clip g[clip-path] circle')]
      .map((e) => e.r.baseVal.value)"""
    start, before = state(page, "clip"), page.evaluate(radii)
    first = before
    page.evaluate(HOLD, "clip")
    for y in np.linspace(-0.8, -1.9, 12).round(2):  # as far as the page asks for
        values(page, "clip", {"y": [*start["y"][:3], y]})
        assert page.evaluate(radii) == before
        assert page.evaluate(TIPS) == [True, True]
    for _ in range(STATES):
        given = clip_state(rng)
        if rng.integers(2):  # to the corners
            given["t"], given["y"] = 1.2 * np.sign(given["t"]), 2 * np.sign(given["y"])
        values(page, "clip", {"t": given["t"], "y": given["y"]})
        now = page.evaluate(radii)
        assert page.evaluate(TIPS) == [True, True]
        assert all(a <= b for a, b in zip(now, before, strict=True))
        before = now
    assert before[0] < first[0]
    assert before[1] < first[1]


def test_a_bound_that_point_3_cannot_move_stays_as_large(opened):
    """Drag a point by mouse: neither scale changes, and none when it is let go within."""
    page = opened("clip")
    circles = "[...document.querySelectorAll('#live-clip g[clip-path] circle')]"
    radii = f"{circles}.map((e) => e.r.baseVal.value)"
    before, (x, y) = page.evaluate(radii), centre(page, "Point 3")
    page.mouse.move(x, y)
    page.mouse.down()
    for down in (40, 80, 120, 160):
        page.mouse.move(x, y + down)
        assert page.evaluate(radii) == before
    assert said(page).split(". ")[1].startswith("Point 3")
    page.mouse.up()
    values(page, "clip", {"t": [1.2] * 4, "y": [-2] * 4})
    assert page.evaluate(radii) != before


FAINT = """() => [...document.querySelectorAll(".live svg text")].filter((e) => {
  const all = [];
  for (let one = e; one.tagName !== "DIV"; one = one.parentNode) all.push(one);
  const opacity = all.reduce((product, one) => product * getComputedStyle(one).opacity, 1);
  return e.textContent && opacity > 0 && opacity < 1;
}).map((e) => e.textContent)"""


@pytest.mark.parametrize("name", FIGURES)
def test_no_word_is_faint(opened, name):
    page = opened(name, reduced_motion="reduce")
    for changes in ({}, MORE.get(name, {})):
        values(page, name, changes)
        assert page.evaluate(FAINT) == []


EXTREMES = {"clip": "the number of a point may lie on one of the grid, and arrows meet"}


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in EXTREMES])
def test_nothing_leaves_or_meets_at_the_ends_of_a_control(opened, name):
    page = opened(name)
    limits, start = page.evaluate("(n) => [live.figures[n].limits, live.figures[n].start]", name)
    wrong = []
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        for key, ends in limits.items():
            for end in ends[:2]:
                value = [end] * len(start[key]) if isinstance(start[key], list) else end
                for others in ({}, MORE.get(name, {})):
                    values(page, name, {**start, **others, key: value})
                    page.wait_for_timeout(20)
                    wrong += [(width, key, end, text) for text in page.evaluate(INSIDE, True)]
    assert wrong == []


ASKS = {"digits": "Clip each gradient first"}  # the button without which there are no controls
MORE = {  # states in which much is drawn
    "digits": {"clip": 1},
    "divergence": {"use": 3, "steps": 400},
    "means": {"by": 1},
    "divisor": {"credit1": 0.5, "by": 2},
    "td": {"moves": 40},
    "trace": {"steps": 8},
    "branch": {"first": -1},
    "callers": {"by": 1, "step": 4},
    "bells": {"sigma": 5, "line": 1},
    "conflict": {"second": 1.2, "angle": 160, "map": 1},
    "cost": {"batch": 1},
    "fisher": {"p": 0.91, "y": [1, 0, 1, 0, 1, 0, 1, 0, 1, 0], "other": 1},
    "devices": {"by": 2},
    "field": {"ordered": 1, "chosen": 123},
    "influence": {"chosen": 4, "step": 0.2},
    "loop": {"at": 9, "clear": 0},
    "tape": {"step": 12},
    "texts": {"bound": 5, "split": 1},
    "graph": {"graph": 1, "step": 9},
}


# What plays, and what the words of a page set ------------------------------------------------

PLAYS = {"td": "moves", "tape": "step", "loop": "at", "trace": "steps", "divergence": "steps"}


@pytest.mark.parametrize("name", PLAYS)
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_figure_plays_until_it_is_touched_or_at_its_end(opened, name, motion):
    key, page = PLAYS[name], opened(name, reduced_motion=motion)
    now = f"live.figures.{name}.state.{key}"
    first = page.evaluate(now)
    page.wait_for_timeout(1300)
    assert page.evaluate(now) == first  # not by itself
    play = page.locator(".live-play")
    assert play.inner_text() == "Play"
    play.press("Enter")
    page.wait_for_function(f"{now} > {first}")
    assert play.inner_text() == "Pause"
    assert page.get_by_role("status").get_attribute("aria-live") == "off"
    assert focused(page) == "Play"
    play.press("Enter")
    there = page.evaluate(now)
    page.wait_for_timeout(1300)
    assert page.evaluate(now) == there
    play.press("Enter")
    page.locator(".live-controls input").last.press("Space")
    page.locator(".live-reset").press("Enter")
    assert play.inner_text() == "Play"
    assert page.get_by_role("status").get_attribute("aria-live") == "polite"
    play.press("Enter")
    page.evaluate("document.querySelector('.live').style.marginTop = '3000px'")
    page.wait_for_function("document.querySelector('.live-play').textContent === 'Play'")
    page.evaluate("document.querySelector('.live').style.marginTop = ''")
    page.evaluate(f"live.figures.{name}.set({{{key}: 1e9}})")
    last = page.evaluate(now)
    play.press("Enter")  # from the beginning
    page.wait_for_function(f"{now} < {last}")


@pytest.mark.parametrize("name", PLAYS)
def test_the_first_step_of_playing_comes_at_once(opened, name):
    page = opened(name)
    now = f"live.figures.{name}.state.{PLAYS[name]}"
    first = page.evaluate(now)
    press = "document.querySelector('.live-play').click()"
    assert page.evaluate(f"{press}; {now}") > first


def test_playing_ends_with_the_last_step(opened):
    page = opened("loop")
    values(page, "loop", {"at": 11})
    page.locator(".live-play").press("Enter")
    page.wait_for_function("live.figures.loop.state.at === 12")
    page.wait_for_function("document.querySelector('.live-play').textContent === 'Play'")


SET = re.compile(r"\*([^*\n]+)\*<!-- set: ([^>]+) -->")


def settable(name: str) -> set[str]:
    """Return the names of the numbers that words of a page can set, as a figure limits them."""
    return set(
        re.findall(r"(\w+): \[", re.search(r"limits: \{.*?\},\n", script(name), re.DOTALL)[0])
    )


def numbers_of(given: str) -> set[str]:
    return {one.split("=")[0] for one in given.split()}


def stated() -> dict[str, list[str]]:
    """Return the states that the words of the pages set, by figure."""
    found = {}
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        text = "\n".join(c.source for c in nbformat.read(path, 4).cells)
        names = re.findall(r"<!-- live-(\w+) -->", text)
        for _, given in SET.findall(text):
            fits = names[1:] and [name for name in names if numbers_of(given) <= settable(name)]
            (name,) = fits or names
            found.setdefault(name, []).append(given)
    return found


STATED = stated()


def test_the_words_that_set_a_figure_stand_on_its_page_alone():
    for path in (ROOT / "chapters").glob("*.ipynb"):
        text = "\n".join(c.source for c in nbformat.read(path, 4).cells)
        found, names = SET.findall(text), re.findall(r"<!-- live-(\w+) -->", text)
        assert len(found) == text.count("<!-- set: ")
        assert names or not found
        for given in [given for _, given in found if names[1:]]:  # it is one figure's alone
            assert sum(numbers_of(given) <= settable(name) for name in names) == 1
    # Those of chapters 6 and 13, and of the first page, and one of chapter 17, are set by none.
    assert set(STATED) == set(FIGURES) - {"digits", "tape", "callers", "field", "devices"}


@pytest.mark.parametrize("first", ["field", "conflict"])
def test_of_two_figures_words_set_the_one_that_has_their_numbers(opened, first):
    words = "<p><span class=live-set data-set='second=0.86 angle=127'>words</span></p>"
    other = {"field": "conflict", "conflict": "field"}[first]
    more = f"{book_live.opening(other)}<p>Words.</p></div></div>{words}"
    page = opened(first, words=more)
    page.add_script_tag(content=script(other))
    press(page, "link", "words")
    assert state(page, "conflict") == {"second": 0.86, "angle": 127, "surgery": 0, "map": 0}
    assert state(page, "field") == {"chosen": 14, "ordered": 0}


def test_words_that_move_points_choose_one_of_them(opened):
    page = opened("clip")
    start = state(page, "clip")
    for given in STATED["clip"]:
        pairs = dict(one.split("=") for one in given.split())
        chosen = int(pairs.get("chosen", start["chosen"]))
        lists = [
            (key, list(map(float, pairs[key].split(",")))) for key in ("t", "y") if key in pairs
        ]
        moved = {i for key, new in lists for i in range(4) if new[i] != start[key][i]}
        assert chosen in moved or not moved


@pytest.mark.parametrize("key", ["Enter", "Space", "click"])
def test_words_far_below_a_figure_lead_there_and_back(opened, key):
    words = (
        "<p style='margin-top: 3000px'><span class=live-set data-set='size=16'>sixteen</span></p>"
    )
    page = opened("batch", words=words + "<p style='margin-top: 1000px'>.</p>")
    page.add_style_tag(content="html { scroll-padding-top: 64px; }")  # the bar of the page
    link, back = page.get_by_role("link", name="sixteen"), page.locator(".live-back")
    assert back.count() == 0
    link.scroll_into_view_if_needed()
    place = "scrollY"
    before = page.evaluate(place)
    link.click() if key == "click" else link.press(key)
    assert state(page, "batch")["size"] == 16
    edges = "const {top, bottom} = e.getBoundingClientRect();"
    in_sight = f"(e) => {{ {edges} return top >= 0 && bottom <= innerHeight; }}"
    assert back.evaluate(in_sight)
    top, bottom = page.locator("#live-batch").evaluate(
        f"(e) => {{ {edges} return [top, bottom]; }}"
    )
    assert top >= 62  # all of the figure, below the bar
    assert bottom <= 901
    assert focused(page) == "Back to the text"
    assert page.evaluate(place) < before - 1000
    for way in ("button", "browser"):
        page.go_back() if way == "browser" else back.click() if key == "click" else back.press(key)
        page.wait_for_function("!document.querySelector('.live-back')")
        assert link.evaluate(in_sight)
        assert link.evaluate("(e) => document.activeElement === e")
        link.press("Enter")
        assert back.evaluate(in_sight)


def test_words_that_set_a_figure_are_as_high_as_a_finger_needs(opened):
    words = "<p><span class=live-set data-set='size=16'>sixteen</span></p>"
    page = opened("batch", words=words, viewport={"width": 390, "height": 900})
    assert page.get_by_role("link", name="sixteen").bounding_box()["height"] >= 24


def test_an_answer_that_words_of_the_page_show_is_not_called_found(opened):
    found = "<p><span class=live-set data-set='y=0.6,1.8,1.3,-1.9'>far down</span></p>"
    page = opened("clip", words=found)
    page.get_by_role("link", name="far down").press("Enter")
    assert state(page, "clip")["y"][3] == -1.9
    assert page.locator(".live-found").text_content() == ""
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_timeout(100)
    assert page.locator(".live-found").text_content() == ""
    press(page, "slider", "Point 4", "ArrowUp")
    assert page.locator(".live-found").text_content() == "✓ Found: “clipped first” stays"


@pytest.mark.parametrize("name", STATED)
def test_the_words_of_a_page_put_its_figure_into_states_that_it_has(opened, name):
    words = "".join(
        f"<p><span class=live-set data-set='{given}'>word {i}</span></p>"
        for i, given in enumerate(STATED[name])
    )
    page = opened(name, words=words)
    start, limits = page.evaluate("(n) => [live.figures[n].start, live.figures[n].limits]", name)
    for i, given in enumerate(STATED[name]):
        wanted = dict(start)
        for key, value in (one.split("=") for one in given.split()):
            low, high, step = (*limits[key], 0.001)[:3]
            numbers = [float(v) for v in value.split(",")]
            assert all(low <= v <= high for v in numbers), given
            assert [v for v in numbers if abs(v / step - round(v / step)) > 1e-6] == [], given
            wanted[key] = numbers if isinstance(start[key], list) else numbers[0]
            assert np.shape(wanted[key]) == np.shape(start[key])
        link = page.get_by_role("link", name=f"word {i}", exact=True)
        link.press("Enter")
        assert state(page, name) == wanted
        seen = "(e) => e.getBoundingClientRect().top < innerHeight"
        assert page.locator(".live-picture").evaluate(seen)


# How they are worked -------------------------------------------------------------------------


def focused(page):
    return page.evaluate("document.activeElement.dataset.key ?? document.activeElement.tagName")


RING = """(e) => [getComputedStyle(e).outlineStyle,
  getComputedStyle(e.querySelector(".live-ring") ?? e).strokeWidth]"""
STOPS = {
    "graph": ["Back", "Step", "sum", "mark_v1", "mark_v2", "Reset"],
    "means": ["first", "second", "each part", "Reset"],
    "clip": ["point 1", "point 2", "point 3", "point 4", "bound", "Reset"],
    "td": ["alpha", "Play", "Back", "Step", "+1", "+10", "+100", "Another walk", "Reset"],
    "digits": ["bound", "more", "Reset"],
    "batch": ["size", "again", "Draw again", "Reset"],
    "bells": ["line", "sigma", "steps", "Reset"],
    "branch": ["first", "second", "where", "Reset"],
    "callers": ["grad", "Back", "Step", "width", "Reset"],
    "conflict": ["tip", "second", "angle", "surgery", "map", "Reset"],
    "cost": ["positions", "inputs", "outputs", "batch", "Reset"],
    "devices": ["row 0", "row 1", "row 2", "row 3", "clip first", "Reset"],
    "divergence": ["Play", "steps", "1→2", "alpha", "gamma", "Reset"],
    "divisor": ["first", "second", "own tokens", "credit1", "credit2", "Reset"],
    "field": ["ring", "ordered", "Reset"],
    "fisher": ["sample 1", "p", "other", "Reset"],
    "influence": ["4", "step", "Reset"],
    "loop": ["Play", "Back", "Step", "clear", "no", "no_grad()", "Reset"],
    "tape": ["Play", "Back", "Step", "step", "stops", "reward", "Reset"],
    "texts": ["bound", "split", "Reset"],
    "trace": ["Play", "Back", "Step", "End", "New walk", "lambda", "Reset"],
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_the_keyboard_reaches_everything(opened, name):
    page = opened(name)
    page.locator("a").first.focus()
    if name in ASKS:
        page.keyboard.press("Tab")
        assert focused(page) == ASKS[name]
        values(page, name, MORE[name])
        page.locator("a").first.focus()
    for stop in STOPS[name]:
        page.keyboard.press("Tab")
        assert focused(page) == stop
        outline, stroke = page.locator(":focus").evaluate(RING)
        assert outline == "solid" or stroke == "2px"
        tag = "(e) => e.labels?.[0]?.innerText || e.ariaLabel || e.innerText"
        assert page.locator(":focus").evaluate(tag).strip()
    page.keyboard.press("Tab")
    assert focused(page) == "BODY"


def test_the_graph_is_stepped_marked_and_refused(opened):
    page = opened("graph")
    press(page, "button", "Step")
    assert said(page).startswith("Forward: v_sum = v1 + v2 is [3, 3]. Recorded")
    values(page, "graph", {"step": 7})
    step = page.get_by_role("button", name="Step")
    assert step.get_attribute("aria-disabled") == "true"
    assert "v1 gets [2, 2] × 1 = [2, 2], kept as its .grad; v2 gets nothing" in said(page)
    press(page, "checkbox", "v2 requires grad", "Space")
    assert "v2 gets [2, 2] × 1 = [2, 2], kept as its .grad." in said(page)
    for mark in ("v1", "v2"):
        press(page, "checkbox", f"{mark} requires grad", "Space")
    assert said(page).startswith("RuntimeError: element 0 of tensors")
    assert "live-error" in page.get_by_role("status").get_attribute("class")
    page.locator("#live-graph svg g").first.click()  # the box of v1
    assert said(page).startswith("Backward through v_sum = v1 + v2: v1 gets [2, 2] × 1 = [2, 2],")
    page.locator("#live-graph svg g").nth(3).click()  # that of product
    assert said(page).startswith("Forward: product = v_sum * 2 is [6, 6]. Recorded")


def centre(page, name):
    box = page.get_by_role("slider", name=name).locator(".live-dot").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_point_follows_the_mouse_until_reset(opened):
    page = opened("clip")
    before = state(page, "clip")
    x, y = centre(page, "Point 4")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 100, steps=4)
    page.mouse.up()
    page.mouse.move(x, y - 200)
    after = state(page, "clip")
    assert after["y"][:3] == before["y"][:3]
    tall = 0.285 * page.locator("#live-clip svg").first.bounding_box()["width"]  # from -2.3 to 2.3
    assert after["y"][3] == pytest.approx(before["y"][3] + 100 * 4.6 / tall, abs=0.02)
    press(page, "button", "Reset")
    assert state(page, "clip") == before


def test_what_is_dragged_follows_at_once_and_the_bound_is_dragged_too(opened):
    page = opened("clip")
    wait = "getComputedStyle(document.querySelector('.live-moves')).transitionDuration"
    assert not page.evaluate(wait).startswith("0s")
    grip = page.locator(".live-handle:not([role]) .live-dot").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    wide = page.locator("#live-clip svg").first.bounding_box()["width"]
    moved = 0.285 * wide / 5.6 * 0.4  # pixels for 0.4: a square of the grid is 1 wide
    page.mouse.move(x + moved, y + moved)
    assert page.evaluate(wait).startswith("0s")
    page.mouse.up()
    assert not page.evaluate(wait).startswith("0s")
    assert state(page, "clip")["bound"] == pytest.approx(0.7 + 0.4 * 2**0.5, abs=0.02)


def test_the_keys_of_a_slider_move_a_point(opened):
    page = opened("clip")
    start = state(page, "clip")["y"][0]
    for key, wanted in (("PageDown", start - 0.5), ("End", 2), ("Home", -2), ("PageUp", -1.5)):
        press(page, "slider", "Point 1", key)
        assert state(page, "clip")["y"][0] == pytest.approx(wanted)


def test_a_finger_moves_a_point(opened):
    page = opened("clip", has_touch=True, viewport={"width": 390, "height": 600})
    page.get_by_role("slider", name="Point 1").scroll_into_view_if_needed()
    before, (x, y) = state(page, "clip")["y"][0], centre(page, "Point 1")
    tools = page.context.new_cdp_session(page)
    touches = ("touchStart", [0]), ("touchMove", [20]), ("touchMove", [40]), ("touchEnd", [])
    for kind, ways in touches:
        points = [{"x": x, "y": y + down} for down in ways]
        tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_timeout(20)
    page.wait_for_function(f"live.figures.clip.state.y[0] < {before - 0.5}")


@pytest.mark.parametrize("name", FIGURES)
def test_without_javascript_and_in_print_there_is_nothing_and_no_motion_unasked(opened, name):
    assert not opened(name, java_script_enabled=False).locator(".live").is_visible()
    page = opened(name, reduced_motion="reduce")
    assert page.locator(".live").is_visible()
    moving = """() => [...document.querySelectorAll(".live *")].filter((e) => {
      const style = getComputedStyle(e);
      return parseFloat(style.transitionDuration) > 0 || style.animationName !== "none";
    }).length"""
    assert page.evaluate(moving) == 0
    page.emulate_media(media="print")
    assert not page.locator(".live").is_visible()


# What they are made of -----------------------------------------------------------------------


def test_a_figure_is_small_and_asks_nobody():
    for name in FIGURES:
        texts = [script(part) for part in book_live.scripts(name)]
        assert sum(len(text.encode()) for text in texts) < LARGEST
        for text in texts:
            assert set(re.findall(r"https?://[^\"'\s]+", text)) <= {"http://www.w3.org/2000/svg"}
            assert not re.search(r"\b(fetch|XMLHttpRequest|import|eval|localStorage)\b", text)

"""What chapter 8 says of its stored run, and of the curvature early in its training."""

import json
import re
from pathlib import Path

import nbformat
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.nn.functional import cross_entropy

ROOT = Path(__file__).resolve().parents[1]


def text():
    cells = nbformat.read(ROOT / "chapters/08_noise.ipynb", as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def test_the_table_is_what_was_measured_and_what_the_formula_gives():
    stored = json.loads((ROOT / "benchmarks/results/batch_size.json").read_text())["networks"]
    pair = stored["plain"], stored["LayerNorm"]
    shown = re.findall(r"^\| (\d+|all 1,797) \| (.*?) \| (.*?) \|$", text(), re.MULTILINE)
    assert [size for size, *_ in shown[:-1]] == [*pair[0]["runs"]][:-1]
    for size, *cells in shown:
        for of, cell in zip(pair, cells, strict=True):
            run, exact = of["runs"][size.split()[0]], of["runs"]["all"]["steps"]
            wanted = f"{run['steps']:.0f} ± {run['error']:.0f}"
            if size.isdigit():
                wanted += f" ({exact * (1 + of['scale'] / int(size)):.0f})"
            assert cell == wanted
    scales = [f"{of['scale']:.0f} ± {of['scale_error']:.0f}" for of in pair]
    assert "{} and {} images".format(*scales) in text()


def test_a_doubled_batch_saves_a_third_of_the_steps_at_most():
    stored = json.loads((ROOT / "benchmarks/results/batch_size.json").read_text())["networks"]
    for name, of in stored.items():
        steps = {int(b): run["steps"] for b, run in of["runs"].items() if b != "all"}
        saved = {b: 1 - steps[2 * b] / steps[b] for b in steps if 2 * b in steps}
        assert max(saved.values()) < 0.34
        assert saved[8] > 0.31
        assert all(share < 0.1 for b, share in saved.items() if b >= 128)
        exact = of["runs"]["all"]["steps"]
        ratios = [exact * (1 + of["scale"] / b) / n for b, n in steps.items()]
        assert max(ratios) < {"plain": 2, "LayerNorm": 1.25}[name]
        assert min(ratios) > 0.9


def test_calmer_runs_without_noise_give_another_noise_scale():
    stored = json.loads((ROOT / "benchmarks/results/batch_size.json").read_text())["networks"]
    shown = re.findall(r"^\| (0\.71|half).*? \| (.*?) \| (.*?) \|$", text(), re.MULTILINE)
    assert len(shown) == 2
    for place, (_, *cells) in enumerate(shown, 1):
        for of, cell in zip(stored.values(), cells, strict=True):
            run = of["without_noise"][place]
            predicted = run["steps"] * (1 + run["scale"] / 8)
            assert cell == f"{run['scale']:.0f} ({predicted:.0f})"
    tuned, _, half = stored["plain"]["without_noise"]
    said = "{rises:.0f} of {steps:.0f} *raise* the loss, and just after such a step"
    assert said.format(**tuned) in text()
    assert f"the noise scale is {tuned['scale_after_a_rise']:.0f} on average" in text()
    assert half["rises"] == 0
    assert round(half["scale"] / tuned["scale"]) == 12
    assert (
        30 < half["steps"] * (1 + half["scale"] / 8) / stored["plain"]["runs"]["8"]["steps"] < 32
    )
    assert all(run["rises"] > 13 for run in stored["LayerNorm"]["without_noise"])


def test_the_gain_of_one_step_is_what_was_measured_at_three_points():
    stored = json.loads((ROOT / "benchmarks/results/one_step.json").read_text())["after"]
    for steps, of in stored.items():
        cells = (
            f"{of['measured']:.0f} ± {of['error']:.0f} %",
            *(f"{of[kind]:.0f} % ({of[f'{kind}_scale']:.0f})" for kind in ("full", "simple")),
        )
        assert f"| {steps} steps | {' | '.join(cells)} |" in text()
        assert abs(of["full"] - of["measured"]) < 4
    assert 15 < max(abs(of["simple"] - of["measured"]) for of in stored.values()) < 16.5


def test_from_the_8th_step_to_the_25th_the_loss_is_curved_downwards_along_the_gradient():
    """So the full noise scale has no meaning there. The training of the page, cut short."""
    images, digits = load_digits(return_X_y=True)
    x, y = torch.tensor(images / 16).float(), torch.tensor(digits)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    parameters, curvature = list(model.parameters()), {}
    rng, optimizer = np.random.default_rng(0), torch.optim.SGD(parameters, lr=0.2)
    for step in range(41):
        along = torch.autograd.grad(cross_entropy(model(x), y), parameters, create_graph=True)
        half_square = sum((g**2).sum() for g in along) / 2
        curved = torch.autograd.grad(half_square, parameters)  # H G
        curvature[step] = sum((g * c).sum() for g, c in zip(along, curved, strict=True))
        batch = rng.integers(len(x), size=64)
        optimizer.zero_grad()
        cross_entropy(model(x[batch]), y[batch]).backward()
        optimizer.step()
    assert all(curvature[step] < 0 for step in range(8, 26))
    assert curvature[5] > 0
    assert curvature[40] > 0

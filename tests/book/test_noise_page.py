"""Claims of chapter 8 about its stored runs, and about signal and spread during training."""

import re

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from support import pages
from support.pages import stored


def text():
    return pages.text("chapters/08_noise")


def test_the_table_is_what_was_measured_and_what_the_formula_gives():
    found = stored("batch_size")
    of, norm = found["networks"]["plain"], found["networks"]["LayerNorm"]
    assert f"(Means of {found['starts']} starts with" in text()
    assert f"until the mean loss of all images was {found['what'].split()[-1]}." in text()
    exact = of["runs"]["all"]["steps"]
    shown = re.findall(r"^\| (\d+|all 1,797) \| (.*?) \|(.*)\|$", text(), re.MULTILINE)
    assert [size.split()[0] for size, *_ in shown] == [*of["runs"]]
    for size, measured, predicted in shown:
        run = of["runs"][size.split()[0]]
        assert measured == f"{run['steps']:.0f} ± {run['error']:.0f}"
        wanted = f"{exact * (1 + of['scale'] / int(size)):.0f}" if size.isdigit() else ""
        assert predicted.strip() == wanted
    assert f"{of['scale']:.0f} ± {of['scale_error']:.0f} images" in text()
    predicted = norm["runs"]["all"]["steps"] * (1 + norm["scale"] / 8)
    wanted = f"{predicted:.0f} steps for 8 images, where {norm['runs']['8']['steps']:.0f} were"
    assert wanted in text()


def test_a_doubled_batch_saves_a_third_of_the_steps_at_most():
    networks = stored("batch_size")["networks"]
    for name, of in networks.items():
        steps = {int(b): run["steps"] for b, run in of["runs"].items() if b != "all"}
        saved = {b: 1 - steps[2 * b] / steps[b] for b in steps if 2 * b in steps}
        assert max(saved.values()) < 0.34
        assert saved[8] > 0.31
        assert max(saved, key=saved.get) == 8
        assert all(share < 0.1 for b, share in saved.items() if b >= 128)
        exact = of["runs"]["all"]["steps"]
        ratios = [exact * (1 + of["scale"] / b) / n for b, n in steps.items()]
        assert max(ratios) < {"plain": 2, "LayerNorm": 1.25}[name]
        assert min(ratios) > 0.9


def test_a_calmer_run_without_noise_gives_another_noise_scale():
    networks = stored("batch_size")["networks"]
    tuned, _, half = networks["plain"]["without_noise"]
    measured = networks["plain"]["runs"]["8"]["steps"]
    predicted = half["steps"] * (1 + half["scale"] / 8)
    assert "{rises:.0f} of {steps:.0f} *raise* the loss".format(**tuned) in text()
    assert half["rises"] == 0
    said = f"$b$ is {half['scale']:.0f} and $S$ is {half['steps']:.1f}, and the formula predicts"
    assert f"{said} {predicted:,.0f} steps for 8 images, where {measured:.0f} were" in text()
    assert f"a noise scale of {tuned['scale']:.0f} or {half['scale']:.0f}" in text()
    assert 30 < predicted / measured < 32


def spread_and_signal(model, x, y):
    """Return the total variance of the rows, and the squared norm of their mean."""
    named = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters, x, y):
        return cross_entropy(functional_call(model, parameters, x[None]), y[None])

    rows = vmap(grad(loss), in_dims=(None, 0, 0))(named, x, y)
    rows = torch.cat([g.flatten(1) for g in rows.values()], dim=1)
    return rows.var(0, correction=0).sum().item(), rows.mean(0).square().sum().item()


def network_and_digits(seed):
    images, digits = load_digits(return_X_y=True)
    torch.manual_seed(seed)
    layers = torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    x = torch.tensor(images / 16).float()
    return torch.nn.Sequential(*layers), x, torch.tensor(digits)


@pytest.mark.slow
def test_where_steps_overshoot_the_exact_gradient_is_long_and_the_rows_scatter_as_ever():
    means = {}
    for rate in (1.0, 0.5):
        model, x, y = network_and_digits(100)
        optimizer, found = torch.optim.SGD(model.parameters(), lr=rate), []
        while (loss := cross_entropy(model(x), y)) > 0.25:
            found.append(spread_and_signal(model, x, y))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        means[rate] = np.mean(found, axis=0)
    spread, signal = means[1.0] / means[0.5]
    assert 0.7 < spread < 1.4
    assert signal > 5


def test_the_noise_scale_goes_up_and_down_chiefly_because_the_signal_does():
    model, x, y = network_and_digits(0)
    rng, optimizer = np.random.default_rng(0), torch.optim.SGD(model.parameters(), lr=0.2)
    said = {60: 67, 300: 780, 350: 130}
    found = {}
    for step in range(351):
        if step in said:
            found[step] = spread_and_signal(model, x, y)
        batch = rng.integers(len(x), size=64)
        optimizer.zero_grad()
        cross_entropy(model(x[batch]), y[batch]).backward()
        optimizer.step()
    spreads, signals = np.array(list(found.values())).T
    np.testing.assert_allclose(spreads / signals, list(said.values()), rtol=0.02)
    assert spreads.max() / spreads.min() < 2 < 15 < signals.max() / signals.min()
    assert "about 67 after 60 steps, 780 after 300 and 130 after 350" in text()


def test_the_gain_of_one_step_is_what_was_measured_at_four_points():
    after = stored("one_step")["after"]
    assert list(after) == ["30", "60", "200", "400"]
    early = after.pop("30")
    off = {kind: [of[kind] - of["measured"] for of in after.values()]
           for kind in ("simple", "full")}  # fmt: skip
    most = {kind: max(map(abs, errors)) for kind, errors in off.items()}
    assert f"by up to {most['simple']:.1f} percentage points, in both directions" in text()
    assert f"and the full one by at most {most['full']:.1f}" in text()
    assert f"by up to {most['simple']:.0f} percentage points; allowing for the curvature" in text()
    assert f"reduces this to {most['full']:.1f}.**" in text()
    assert f"it came within {most['full']:.1f} percentage points at three points" in text()
    assert min(off["simple"]) < -5 < 5 < max(off["simple"])
    said = "{measured:.0f} % was measured, {simple:.0f} % and {full:.0f} % predicted"
    assert said.format(**early).replace("-", "−") in text()

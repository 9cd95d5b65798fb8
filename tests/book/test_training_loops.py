"""Each training loop ends with the parameters of a loop over single samples."""

import json
import math
from functools import cache

import jax
import nbformat
import numpy as np
import pytest
import torch
from notebook_rules import programs
from scipy.stats import binom
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy

import persample as ps
from persample_book.devices.sharded_rows import clip_into_grad
from support import ROOT
from support.processes import python

PAGE = ROOT / "reference" / "training_loops.ipynb"
LOOPS = programs(PAGE)
ADAMW, PRIVATE = (LOOPS[name][0] for name in ("loop-adamw", "loop-private"))
ACCOUNTANT = PRIVATE.partition("import torch")[0]
SHARDED = (ROOT / "src/persample_book/devices/sharded_rows.py").read_text("utf-8")
STEPS = 60  # of the 300 of a private loop, where it is compared with a loop over samples
DIGITS, LABELS = map(torch.tensor, load_digits(return_X_y=True))


def replaced(source: str, old: str, new: str) -> str:
    assert source.count(old) == 1
    return source.replace(old, new)


@pytest.fixture(autouse=True)
def _in_double(double_precision):
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def clipped_mean(model, x, y, divisor, max_norm=1.0):
    """Return (trained parameters, sum of their clipped rows divided by divisor), by a loop."""
    trained = [p for p in model.parameters() if p.requires_grad]
    total = [torch.zeros_like(p) for p in trained]
    for one, label in zip(x, y, strict=True):
        row = torch.autograd.grad(cross_entropy(model(one[None]), label[None]), trained)
        norm = math.sqrt(sum((g**2).sum().item() for g in row))
        factor = min(1.0, max_norm / norm)
        total = [t + factor * g for t, g in zip(total, row, strict=True)]
    return trained, [t / divisor for t in total]


@cache
def adamw_by_hand():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for t in range(100):
        for group in optimizer.param_groups:
            group["lr"] = 0.005 * (1 + math.cos(math.pi * t / 100))
        batch = torch.randint(1797, (64,))
        trained, mean = clipped_mean(model, DIGITS[batch] / 16, LABELS[batch], 64)
        for p, g in zip(trained, mean, strict=True):
            p.grad = g
        optimizer.step()
    return model


@cache
def private_by_hand(rate=0.04, frozen=False):
    """Train with DP-SGD, sample by sample; return the model and the number of empty batches."""
    torch.manual_seed(1)
    model, empty = nn.Linear(64, 10), 0
    model.bias.requires_grad_(not frozen)
    rng = np.random.default_rng(0)
    for _ in range(STEPS):
        batch = [i for i, u in enumerate(rng.random(1500)) if u < rate]
        empty += not batch
        trained, mean = clipped_mean(model, DIGITS[batch] / 16, LABELS[batch], rate * 1500)
        with torch.no_grad():
            for p, g in reversed([*zip(trained, mean, strict=True)]):  # bias, weight: by name
                noise = torch.tensor(1.5 * rng.normal(size=tuple(p.shape)))
                p -= g + noise / (rate * 1500)
    return model, empty


def run(source: str) -> dict:
    """Run a program; return the dict of the names that it defines."""
    names: dict = {}
    exec(compile(source, "loop", "exec"), names)
    return names


def apart(found: dict, wanted: dict) -> float:
    """Return the largest norm of a parameter's difference, relative to the expected parameter."""
    assert found.keys() == wanted.keys()
    return max(((found[k] - p).norm() / p.norm()).item() for k, p in wanted.items())


def error_of(source: str, wanted: nn.Module) -> float:
    return apart(run(source)["model"].state_dict(), wanted.state_dict())


def source_of(name: str) -> str:
    """Return a program, preceded by ACCOUNTANT if it calls epsilon_of without defining it."""
    source = LOOPS[name][0]
    needs = "epsilon_of(" in source and "def epsilon_of(" not in source
    return ACCOUNTANT + source if needs else source


@pytest.mark.parametrize("name", LOOPS)
def test_no_printed_digit_depends_on_rounding(name, capsys):
    run(source_of(name))  # in double; the page has float32
    assert capsys.readouterr().out == LOOPS[name][1] != ""


def test_adamw_ends_where_a_loop_over_samples_ends():
    assert error_of(ADAMW, adamw_by_hand()) < 1e-6


def test_private_training_ends_where_a_loop_over_samples_ends():
    source = replaced(PRIVATE, "300, 0.04", f"{STEPS}, 0.04")
    assert error_of(source, private_by_hand()[0]) < 1e-6


def test_an_empty_batch_is_a_step_of_noise_and_a_frozen_parameter_gets_none():
    model, empty = private_by_hand(rate=0.0005, frozen=True)
    assert STEPS / 3 < empty < STEPS / 1.5
    source = replaced(PRIVATE, "300, 0.04", f"{STEPS}, 0.0005")
    frozen = "model = torch.nn.Linear(64, 10)\nmodel.bias.requires_grad_(False)"
    assert error_of(replaced(source, "model = torch.nn.Linear(64, 10)", frozen), model) < 1e-6


def jax_noise(key):
    """Return a function of arrays that draws the next step's noise as `noisy_mean` does."""

    def draw(arrays):
        nonlocal key
        key, now = jax.random.split(key)
        folded = [jax.random.fold_in(now, n) for n in range(len(arrays))]
        return [jax.random.normal(k, x.shape, "float64") for k, x in zip(folded, arrays)]  # noqa: B905

    return draw


def adam_by_hand():
    """Return step(gradient, key), the update that Adam subtracts from the parameter ``key``."""
    moments: dict = {}

    def step(g, k):
        t, m, v = moments.get(k, (0, 0.0, 0.0))
        t, m, v = moments[k] = t + 1, 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        return 0.01 * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)

    return step


@cache
def linear_by_hand(framework: str, rate: float, adam: bool = False) -> tuple[dict, int]:
    """Train softmax regression by DP-SGD (``adam``: DP-Adam) with gradients from formulas.

    Return ({name: float64 tensor}, number of empty batches). ``framework`` "jax" draws the noise
    from JAX's keys.
    """
    update = adam_by_hand() if adam else lambda g, _: g
    rng, empty = np.random.default_rng(0), 0
    own = lambda arrays: [rng.normal(size=x.shape) for x in arrays]  # noqa: E731
    noise_of = jax_noise(jax.random.key(2)) if framework == "jax" else own
    b, w = np.zeros(10), np.zeros((64, 10))  # in the order of a dict's keys
    for _ in range(STEPS):
        batch = [i for i, u in enumerate(rng.random(1500)) if u < rate]
        empty += not batch
        total = [np.zeros_like(b), np.zeros_like(w)]
        for x, label in zip(DIGITS[batch].numpy() / 16, LABELS[batch].numpy(), strict=True):
            e = np.exp(x @ w + b)
            delta = e / e.sum() - np.eye(10)[label]
            factor = 1 / max(1, math.sqrt(delta @ delta * (x @ x + 1)))
            total = [total[0] + factor * delta, total[1] + factor * np.outer(x, delta)]
        noisy = [t + 1.5 * n for t, n in zip(total, noise_of(total), strict=True)]
        b, w = (p - update(noisy[k] / (rate * 1500), k) for k, p in enumerate((b, w)))
    return {"b": torch.tensor(np.asarray(b)), "w": torch.tensor(np.asarray(w))}, empty


@pytest.mark.parametrize("rate", [0.04, 0.0005])
@pytest.mark.parametrize("framework", ["jax", "numpy"])
def test_private_training_of_a_tree_ends_where_a_loop_over_samples_ends(framework, rate):
    """Check also a rate at which about half of the batches are empty."""
    wanted, empty = linear_by_hand(framework, rate)
    assert empty == 0 if rate == 0.04 else STEPS / 3 < empty < STEPS / 1.5
    found = run(replaced(source_of(f"loop-private-{framework}"), "300, 0.04", f"{STEPS}, {rate}"))
    params = {k: torch.tensor(np.asarray(p)) for k, p in found["params"].items()}
    assert apart(params, wanted) < 1e-6
    if framework == "jax":
        assert found["step"]._cache_size() == 1  # compiled once


def test_private_training_by_adam_in_one_program_ends_where_a_loop_over_samples_ends():
    """Change the loop as the page describes: its last line becomes two, `step` in lax.scan."""
    optax = pytest.importorskip("optax")
    cells = {c.id: c.source for c in nbformat.read(PAGE, as_version=4).cells}
    lines = cells["loop-private-jax-steps-text"].split("```python\n")[1].split("```")[0]
    source = cells["loop-private-jax-step"].replace("step(params, im", "step(params, state, im")
    body = replaced(
        source, "    return jax.tree.map(lambda p, g: p - g, params, mean)", lines.rstrip()
    )
    names = run(source_of("loop-private-jax").partition("clipped = ")[0])
    names |= {"optax": optax, "adam": optax.adam(0.01)}
    exec(body, names)
    rng, key = np.random.default_rng(0), jax.random.key(2)
    drawn = [ps.privacy.poisson_batch(rng, 1500, 0.04) for _ in range(STEPS)]
    weights = np.stack([np.arange(128) < len(i) for i in drawn])
    index = np.stack([np.pad(i, (0, 128 - len(i))) for i in drawn])
    x, y = jax.numpy.asarray(names["x"]), jax.numpy.asarray(names["y"])

    def scanned(carry, batch):
        (params, state, key), (i, weights) = carry, batch
        key, now = jax.random.split(key)
        return (*names["step"](params, state, x[i], y[i], weights, now), key), None

    begin = names["params"], names["adam"].init(names["params"]), key
    ((params, _, _), _) = jax.lax.scan(scanned, begin, (index, weights))
    found = {k: torch.tensor(np.asarray(p)) for k, p in params.items()}
    assert apart(found, linear_by_hand("jax", 0.04, adam=True)[0]) < 1e-6


def test_a_draw_that_is_larger_than_its_padding_stops_the_run():
    source = replaced(source_of("loop-private-jax"), "1.5, 128", "1.5, 60")
    with pytest.raises(AssertionError, match="more samples were drawn than fit"):
        run(source)
    found = binom.sf(128, 1500, 0.04)
    assert f"{found:.1e}" == "1.5e-15"
    text = "".join(c.source for c in nbformat.read(PAGE, as_version=4).cells)
    assert r"probability of $1.5 \cdot 10^{-15}$" in text
    assert f"deviation of {binom.std(1500, 0.04):.1f}" in text


@cache
def accountant():
    """Return the function epsilon_of of the page's accountant."""
    return run(ACCOUNTANT)["epsilon_of"]


def stored() -> tuple[tuple, float]:
    """Return (arguments of epsilon_of, the epsilon that two maintained libraries compute)."""
    peers = json.loads((ROOT / "benchmarks/results/private_peers.json").read_text("utf-8"))
    s, said = peers["settings"]["sampled"], peers["epsilon"]["sampled"]
    assert said["RDP, dp-accounting"] == said["RDP, Opacus"]
    setting = s["rate"], s["noise_multiplier"], s["steps"], peers["delta"]
    return setting, said["RDP, Opacus"]


def test_the_accountant_agrees_with_maintained_libraries():
    setting, wanted = stored()
    found = accountant()(*setting)
    assert wanted - 1e-4 < found < wanted + 1e-3  # they try more orders
    text = " ".join(c.source for c in nbformat.read(PAGE, as_version=4).cells)
    assert f"it gives {found:.3f}" in text
    assert f"say {wanted:.3f}" in text


# Processes that meet in files, so that no port is needed, and run programs one after the other.
PROCESSES = '''
import json
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

END = "    dist.destroy_process_group()\\n"
ANSWER = """
    whole = {k: p.full_tensor().tolist() for k, p in model.named_parameters()}
    answer = [whole, sum(p.to_local().numel() for p in model.parameters())]
"""


def work(rank, processes, sources, folder):
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    begin, answers = dist.init_process_group, []
    for number, source in enumerate(sources):
        dist.init_process_group = lambda backend: begin(
            backend, init_method=f"file://{folder}/{number}", rank=rank, world_size=processes
        )
        assert source.count(END) == 1
        names = {"__name__": "__main__"}
        exec(compile(source.replace(END, ANSWER + END), "sharded", "exec"), names)
        answers.append(names["answer"])
    if rank == 0:
        print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    with open(sys.argv[1]) as file, tempfile.TemporaryDirectory() as folder:
        mp.start_processes(work, (2, json.load(file), folder), 2, start_method="spawn")
'''
# Ways in which the processes may have samples, and inputs of several positions.
CHANGES = {
    "as it stands": [],
    "a process without samples": [("batch[rank::n]", "batch[:16 * rank]")],
    "five positions": [
        ("torch.randn(64, 8)", "torch.randn(64, 5, 8)"),
        ("nn.Linear(32, 4))", "nn.Linear(32, 4), nn.Flatten())"),
    ],
}  # fmt: skip


def changed(kind: str) -> str:
    source = SHARDED
    for change in CHANGES[kind]:
        source = replaced(source, *change)
    return source


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    """Return {kind: (all parameters after training in two processes, one process's share)}."""
    sources = {kind: changed(kind) for kind in CHANGES}
    folder = tmp_path_factory.mktemp("sharded")
    (folder / "processes.py").write_text(PROCESSES)
    (folder / "sources.json").write_text(json.dumps([*sources.values()]))
    said = python(folder / "processes.py", folder / "sources.json")
    answers = json.loads(said.stdout.splitlines()[-1])
    return {
        key: ({k: torch.tensor(p, dtype=torch.float64) for k, p in whole.items()}, held)
        for key, (whole, held) in zip(sources, answers, strict=True)
    }


def one_process(kind: str) -> dict:
    """Return the parameters of the program's model, trained in one process, sample by sample."""
    torch.manual_seed(0)
    several = kind == "five positions"
    layers = [nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4)]
    model = nn.Sequential(*layers, *([nn.Flatten()] if several else []))
    x = torch.randn(64, 5, 8) if several else torch.randn(64, 8)
    y = torch.randint(4, (64,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for batch in torch.arange(64).split(16):
        trained, mean = clipped_mean(model, x[batch], y[batch], 16)
        for p, g in zip(trained, mean, strict=True):
            p.grad = g
        optimizer.step()
    return model.state_dict()


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHANGES)
def test_two_processes_end_where_one_without_sharding_ends(kind, sharded):
    (found, held), wanted = sharded[kind], one_process(kind)
    assert apart(found, wanted) < 1e-6
    assert held == sum(p.numel() for p in wanted.values()) // 2


def shared():
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, layer)


def frozen():
    model = nn.Sequential(nn.Linear(3, 3))
    model[0].bias.requires_grad_(False)
    return model


def tied():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    return model


@pytest.mark.parametrize(
    ("made", "error", "said"),
    [
        (lambda: nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3)), TypeError, "must be trained"),
        (frozen, TypeError, "must be trained"),
        (tied, TypeError, "one nn.Linear's"),
        (shared, ValueError, "called once"),
    ],
)
def test_what_the_hooks_would_miss_is_refused(made, error, said):
    model = made()
    with pytest.raises(error, match=said):
        clip_into_grad(model, torch.randn(2, 3), torch.tensor([0, 1]), 1.0, 1.0)
    assert all(p.grad is None for p in model.parameters())

"""Times of whole training steps with norms, clipped sums or rows, over batches that differ.

    python benchmarks/steps.py --save

Squared norms, clipped sums and rows of whole PyTorch models, over up to 200 steps in each of these
scenarios; a library that prepares itself for a batch pays for it here whenever the next differs.

- fixed: the same batch at every step.
- Poisson: each sample of a pool is in the batch by chance, so nearly every step has a size of its
  own; their mean is the fixed size.
- labels: the same x, new labels at every step; the loss is written with `cross_entropy`, with
  `log_softmax(...).gather(...)` and with `log_softmax(...)[arange(B), y]`.
- lengths: for the GPT, texts of T tokens, with T drawn at every step.

The contenders run the whole step, forward and backward pass included, one after the other on the
same batch, in an order drawn at each step. The times are in ordinary passes, which fill `.grad`:
the sum of a contender's times over the sum of the ordinary ones at the same steps. A contender
that has used up its seconds stops after ten steps or more; the number of its steps is stored. Two
steps before the first measured one are compared with the floor (whole_steps.py), and rows with one
backward pass of the losses' weighted sum. Peers come from requirements.txt beside this file.

Allocating new rows at every step costs up to five times as much as the rest by default (Linux,
glibc); `--setting "kept memory"` measures without that, and stores the result separately.
"""

import argparse
import time
import warnings
from dataclasses import dataclass
from functools import partial

import common
import numpy as np
import torch
from common import SETTINGS
from contenders import Case
from networks import MODELS
from torch import Tensor
from whole_steps import CONTENDERS, ORDINARY, Batches, fixed, head, measured

import persample as ps

RESULT = common.RESULTS / "steps.json"
POOL = 16  # a Poisson batch is drawn from as many times its mean size
CHOSEN = [name for name in MODELS if not name.startswith("1024") and "T = 16" not in name]


def poisson(case: Case, rng: np.random.Generator) -> Batches:
    x, y = case.of_size(POOL * case.size).batch()
    while True:
        chosen = ps.privacy.poisson_batch(rng, len(x), 1 / POOL)
        yield x[chosen], y[chosen]


def new_labels(case: Case, rng: np.random.Generator) -> Batches:
    x, y = case.batch()
    classes = int(y.max()) + 1
    while True:
        yield x, torch.tensor(rng.integers(0, classes, tuple(y.shape)))


def new_lengths(case: Case, rng: np.random.Generator) -> Batches:
    x, y = case.batch()
    longest = x.shape[1]
    while True:
        length = int(rng.integers(longest // 4, longest + 1))
        yield x[:, :length].contiguous(), y[:, :length].contiguous()


@dataclass(frozen=True)
class Picked:
    """A case with the cross-entropy written as log_softmax and a gather or an index."""

    case: Case
    by_gather: bool

    def __getattr__(self, name: str):
        return getattr(self.case, name)

    def losses(self, output: Tensor, y: Tensor) -> Tensor:
        """Return (B,), from logits (B, classes), or from (B, T, classes) as the mean over T."""
        logp = torch.log_softmax(output, -1)
        if self.by_gather:
            picked = logp.gather(-1, y[..., None])[..., 0]
        elif y.dim() == 1:
            picked = logp[torch.arange(len(y)), y]
        else:
            samples, places = map(torch.arange, y.shape)
            picked = logp[samples[:, None], places, y]
        return -picked if y.dim() == 1 else -picked.mean(1)


def as_it_is(case: Case) -> Case:
    return case


# Name -> the batches, and how the loss is written.
SCENARIOS = {
    "fixed": (fixed, as_it_is),
    "Poisson": (poisson, as_it_is),
    "labels, cross_entropy": (new_labels, as_it_is),
    "labels, gather": (new_labels, partial(Picked, by_gather=True)),
    "labels, index": (new_labels, partial(Picked, by_gather=False)),
    "lengths": (new_lengths, as_it_is),
}


def measure_scenario(case: Case, scenario: str, options: argparse.Namespace) -> dict:
    """Return quantity -> result of `measured` in one scenario; rows in "fixed" alone."""
    batches_of, written = SCENARIOS[scenario]
    found = {}
    for quantity, builders in CONTENDERS.items():
        if quantity == "rows" and scenario != "fixed":
            continue
        batches = batches_of(case, np.random.default_rng(0))
        found[quantity] = measured(written(case), quantity, builders, batches, options)
    return found


def against_fixed(found: dict) -> dict:
    """Return quantity -> contender -> ratio of mean steps in passes, Poisson over fixed."""
    fixed, poisson = found["fixed"], found["Poisson"]
    return {
        quantity: {
            name: round(of["passes"] / fixed[quantity][name]["passes"], 3)
            for name, of in named.items()
            if isinstance(of, dict)
        }
        for quantity, named in poisson.items()
    }


def show(name: str, found: dict, steps: int) -> None:
    """Print one model's table: a line for each contender, a column for each scenario."""
    print(f"\n{name}: mean step in ordinary passes (* fewer than {steps} steps)")
    print(f"  {'':30}", *(f"{scenario:>22}" for scenario in found), f"{'Poisson / fixed':>16}")
    for quantity in CONTENDERS:
        print(f"  {quantity}")
        columns = [of.get(quantity, {}) for of in found.values()]
        for contender in columns[0]:
            cells = [_cell(column.get(contender, ""), contender, steps) for column in columns]
            ratio = against_fixed(found).get(quantity, {}).get(contender, "")
            print(f"    {contender:28}", *cells, f"{ratio:>16}")


def _cell(cell: dict | str, contender: str, steps: int) -> str:
    if isinstance(cell, str):
        return f"{cell:>22}"
    if contender == ORDINARY:
        return f"{cell['ms']:19.2f} ms"
    return f"{cell['passes']:21.2f}" + ("*" if cell["steps"] < steps else " ")


def measure_all(options: argparse.Namespace) -> None:
    """Measure, print and store all models in the memory setting of this process."""
    warnings.simplefilter("ignore")  # the peers' own
    stored = head("mean training step with norms, clipped sums, rows: in ordinary passes, and ms")
    stored |= {"steps": options.steps, "seconds": options.seconds, "setting": options.setting}
    start = time.perf_counter()
    for name in CHOSEN:
        if options.only not in name:
            continue
        scenarios = [key for key in SCENARIOS if key != "lengths" or name.startswith("GPT")]
        found = {key: measure_scenario(MODELS[name], key, options) for key in scenarios}
        stored["cases"][name] = found | {"Poisson / fixed": against_fixed(found)}
        show(name, found, options.steps)
        print(f"  {time.perf_counter() - start:.0f} s so far")
    if options.save and not options.only:
        common.store(stored, common.in_setting(RESULT, options.setting))


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each contender, at most")
    parser.add_argument("--only", default="", help="models whose name has this; nothing is stored")
    parser.add_argument("--setting", choices=SETTINGS, default="default", help="of memory")
    parser.add_argument("--inside", choices=SETTINGS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside or options.setting == "default":
        measure_all(options)
    else:
        common.in_settings(__file__, options.setting)


if __name__ == "__main__":
    main()

"""Times of norms, clipped sums and rows in each library, all of a model in one process.

    python benchmarks/libraries.py --save

The times of the page on libraries: steps.py on a fixed batch, with more contenders: Opacus' ghost
norms, and BackPACK's `BatchGrad` and `BatchL2Grad`. The contenders take turns in an order drawn at
each step, and their first answers are compared with the floor. The times are CPU times on one
thread, which other programs disturb less than wall-clock times. BackPACK has no extension for the
GPT's layers; JAX and a GPU are not timed. Run it where conformance/requirements.txt is installed.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version

import common
import contenders
import numpy as np
import torch
from contenders import Case
from networks import MODELS
from torch import nn
from whole_steps import CONTENDERS, fixed, head, measured

RESULT = common.RESULTS / "libraries.json"
CHOSEN = ("784-256-10, B = 256", "CNN, B = 64", "GPT, B = 16, T = 64")


def ghost_norms(case: Case) -> Callable:
    """Return call(x, y): squared norms, (B,), by Opacus' ghost clipping; it fills `.grad` too."""
    from opacus.grad_sample import GradSampleModuleFastGradientClipping

    model = GradSampleModuleFastGradientClipping(
        case.model(), max_grad_norm=contenders.MAX_NORM, use_ghost_clipping=True
    )

    def call(x, y):
        model.zero_grad(set_to_none=True)
        case.losses(model(x), y).mean().backward()
        return model.get_norm_sample() ** 2

    return call


def extended(case: Case, extension: str, read: Callable) -> Callable:
    """Return call(x, y): ``read({name: parameter})`` after a pass with a BackPACK extension."""
    if not isinstance(case.model(), nn.Sequential):
        raise NotImplementedError
    from backpack import backpack, extend, extensions

    model = extend(case.model())

    def call(x, y):
        model.zero_grad(set_to_none=True)
        with backpack(getattr(extensions, extension)()):
            case.losses(model(x), y).sum().backward()
        return read(dict(model.named_parameters()))

    return call


def batch_grad(case: Case) -> Callable:
    return extended(case, "BatchGrad", lambda ps: {k: p.grad_batch for k, p in ps.items()})


def batch_l2(case: Case) -> Callable:
    return extended(case, "BatchL2Grad", lambda ps: sum(p.batch_l2 for p in ps.values()))


def norms_then_weights(case: Case) -> Callable:
    """Return call(x, y): the clipped sum by `BatchL2Grad` and a weighted backward pass."""
    if not isinstance(case.model(), nn.Sequential):
        raise NotImplementedError
    from backpack import backpack, extend
    from backpack.extensions import BatchL2Grad

    model = extend(case.model())

    def call(x, y):
        model.zero_grad(set_to_none=True)
        losses = case.losses(model(x), y)
        with backpack(BatchL2Grad()):
            losses.sum().backward(retain_graph=True)
        norms = sum(p.batch_l2 for p in model.parameters()).sqrt()
        model.zero_grad(set_to_none=True)
        losses.backward((contenders.MAX_NORM / norms).clamp(max=1))
        return {name: p.grad for name, p in model.named_parameters()}

    return call


# Quantity -> contender -> builder; the other contenders are those of whole_steps.py.
MORE = {
    "squared norms": {"Opacus ghost norms": ghost_norms, "BackPACK BatchL2Grad": batch_l2},
    "clipped sum": {"BackPACK BatchL2Grad, then weights": norms_then_weights},
    "rows": {"BackPACK BatchGrad": batch_grad},
}
SHOWN = ("persample, .grad too", "persample, fresh", "Opacus", "torch.func")


def measure_model(case: Case, options: argparse.Namespace) -> dict:
    """Return quantity -> result of `measured`."""
    found = {}
    for quantity, more in MORE.items():
        mine = {k: b for k, b in CONTENDERS[quantity].items() if k.startswith(SHOWN)}
        batches = fixed(case, np.random.default_rng(0))
        found[quantity] = measured(
            case, quantity, mine | more, batches, options, time.process_time
        )
    return found


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each contender, at most")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the libraries' own
    torch.set_num_threads(1)
    stored = head(
        "norms, clipped sums and rows of libraries: mean step in ordinary passes, and ms"
    )
    stored["versions"]["backpack-for-pytorch"] = version("backpack-for-pytorch")
    for name in CHOSEN:
        stored["cases"][name] = measure_model(MODELS[name], options)
        print(name, json.dumps(stored["cases"][name], indent=1))
    if options.save:
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()

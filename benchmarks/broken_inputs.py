"""Train on partly broken images: five ways, two optimisers, three numbers of epochs.

    python benchmarks/broken_inputs.py --save

The digits of scikit-learn, 1,400 to train on and 397 to test. A broken image was not divided by
16, so its pixels run to 16 in place of 1, and its label is one too high. Three networks, batches
of 64, a constant rate (SGD 0.1, Adam 0.01), and the test after 10, 30 and 100 epochs. Each draw
has its own split, its own broken images and its own starting weights, the same for all ways:

- plain: the mean loss;
- mean clipped at 1: the gradient of the mean loss, clipped to norm 1, as `clip_grad_norm_` does;
- loss capped at 3, at 5: beyond it a sample has no gradient;
- rows clipped at 4: each sample's gradient is clipped to norm 4 before they are averaged.

No bound, cap or rate was chosen for one network. All draws are trained at once: every parameter
has an axis 0 that counts them. Stored: the mean test accuracy over the draws in percent, and its
standard error.
"""

import datetime

import common
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.functional import cross_entropy

RESULT = common.RESULTS / "broken_inputs.json"
SHARES, DRAWS, EPOCHS = (0.0, 0.1), 12, (10, 30, 100)
NETWORKS = {
    "linear": lambda: nn.Linear(64, 10),
    "MLP": lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)),
    "GroupNorm": lambda: nn.Sequential(
        nn.Linear(64, 64), nn.GroupNorm(8, 64), nn.ReLU(), nn.Linear(64, 10)
    ),
}
OPTIMISERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
}


def data(draw: int, share: float) -> tuple:
    """Return training images, a share of them broken, and labels; test images and labels."""
    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(draw).permutation(len(digits))
    x, y = torch.tensor(images[order] / 16).float(), torch.tensor(digits[order])
    broken = slice(0, round(share * 1400))
    x[broken], y[broken] = 16 * x[broken], (y[broken] + 1) % 10
    return x[:1400], y[:1400], x[1400:], y[1400:]


def lengths(rows: dict) -> torch.Tensor:
    """Return the norm of each row, over all parameters together: (B,)."""
    return torch.stack([g.flatten(1).norm(dim=1) for g in rows.values()]).norm(dim=0)


def gradient_of_mean(model: nn.Module, most_norm: float = torch.inf, cap: float | None = None):
    """Return gradient(parameters, x, y) of the mean loss: losses capped, the gradient clipped."""

    def loss(parameters, x, y):
        losses = cross_entropy(functional_call(model, parameters, x), y, reduction="none")
        return (losses if cap is None else losses.clamp(max=cap)).mean()

    def gradient(parameters, x, y):
        found = grad(loss)(parameters, x, y)
        norm = torch.stack([g.norm() for g in found.values()]).norm()
        return {k: (most_norm / norm).clamp(max=1) * g for k, g in found.items()}

    return gradient


def mean_of_clipped_rows(model: nn.Module, bound: float):
    """Return gradient(parameters, x, y), the mean of the rows, each clipped to norm ``bound``."""

    def loss_of_one(parameters, image, label):
        return cross_entropy(functional_call(model, parameters, image[None]), label[None])

    def gradient(parameters, x, y):
        rows = vmap(grad(loss_of_one), in_dims=(None, 0, 0))(parameters, x, y)
        scale = (bound / lengths(rows)).clamp(max=1)
        return {k: torch.tensordot(scale, g, 1) / len(x) for k, g in rows.items()}

    return gradient


WAYS = {
    "plain": gradient_of_mean,
    "mean clipped at 1": lambda model: gradient_of_mean(model, most_norm=1.0),
    "loss capped at 3": lambda model: gradient_of_mean(model, cap=3.0),
    "loss capped at 5": lambda model: gradient_of_mean(model, cap=5.0),
    "rows clipped at 4": lambda model: mean_of_clipped_rows(model, 4.0),
}


def recognised(network: str, way: str, optimiser: str, share: float, draws: int) -> dict:
    """Train one model per draw; return {epochs: [test accuracy of each draw, in percent]}."""
    models = []
    for draw in range(draws):
        torch.manual_seed(draw)
        models.append(NETWORKS[network]())
    parameters, _ = stack_module_state(models)  # (draws, ...) each
    all_data = [data(draw, share) for draw in range(draws)]
    x, y, x_test, y_test = map(torch.stack, zip(*all_data, strict=True))
    gradients = vmap(WAYS[way](models[0]))
    step = OPTIMISERS[optimiser](list(parameters.values()))
    each, found = torch.arange(draws)[:, None], {}
    for epoch in range(1, max(EPOCHS) + 1):
        orders = [np.random.default_rng([d, epoch]).permutation(1400) for d in range(draws)]
        for batch in torch.tensor(np.array(orders)).split(64, dim=1):
            detached = {k: p.detach() for k, p in parameters.items()}
            for name, g in gradients(detached, x[each, batch], y[each, batch]).items():
                parameters[name].grad = g
            step.step()
        if epoch in EPOCHS:
            logits = vmap(lambda p, x: functional_call(models[0], p, x))(parameters, x_test)
            right = (logits.argmax(2) == y_test).float().mean(1)
            found[epoch] = [100 * share.item() for share in right]
    return found


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args()
    networks: dict = {}
    for network in NETWORKS:
        for optimiser in OPTIMISERS:
            for way in WAYS:
                cells: dict = {}
                for share in SHARES:
                    runs = recognised(network, way, optimiser, share, options.draws)
                    for epochs, values in runs.items():
                        error = np.std(values, ddof=1) / len(values) ** 0.5
                        cell = {"mean": round(np.mean(values), 1), "error": round(error, 1)}
                        cells.setdefault(f"{epochs} epochs", {})[f"{share:.0%}"] = cell
                networks.setdefault(network, {}).setdefault(optimiser, {})[way] = cells
                shown = (f"{c['10%']['mean']:5.1f} +- {c['10%']['error']}" for c in cells.values())
                print(f"{network:10} {optimiser:5} {way:18}", *shown, flush=True)
    if options.save:
        stored = {
            "what": "percentage of test images recognised, by share of broken training images",
            "date": datetime.date.today().isoformat(),
            "draws": options.draws,
            "torch": torch.__version__.partition("+")[0],
            "networks": networks,
        }
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()

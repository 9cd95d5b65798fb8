"""Does a wrong row break the clip bound? Opacus, 30 random batches of one sample, no noise.

Printed is the largest norm of what one sample adds to the clipped sum, over max_grad_norm.
With grad_sample (hooks) what is summed is what was clipped: at most 1, whatever the rows are.
Ghost clipping takes its factors from norms and its sum from PyTorch: where a norm is too small,
a sample adds more. Opacus 1.6.0, torch 2.13.0.
"""

import warnings

import torch
from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizer
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping
from torch import nn

warnings.simplefilter("ignore")
BOUND = 0.001


def hooked():
    layer = nn.Linear(1, 1, bias=False)
    layer.weight.register_hook(lambda gradient: 10 * gradient)
    return layer


def hooks(layer, inputs):
    model = GradSampleModule(layer, loss_reduction="sum")
    options = {"noise_multiplier": 0.0, "max_grad_norm": BOUND, "expected_batch_size": 1}
    sgd = torch.optim.SGD(layer.parameters(), lr=1.0)
    optimizer = DPOptimizer(sgd, loss_reduction="sum", **options)
    model(*inputs).pow(2).sum().backward()
    optimizer.pre_step()
    return layer.weight.grad.norm()


def ghost(layer, inputs):
    model = GradSampleModuleFastGradientClipping(
        layer, max_grad_norm=BOUND, loss_reduction="sum", use_ghost_clipping=True
    )
    sgd = torch.optim.SGD(layer.parameters(), lr=1.0)
    losses = model(*inputs).flatten(1).pow(2).sum(1)
    DPTensorFastGradientClipping(model, sgd, losses, "sum").backward()
    return layer.weight.grad.norm()


TRIED = {
    "padding_idx": (
        lambda: nn.Embedding(4, 2, padding_idx=0),
        lambda: (torch.randint(0, 4, (1, 5)),),
    ),
    "padding_mode": (
        lambda: nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular", bias=False),
        lambda: (torch.randn(1, 1, 4),),
    ),
    "EmbeddingBag, repeated ids": (
        lambda: nn.EmbeddingBag(4, 2, mode="sum"),
        lambda: (torch.randint(0, 4, (5,)), torch.tensor([0])),
    ),
    "hook on a parameter": (hooked, lambda: (torch.randn(1, 1),)),
}
for name, (make, draw) in TRIED.items():
    torch.manual_seed(0)
    for mode in (hooks, ghost):
        largest = max(mode(make(), draw()) for _ in range(30)) / BOUND
        print(f"{name:27}{mode.__name__:6} {largest:.1f}")

"""Norms of ghost clipping, by Opacus (GradSampleModuleFastGradientClipping, sum): three causes.

Expected are the norms of the loop's rows; got are norms with the padding vector's gradient, for
padding with zeros, and of positions. Opacus 1.6.0, torch 2.13.0. The first two are neither
documented nor reported, as far as was found; the third is a documented limit, see
opacus_position_table.py.
"""

import copy

import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from torch import nn


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(3, 2)

    def forward(self, x):
        return x + self.table(torch.arange(x.shape[1]))


def losses(model, x):
    return (model(x) - 1).pow(2).flatten(1).sum(1)


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
for name, plain, x in (
    ("padding_idx", nn.Embedding(4, 2, padding_idx=0), torch.tensor([[0, 1], [0, 2], [0, 0]])),
    (
        "padding_mode",
        nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular", bias=False),
        torch.randn(3, 1, 4, 4),
    ),
    ("position table, B = T", Positions(), torch.randn(3, 3, 2)),
):
    wrapped = GradSampleModuleFastGradientClipping(
        copy.deepcopy(plain), loss_reduction="sum", max_grad_norm=1.0
    )
    losses(wrapped, x).sum().backward()
    weight = next(plain.parameters())
    loop = [torch.autograd.grad(losses(plain, x[i : i + 1])[0], weight)[0] for i in range(3)]
    print(f"norms, {name}, expected:", torch.stack(loop).flatten(1).norm(dim=1))
    print(f"norms, {name}, got:     ", wrapped.get_norm_sample())

"""Squared norms for nn.Conv2d with groups, by BackPACK (BatchL2Grad).

Expected are those of the loop's rows, which BatchGrad has; got are larger ones, with products of
different groups. BackPACK 1.7.1, torch 2.13.0. Neither documented as a limit nor reported, as far
as was found: groups came with f-dangel/backpack #122, #161, and the page "Good to know" advises to
check values of parameters like groups.
"""

import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad, BatchL2Grad
from torch import nn


def losses(model, x):
    return model(x).pow(2).sum((1, 2, 3))


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
model, x = extend(nn.Conv2d(2, 2, 2, groups=2, bias=False)), torch.randn(3, 2, 3, 3)
with backpack(BatchGrad(), BatchL2Grad()):
    losses(model, x).sum().backward()
loop = [torch.autograd.grad(losses(model, x[i : i + 1])[0], model.weight)[0] for i in range(3)]
print("squared norms, expected:      ", torch.stack(loop).flatten(1).pow(2).sum(1))
print("squared norms, BatchL2Grad:   ", model.weight.batch_l2)
print("squared norms, from BatchGrad:", model.weight.grad_batch.flatten(1).pow(2).sum(1))

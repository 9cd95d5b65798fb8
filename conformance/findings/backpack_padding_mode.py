"""Rows of nn.Conv2d with padding_mode="circular", by BackPACK (BatchGrad).

Expected are gradients for input padded circularly; got are those for input padded with zeros.
BackPACK 1.7.1, torch 2.13.0. Not reported, as far as was found; the page "Good to know" only says
that "some exotic hyperparameters are not fully supported".
"""

import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad
from torch import nn


def losses(model, x):
    return model(x).pow(2).sum((1, 2, 3))


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
model = extend(nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular", bias=False))
x = torch.randn(3, 1, 4, 4)
with backpack(BatchGrad()):
    losses(model, x).sum().backward()
loop = [torch.autograd.grad(losses(model, x[i : i + 1])[0], model.weight)[0] for i in range(3)]
print("first row of the kernel, sample 0, expected:", loop[0][0, 0, 0])
print("first row of the kernel, sample 0, got:     ", model.weight.grad_batch[0][0, 0, 0])

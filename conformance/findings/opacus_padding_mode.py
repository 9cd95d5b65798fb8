"""Rows of nn.Conv2d with padding_mode="circular", by Opacus (GradSampleModule, sum).

Expected are gradients for input padded circularly; got are those for input padded with zeros.
Opacus 1.6.0, torch 2.13.0. Neither documented nor reported, as far as was found;
force_functorch=True gives the expected rows.
"""

import copy

import torch
from opacus.grad_sample import GradSampleModule
from torch import nn

torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
plain = nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular", bias=False)
x = torch.randn(3, 1, 4, 4)
wrapped = GradSampleModule(copy.deepcopy(plain), loss_reduction="sum")


def losses(model, x):
    return model(x).pow(2).sum((1, 2, 3))


losses(wrapped, x).sum().backward()
got = wrapped._module.weight.grad_sample
loop = [torch.autograd.grad(losses(plain, x[i : i + 1])[0], plain.weight)[0] for i in range(3)]
print("first row of the kernel, sample 0, expected:", loop[0][0, 0, 0])
print("first row of the kernel, sample 0, got:     ", got[0][0, 0, 0])

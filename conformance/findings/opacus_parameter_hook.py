"""Rows of a parameter with a gradient hook, by Opacus (GradSampleModule, sum).

Expected are rows times 10, as the hook has it and as weight.grad is; got are rows without it.
Opacus 1.6.0, torch 2.13.0. Neither documented nor reported, as far as was found.
"""

import copy

import torch
from opacus.grad_sample import GradSampleModule
from torch import nn


def losses(model, x):
    return model(x).pow(2).sum(1)


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
plain, x = nn.Linear(2, 1, bias=False), torch.randn(3, 2)
wrapped = GradSampleModule(copy.deepcopy(plain), loss_reduction="sum")
for weight in (plain.weight, wrapped._module.weight):
    weight.register_hook(lambda gradient: 10 * gradient)
losses(wrapped, x).sum().backward()
got = wrapped._module.weight.grad_sample
loop = [torch.autograd.grad(losses(plain, x[i : i + 1])[0], plain.weight)[0] for i in range(3)]
print("weight.grad, loop:  ", sum(loop))
print("weight.grad, Opacus:", wrapped._module.weight.grad)
print("sample 0, expected: ", loop[0])
print("sample 0, got:      ", got[0])

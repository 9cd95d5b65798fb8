"""Rows of a parameter with a gradient hook, by BackPACK (BatchGrad).

Expected are rows times 10, as the hook has it and as weight.grad is; got are rows without it.
By BackPACK's definition, the gradient of a sample's loss, a hook has no part in a row.
BackPACK 1.7.1, torch 2.13.0.
"""

import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad
from torch import nn


def losses(model, x):
    return model(x).pow(2).sum(1)


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
model, x = extend(nn.Linear(2, 1, bias=False)), torch.randn(3, 2)
model.weight.register_hook(lambda gradient: 10 * gradient)
with backpack(BatchGrad()):
    losses(model, x).sum().backward()
loop = [torch.autograd.grad(losses(model, x[i : i + 1])[0], model.weight)[0] for i in range(3)]
print("weight.grad, loop:    ", sum(loop))
print("weight.grad, BackPACK:", model.weight.grad)
print("sample 0, expected:   ", loop[0])
print("sample 0, got:        ", model.weight.grad_batch[0])

"""Rows of a layer that gets batch and positions merged, by Opacus (GradSampleModule, sum).

Expected are B rows; got are B * T, one for each position. Opacus 1.6.0, torch 2.13.0.
Documented limit: GradSampleModule, batch_first, expects [batch_size, ...] of the input of each
module. Rows that differ in number: meta-pytorch/opacus #505, #666 (closed).
"""

import copy

import torch
from opacus.grad_sample import GradSampleModule
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1, bias=False)

    def forward(self, x):
        return self.layer(x.reshape(-1, 2)).reshape(len(x), -1)


def losses(model, x):
    return model(x).pow(2).sum(1)


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
plain, x = Net(), torch.randn(2, 3, 2)
wrapped = GradSampleModule(copy.deepcopy(plain), loss_reduction="sum")
losses(wrapped, x).sum().backward()
got, weight = wrapped._module.layer.weight.grad_sample, plain.layer.weight
loop = torch.stack([torch.autograd.grad(losses(plain, s[None])[0], weight)[0] for s in x])
print("expected:", list(loop.shape), loop.flatten(1))
print("got:     ", list(got.shape), got.flatten(1))

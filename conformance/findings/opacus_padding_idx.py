"""Rows of nn.Embedding with padding_idx, by Opacus (GradSampleModule, sum).

Expected are zeros for the padding vector, as PyTorch has it; got is its gradient as of any vector.
Opacus 1.6.0, torch 2.13.0. Neither documented nor reported, as far as was found;
force_functorch=True gives the expected rows.
"""

import copy

import torch
from opacus.grad_sample import GradSampleModule
from torch import nn

torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
plain, ids = nn.Embedding(4, 2, padding_idx=0), torch.tensor([[0, 1], [0, 2], [0, 0]])
wrapped = GradSampleModule(copy.deepcopy(plain), loss_reduction="sum")


def losses(model, ids):
    return (model(ids) - 1).pow(2).sum((1, 2))


losses(wrapped, ids).sum().backward()
got = wrapped._module.weight.grad_sample
loop = [torch.autograd.grad(losses(plain, ids[i : i + 1])[0], plain.weight)[0] for i in range(3)]
print("d loss of sample 2 / d vector 0, expected:", loop[2][0])
print("d loss of sample 2 / d vector 0, got:     ", got[2][0])

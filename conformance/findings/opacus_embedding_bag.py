"""Rows of nn.EmbeddingBag with offsets, by Opacus (GradSampleModule, sum); an id occurs twice.

Expected is twice the gradient for that id; got is the gradient of one occurrence.
Opacus 1.6.0, torch 2.13.0. Not documented; meta-pytorch/opacus #518 asked for offsets, #519 added
them, and its test draws bags without repeated ids.
"""

import copy

import torch
from opacus.grad_sample import GradSampleModule
from torch import nn

torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
plain, bags = nn.EmbeddingBag(4, 2, mode="sum"), [[1, 1, 2], [3, 0]]
ids, offsets = torch.tensor(sum(bags, [])), torch.tensor([0, 3])
wrapped = GradSampleModule(copy.deepcopy(plain), loss_reduction="sum")


def losses(model, ids, offsets):
    return model(ids, offsets).sum(1)


losses(wrapped, ids, offsets).sum().backward()
got = wrapped._module.weight.grad_sample
one = [losses(plain, torch.tensor(bag), torch.tensor([0]))[0] for bag in bags]
loop = [torch.autograd.grad(loss, plain.weight)[0] for loss in one]
print("sample 0, ids 1 1 2, expected:", loop[0])
print("sample 0, ids 1 1 2, got:     ", got[0])

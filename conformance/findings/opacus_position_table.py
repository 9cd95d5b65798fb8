"""Rows of a position table called on arange(T), by Opacus (GradSampleModule, sum).

Expected is, in each row, the gradient of one sample for all positions. Got are rows of positions:
as many as samples if B == T, with other numbers. Opacus 1.6.0, torch 2.13.0. Documented limit:
GradSampleModule, batch_first, expects [batch_size, ...] of the input of each module. Reported with
batches of one as meta-pytorch/opacus #841 (open); pull request #845 (open) would refuse a
number of rows that differs between parameters, which it does not where B == T.
"""

import copy

import torch
from opacus.grad_sample import GradSampleModule
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(5, 2), nn.Embedding(3, 2)

    def forward(self, ids):
        return self.words(ids) + self.positions(torch.arange(ids.shape[1]))


def losses(model, ids):
    return model(ids).pow(2).sum((1, 2))


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
plain = Net()
for size in (3, 2):
    ids = torch.randint(5, (size, 3))
    wrapped = GradSampleModule(copy.deepcopy(plain), loss_reduction="sum")
    losses(wrapped, ids).sum().backward()
    got, table = wrapped._module.positions.weight.grad_sample, plain.positions.weight
    loop = [torch.autograd.grad(losses(plain, s[None])[0], table)[0] for s in ids]
    print(f"B = {size}, T = 3, shape expected: {[size, 3, 2]}, got: {list(got.shape)}")
    print("  sample 0, expected:", loop[0])
    print("  sample 0, got:     ", got[0])

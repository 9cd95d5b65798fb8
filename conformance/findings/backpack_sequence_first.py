"""Rows for input of shape (T, B, features), by BackPACK (BatchGrad).

Expected are rows of samples; got are rows of positions: as many as samples if B == T, with other
numbers. BackPACK 1.7.1, torch 2.13.0. Documented limit: the changelog of 1.4.0 says "Assume batch
axis always first", f-dangel/backpack #227. There is no option for it and no warning.
"""

import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad
from torch import nn


def losses(model, x):
    return model(x).pow(2).sum((0, 2))


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
model = extend(nn.Linear(2, 1, bias=False))
for size in (3, 2):
    x = torch.randn(3, size, 2)
    with backpack(BatchGrad()):
        losses(model, x).sum().backward()
    got = model.weight.grad_batch
    one = [losses(model, x[:, i : i + 1])[0] for i in range(size)]
    loop = [torch.autograd.grad(loss, model.weight)[0] for loss in one]
    print(f"T = 3, B = {size}, shape expected: {[size, 1, 2]}, got: {list(got.shape)}")
    print("  sample 0, expected:", loop[0], "got:", got[0])

"""Rows of a layer that gets batch and positions merged, by BackPACK (BatchGrad).

Expected are B rows; got are B * T, one for each position, for B = 1 too.
BackPACK 1.7.1, torch 2.13.0. Documented limit: the changelog of 1.4.0 says "Assume batch axis
always first", f-dangel/backpack #227, and BatchGrad that N is the batch size.
"""

import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad
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
model = extend(Net())
for size in (2, 1):
    x, weight = torch.randn(size, 3, 2), model.layer.weight
    with backpack(BatchGrad()):
        losses(model, x).sum().backward()
    got = weight.grad_batch
    loop = [torch.autograd.grad(losses(model, s[None])[0], weight)[0] for s in x]
    print(f"B = {size}, T = 3, expected:", [size, 1, 2], torch.stack(loop).flatten(1))
    print(f"B = {size}, T = 3, got:     ", list(got.shape), got.flatten(1))

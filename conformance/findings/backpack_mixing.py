"""Rows where samples mix, in the model or in the loss, by BackPACK (BatchGrad).

Expected is, in row i, d losses[i] / d weight. Got is, without a warning, the derivative of the sum
of the losses by way of sample i of the layer's input. BackPACK 1.7.1, torch 2.13.0.
Documented limit: BatchGrad says that individual gradients are "only meaningful if the objective is
a sum of independent functions"; f-dangel/backpack #160 (open, BatchNorm) and #212 (closed).
"""

import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad
from torch import nn


class Roll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        return h.roll(1, 0)

    @staticmethod
    def backward(ctx, cotangent):
        return cotangent.roll(-1, 0)


def permuted(model, x):
    return Roll.apply(model(x)).pow(2).sum(1)


def centred(model, x):
    own = model(x).pow(2).sum(1)
    return own - own.mean()


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
model, x = extend(nn.Linear(2, 1, bias=False)), torch.randn(3, 2)
for name, losses in (("samples permuted", permuted), ("losses minus their mean", centred)):
    with backpack(BatchGrad()):
        losses(model, x).sum().backward()
    got = model.weight.grad_batch
    loop = [torch.autograd.grad(losses(model, x)[i], model.weight)[0] for i in range(3)]
    print(f"{name}, sample 0, expected: {loop[0]}, got: {got[0]}")

"""Rows where samples mix, in the model or in the loss, by Opacus (GradSampleModule, sum).

Expected is, in row i, d losses[i] / d weight. Got is, without a warning, the derivative of the sum
of the losses by way of sample i of the layer's input. Opacus 1.6.0, torch 2.13.0.
Documented limit: opacus/grad_sample/README.md does not allow "layers that produce joint
computations on batch samples". ModuleValidator accepts both models; nothing looks at the loss.
"""

import copy

import torch
from opacus.grad_sample import GradSampleModule
from opacus.validators import ModuleValidator
from torch import nn


class Rolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1, bias=False)

    def forward(self, x):
        return self.layer(x)[[1, 2, 0]]


def own(model, x):
    return model(x).pow(2).sum(1)


def centred(model, x):
    return own(model, x) - own(model, x).mean()


torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
x = torch.randn(3, 2)
for name, plain, losses in (
    ("samples permuted in the model", Rolled(), own),
    ("losses minus their mean", nn.Sequential(nn.Linear(2, 1, bias=False)), centred),
):
    ModuleValidator.validate(plain, strict=True)
    wrapped = GradSampleModule(copy.deepcopy(plain), loss_reduction="sum")
    losses(wrapped, x).sum().backward()
    got = next(wrapped.parameters()).grad_sample
    weight = next(plain.parameters())
    loop = [torch.autograd.grad(losses(plain, x)[i], weight)[0] for i in range(3)]
    print(f"{name}, sample 0, expected: {loop[0]}, got: {got[0]}")

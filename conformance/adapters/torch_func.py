"""torch.func: ``vmap(grad(...))`` of the loss of one sample, given as a batch of one.

Where samples mix there is no loss of one sample; there ``jacrev`` differentiates the losses of the
batch. Both give rows without a factor 1/B.
"""

import torch
from torch import nn
from torch.func import functional_call, grad, jacrev, vmap

from conformance.task import Task

NAME = "torch.func"
DISTRIBUTION = "torch"
packages = ("_functorch", "func")
# Messages raised in C++ or in other files of PyTorch; UX limitations of torch.func.
documented = ("vmap", "functorch", "torch.func", "atching rule", "This is not supported")


class Adapter:
    def __init__(self, model: nn.Module, task: Task):
        self.model, self.task = model, task

    def __call__(self, batch: dict, losses, max_norm: float) -> dict:
        parameters = {k: p.detach() for k, p in self.model.named_parameters() if p.requires_grad}
        axes = {k: axis for k, axis in self.task.axes(batch).items() if axis is not None}

        def losses_of(parameters, batch):
            return losses(lambda *a, **k: functional_call(self.model, parameters, a, k), batch)

        def loss_of_one(parameters, sample):
            one = {k: v.unsqueeze(axes[k]) for k, v in sample.items()}
            return losses_of(parameters, {**batch, **one})[0]

        if self.task.mixing:
            return {"rows": jacrev(losses_of)(parameters, batch)}
        samples: dict[str, torch.Tensor] = {k: batch[k] for k in axes}
        return {"rows": vmap(grad(loss_of_one), in_dims=(None, axes))(parameters, samples)}

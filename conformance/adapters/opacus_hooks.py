"""Opacus: GradSampleModule, mode "hooks", with its fallback to functorch.

``loss_reduction="sum"`` and a backward pass from the sum of the losses: ``grad_sample`` then has
no factor 1/B. ModuleValidator checks the model first, as in PrivacyEngine.
"""

import torch
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from opacus.validators import ModuleValidator
from torch import nn

from conformance.task import Task

NAME = "Opacus, hooks"
DISTRIBUTION = "opacus"
packages = ("opacus",)
# functorch, which Opacus falls back to, says which operations vmap does not take.
documented = ("vmap", "functorch", "Batching rule")


class Adapter:
    def __init__(self, model: nn.Module, task: Task):
        ModuleValidator.validate(model, strict=True)
        first = task.batch_axis == 0
        self.raw = model
        self.model = GradSampleModule(model, batch_first=first, loss_reduction="sum")

    def __call__(self, batch: dict, losses, max_norm: float) -> dict:
        for p in self.raw.parameters():
            p.grad_sample = None
        losses(self.model, batch).sum().backward()
        return {"rows": {k: p.grad_sample for k, p in self.raw.named_parameters()}}

    def stops(self, size: int) -> bool:
        """Return whether a private step on the rows of the last call raises an exception."""
        trained = [p for p in self.raw.parameters() if p.requires_grad]
        options = {"max_grad_norm": 1.0, "expected_batch_size": size, "loss_reduction": "sum"}
        step = DPOptimizer(torch.optim.SGD(trained, lr=0.0), noise_multiplier=0.0, **options)
        try:
            step.pre_step()
        except RuntimeError:
            return True
        return False

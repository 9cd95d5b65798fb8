"""Opacus: GradSampleModuleFastGradientClipping with ghost clipping: norms and clipped sums.

``loss_reduction="sum"``: norms are those of rows without a factor 1/B. The clipping factor is
max_norm / (norm + 1e-6), as Opacus documents it.
"""

import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping
from opacus.validators import ModuleValidator
from torch import nn

from conformance.task import Task

NAME = "Opacus, ghost"
DISTRIBUTION = "opacus"
packages = ("opacus",)
# functorch, which Opacus falls back to, says which operations vmap does not take.
documented = ("vmap", "functorch", "Batching rule")
CLIP_EPSILON = 1e-6


class Adapter:
    def __init__(self, model: nn.Module, task: Task):
        ModuleValidator.validate(model, strict=True)
        options = {"batch_first": task.batch_axis == 0, "loss_reduction": "sum"}
        self.model = GradSampleModuleFastGradientClipping(
            model, use_ghost_clipping=True, **options
        )
        self.raw, self.optimizer = model, torch.optim.SGD(model.parameters(), lr=0.0)

    def __call__(self, batch: dict, losses, max_norm: float) -> dict:
        self.model.max_grad_norm = max_norm
        each = losses(self.model, batch)
        DPTensorFastGradientClipping(self.model, self.optimizer, each, "sum").backward()
        norms = self.model.per_sample_gradient_norms
        sums = {k: p.grad for k, p in self.raw.named_parameters()}
        return {"squared_norms": norms**2, "clipped_sum": sums}

"""JAX: ``jit(vmap(grad(loss of one sample)))``, for the models of `conformance.twins` alone.

Rows have no factor 1/B. The other models have "no twin" and are not counted.
"""

import jax
import numpy as np
import torch
from torch import nn

from conformance.task import Task
from conformance.twins import LOSSES, TWINS
from conformance.verdict import NoTwinError

jax.config.update("jax_enable_x64", True)

NAME = "JAX"
DISTRIBUTION = "jax"
packages = ("jax",)
documented: tuple[str, ...] = ()


class Adapter:
    def __init__(self, model: nn.Module, task: Task):
        if task.case.name not in TWINS or task.loss.name not in LOSSES:
            raise NoTwinError(task.case.name)
        twin, loss = TWINS[task.case.name], LOSSES[task.loss.name]
        self.model = model
        one = jax.grad(lambda parameters, sample: loss(twin(parameters, sample["x"]), sample))
        self.rows = jax.jit(jax.vmap(one, in_axes=(None, 0)))

    def __call__(self, batch: dict, losses, max_norm: float) -> dict:
        parameters = {k: p.detach().numpy() for k, p in self.model.named_parameters()}
        samples = {k: v.numpy() for k, v in batch.items()}
        rows = self.rows(parameters, samples)
        return {"rows": {k: torch.from_numpy(np.array(r)) for k, r in rows.items()}}

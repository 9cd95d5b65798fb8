"""BackPACK: BatchGrad and BatchL2Grad on an extended model.

First-order extensions take any loss of the model's output; a backward pass from the sum of the
losses gives rows without a factor 1/B. A parameter without ``grad_batch`` has no rows.
"""

from backpack import backpack, extend
from backpack.extensions import BatchGrad, BatchL2Grad
from torch import nn

from conformance.task import Task

NAME = "BackPACK"
DISTRIBUTION = "backpack-for-pytorch"
packages = ("backpack",)
documented: tuple[str, ...] = ()


class Adapter:
    def __init__(self, model: nn.Module, task: Task):
        self.raw, self.model = model, extend(model)

    def __call__(self, batch: dict, losses, max_norm: float) -> dict:
        trained = {k: p for k, p in self.raw.named_parameters() if p.requires_grad}
        for p in trained.values():
            for name in ("grad_batch", "batch_l2"):
                if hasattr(p, name):
                    delattr(p, name)
        with backpack(BatchGrad(), BatchL2Grad()):
            losses(self.model, batch).sum().backward()
        rows = {k: getattr(p, "grad_batch", None) for k, p in trained.items()}
        parts = [p.batch_l2 for p in trained.values() if hasattr(p, "batch_l2")]
        answer = {"rows": rows}
        if len({len(part) for part in parts}) != 1:  # layers with other numbers of rows: no norms
            return answer
        return {**answer, "squared_norms": sum(parts)}

"""persample: ``persample.record``. Rows, squared norms and clipped sums have no factor 1/B."""

from torch import nn

import persample as ps
from conformance.task import Task

NAME = "persample"
DISTRIBUTION = "persample"
packages = ("persample",)
documented: tuple[str, ...] = ()


class Adapter:
    def __init__(self, model: nn.Module, task: Task):
        self.model = model

    def __call__(self, batch: dict, losses, max_norm: float) -> dict:
        with ps.record(self.model) as record:
            record.backward(losses(self.model, batch))
        return {
            "rows": record.rows(),
            "squared_norms": record.squared_norms(),
            "clipped_sum": record.clipped_sum(max_norm),
        }

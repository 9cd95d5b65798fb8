"""One task: a case with one of its losses, its batches, and the true answers."""

import copy
import statistics
import time
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from conformance import oracle
from conformance.case import Case, Loss


@dataclass(frozen=True)
class Step:
    """One batch of a task, with the parameters at that step, the true rows and a clipping norm."""

    parameters: dict[str, Tensor]
    batch: dict
    size: int
    truths: tuple[oracle.Rows, ...]  # of 16-bit models two: in their own dtype, in float64
    max_norm: float


@dataclass(frozen=True)
class Task:
    """A case with one of its losses."""

    case: Case
    loss: Loss

    @property
    def mixing(self) -> bool:
        return self.case.mixing or self.loss.mixing

    @property
    def batch_axis(self) -> int:
        return self.case.axes.get("x") or 0

    def losses(self, model, batch: dict) -> Tensor:
        return self.case.losses_of(self.loss)(model, batch)

    def axes(self, batch: dict) -> dict:
        """Return {entry of the batch: axis that counts samples, None if shared}."""
        return {k: self.case.axis(k, v) for k, v in batch.items()}

    def steps(self) -> list[Step]:
        """Return a `Step` per batch; its clipping norm is the median norm of the true rows.

        Before the steps in `Case.updates`, SGD changes the parameters.
        """
        model, found = self.case.build(), []
        for number, size in enumerate(self.case.steps()):
            batch = self.case.draw(self.loss, model, number)
            if number in self.case.updates():
                oracle.sgd(self.case, self.loss, model, batch)
            truths = self._truths(model, batch, size)
            norms = oracle.squared_norms(truths[0]).sqrt()
            max_norm = float(norms.median()) or 1.0
            values = oracle.parameters(model)
            found.append(Step(values, batch, size, truths, max_norm))
        return found

    def _truths(self, model: nn.Module, batch: dict, size: int) -> tuple[oracle.Rows, ...]:
        rows = oracle.true_rows(self.case, self.loss, model, batch, size)
        if self.case.dtype == torch.float64:
            return (rows,)
        case = replace(self.case, dtype=torch.float64, autocast=False)
        wide = copy.deepcopy(model).double()
        batch = {k: case._cast(v) for k, v in batch.items()}
        return rows, oracle.true_rows(case, self.loss, wide, batch, size)

    def pass_seconds(self, step: Step) -> float:
        """Return the median time of five ordinary passes over a batch, in seconds."""
        model = self.case.build()
        oracle.set_parameters(model, step.parameters)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            self.losses(model, step.batch).sum().backward()
            times.append(time.perf_counter() - start)
        return statistics.median(times)

"""One case: a model, its batches, and the losses it takes."""

import copy
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

SIZES = (7, 7, 1, 2, 5)
LATE_SIZES = (5, 5, 5, 3)
SINGLE = {"dtype": torch.float32, "tolerance": 1e-4}


class Draw:
    """Random arrays of one batch, from a generator seeded by ``key``."""

    def __init__(self, *key: Any):
        seed = zlib.crc32(repr(key).encode())
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator, dtype=torch.float64)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Return integers from ``low`` to ``high - 1``."""
        return torch.randint(low, high, shape, generator=self.generator)

    def permutation(self, n: int) -> Tensor:
        """Return a permutation of n samples in which none keeps its place (n > 1)."""
        order = torch.randperm(n, generator=self.generator)
        moved = torch.empty_like(order)
        moved[order] = order.roll(1)
        return moved


@dataclass(frozen=True)
class Loss:
    """A loss, (output, batch) -> (B,), and a function that draws its targets."""

    name: str
    compute: Callable[[Tensor, dict], Tensor]
    targets: Callable[[Draw, tuple, dict], dict] = lambda draw, shape, batch: {}
    mixing: bool = False


@dataclass(frozen=True)
class Case:
    """A model, its batches, and the losses it takes.

    Parameters
    ----------
    make : builds the model; the random seed is set before it.
    batch : (draw, B, step) -> dict of tensors, whose axis 0 counts samples unless ``axes`` says
        otherwise (None: shared by all samples, as are numbers and 0-d tensors).
    call : (model, batch) -> output, axis 0 counting samples.
    length : another axis length of the model; one batch has that many samples.
    mixing : ``losses[i]`` may depend on the other samples.
    tolerance : the smallest relative error that is judged wrong.
    late : what changes at the third batch, for a sequence; "" for an ordinary case.
    sgd : steps before which the model takes three steps of SGD, of this ``rate``.
    sizes : the batch size of each step, if not the default.
    """

    name: str
    make: Callable[[], nn.Module]
    batch: Callable[[Draw, int, int], dict]
    losses: tuple[Loss, ...]
    call: Callable[[Any, dict], Tensor] = lambda model, batch: model(batch["x"])
    length: int = 4
    axes: Mapping[str, int | None] = field(default_factory=dict)
    mixing: bool = False
    dtype: torch.dtype = torch.float64
    autocast: bool = False
    tolerance: float = 1e-6
    late: str = ""
    sgd: tuple[int, ...] = ()
    rate: float = 0.1
    sizes: tuple[int, ...] = ()

    def build(self) -> nn.Module:
        """Return the model with its initial parameters, the same at every call."""
        torch.manual_seed(zlib.crc32(self.name.encode()))
        return self.make().to(self.dtype)

    def steps(self) -> tuple[int, ...]:
        """Return the batch size of each step."""
        return self.sizes or (LATE_SIZES if self.late else (*SIZES, self.length, 7))

    def updates(self) -> tuple[int, ...]:
        """Return the steps before which the parameters are changed by SGD."""
        return self.sgd if self.late else (len(self.steps()) - 1,)

    def losses_of(self, loss: Loss) -> Callable[[Any, dict], Tensor]:
        """Return (model, batch) -> losses, (B,)."""

        def losses(model: Any, batch: dict) -> Tensor:
            with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
                return loss.compute(self.call(model, batch), batch)

        return losses

    def draw(self, loss: Loss, model: nn.Module, step: int) -> dict:
        """Return the batch of a step, targets included."""
        draw = Draw(self.name, loss.name, step)
        batch = self.batch(draw, self.steps()[step], step)
        batch = {k: self._cast(v) for k, v in batch.items()}
        with torch.no_grad():
            shape = tuple(self.call(copy.deepcopy(model), batch).shape)
        targets = loss.targets(draw, shape, batch)
        return {**batch, **{k: self._cast(v) for k, v in targets.items()}}

    def _cast(self, value: Any) -> Any:
        floating = isinstance(value, Tensor) and value.is_floating_point()
        return value.to(self.dtype) if floating else value

    def axis(self, name: str, value: Any) -> int | None:
        """Return the axis of a batch entry that counts samples, None if the entry is shared."""
        shared = not isinstance(value, Tensor) or value.ndim == 0
        return None if shared else self.axes.get(name, 0)

    def sample(self, batch: dict, i: int) -> dict:
        """Return sample i as a batch of one."""
        axes = {k: self.axis(k, v) for k, v in batch.items()}
        return {k: v if axes[k] is None else v.narrow(axes[k], i, 1) for k, v in batch.items()}

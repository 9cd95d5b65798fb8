"""A layer without a rule: vmap over the VJP of the layer's own function.

The layer runs again, one sample at a time in one batched program, on the inputs it had; the
cotangents of its outputs, captured in the ordinary pass, go back through it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree


class Pause:
    """A context in which the hooks of the capture record nothing: a layer runs again."""

    is_on = False

    def __enter__(self) -> None:
        self.is_on = True

    def __exit__(self, *error: object) -> None:
        self.is_on = False


@dataclass(frozen=True, eq=False)
class Rerun:
    """One call of a layer without a rule: what it was given, and its outputs' cotangents.

    ``cotangents`` has None where an output of the layer was not used by the loss.
    """

    where: str
    module: nn.Module
    names: dict[str, str]  # parameters: name in the module -> name in the model
    args: tuple
    kwargs: dict
    cotangents: list[Tensor | None]
    size: int
    pause: Pause
    _rows: dict = field(default_factory=dict)

    def rows(self, name: str, samples: slice) -> Tensor:
        """Return the rows of one parameter for a slice of samples.

        All parameters of the layer come from one run; those not yet asked for are kept.
        """
        if (samples.start, samples.stop, name) not in self._rows:
            self._rows.clear()
            for other, rows in self._run(samples).items():
                self._rows[samples.start, samples.stop, other] = rows
        return self._rows.pop((samples.start, samples.stop, name))

    def _run(self, samples):
        leaves, spec = pytree.tree_flatten((self.args, self.kwargs))
        is_batched = [isinstance(x, Tensor) and x.shape[:1] == (self.size,) for x in leaves]
        batched = [x[samples] for x, split in zip(leaves, is_batched, strict=True) if split]
        cotangents = [ct[samples] for ct in self.cotangents if ct is not None]
        held = dict(self.module.named_parameters(remove_duplicate=False))
        parameters = {full: held[name].detach() for name, full in self.names.items()}

        def one_sample(batched, cotangents):
            rest = iter(batched)
            given = [
                next(rest)[None] if split else x
                for x, split in zip(leaves, is_batched, strict=True)
            ]
            args, kwargs = pytree.tree_unflatten(given, spec)

            def used_outputs(parameters):
                own = {name: parameters[full] for name, full in self.names.items()}
                output = torch.func.functional_call(
                    self.module, own, args, kwargs, tie_weights=False
                )
                tensors = differentiable(output)
                pairs = zip(tensors, self.cotangents, strict=True)
                return [x for x, ct in pairs if ct is not None]

            _, pull_back = torch.func.vjp(used_outputs, parameters)
            return pull_back([ct[None] for ct in cotangents])[0]

        try:
            # vjp has gradients of its own; of attention's programs one has a rule for vmap.
            with self.pause, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
                return torch.vmap(one_sample)(batched, cotangents)
        except (RuntimeError, ValueError) as error:
            raise NotImplementedError(
                f"layerwise: {self.where} is a {type(self.module).__name__}, which has no rule, "
                "and running it again one sample at a time failed; build it from layers with a "
                "rule, or use ps.loop_grad. PyTorch says: "
                f"{str(error).strip().splitlines()[0]}"
            ) from error


def differentiable(output: Any) -> list[Tensor]:
    """Return the tensors of a layer's output that may carry a cotangent, in a fixed order."""
    leaves = [output] if isinstance(output, Tensor) else pytree.tree_leaves(output)
    return [x for x in leaves if isinstance(x, Tensor) and x.is_floating_point()]


@dataclass(frozen=True, eq=False)
class Fallback:
    """The form of one parameter of a `Rerun`: rows, and nothing cheaper."""

    run: Rerun
    name: str

    def rows(self, samples: slice, out: Tensor, scale: float) -> None:
        torch.mul(self.run.rows(self.name, samples), scale, out=out)

    def squared_norms(self, squares: Callable) -> None:
        return None

    def weighted_sum(self, weights: Tensor) -> None:
        return None

    def squared_sum(self) -> None:
        return None

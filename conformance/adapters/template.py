"""A library of your own: copy this file, and add its name to NAMES in __init__.py.

Say here how the library scales its rows and how that is undone. This one is the loop itself.
"""

from torch import nn

from conformance import oracle
from conformance.task import Task

NAME = "loop"  # as the results call it
DISTRIBUTION = "torch"  # whose version is stored
packages = ("conformance",)  # a ``raise`` in their files is a refusal
documented: tuple[str, ...] = ()  # parts of other messages that the library documents
CLIP_EPSILON = 0.0  # clips by max_norm / (norm + CLIP_EPSILON)


class Adapter:
    """The library on one live model. ``task`` has mixing, batch_axis and axes(batch)."""

    def __init__(self, model: nn.Module, task: Task):
        self.model, self.task = model, task

    def __call__(self, batch: dict, losses, max_norm: float) -> dict:
        """Return those of rows, squared_norms and clipped_sum that the library offers.

        ``losses(model, batch)`` calls the model, once, and returns (B,).
        """
        rows = oracle.whole_rows(losses, self.model, batch)
        return {
            "rows": rows,  # {parameter name: (B, *shape)}
            "squared_norms": oracle.squared_norms(rows),  # (B,)
            "clipped_sum": oracle.clipped_sum(rows, max_norm),  # {parameter name: shape}
        }

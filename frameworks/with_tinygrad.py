"""tinygrad: what it has for rows, and what it lacks."""

import common
from tinygrad import Tensor

common.report(
    "tinygrad",
    has={name: hasattr(Tensor, name) for name in ("gradient", "detach", "vmap")},
    device=common.said(lambda: Tensor([1.0, 2.0]).sum().item()),
)

"""tinygrad, which has no vmap: copies of the weights, on its Python device (no compiler)."""

import os

os.environ.setdefault("DEV", "PYTHON")

import common
from tinygrad import Tensor


# [rows]
def rows(theta, s, r, s_next):
    copies = theta.reshape(1, -1).expand(*s.shape).contiguous()
    targets = (r + (s_next * copies).sum(1)).detach()
    losses = 0.5 * (targets - (s * copies).sum(1)) ** 2
    return losses.sum().gradient(copies)[0]
    # [end]


arguments = [Tensor(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
common.report(
    "tinygrad",
    has={name: hasattr(Tensor, name) for name in ("gradient", "detach", "vmap")},
    keeps_grad=common.keeps(arguments[0]),
    rows=[rows(*arguments).tolist()],
)

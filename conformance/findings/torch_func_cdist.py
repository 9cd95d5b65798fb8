"""Jacobian of torch.cdist(h, c).sum(1) for h, by torch.func.jacrev, and by vmap of vjp.

Expected is what the loop and finite differences give; got is the gradient of losses[0] for every
output. torch 2.13.0, CPU. Neither documented (page "UX Limitations") nor reported, as far as was
found. The rule, from pytorch/functorch #306, takes the result for unbatched where only the
cotangent is batched (cdist_backward_batch_rule); chunk_size=1 gives the expected numbers.
"""

import torch
from torch.func import jacrev, vmap

torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
h, c = torch.randn(3, 2, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64)


def losses(h):
    return torch.cdist(h, c).sum(1)


leaf, step = h.clone().requires_grad_(), 1e-6 * torch.eye(6, dtype=torch.float64).view(6, 3, 2)
loop = torch.stack([torch.autograd.grad(losses(leaf)[i], leaf)[0] for i in range(3)])
differences = torch.stack([(losses(h + s) - losses(h - s)) / 2e-6 for s in step], 1).view(3, 3, 2)
_, pull = torch.func.vjp(losses, h)
got = {"jacrev": jacrev(losses)(h), "vmap of vjp": vmap(pull)(torch.eye(3).double())[0]}
got |= {"jacrev, chunk_size=1": jacrev(losses, chunk_size=1)(h)}
print("d losses[1] / d h, loop:              ", loop[1])
print("d losses[1] / d h, finite differences:", differences[1])
for name, rows in got.items():
    print(f"d losses[1] / d h, {name}: {rows[1]}")

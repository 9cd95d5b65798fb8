"""Check rows from any source by one backward pass: a random weighted sum, or a random norm.

The error of a sum is the largest over the parameters, each relative to the largest entry of its
gradient (plus 1 % of the largest of all); wrong shapes raise AssertionError.
"""

import torch


# [check]
def error_of_rows(rows, losses, parameters, w=None):
    """Return the relative error of a random weighted sum of the rows."""
    shapes = [(len(losses), *p.shape) for p in parameters]
    assert [r.shape for r in rows] == shapes, "not one row for each sample"
    if w is None:  # weights for rows of length 1, so that each counts
        parts = torch.stack([r[:, None].flatten(1).norm(dim=1) for r in rows])
        norms = parts.norm(dim=0).detach()
        w = torch.randn(len(norms)).to(losses) / norms.where(norms > 0, 1)
    grads = torch.autograd.grad(losses @ w, parameters, materialize_grads=True)
    sizes = torch.stack([grad.abs().max() for grad in grads])
    sizes = (sizes + sizes.max() / 100).where(sizes.max() > 0, 1)
    found = [torch.tensordot(w, row, 1) for row in rows]
    errors = [(a - b).abs().max() for a, b in zip(found, grads, strict=True)]
    return (torch.stack(errors) / sizes).max().item()


# [norms]
def error_of_norms(norms, losses, parameters):
    """Return the relative error of the norm of one random row."""
    i = torch.randint(len(losses), ())
    grads = torch.autograd.grad(losses[i], parameters, materialize_grads=True)
    norm = torch.cat([grad.flatten() for grad in grads]).norm()
    return ((norms[i] - norm).abs() / norm).item()

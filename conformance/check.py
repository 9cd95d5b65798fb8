"""A check for anybody's rows: a random weighting of the losses, and one backward pass."""

import torch


# [check]
def error_of_rows(rows, losses, parameters, draw=torch.randn):
    """Compare a random weighting of the rows with one backward pass."""
    w = draw(len(losses)).to(losses)
    grads = torch.autograd.grad(losses @ w, parameters, materialize_grads=True)
    for row, p in zip(rows, parameters, strict=True):
        shape = (len(losses), *p.shape)
        assert row.shape == shape, "not one row for each sample"
    found = torch.cat([torch.tensordot(w, row, 1).flatten() for row in rows])
    expected = torch.cat([grad.flatten() for grad in grads])
    return ((found - expected).abs().max() / expected.abs().max()).item()


# [norms]
def error_of_norms(norms, losses, parameters):
    """Compare the norm of one random row with one backward pass."""
    i = torch.randint(len(losses), ())
    grads = torch.autograd.grad(losses[i], parameters, materialize_grads=True)
    norm = torch.cat([grad.flatten() for grad in grads]).norm()
    return ((norms[i] - norm).abs() / norm).item()

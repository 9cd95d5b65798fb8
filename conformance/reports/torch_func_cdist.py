import torch
from torch.func import jacrev

h, centre = torch.tensor([[3.0, 4], [0, 2]]), torch.zeros(1, 2)


def losses(h):
    return torch.cdist(h, centre)[:, 0]


print("expected, d losses[0] / d h: ", jacrev(losses, chunk_size=1)(h)[0].flatten())
print("got, d losses[0] / d h:      ", jacrev(losses)(h)[0].flatten())
print("expected, d losses[1] / d h: ", jacrev(losses, chunk_size=1)(h)[1].flatten())
print("got, d losses[1] / d h:      ", jacrev(losses)(h)[1].flatten())

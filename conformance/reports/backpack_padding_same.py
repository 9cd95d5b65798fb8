import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad

layer = torch.nn.Conv1d(1, 1, 3, padding="same", bias=False)
torch.nn.init.ones_(layer.weight)
x = torch.tensor([[[1.0, 2, 3, 4, 5]]])  # one sample
with backpack(BatchGrad()):
    extend(layer)(x).sum().backward()
print("expected, .grad:              ", layer.weight.grad.flatten())
print("got, sum of the rows:         ", layer.weight.grad_batch.sum(0).flatten())

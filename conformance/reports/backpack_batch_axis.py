import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad

layer = torch.nn.Linear(1, 1, bias=False)
x = torch.tensor([[1.0, 2], [10, 20]])[:, :, None]  # (positions, samples, 1)
with backpack(BatchGrad()):
    extend(layer)(x).sum().backward()
print("expected, sums over positions:", x.sum((0, 2)))
print("got, rows:                    ", layer.weight.grad_batch.flatten())

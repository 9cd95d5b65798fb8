import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad

layer = torch.nn.Linear(1, 1, bias=False)
x = torch.tensor([[1.0, 2, 3], [4, 5, 6]])  # 2 samples of 3 positions
with backpack(BatchGrad()):
    extend(layer)(x.reshape(6, 1)).sum().backward()
print("expected, sums over positions:", x.sum(1))
print("got, rows:                    ", layer.weight.grad_batch.flatten())

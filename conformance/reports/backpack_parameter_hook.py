import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad

layer = torch.nn.Linear(1, 1, bias=False)
layer.weight.register_hook(lambda gradient: 10 * gradient)
with backpack(BatchGrad()):
    extend(layer)(torch.tensor([[1.0], [2.0]])).sum().backward()
print("expected, .grad:              ", layer.weight.grad.flatten())
print("got, sum of the rows:         ", layer.weight.grad_batch.sum(0).flatten())

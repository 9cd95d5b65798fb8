import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad

layer = torch.nn.Linear(1, 1, bias=False)
x = torch.tensor([[1.0], [2.0], [6.0]])
with backpack(BatchGrad()):
    out = extend(layer)(x)[:, 0]
    (out - out.mean()).sum().backward()  # each loss depends on the batch
print("expected, d losses[i] / d w:  ", (x - x.mean()).flatten())
print("got, rows:                    ", layer.weight.grad_batch.flatten())

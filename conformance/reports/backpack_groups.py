import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad, BatchL2Grad

layer = torch.nn.Conv1d(2, 2, 1, groups=2, bias=False)
x = torch.tensor([[[1.0], [2]], [[3.0], [4]]])  # two samples
with backpack(BatchGrad(), BatchL2Grad()):
    extend(layer)(x).sum().backward()
rows = layer.weight.grad_batch.flatten(1)
print("expected, squares of the rows:", rows.square().sum(1))
print("got, BatchL2Grad:             ", layer.weight.batch_l2)

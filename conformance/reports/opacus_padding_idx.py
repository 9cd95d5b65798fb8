import torch
from opacus.grad_sample import GradSampleModule

layer = torch.nn.Embedding(4, 2, padding_idx=0)
model = GradSampleModule(layer, loss_reduction="sum")
ids = torch.tensor([[0, 1], [0, 2], [0, 0]])  # 0 is padding
(model(ids) - 1).pow(2).sum().backward()
print("expected, .grad of vector 0:  ", layer.weight.grad[0])
print("got, sum of its rows:         ", layer.weight.grad_sample.sum(0)[0])

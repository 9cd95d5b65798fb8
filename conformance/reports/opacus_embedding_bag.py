import torch
from opacus.grad_sample import GradSampleModule

layer = torch.nn.EmbeddingBag(4, 2, mode="sum")
model = GradSampleModule(layer, loss_reduction="sum")
ids, offsets = torch.tensor([1, 1, 2, 3, 0]), torch.tensor([0, 3])
model(ids, offsets).sum().backward()  # two bags; id 1 is twice in the first
print("expected, .grad of vector 1:  ", layer.weight.grad[1])
print("got, sum of its rows:         ", layer.weight.grad_sample.sum(0)[1])

import torch
from opacus.grad_sample import GradSampleModule

layer = torch.nn.Embedding(3, 1, scale_grad_by_freq=True)
model = GradSampleModule(layer, loss_reduction="sum")
ids = torch.tensor([[1, 1]])  # one sample, with one id twice
model(ids).sum().backward()
print("expected, .grad:              ", layer.weight.grad.flatten())
print("got, sum of the rows:         ", layer.weight.grad_sample.sum(0).flatten())

import torch
from opacus.grad_sample import GradSampleModule

layer = torch.nn.Linear(1, 1, bias=False)
model = GradSampleModule(layer, loss_reduction="sum")
layer.weight.register_hook(lambda gradient: 10 * gradient)
model(torch.tensor([[1.0], [2.0]])).sum().backward()
print("expected, .grad:              ", layer.weight.grad.flatten())
print("got, sum of the rows:         ", layer.weight.grad_sample.sum(0).flatten())

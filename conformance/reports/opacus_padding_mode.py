import torch
from opacus.grad_sample import GradSampleModule

layer = torch.nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular", bias=False)
torch.nn.init.ones_(layer.weight)
model = GradSampleModule(layer, loss_reduction="sum")
x = torch.tensor([[[1.0, 2, 3, 4]]])  # one sample
model(x).sum().backward()
print("expected, .grad:              ", layer.weight.grad.flatten())
print("got, sum of the rows:         ", layer.weight.grad_sample.sum(0).flatten())

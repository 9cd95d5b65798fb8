import torch
from opacus.grad_sample import GradSampleModule

layer = torch.nn.Linear(1, 1, bias=False)
model = GradSampleModule(layer, loss_reduction="sum")
x = torch.tensor([[1.0], [2.0], [6.0]])
out = model(x)[:, 0]
(out - out.mean()).sum().backward()  # each loss depends on the batch
print("expected, d losses[i] / d w:  ", (x - x.mean()).flatten())
print("got, rows:                    ", layer.weight.grad_sample.flatten())

import torch
from opacus.grad_sample import GradSampleModule

layer = torch.nn.Linear(1, 1, bias=False)
model = GradSampleModule(layer, loss_reduction="sum")
x = torch.tensor([[1.0, 2, 3], [4, 5, 6]])  # 2 samples of 3 positions
model(x.reshape(6, 1)).sum().backward()
print("expected, sums over positions:", x.sum(1))
print("got, rows:                    ", layer.weight.grad_sample.flatten())

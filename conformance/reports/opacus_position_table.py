import torch
from opacus.grad_sample import GradSampleModule

table = torch.nn.Embedding(3, 1)
torch.nn.init.ones_(table.weight)
model = GradSampleModule(table, loss_reduction="sum")
x = torch.tensor([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])  # 3 samples of 3 positions
(x + model(torch.arange(3))[:, 0]).pow(2).sum().backward()
print("expected, sample 0:           ", 2 * (x[0] + 1))
print("got, row 0:                   ", table.weight.grad_sample[0].flatten())

import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping as Ghost

layer = torch.nn.Embedding(4, 2, padding_idx=0)
model = Ghost(layer, max_grad_norm=1.0, loss_reduction="sum")
ids = torch.tensor([[0, 1], [0, 2], [0, 0]])  # sample 2 is padding alone
model(ids).sum().backward()
print("expected, norms:              ", torch.tensor([2.0, 2.0, 0.0]).sqrt())
print("got, norms:                   ", model.get_norm_sample())

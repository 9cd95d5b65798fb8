import torch
from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
from opacus.layers import DPLSTM
from torch.nn.utils.rnn import pack_padded_sequence

x = torch.tensor([[[0.0], [0]], [[1], [1]]])  # the input of sample 0 is zero
packed = pack_padded_sequence(x, [1, 2], batch_first=True, enforce_sorted=False)
layers = [DPLSTM(1, 1, batch_first=True) for _ in range(2)]
hooks = GradSampleModule(layers[0], loss_reduction="sum")
ghost = GradSampleModuleFastGradientClipping(layers[1], max_grad_norm=1.0, loss_reduction="sum")
for model in hooks, ghost:
    model(packed)[0].data.sum().backward()
rows, norms = layers[0].weight_ih_l0.grad_sample, layers[1].weight_ih_l0._norm_sample
print("expected, which rows are zero:", torch.tensor([True, False]))
print("got, rows:                    ", (rows == 0).all(2).all(1))
print("got, ghost norms:             ", norms == 0)

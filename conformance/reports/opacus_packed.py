import torch
from opacus.grad_sample import GradSampleModule
from opacus.layers import DPLSTM
from torch.nn.utils.rnn import pack_padded_sequence

layer = DPLSTM(1, 1, batch_first=True)
model = GradSampleModule(layer, loss_reduction="sum")
x = torch.tensor([[[0.0], [0]], [[1], [1]]])  # the input of sample 0 is zero
packed = pack_padded_sequence(x, [1, 2], batch_first=True, enforce_sorted=False)
model(packed)[0].data.sum().backward()
print("expected, which rows are zero:", torch.tensor([True, False]))
print("got:                          ", (layer.weight_ih_l0.grad_sample == 0).all(2).all(1))

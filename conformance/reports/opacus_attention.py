import torch
from opacus.layers import DPMultiheadAttention

layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
replacement = DPMultiheadAttention(4, 2, batch_first=True)
replacement.load_state_dict(layer.state_dict())
x = torch.randn(3, 5, 4)  # (samples, positions, features)
found = torch.allclose(layer(x, x, x)[0], replacement(x, x, x)[0], atol=1e-4)
print("expected, the same outputs:   ", True)
print("got:                          ", found)

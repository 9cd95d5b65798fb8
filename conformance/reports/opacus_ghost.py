import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping as Ghost
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping as Losses
from torch import nn, tensor

padding_mode = nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular", bias=False)
samples = {  # one sample each
    nn.Embedding(4, 2, padding_idx=0): [tensor([[0, 1]])],
    padding_mode: [tensor([[[1.0, 0, 0, 1]]])],
    nn.EmbeddingBag(4, 2, mode="sum"): [tensor([1, 1, 1]), tensor([0])],
}
print("expected, what a sample adds: at most 1 C")
for layer, sample in samples.items():
    model = Ghost(layer, max_grad_norm=1.0, loss_reduction="sum")
    losses = model(*sample).flatten(1).sum(1)
    Losses(model, torch.optim.SGD(layer.parameters()), losses, "sum").backward()
    print(f"got, {type(layer).__name__ + ':':13} {layer.weight.grad.norm():.2f} C")

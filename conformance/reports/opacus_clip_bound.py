import torch
from opacus.grad_sample import GradSampleModule
from opacus.grad_sample import GradSampleModuleFastGradientClipping as Ghost
from opacus.optimizers import DPOptimizer
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping as Losses

x = torch.tensor([[100.0]])  # one sample
layers = [torch.nn.Linear(1, 1, bias=False) for _ in range(2)]
sgd, ghost_sgd = [torch.optim.SGD(layer.parameters()) for layer in layers]
for layer in layers:
    layer.weight.register_hook(lambda gradient: 10 * gradient)

optimizer = DPOptimizer(sgd, noise_multiplier=0.0, max_grad_norm=1.0, expected_batch_size=1)
GradSampleModule(layers[0])(x).sum().backward()
optimizer.pre_step()
model = Ghost(layers[1], max_grad_norm=1.0)
Losses(model, ghost_sgd, model(x).sum(1), "mean").backward()
print("expected, what the sample adds: at most 1 C")
print(f"got, clipped rows:   {layers[0].weight.grad.norm():.2f} C")
print(f"got, ghost clipping: {layers[1].weight.grad.norm():.2f} C")

"""Train on clipped rows with parameters sharded by fully_shard; run it with torchrun."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial
from torch.nn.functional import cross_entropy


def clip_into_grad(model, x, y, max_norm, scale):  # x, y: this process's own
    layers = [m for m in model.modules() if isinstance(m, nn.Linear)]
    held = [p for m in layers for p in m.parameters() if p.requires_grad]
    if sorted(map(id, held)) != sorted(map(id, model.parameters())):
        raise TypeError("each parameter must be trained, and one nn.Linear's")
    kept = []  # layer, inputs, outputs

    def keep(m, inputs, z):
        kept.append((m, inputs[0].detach(), z))

    hooks = [m.register_forward_hook(keep) for m in layers]
    loss = cross_entropy(model(x), y, reduction="sum")
    for hook in hooks:
        hook.remove()
    if sorted(id(k[0]) for k in kept) != sorted(map(id, layers)):
        raise ValueError("each layer must be called once")
    cts = torch.autograd.grad(loss, [k[2] for k in kept])
    parts, squares = [], 0
    for ct, (m, h, _) in zip(cts, kept, strict=True):
        ct, h = (a[:, None] if a.dim() == 2 else a for a in (ct, h))
        inputs = h @ h.mT + (m.bias is not None)  # a bias has the input 1
        squares = squares + ((ct @ ct.mT) * inputs).sum((1, 2))
        parts.append((m, ct, h))  # rows: einsum("bto,bti->boi", ct, h)
    factors = scale * max_norm / squares.sqrt().clamp(min=max_norm)
    for m, ct, h in parts:
        ct = ct * factors[:, None, None]
        sums = {"weight": torch.einsum("bto,bti->oi", ct, h)}
        sums["bias"] = ct.sum((0, 1))
        for name, p in m.named_parameters():  # add up over processes
            terms = [Partial()] * p.device_mesh.ndim
            own = DTensor.from_local(sums[name], p.device_mesh, terms)
            p.grad = own.redistribute(placements=p.placements)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, n = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)  # the same weights and data in all processes
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
    x, y = torch.randn(64, 8), torch.randint(4, (64,))
    for module in (model[0], model[2], model):
        fully_shard(module, mesh=init_device_mesh("cpu", (n,)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for batch in torch.arange(64).split(16):
        own = batch[rank::n]  # its own samples
        clip_into_grad(model, x[own], y[own], max_norm=1.0, scale=1 / 16)
        optimizer.step()
    print(rank, [tuple(p.to_local().shape) for p in model.parameters()])
    dist.destroy_process_group()

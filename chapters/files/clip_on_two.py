import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial
from torch.nn.functional import cross_entropy

x = torch.tensor([[6.0, 8], [1, 2], [-3, 1], [8, -6]])
y = torch.tensor([1, 0, 1, 0])

def new_net():
    torch.manual_seed(6)                  # alike in both processes
    return torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(),
                               torch.nn.Linear(4, 2))

def mean_by_loop(net, C=1.0):
    total = 0
    for sample, label in zip(x, y):
        loss = cross_entropy(net(sample), label)
        row = torch.autograd.grad(loss, list(net.parameters()))
        norm = torch.cat([g.flatten() for g in row]).norm()
        total = total + (C / norm).clamp(max=1) * row[1]
    return total / len(x)

def inputs_and_errors(net, x, y):
    kept = {}

    def note(layer, inputs, output):
        kept[layer] = inputs[0].detach(), output

    hooks = [m.register_forward_hook(note) for m in net.modules()
             if isinstance(m, torch.nn.Linear)]
    loss = cross_entropy(net(x), y, reduction="sum")
    for hook in hooks:
        hook.remove()
    errors = torch.autograd.grad(loss, [out for _, out in kept.values()])
    return [(m, h, e) for (m, (h, _)), e in zip(kept.items(), errors)]

def clipped_sum(net, x, y, C=1.0):        # {parameter: sum over x}
    kept = inputs_and_errors(net, x, y)
    squares = sum(e.square().sum(1) * (h.square().sum(1) + 1)
                  for _, h, e in kept)
    factors = C / squares.sqrt().clamp(min=C)
    total = {}
    for layer, h, e in kept:
        e = factors[:, None] * e
        total[layer.weight], total[layer.bias] = e.T @ h, e.sum(0)
    return total

def add_up(total, B):                     # DDP
    for p, g in total.items():
        dist.all_reduce(g)
        p.grad = g / B

def add_up_divided(total, B):             # fully_shard
    for p, g in total.items():
        terms = [Partial()] * p.device_mesh.ndim      # on each mesh axis
        summed = DTensor.from_local(g / B, p.device_mesh, terms)
        p.grad = summed.redistribute(placements=p.placements)

def show(*words):
    for turn in (0, 1):
        if turn == dist.get_rank():
            print(*words, flush=True)
        dist.barrier()

if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, mesh = dist.get_rank(), init_device_mesh("cpu", (2,))
    own = slice(2 * rank, 2 * rank + 2)
    show("loop", rank, mean_by_loop(new_net()))
    ddp = torch.nn.parallel.DistributedDataParallel(new_net())
    add_up(clipped_sum(ddp.module, x[own], y[own]), B=4)
    show("DDP", rank, ddp.module[0].bias.grad)
    net = new_net()
    for module in (net[0], net[2], net):  # each layer, then the whole
        fully_shard(module, mesh=mesh)
    add_up_divided(clipped_sum(net, x[own], y[own]), B=4)
    show("fully_shard", rank, net[0].bias.grad.to_local())
    dist.destroy_process_group()

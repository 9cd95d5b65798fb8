"""What each process does with the rows of its own samples, in PyTorch: shown by the chapter.

`in_torch` runs these functions and compares them with one process. The [marks] tell the chapter
where a piece begins and ends.
"""

# [imports]
import torch
import torch.distributed as dist
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

import persample as ps

# [end]


# [vmap]
def own_rows(net, x, y):  # x, y: this process's own
    def loss(params, image, label):  # of one sample
        scores = functional_call(net, params, (image[None],))
        return cross_entropy(scores, label[None])

    trained = {k: p for k, p in net.named_parameters() if p.requires_grad}
    params = {k: p.detach() for k, p in trained.items()}
    return vmap(grad(loss), (None, 0, 0))(params, x, y)
    # [end]


# [step]
def step(net, optimizer, x, y, B, C=1.0):  # B: of all processes
    rows = own_rows(net, x, y)
    squares = sum(g.flatten(1).square().sum(1) for g in rows.values())
    factors = C / squares.sqrt().clamp(min=C)
    for name, g in rows.items():
        p = net.get_parameter(name)
        p.grad = torch.tensordot(factors, g, 1)
        dist.all_reduce(p.grad)  # adds up over processes
        p.grad /= B
    optimizer.step()
    # [end]


# [record]
def step_record(net, optimizer, x, y, B, C=1.0):
    trained = {k: p for k, p in net.named_parameters() if p.requires_grad}
    total = {k: torch.zeros_like(p) for k, p in trained.items()}
    if len(x):  # without samples: zeros
        with ps.record(net) as record:
            losses = cross_entropy(net(x), y, reduction="none")
            record.backward(losses)
        total.update(record.clipped_sum(C))
    flat = torch.cat([g.flatten() for g in total.values()])
    dist.all_reduce(flat)  # the one exchange
    flat /= B
    sizes = [g.numel() for g in total.values()]
    for p, g in zip(trained.values(), flat.split(sizes), strict=True):
        p.grad = g.view_as(p)
    optimizer.step()
    # [end]


# [mean]
def mean_of_all(rows):  # (0, ...) without samples
    total, count = rows.sum(0), rows.new_tensor(len(rows))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
    # [end]


# [private]
def private_step(rows, C, sigma, divisor, rng):
    step = ps.privacy.noisy_mean(  # rng: own for each process
        rows,
        C,
        rng=rng,
        divisor=divisor,
        noise_multiplier=sigma / dist.get_world_size() ** 0.5,
    )
    for g in step.values():
        dist.all_reduce(g)
    return step
    # [end]


# [two passes]
def fsdp_clipped_sum(model, x, y, C=1.0):
    squares = x.new_zeros(len(x))

    def keep(layer, inputs, output):  # nn.Linear with a bias
        h2 = inputs[0].detach().square().sum(1) + 1

        def add(ct):
            squares.add_(h2 * ct.square().sum(1))

        output.register_hook(add)

    hooks = [
        layer.register_forward_hook(keep)
        for layer in model
        if isinstance(layer, nn.Linear)
    ]
    cross_entropy(model(x), y, reduction="sum").backward()
    for hook in hooks:
        hook.remove()
    factors = C / squares.sqrt().clamp(min=C)
    model.zero_grad()
    losses = cross_entropy(model(x), y, reduction="none")
    (factors * losses).sum().backward()
    n = dist.get_world_size()  # fully_shard averages
    return {k: n * p.grad for k, p in model.named_parameters()}
    # [end]

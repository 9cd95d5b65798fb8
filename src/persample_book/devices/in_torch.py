"""Rows in several PyTorch processes; prints its findings as one line of JSON.

Run by `book.processes.in_torch`. What a process does with its rows is in `torch_steps`.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DistributedSampler

import persample as ps
from persample_book.devices import samples
from persample_book.devices.torch_steps import (
    fsdp_clipped_sum,
    mean_of_all,
    own_rows,
    private_step,
    step,
    step_record,
)

SECONDS = 60  # how long a process waits for the others


def network() -> nn.Sequential:
    """Return the chapter's network, in float64."""
    model = nn.Sequential(
        nn.Linear(samples.FEATURES, samples.HIDDEN),
        nn.Tanh(),
        nn.Linear(samples.HIDDEN, samples.CLASSES),
    )
    model.load_state_dict(
        {k: torch.tensor(p) for k, p in samples.network().items()}
    )
    return model


def share(size: int) -> tuple[slice, torch.Tensor, torch.Tensor]:
    """Return which of ``size`` samples this process has, as equally as it goes, and them."""
    ends = np.linspace(0, size, dist.get_world_size() + 1).astype(int)
    own = slice(ends[dist.get_rank()], ends[dist.get_rank() + 1])
    x, y = samples.batch(size)
    return own, torch.tensor(x[own]), torch.tensor(y[own])


def difference(found: dict, wanted: dict, own: slice = slice(None)) -> float:
    """Return the largest difference of two dicts of arrays, on any process."""
    worst = torch.tensor(0.0)
    for name, g in found.items():
        apart = (
            g.detach()
            - torch.tensor(wanted[name.removeprefix("module.")][own])
        ).abs()
        worst = torch.maximum(worst, apart.max())
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return worst.item()


def clipped_sum(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> dict:
    """Return what step_record leaves in .grad if it divides by 1 and moves nothing."""
    step_record(net, torch.optim.SGD(net.parameters(), lr=0.0), x, y, 1)
    return {k: p.grad for k, p in net.named_parameters()}


def errors_of_sums(x: torch.Tensor, y: torch.Tensor, wanted: dict) -> dict:
    """Return how far the clipped sum and both moments of all processes are from those wanted."""
    rows = own_rows(network(), x, y)
    mean = {k: mean_of_all(g) for k, g in rows.items()}
    second = {k: mean_of_all(g.square()) for k, g in rows.items()}
    return {
        "clipped sum": difference(
            clipped_sum(DDP(network()).module, x, y), wanted["clipped sum"]
        ),
        "mean": difference(mean, wanted["mean"]),
        "second moment": difference(second, wanted["second moment"]),
    }


def equal_to_one(size: int) -> dict:
    """Return the largest differences of rows, norms, sums and moments from one process."""
    own, x, y = share(size)
    wanted = samples.one_process(size)
    with ps.record(model := DDP(network())) as record:
        record.backward(cross_entropy(model(x), y, reduction="none"))
    norms = {"norms": record.squared_norms().sqrt()}
    return {
        "rows": difference(record.rows(), wanted["rows"], own),
        "rows by vmap": difference(
            own_rows(DDP(network()).module, x, y), wanted["rows"], own
        ),
        "norms": difference(norms, wanted, own),
        **errors_of_sums(x, y, wanted),
    }


def without_samples() -> dict:
    """Return the errors of sums and moments of 3 samples, where some processes have none."""
    _, x, y = share(3)
    return errors_of_sums(x, y, samples.one_process(3))


def through_ddp() -> dict:
    """Return what vmap says of DDP models with a buffer, or that look for unused parameters."""
    _, x, y = share(16)
    said = {}
    for name in ("buffer", "find_unused_parameters"):
        model = network()
        if name == "buffer":
            model.register_buffer("scale", torch.ones(1))
        model = DDP(model, find_unused_parameters=name != "buffer")
        try:
            own_rows(model, x, y)
            said[name] = ""
        except RuntimeError as error:
            said[name] = str(error)[:60]
        said[f"{name}, module"] = difference(
            own_rows(model.module, x, y),
            samples.one_process()["rows"],
            share(16)[0],
        )
    return said


def two_steps(size: int, one_step: Callable) -> float:
    """Return how far two steps end from those of one process, which takes rows one by one."""
    _, own_x, own_y = share(size)
    x, y = map(torch.tensor, samples.batch(size))
    many, one = DDP(network()), network()
    ways = [torch.optim.SGD(m.parameters(), lr=0.5) for m in (many, one)]
    for _ in range(2):
        one_step(many.module, ways[0], own_x, own_y, size)
        total = [torch.zeros_like(p) for p in one.parameters()]
        for i in range(size):
            loss = cross_entropy(one(x[i : i + 1]), y[i : i + 1])
            row = torch.autograd.grad(loss, list(one.parameters()))
            norm = sum(g.square().sum() for g in row).sqrt()
            total = [
                t + g / norm.clamp(min=1)
                for t, g in zip(total, row, strict=True)
            ]
        for p, g in zip(one.parameters(), total, strict=True):
            p.grad = g / size
        ways[1].step()
    wanted = {k: p.detach().numpy() for k, p in one.named_parameters()}
    return difference(dict(many.named_parameters()), wanted)


def reduced_by_ddp() -> dict:
    """Return the bytes that DDP's hooks send, for each way to the rows."""
    _, x, y = share(16)
    sent = [0]

    def count(state, bucket):
        sent[0] += bucket.buffer().nbytes
        return (
            dist.all_reduce(bucket.buffer(), async_op=True)
            .get_future()
            .then(lambda done: done.value()[0] / dist.get_world_size())
        )

    def record(model):
        with ps.record(model) as record:
            record.backward(cross_entropy(model(x), y, reduction="none"))

    found = {}
    ways = {
        "ddp, backward": lambda ddp: cross_entropy(ddp(x), y).backward(),
        "ddp, record": record,
        "ddp.module, vmap": lambda ddp: own_rows(ddp.module, x, y),
        "ddp.module, record": lambda ddp: record(ddp.module),
        # DDP still waits for the backward pass of its own forward pass.
        "after ddp(x)": lambda ddp: (ddp(x), record(ddp.module)),
    }
    for name, way in ways.items():
        ddp, sent[0] = DDP(network()), 0
        ddp.register_comm_hook(None, count)
        way(ddp)
        found[name] = sent[0]
    return found


def unequal_counts() -> dict:
    """Return mean-of-means and mean of the rows where the processes have 1, 2, 3 ... samples."""
    n, rank = dist.get_world_size(), dist.get_rank()
    values = torch.arange(float(n * (n + 1) // 2))  # the rows: one number each
    own = values[rank * (rank + 1) // 2 :][: rank + 1]
    mean = own.mean() / n
    dist.all_reduce(mean)
    return {
        "counts": list(range(1, n + 1)),
        "mean of means": mean.item(),
        "sum over count": mean_of_all(own).item(),
        "one process": values.mean().item(),
    }


def sampler(size: int = 10) -> list:
    """Return the samples that DistributedSampler gives each process for one epoch of ``size``."""
    n = dist.get_world_size()
    return [
        list(DistributedSampler(range(size), n, rank, shuffle=False))
        for rank in range(n)
    ]


def noise(size: int = 200_000, sigma: float = 2.0) -> dict:
    """Return the standard deviation of the noise on the sum, over sigma C, for four ways."""
    rank = dist.get_rank()
    fresh = lambda: {"a": torch.zeros(0, size)}  # noqa: E731  rows of no samples: noise alone
    rng = np.random.default_rng([5, rank])  # another on each process
    each = ps.privacy.noisy_mean(
        fresh(), 1.0, noise_multiplier=sigma, divisor=1, rng=rng
    )
    first = ps.privacy.noisy_mean(
        fresh(), 1.0, noise_multiplier=sigma * (rank == 0), divisor=1, rng=rng
    )
    alike = ps.privacy.noisy_mean(
        fresh(),
        1.0,
        noise_multiplier=sigma,
        divisor=1,
        rng=np.random.default_rng(5),
    )
    for made in (each, first, alike):
        dist.all_reduce(made["a"])
    split = private_step(fresh(), 1.0, sigma, 1, rng)
    found = {
        "each": each,
        "each, same seed": alike,
        "first": first,
        "split": split,
    }
    return {
        name: made["a"].std().item() / sigma for name, made in found.items()
    }


def divided_norms() -> dict:
    """Return the norms of 4 clipped rows of 8 numbers, each number on one of the processes.

    Clipped to norm 1, by the norm of the part that a process has, and by the whole norm.
    """
    n, rank = dist.get_world_size(), dist.get_rank()
    rows = torch.tensor(samples.clipped_rows(4).astype(float)) * 10
    part = rows.chunk(n, dim=1)[rank]
    squares = part.square().sum(1)
    local = part / squares.sqrt().clamp(min=1)[:, None]
    dist.all_reduce(squares)
    whole = part / squares.sqrt().clamp(min=1)[:, None]
    found = {}
    for name, g in (("local", local), ("whole", whole)):
        square = g.square().sum(1)
        dist.all_reduce(square)
        found[name] = square.sqrt().tolist()
    return found


def gathered() -> dict:
    """Return the bytes of rows on process 0: its own, and with those of all the others."""
    _, x, y = share(16)
    rows = own_rows(network(), x, y)
    own = sum(g.nbytes for g in rows.values())
    taken = 0
    for g in rows.values():
        parts = [torch.empty_like(g) for _ in range(dist.get_world_size())]
        dist.gather(g, parts if dist.get_rank() == 0 else None)
        taken += sum(part.nbytes for part in parts)
    return {"own": own, "gathered": taken}


def divided_network(mesh) -> nn.Sequential:
    """Return the network with fully_shard on each layer, then on all of it."""
    model = network()
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def with_fsdp() -> dict:
    """Return what vmap and record say of a fully sharded model, and the cures' errors."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    own, x, y = share(16)
    wanted = samples.one_process()
    said = {}
    ways = {
        "vmap": own_rows,
        "record": clipped_sum_of_any,
        "record after a forward pass": after_a_forward_pass,
    }
    for name, way in ways.items():
        model = divided_network(mesh)
        try:
            way(model, x, y)
            said[name] = ""
        except (AttributeError, TypeError) as error:
            said[name] = f"{type(error).__name__}: {error}"
    model = divided_network(mesh)
    cross_entropy(model(x), y).backward()  # the mean of the processes' means
    mean = np.concatenate([g.ravel() for g in wanted["mean"].values()])
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()
    whole = network()
    whole.load_state_dict(
        {k: p.full_tensor() for k, p in model.named_parameters()}
    )
    return {
        "said": said,
        "clip_grad_norm_": abs(norm.item() - np.linalg.norm(mean)),
        "own numbers": sum(p.to_local().numel() for p in model.parameters()),
        "rows of a whole copy": difference(
            own_rows(whole, x, y), wanted["rows"], own
        ),
        "two passes": difference(
            {
                k: g.full_tensor()
                for k, g in fsdp_clipped_sum(model, x, y).items()
            },
            wanted["clipped sum"],
        ),
    }


def clipped_sum_of_any(model, x, y):
    """Ask record for a clipped sum of this process's samples."""
    with ps.record(model) as record:
        record.backward(cross_entropy(model(x), y, reduction="none"))
    return record.clipped_sum(1.0)


def after_a_forward_pass(model, x, y):
    """Ask record for a clipped sum where all parameters are still fetched."""
    with torch.no_grad():
        model(x)
    model[0].unshard()
    model[2].unshard()
    return clipped_sum_of_any(model, x, y)


def work(rank: int, processes: int, meeting: str) -> None:
    """Do one process's part; process 0 prints."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{meeting}",
        rank=rank,
        world_size=processes,
        timeout=timedelta(seconds=SECONDS),
    )
    found = {
        "version": torch.__version__.partition("+")[0],
        "even": equal_to_one(16),
        "uneven": equal_to_one(15),
        "empty": without_samples(),
        "steps": {
            f"{name}, {n}": two_steps(n, way)
            for name, way in (("vmap", step), ("record", step_record))
            for n in (16, 15, 3)
        },
        "through ddp": through_ddp(),
        "sent": reduced_by_ddp(),
        "unequal": unequal_counts(),
        "sampler": sampler(),
        "noise": noise(),
        "norms": divided_norms(),
        "gathered": gathered(),
        "fsdp": with_fsdp(),
    }
    if rank == 0:
        print(json.dumps(found), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    processes = int(sys.argv[1])
    # The server loads PyTorch once, and each process starts as its copy.
    get_context("forkserver").set_forkserver_preload(
        ["torch.distributed.fsdp", "persample"]
    )
    with tempfile.TemporaryDirectory() as folder:
        meeting = str(
            Path(folder) / "meeting"
        )  # a file, so that no port is needed
        mp.start_processes(
            work,
            (processes, meeting),
            nprocs=processes,
            start_method="forkserver",
        )


if __name__ == "__main__":
    main()

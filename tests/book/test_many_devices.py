"""Rows on several devices: the programs of chapter 13 on larger networks, and the package."""

import importlib.util
import re

import nbformat
import pytest

from support import ROOT
from support.processes import python

CHAPTER = ROOT / "chapters/13_many_devices.ipynb"
PROGRAM = ROOT / "chapters/files/clip_on_two.py"


def test_the_file_is_what_the_cells_write():
    cells = [c.source for c in nbformat.read(CHAPTER, as_version=4).cells]
    written = [re.match(r"%%writefile (-a )?clip_on_two.py\n", source) for source in cells]
    parts = [s[m.end() :] + "\n" for s, m in zip(cells, written, strict=True) if m]
    assert "".join(parts) == PROGRAM.read_text("utf-8")
    assert [bool(m[1]) for m in written if m] == [False] + [True] * (len(parts) - 1)


@pytest.fixture(scope="module")
def clip_on_two():
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("clip_on_two", PROGRAM)
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return module


# A deeper network, its clipped sum by a loop, and the programs beside it.
DEEP = """
import torch
from torch import nn
from torch.nn.functional import cross_entropy

torch.manual_seed(0)
X, Y = torch.linspace(0.2, 3, 6)[:, None] * torch.randn(6, 5), torch.randint(3, (6,))

def deep():
    torch.manual_seed(1)
    sizes = [nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3)]
    return nn.Sequential(*sizes)

def by_loop(net, x, y, C=1.0):
    total, clipped = [torch.zeros_like(p) for p in net.parameters()], 0
    for a, b in zip(x, y):
        row = torch.autograd.grad(cross_entropy(net(a), b), list(net.parameters()))
        norm = torch.cat([g.flatten() for g in row]).norm()
        clipped += int(norm > C)
        for t, g in zip(total, row):
            t += g * min(1.0, C / norm.item())
    return total, clipped
"""


def test_the_clipped_sum_is_that_of_a_loop_for_every_parameter(clip_on_two):
    torch = pytest.importorskip("torch")
    exec(DEEP, names := {})
    net, x, y = names["deep"](), names["X"], names["Y"]
    wanted, clipped = names["by_loop"](net, x, y)
    assert 0 < clipped < len(x)
    found = clip_on_two.clipped_sum(net, x, y)
    for p, g in zip(net.parameters(), wanted, strict=True):
        torch.testing.assert_close(found[p], g)
    nothing = clip_on_two.clipped_sum(net, x[:0], y[:0])
    assert all(nothing[p].shape == p.shape and not nothing[p].any() for p in net.parameters())


TWO = (
    DEEP
    + """
import sys
import torch.distributed as dist
import persample as ps
sys.path.insert(0, sys.argv[1])
from clip_on_two import add_up, add_up_divided, clipped_sum, fully_shard, init_device_mesh

def recorded(net, x, y):
    with ps.record(net) as record:
        record.backward(cross_entropy(net(x), y, reduction="none"))
    return record.clipped_sum(1.0)

dist.init_process_group("gloo")
rank, mesh = dist.get_rank(), init_device_mesh("cpu", (2,))
wanted, _ = by_loop(deep(), X, Y)
for division in ([slice(0, 2), slice(2, 6)], [slice(0, 6), slice(0, 0)]):
    own = division[rank]
    ddp = nn.parallel.DistributedDataParallel(deep())
    net = ddp.module
    add_up(clipped_sum(net, X[own], Y[own]), B=6)
    for p, g in zip(net.parameters(), wanted):
        torch.testing.assert_close(p.grad, g / 6)
    mine, _ = by_loop(deep(), X[own], Y[own])
    if own != slice(0, 0):
        for (name, total), g in zip(recorded(net, X[own], Y[own]).items(), mine):
            torch.testing.assert_close(total, g)
    net = deep()
    for module in (net[0], net[2], net[4], net):
        fully_shard(module, mesh=mesh)
    add_up_divided(clipped_sum(net, X[own], Y[own]), B=6)
    assert sum(p.grad.to_local().numel() for p in net.parameters()) < 8 * 5 + 8 + 8 * 6 + 6 + 21
    for p, g in zip(net.parameters(), wanted):
        torch.testing.assert_close(p.grad.full_tensor(), g / 6)
try:
    recorded(net, X, Y)
except TypeError as error:
    print(error, flush=True)
dist.destroy_process_group()
"""
)


@pytest.mark.slow
def test_two_processes_clip_as_one_and_a_divided_model_is_refused(tmp_path):
    """Include batches that are divided unevenly, or leave one process without samples."""
    pytest.importorskip("torch")
    (tmp_path / "two.py").write_text(TWO)
    two = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = python(*two, tmp_path / "two.py", PROGRAM.parent, env={"OMP_NUM_THREADS": "1"})
    assert done.stdout.count("record: the parameter 0.weight is a DTensor") == 2


JAX = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
import persample as ps

def loss(p, x, y):
    return 0.5 * (jnp.tanh(p["w"] @ x) @ p["v"] - y) ** 2

rng = np.random.default_rng(0)
p = {"w": rng.normal(size=(3, 2)), "v": rng.normal(size=3)}
p = jax.tree.map(jnp.asarray, p)
x, y = jnp.asarray(rng.normal(size=(8, 2))), jnp.asarray(rng.normal(size=8))
rows_of = jax.vmap(jax.grad(loss), (None, 0, 0))
rows = rows_of(p, x, y)

def same(found, wanted=rows):
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in pairs)

# The package on meshes of both types: right, and divided.
for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((4,), ("d",), axis_types=(kind,))
    over = lambda spec: NamedSharding(mesh, spec)
    given = jax.device_put(p, over(P())), *jax.device_put((x, y), over(P("d")))
    found = ps.per_sample_grad(loss, jit=True)(*given)
    assert same(found), kind
    assert {a.sharding.shard_shape(a.shape)[0] for a in found.values()} == {2}, kind
    here = given[0], *jax.device_put((x, y), over(P()))  # chunks are of a batch that is whole
    assert same(ps.per_sample_grad(loss, jit=True, chunk_size=3)(*here)), kind
    total = ps.statistics.clipped_sum(found, 0.5)
    assert same(total, ps.statistics.clipped_sum(rows, 0.5)), kind
try:
    jax.jit(lambda f, g: f @ g)(given[2], given[1])
except Exception as error:
    print(type(error).__name__)

# What shard_map does with the package, and what prevents it.
mesh = Mesh(jax.devices(), "d")
def mapped(f, **more):
    specs = {"in_specs": (P(), P("d"), P("d")), "out_specs": P("d")}
    return jax.jit(jax.shard_map(f, mesh=mesh, **specs, **more))(p, x, y)

def cured(f):
    return lambda p, *given: f(jax.lax.pcast(p, "d", to="varying"), *given)

package = ps.per_sample_grad(loss)
print(same(mapped(package)), same(mapped(cured(package))))
assert same(mapped(cured(ps.per_sample_grad(loss, jit=True, chunk_size=1))))

two = Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
for axes in ("a", ("a", "b")):             # pcast names one axis, or both
    f = lambda p, *given: rows_of(jax.lax.pcast(p, axes, to="varying"), *given)
    specs = {"in_specs": (P(), P(("a", "b")), P(("a", "b"))), "out_specs": P(("a", "b"))}
    print(axes, same(jax.jit(jax.shard_map(f, mesh=two, **specs))(p, x, y)))
"""


def test_four_devices_of_jax():
    if not hasattr(pytest.importorskip("jax").lax, "pcast"):
        pytest.skip("this JAX has no jax.lax.pcast")
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    said = ["ShardingTypeError", "False True", "a False", "('a', 'b') True"]
    assert python("-c", JAX, env=devices).stdout.splitlines() == said

"""What chapter 11 says of JAX and does not run: meshes of both types, chunks, limits of the cures.

The program runs in a process of its own, since a process has as many devices as it began with.
"""

import json
import subprocess
import sys

import pytest

from persample_book import processes
from persample_book.devices.collectives import collectives

jax = pytest.importorskip("jax")
if not hasattr(jax.lax, "pcast"):
    pytest.skip("this JAX has no jax.lax.pcast", allow_module_level=True)

PROGRAM = """
import json
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
import persample as ps
from persample_book.devices import samples
from persample_book.devices.in_jax import largest_difference, network_loss, rows_of

p, wanted = samples.network(), samples.one_process()
line = Mesh(jax.devices(), "d")
halves = {"mesh": line, "in_specs": (P(), P("d"), P("d")), "out_specs": P("d")}
answer = {}

def put(kind):
    mesh = jax.make_mesh((4,), ("d",), axis_types=(kind,))
    over = lambda spec: NamedSharding(mesh, spec)
    return jax.device_put(p, over(P())), *jax.device_put(samples.batch(), over(P("d")))

def said(call, *given):
    try:
        call(*given)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""

# The package on meshes of both types.
for kind in (AxisType.Auto, AxisType.Explicit):
    given = put(kind)
    losses, rows = ps.per_sample_value_and_grad(network_loss, jit=True)(*given)
    total = ps.statistics.clipped_sum(rows, 1.0)
    parts = {a.sharding.shard_shape(a.shape)[0] for a in [losses, *jax.tree.leaves(rows)]}
    answer[kind.name] = {
        "parts": sorted(parts),
        "rows": largest_difference(rows, wanted["rows"]),
        "norms": largest_difference(ps.statistics.norms(rows), wanted["norms"]),
        "clipped sum": largest_difference(total, wanted["clipped sum"]),
        "product": said(jax.jit(lambda f, g: f @ g), given[2].astype(float), given[1]),
        "sum": said(jax.jit(lambda f, g: (f[:, None] * g).sum(0)), *given[:0:-1]),
    }

# Chunks: gathered, unless they are taken within shard_map; which is trapped without a cure.
in_chunks = ps.per_sample_grad(network_loss, chunk_size=6, jit=True)
explicit, given = said(in_chunks, *put(AxisType.Explicit)), put(AxisType.Auto)
rows = in_chunks(*given)
within = ps.per_sample_grad(network_loss, chunk_size=3)
within = jax.jit(jax.shard_map(within, check_vma=False, **halves))
trapped = jax.jit(jax.shard_map(ps.per_sample_grad(network_loss), **halves))
answer["chunks"] = {
    "explicit": explicit,
    "gathered": [a.sharding.is_fully_replicated for a in jax.tree.leaves(rows)],
    "rows": largest_difference(rows, wanted["rows"]),
    "within": largest_difference(within(*given), wanted["rows"]),
    "trapped": largest_difference(trapped(*given), wanted["rows"]),
}

rng = np.random.default_rng(0)
t, x, y = rng.normal(size=4), rng.normal(size=(8, 4)), rng.normal(size=8)
one = np.asarray(rows_of(t, x, y))
vmapped = lambda loss: jax.vmap(jax.grad(loss), (None, 0, 0))

def cast(rows, axis):
    return lambda t, x, y: rows(jax.lax.pcast(t, axis, to="varying"), x, y)

# A loss with a psum over a second axis.
grid = {"mesh": Mesh(np.array(jax.devices()).reshape(2, 2), ("d", "m")),
        "in_specs": (P("m"), P("d", "m"), P("d")), "out_specs": P("d", "m")}
rows = vmapped(lambda t, x, y: 0.5 * (jax.lax.psum(x @ t, "m") - y) ** 2)
long = jax.jit(jax.shard_map(rows, check_vma=False, **grid))(t, x, y)
right = jax.jit(jax.shard_map(cast(rows, "d"), **grid))(t, x, y)
answer["psum"] = [largest_difference(long, 2 * one), largest_difference(right, one)]

# A scan whose carry starts from zeros.
add = lambda c, a: (c + a[0] * a[1], None)
total = lambda t, x: jax.lax.scan(add, jnp.zeros(()), (x, t))[0]
rows = vmapped(lambda t, x, y: 0.5 * (total(t, x) - y) ** 2)
answer["scan"] = said(jax.shard_map(cast(rows, "d"), **halves), t, x, y)
free = jax.shard_map(rows, check_vma=False, **halves)(t, x, y)
answer["scan without vma"] = largest_difference(free, one)

# An FFT gathers the batch under jit, and nothing within shard_map.
given = t, *jax.device_put((x, y), NamedSharding(line, P("d")))
rows = vmapped(lambda t, x, y: (jnp.abs(jnp.fft.fft(x * t)) ** 2).sum())
ways = rows, jax.shard_map(cast(rows, "d"), **halves)
answer["fft"] = ["all-gather(" in jax.jit(f).lower(*given).compile().as_text() for f in ways]
print(json.dumps(answer))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("devices") / "program.py"
    path.write_text(PROGRAM)
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    return processes.run(path, variables=flags)


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
def test_the_package_keeps_the_division_on_meshes_of_both_types(found, kind):
    was = found[kind]
    assert was["parts"] == [4]  # each device has 4 of the 16 samples
    assert max(was["rows"], was["norms"], was["clipped sum"]) < 1e-9
    assert was["product"].startswith("ShardingTypeError" if kind == "Explicit" else "")
    assert bool(was["product"]) == (kind == "Explicit")
    assert was["sum"] == ""


def test_chunks_gather_a_divided_batch_and_keep_it_divided_within_shard_map(found):
    # JAX's own: a chunk is a run of samples of two devices.
    assert found["chunks"]["explicit"].startswith("ShardingTypeError")
    assert all(found["chunks"]["gathered"])
    assert max(found["chunks"]["rows"], found["chunks"]["within"]) < 1e-9
    assert found["chunks"]["trapped"] > 0.1  # the page says so: JAX differentiates there as well


def test_the_limits_of_the_cures_that_the_page_names(found):
    assert max(found["psum"]) < 1e-12
    assert found["scan"].startswith("TypeError")
    assert "carry" in found["scan"]
    assert found["scan without vma"] < 1e-12
    assert found["fft"] == [True, False]


def test_the_program_to_copy_is_wrong_once_and_right_twice():
    said = subprocess.run(
        [sys.executable, processes.DEVICES / "trap_alone.py"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    wrong, mended, by_jit = map(json.loads, said.splitlines())
    assert wrong == [[3, 2], [7, -2], [3, 2], [7, -2]]
    assert mended == by_jit == [[1, 3], [4, 1], [2, -1], [3, -3]]


def test_collectives_are_read_from_a_program():
    text = """
    %a = f64[2]{0} all-reduce(%x), channel_id=1
    %s = (f32[4,2]{1,0}, f32[8,2]{1,0}) all-gather-start(%y), channel_id=2
    %d = f32[8,2]{1,0} all-gather-done(%s)
    %e = f64[] add(%all-reduce.1, %c), metadata={op_name="all-reduce("}
    """
    assert collectives(text) == [("all-reduce", 16), ("all-gather", 96)]

"""Rows on 2, 4 and 8 simulated devices in JAX: equal to one device, and where they should be.

The programs run in a process of their own, since a process has as many devices as it began with.
"""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from persample_book import processes
from persample_book.devices import samples
from persample_book.devices.collectives import collectives

jax = pytest.importorskip("jax")
if not hasattr(jax.lax, "pcast"):
    pytest.skip("this JAX has no jax.lax.pcast", allow_module_level=True)


@pytest.fixture(scope="module")
def found():
    return processes.in_jax(devices=8)


def program(tmp_path, body):
    """Run lines with eight devices; ``answer`` is what they return."""
    path = tmp_path / "program.py"
    path.write_text(HEAD + textwrap.dedent(body) + "\nprint(json.dumps(answer))\n")
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    return processes.run(path, variables=flags)


HEAD = """
import json
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
import persample as ps
from persample_book.devices import samples
from persample_book.devices.in_jax import largest_difference, network_loss, rows_of

p, wanted = samples.network(), samples.one_process()
x, y = samples.batch()

def put(kind, n):
    mesh = jax.make_mesh((n,), ("d",), devices=jax.devices()[:n], axis_types=(kind,))
    over = lambda spec: NamedSharding(mesh, spec)
    return jax.device_put(p, over(P())), *jax.device_put((x, y), over(P("d")))
"""


def by_hand(rows):
    """The rows of n devices by NumPy: place k has the sum of place k of every device."""
    return {n: np.tile(rows.reshape(n, 8 // n, 2).sum(0), (n, 1)) for n in (2, 4, 8)}


def test_shard_map_adds_up_the_rows_of_all_devices_and_the_cures_do_not(found):
    rows = found["shard_map"]
    np.testing.assert_allclose(rows["one"], samples.ROWS, atol=1e-12)
    for n, wanted in by_hand(samples.ROWS).items():
        np.testing.assert_allclose(rows["trapped"][str(n)], wanted, atol=1e-12)
        assert np.abs(wanted - samples.ROWS).max() > 1
    assert rows["cured"] < 1e-12


def test_the_check_of_two_rows_tells_wrong_rows_from_right_ones(found):
    assert found["shard_map"]["said"] == {
        "one device": ["right"],
        "trapped": ["row 0 is wrong"],  # on 2, 4 and 8 devices
        "cured": ["right"],
        "jit": ["right"],
    }


def test_the_program_to_copy_is_wrong_once_and_right_twice():
    said = subprocess.run(
        [sys.executable, processes.DEVICES / "trap_alone.py"],
        capture_output=True, text=True, check=True, timeout=120,
    ).stdout  # fmt: skip
    wrong, mended, by_jit = map(json.loads, said.splitlines())
    rows = [[1, 3], [4, 1], [2, -1], [3, -3]]
    assert wrong == [[3, 2], [7, -2], [3, 2], [7, -2]]
    assert mended == by_jit == rows


def test_rows_norms_sums_and_moments_are_those_of_one_process(found):
    assert set(found["network"]) == {"2", "4", "8"}
    assert max(found["network"].values()) < 1e-9


def test_the_steps_of_the_page_take_a_dict_of_parameters(found):
    assert found["dict"]["said"] == {
        "trapped": ["row 0 is wrong"],  # on 2, 4 and 8 devices
        "cured": ["right"],
        "jit": ["right"],
    }
    assert found["dict"]["worst"] < 1e-9  # rows, and clipped sums of 16 and 15 samples
    for ops in found["dict"]["sent"].values():
        assert {kind for kind, _ in ops} == {"all-reduce"}
        assert sum(size for _, size in ops) == 8 * samples.NUMBERS


def test_an_uneven_batch_is_refused_and_padded(found):
    assert "dimension size is 7" in found["uneven"]["said"]
    assert found["uneven"]["padded"] < 1e-12


def test_one_all_reduce_carries_a_clipped_sum_and_rows_send_nothing(found):
    size = 8 * samples.NUMBERS
    for n in ("2", "8"):
        sent = {name: [tuple(op) for op in ops[n]] for name, ops in found["sent"].items()}
        assert sent["rows"] == sent["norms"] == []
        assert sent["clipped sum"] == sent["second moment"] == [("all-reduce", size)]
        assert {kind for kind, _ in sent["rows, on all devices"]} == {"all-gather"}
        assert sum(bytes for _, bytes in sent["rows, on all devices"]) == 16 * size
    for n, was in found["jit"].items():
        assert " = f64[2]{0} all-reduce(" in was.pop("line")
        assert was == {
            "samples": [8 // int(n)] * int(n),
            "bytes": 8 * 2 * 8 // int(n),
            "sent": [["all-reduce", 16]],
        }


def test_float32_sums_are_within_the_bound(found):
    rows = samples.clipped_rows().astype(float)
    for n, error in found["float32"].items():
        k = 4096 / int(n) - 1 + int(n) - 1
        assert error <= k * 2.0**-24 * np.abs(rows).sum(0).max()
    assert max(found["float32"].values()) > 0


def test_the_package_keeps_the_division_on_meshes_of_both_types(tmp_path):
    worst, specs = program(
        tmp_path,
        """
        worst, specs = 0.0, set()
        for kind in (AxisType.Auto, AxisType.Explicit):
            for n in (2, 8):
                given = put(kind, n)
                rows = ps.per_sample_grad(network_loss, jit=True)(*given)
                both = ps.per_sample_value_and_grad(network_loss, jit=True)
                losses, again = both(*given)
                worst = max(worst, largest_difference(rows, wanted["rows"]))
                worst = max(worst, largest_difference(again, wanted["rows"]))
                specs |= {a.sharding.shard_shape(a.shape)[0] * n for a in jax.tree.leaves(rows)}
                specs.add(losses.sharding.shard_shape(losses.shape)[0] * n)
                worst = max(worst, largest_difference(ps.statistics.norms(rows), wanted["norms"]))
                total = ps.statistics.clipped_sum(rows, 1.0)
                worst = max(worst, largest_difference(total, wanted["clipped sum"]))
        answer = [worst, sorted(specs)]
        """,
    )
    assert worst < 1e-9
    assert specs == [16]  # each device has 16 / n of the 16 samples


def test_chunks_gather_a_divided_batch_and_keep_it_divided_within_shard_map(tmp_path):
    said, gathered, places, within, trapped = program(
        tmp_path,
        """
        try:
            ps.per_sample_grad(network_loss, chunk_size=6)(*put(AxisType.Explicit, 4))
            said = ""
        except Exception as error:
            said = type(error).__name__
        given = put(AxisType.Auto, 4)
        rows = ps.per_sample_grad(network_loss, chunk_size=6)(*given)
        places = {a.sharding.is_fully_replicated for a in jax.tree.leaves(rows)}
        gathered = largest_difference(rows, wanted["rows"])
        mesh = Mesh(jax.devices()[:4], "d")
        where = {"in_specs": (P(), P("d"), P("d")), "out_specs": P("d"), "mesh": mesh}
        in_chunks = ps.per_sample_grad(network_loss, chunk_size=3)
        within = jax.shard_map(in_chunks, check_vma=False, **where)(*given)
        trapped = jax.shard_map(ps.per_sample_grad(network_loss), **where)(*given)
        answer = [said, gathered, [*places], largest_difference(within, wanted["rows"]),
                  largest_difference(trapped, wanted["rows"])]
        """,
    )
    assert said == "ShardingTypeError"  # JAX's own: a chunk is a run of samples of two devices
    assert gathered < 1e-9
    assert places == [True]
    assert within < 1e-9
    assert trapped > 0.1  # the page says so: JAX differentiates there as well


def test_a_product_over_divided_samples_is_refused_on_explicit_meshes_only(tmp_path):
    said = program(
        tmp_path,
        """
        said = []
        for kind in (AxisType.Auto, AxisType.Explicit):
            _, x, y = put(kind, 4)
            for sum_of in (lambda f, g: f @ g, lambda f, g: (f[:, None] * g).sum(0)):
                try:
                    jax.jit(sum_of)(y.astype(float), x)
                    said.append("")
                except Exception as error:
                    said.append(type(error).__name__)
        answer = said
        """,
    )
    assert said == ["", "", "ShardingTypeError", ""]


def test_the_limits_of_the_cures_that_the_page_names(tmp_path):
    found = program(
        tmp_path,
        """
        rng = np.random.default_rng(0)
        t, x, y = rng.normal(size=4), rng.normal(size=(8, 4)), rng.normal(size=8)
        one = np.asarray(rows_of(t, x, y))
        vmapped = lambda loss: jax.vmap(jax.grad(loss), (None, 0, 0))

        def cast(rows, axis):
            return lambda t, x, y: rows(jax.lax.pcast(t, axis, to="varying"), x, y)

        # A loss with a psum over a second axis.
        grid = Mesh(np.array(jax.devices()).reshape(4, 2), ("d", "m"))
        places = {"mesh": grid, "in_specs": (P("m"), P("d", "m"), P("d")),
                  "out_specs": P("d", "m")}
        rows = vmapped(lambda t, x, y: 0.5 * (jax.lax.psum(x @ t, "m") - y) ** 2)
        long = jax.jit(jax.shard_map(rows, check_vma=False, **places))(t, x, y)
        right = jax.jit(jax.shard_map(cast(rows, "d"), **places))(t, x, y)
        answer = {"psum": [largest_difference(long, 2 * one), largest_difference(right, one)]}

        # A scan whose carry starts from zeros.
        line = Mesh(jax.devices()[:4], "d")
        places = {"mesh": line, "in_specs": (P(), P("d"), P("d")), "out_specs": P("d")}
        add = lambda c, a: (c + a[0] * a[1], None)
        total = lambda t, x: jax.lax.scan(add, jnp.zeros(()), (x, t))[0]
        rows = vmapped(lambda t, x, y: 0.5 * (total(t, x) - y) ** 2)
        try:
            jax.shard_map(cast(rows, "d"), **places)(t, x, y)
        except TypeError as error:
            answer["scan"] = str(error)
        free = jax.shard_map(rows, check_vma=False, **places)(t, x, y)
        answer["scan without vma"] = largest_difference(free, one)

        # An FFT gathers the batch under jit, and nothing within shard_map.
        x, y = jax.device_put((x, y), NamedSharding(line, P("d")))
        rows = vmapped(lambda t, x, y: (jnp.abs(jnp.fft.fft(x * t)) ** 2).sum())
        text = lambda f: jax.jit(f).lower(t, x, y).compile().as_text()
        within = jax.shard_map(cast(rows, "d"), **places)
        answer["fft"] = ["all-gather(" in text(rows), "all-gather(" in text(within)]

        # theta on one device; an embedding on a mesh of the type Explicit.
        try:
            jax.jit(rows_of)(jax.device_put(t, jax.devices()[0]), x, y)
        except ValueError as error:
            answer["theta"] = str(error)
        new = jax.make_mesh((4,), ("d",), devices=jax.devices()[:4])
        table = jax.device_put(rng.normal(size=(5, 4)), NamedSharding(new, P()))
        words = jax.device_put(np.arange(8) % 5, NamedSharding(new, P("d")))
        lookup = jax.vmap(jax.grad(lambda table, k: (table[k] ** 2).sum()), (None, 0))
        try:
            jax.jit(lookup)(table, words)
        except Exception as error:
            answer["embedding"] = type(error).__name__
        """,
    )
    assert max(found["psum"]) < 1e-12
    assert "carry" in found["scan"]
    assert found["scan without vma"] < 1e-12
    assert found["fft"] == [True, False]
    assert "incompatible devices" in found["theta"]
    assert found["embedding"] == "ShardingTypeError"


def test_collectives_are_read_from_a_program():
    text = """
    %a = f64[2]{0} all-reduce(%x), channel_id=1
    %s = (f32[4,2]{1,0}, f32[8,2]{1,0}) all-gather-start(%y), channel_id=2
    %d = f32[8,2]{1,0} all-gather-done(%s)
    %e = f64[] add(%all-reduce.1, %c), metadata={op_name="all-reduce("}
    """
    assert collectives(text) == [("all-reduce", 16), ("all-gather", 96)]

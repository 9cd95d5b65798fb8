"""Rows on 1, 2, 4 and 8 devices in JAX; prints its findings as one line of JSON.

Run by `book.processes.in_jax`, which simulates the devices. What is run is in `jax_steps`.
"""

import json
from functools import partial
from importlib import util

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import persample as ps
from persample_book.devices import jax_steps, samples
from persample_book.devices.collectives import collectives
from persample_book.devices.jax_steps import (
    check,
    clipped_sum_jax,
    padded,
    placed,
    rows_of,
    trapped,
    unchecked,
    varying,
)

COUNTS = 2, 4, 8


def mesh_of(n):
    """Return n devices in a line."""
    return Mesh(jax.devices()[:n], "devices")


def put(mesh, *arrays, spec="devices"):
    """Return arrays whose axis 0 is divided among the devices of a mesh."""
    return jax.device_put(arrays, NamedSharding(mesh, P(spec)))


def largest_difference(found, wanted):
    """Return the largest difference of two trees of arrays."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    return max(
        float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in pairs
    )


def checked(rows, given=(samples.THETA, samples.X, samples.Y), check=check):
    """Return what the chapter's check says of rows."""
    try:
        check(rows, *given)
    except AssertionError as error:
        return str(error)
    return "right"


def shard_map_and_cures():
    """Return the eight rows of one device, of shard_map on n devices, and the cures' errors.

    Beside them: what the check says of one device, of shard_map, of the cures and of jit.
    """
    given = samples.THETA, samples.X, samples.Y
    one = np.asarray(rows_of(*given))
    found, worst = {}, 0.0
    said = {"one device": {checked(one)}, "trapped": set(), "cured": set()}
    said["jit"] = {checked(placed(*given, n)) for n in COUNTS}
    for n in COUNTS:
        mesh = mesh_of(n)
        wrong = jax.jit(trapped(mesh))(*given)
        found[n] = np.asarray(wrong).tolist()
        said["trapped"].add(checked(wrong))
        for cure in (unchecked(mesh), varying(mesh)):
            rows = jax.jit(cure)(*given)
            worst = max(worst, largest_difference(rows, one))
            said["cured"].add(checked(rows))
    return {
        "one": one.tolist(),
        "trapped": found,
        "cured": worst,
        "said": {way: sorted(texts) for way, texts in said.items()},
    }


def with_jit():
    """Return where the rows of jit(vmap(grad)) lie, and what the clipped sum sends."""
    one = np.asarray(rows_of(samples.THETA, samples.X, samples.Y))
    factors = 1 / np.maximum(np.linalg.norm(one, axis=1), 1)
    found = {}
    for n in COUNTS:
        x, y = put(mesh_of(n), samples.X, samples.Y)
        weight = jnp.ones(8)
        rows = placed(samples.THETA, samples.X, samples.Y, n)
        places = [shard.index[0] for shard in rows.addressable_shards]
        assert all(
            s.data.nbytes == rows.nbytes // n for s in rows.addressable_shards
        )
        assert largest_difference(rows, one) < 1e-12
        total = clipped_sum_jax(samples.THETA, x, y, weight)
        assert largest_difference(total, factors @ one) < 1e-12
        text = (
            clipped_sum_jax.lower(samples.THETA, x, y, weight)
            .compile()
            .as_text()
        )
        found[n] = {
            "samples": [len(range(8)[place]) for place in places],
            "bytes": rows.addressable_shards[0].data.nbytes,
            "sent": collectives(text),
            "line": next(
                line for line in text.splitlines() if "all-reduce(" in line
            ),
        }
    return found


def uneven():
    """Return what JAX says of 7 samples on 4 devices, and the errors of the padded batch."""
    x, y = samples.X[:7], samples.Y[:7]
    try:
        put(mesh_of(4), x)
        said = ""
    except ValueError as error:
        said = str(error)
    wanted = clipped_sum_jax(samples.THETA, x, y, np.ones(7))
    worst = 0.0
    for n in COUNTS:
        weight = np.arange(8) < 7
        given = put(mesh_of(n), padded(x, 8), padded(y, 8), weight)
        worst = max(
            worst,
            largest_difference(clipped_sum_jax(samples.THETA, *given), wanted),
        )
    return {"said": said, "padded": worst}


def network_loss(p, x, y):
    """The loss of one sample: cross-entropy after one hidden layer."""
    scores = (
        p["2.weight"] @ jnp.tanh(p["0.weight"] @ x + p["0.bias"]) + p["2.bias"]
    )
    return jax.nn.logsumexp(scores) - scores[y]


def answers(p, x, y):
    """Return what rows are for, by the package."""
    rows = ps.per_sample_grad(network_loss)(p, x, y)
    return {
        "rows": rows,
        "norms": ps.statistics.norms(rows),
        "clipped sum": ps.statistics.clipped_sum(rows, 1.0),
        "mean": ps.statistics.mean(rows),
        "second moment": jax.tree.map(lambda g: (g**2).mean(0), rows),
    }


def one_answer(name, *given):
    """Return one of the answers."""
    return answers(*given)[name]


def network():
    """Return the largest difference from one process for each number of devices."""
    p, wanted = samples.network(), samples.one_process()
    every = jax.jit(answers)
    worst = {}
    for n in COUNTS:
        mesh = mesh_of(n)
        found = every(
            jax.device_put(p, NamedSharding(mesh, P())),
            *put(mesh, *samples.batch()),
        )
        assert all(
            g.sharding.spec[0] == "devices"
            for g in jax.tree.leaves(found["rows"])
        )
        worst[n] = largest_difference(found, wanted)
    return worst


def bytes_sent():
    """Return what each answer sends between n devices: name -> n -> collective operations."""
    sent = {}
    for n in (COUNTS[0], COUNTS[-1]):
        mesh = mesh_of(n)
        whole = NamedSharding(mesh, P())
        given = (
            jax.device_put(samples.network(), whole),
            *put(mesh, *samples.batch()),
        )
        ask = {
            name: {}
            for name in ("rows", "norms", "clipped sum", "second moment")
        }
        ask["rows, on all devices"] = {"out_shardings": whole}
        for name, options in ask.items():
            part = partial(one_answer, name.partition(",")[0])
            text = jax.jit(part, **options).lower(*given).compile().as_text()
            sent.setdefault(name, {})[n] = collectives(text)
    return sent


def steps_with(loss):
    """Return a copy of the chapter's steps with another loss, as a reader puts it in."""
    spec = util.spec_from_file_location("another_loss", jax_steps.__file__)
    steps = util.module_from_spec(spec)
    spec.loader.exec_module(steps)
    steps.loss = loss
    steps.rows_of = jax.vmap(jax.grad(loss), (None, 0, 0))
    return steps


def dict_of_parameters():
    """Return what the chapter's steps give if theta is a dict, on all devices: 53 parameters."""
    steps, wanted = steps_with(network_loss), samples.one_process()
    p, batch = jax.tree.map(jnp.asarray, samples.network()), samples.batch()
    few = samples.batch(15)  # padded to 16
    mesh = mesh_of(COUNTS[-1])
    found = {
        "trapped": jax.jit(steps.trapped(mesh))(p, *batch),
        "cured": jax.jit(steps.varying(mesh))(p, *batch),
        "jit": steps.placed(p, *batch, COUNTS[-1]),
    }
    said = {
        way: checked(rows, (p, *batch), steps.check)
        for way, rows in found.items()
    }
    worst = max(
        largest_difference(found[way], wanted["rows"])
        for way in ("cured", "jit")
    )
    whole = *put(mesh, *batch), jnp.ones(16)
    some = put(mesh, *(padded(a, 16) for a in few), np.arange(16) < 15)
    for size, given in {16: whole, 15: some}.items():
        total = steps.clipped_sum_jax(p, *given)
        exact = samples.one_process(size)["clipped sum"]
        worst = max(worst, largest_difference(total, exact))
    program = steps.clipped_sum_jax.lower(p, *whole).compile()
    sent = collectives(program.as_text())
    return {"said": said, "worst": worst, "sent": sent}


def divided_parameters():
    """Return what norms send if the parameters, not the samples, are divided among n devices."""
    rng = np.random.default_rng(0)
    theta, x, y = (
        rng.normal(size=16),
        rng.normal(size=(8, 16)),
        rng.normal(size=8),
    )
    wanted = np.linalg.norm(np.asarray(rows_of(theta, x, y)), axis=1)
    sent = {}
    norms_of = jax.jit(lambda *given: jnp.linalg.norm(rows_of(*given), axis=1))
    for n in COUNTS:
        mesh = mesh_of(n)
        given = (
            jax.device_put(theta, NamedSharding(mesh, P("devices"))),
            jax.device_put(x, NamedSharding(mesh, P(None, "devices"))),
            jax.device_put(y, NamedSharding(mesh, P())),
        )
        assert largest_difference(norms_of(*given), wanted) < 1e-12
        sent[n] = collectives(norms_of.lower(*given).compile().as_text())
    return sent


def single_precision():
    """Return the largest error of a float32 sum of clipped rows, for 1 to 8 devices."""
    rows = samples.clipped_rows()
    exact = rows.astype(float).sum(0)
    total = jax.jit(lambda rows: rows.sum(0))
    found = {}
    for n in (1, *COUNTS):
        (given,) = put(mesh_of(n), rows)
        found[n] = largest_difference(total(given), exact)
    return found


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    sections = {
        "shard_map": shard_map_and_cures,
        "jit": with_jit,
        "uneven": uneven,
        "network": network,
        "sent": bytes_sent,
        "dict": dict_of_parameters,
        "divided parameters": divided_parameters,
        "float32": single_precision,
    }
    found = {name: section() for name, section in sections.items()}
    print(json.dumps({"version": jax.__version__, **found}))


if __name__ == "__main__":
    main()

"""``out``: the rows of a second batch in the memory of the first, the same numbers as without."""

import numpy as np
import pytest

import persample as ps
from persample import memory, per_sample, trees
from persample.backends import BACKENDS

from .cases import (
    CASES,
    B,
    arrays,
    inputs,
    lighter,
    network,
    network_loss,
    network_rows,
    rewards,
    states,
    theta,
)
from .tolerances import OF_DTYPE, assert_close

case = CASES["network"]
each_backend = pytest.mark.parametrize("backend", BACKENDS)


pytestmark = pytest.mark.usefixtures("light_compiler")


def batches(backend, size=B, dtype="float64"):
    """Return two batches of distinct samples and their rows in closed form."""
    first = states[:size], rewards[:size]
    second = first[0][::-1] + 1.5, 2.0 - first[1]
    for sample in (first, second):
        given = arrays(network, backend, dtype), *arrays(sample, backend, dtype)
        yield given, network_rows(network, *sample)


def addresses(rows, backend):
    """Return where the numbers of each array of the rows lie."""
    read = {
        "numpy": lambda x: x.__array_interface__["data"][0],
        "torch": lambda x: x.data_ptr(),
        "jax": lambda x: x.unsafe_buffer_pointer(),
    }
    return [read[backend](x) for x in trees.flatten(rows)[0]]


@pytest.mark.parametrize(
    ("chunk_size", "backend", "jit"),
    lighter(lambda chunk_size: chunk_size == 2, [None, 1, 2, 3, B, B + 1]),
)
def test_a_second_batch_in_the_memory_of_the_first(chunk_size, backend, jit):
    rows_of = ps.per_sample_grad(network_loss, jit=jit, chunk_size=chunk_size)
    (first, exact_first), (second, exact_second) = batches(backend)
    rows = rows_of(*first)
    assert_close(ps.to_numpy(rows), exact_first)
    rows = trees.tree_map(lambda x: 1 * x, rows)  # jax: no array of NumPy's looks at them
    before = addresses(rows, backend)
    for given, exact in ((second, exact_second), (first, exact_first), (second, exact_second)):
        rows = rows_of(*given, out=rows)
        assert addresses(rows, backend) == before
        if backend != "jax":
            assert_close(ps.to_numpy(rows), exact)
    assert_close(ps.to_numpy(rows), exact_second)


@pytest.mark.parametrize("jit", [False, True])
@each_backend
def test_no_number_of_an_earlier_batch_is_left(backend, jit):
    rows_of = ps.per_sample_grad(network_loss, jit=jit)
    (first, exact_first), (second, exact_second) = batches(backend, dtype="float32")
    rows = rows_of(*second)
    for given, exact in ((first, exact_first), (second, exact_second)):
        rows = rows_of(*given, out=rows)
        assert_close(ps.to_numpy(rows), exact, OF_DTYPE["float32"])
        assert {str(x.dtype).removeprefix("torch.") for x in rows.values()} == {"float32"}


@pytest.mark.parametrize("bytes_at_a_time", [1, 300, 500, 10**6])  # a row has 168
@each_backend
def test_without_a_chunk_size_the_bytes_of_the_rows_decide(backend, bytes_at_a_time, monkeypatch):
    monkeypatch.setattr(memory, "CHUNK", bytes_at_a_time)
    rows_of = ps.per_sample_grad(network_loss)
    for size in (B, 4, 1):
        (first, _), (second, exact) = batches(backend, size)
        assert_close(ps.to_numpy(rows_of(*second, out=rows_of(*first))), exact)


@pytest.mark.parametrize(
    ("backend", "chunk_size", "limit", "expected"),
    [
        ("numpy", None, memory.CHUNK, []),  # the whole batch, not sliced
        ("numpy", None, 168 * 4, [3, 2]),  # even parts: a last one of another size is compiled
        ("torch", None, 168 * 2, [2, 2, 1]),
        ("torch", None, 1, [1, 1, 1, 1, 1]),
        ("jax", None, 1, []),
        ("numpy", 4, 1, [4, 1]),
        ("jax", 4, 1, [4, 1]),
    ],
)
def test_how_many_rows_are_asked_for_at_a_time(backend, chunk_size, limit, expected, monkeypatch):
    asked, samples = [], per_sample.samples
    spy = lambda *given: asked.append(given[2].stop - given[2].start) or samples(*given)  # noqa: E731
    monkeypatch.setattr(per_sample, "samples", spy)
    monkeypatch.setattr(memory, "CHUNK", limit)
    (first, _), _ = batches(backend)
    out = ps.per_sample_grad(network_loss)(*first)
    ps.per_sample_grad(network_loss, chunk_size=chunk_size)(*first, out=out)
    assert asked == expected


@pytest.mark.parametrize("jit", [False, True])
@each_backend
def test_a_batch_of_one(backend, jit):
    rows_of = ps.per_sample_grad(network_loss, jit=jit)
    (first, _), (second, exact) = batches(backend, 1)
    assert_close(ps.to_numpy(rows_of(*second, out=rows_of(*first))), exact)


@each_backend
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_a_shared_number_in_parts(backend, chunk_size):
    loss = lambda t, x, y, c: ps.squared_loss(t, x, y) * c  # noqa: E731
    given = arrays((theta, states, rewards), backend)
    rows_of = ps.per_sample_grad(loss, (None, 0, 0, None), chunk_size=chunk_size)
    exact = (states @ theta - rewards)[:, None] * states
    for number in (0.5, 3):
        rows = rows_of(*given, number, out=rows_of(*given, 1.5))
        assert_close(ps.to_numpy(rows), number * exact)


@each_backend
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_every_sample_may_have_its_own_parameters(backend, chunk_size):
    thetas, x, y = (arrays(v, backend) for v in (theta + states[::-1], states, rewards))
    rows_of = ps.per_sample_grad(ps.squared_loss, (0, 0, 0), chunk_size=chunk_size)
    exact = ((theta + states[::-1]) * states).sum(1) - rewards
    rows = rows_of(thetas, x, y, out=rows_of(2 * thetas, x, y))
    assert_close(ps.to_numpy(rows), exact[:, None] * states)


# a: one array for two parameters; c: one number for all of a row; d: two parts of one array
def sharing_loss(params, x, y):
    xp = ps.array_namespace(params)
    both = xp.concat([params["d"][0], params["d"][1]])
    z = xp.matmul(params["a"][0] + params["a"][1], x) + xp.matmul(both, xp.concat([x, -x]))
    return (z - y) * xp.sum(params["c"])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("chunk_size", [None, 2])
@each_backend
def test_rows_that_share_memory_get_their_own(backend, chunk_size, jit):
    params = arrays({"a": (theta, -theta), "c": states[0], "d": [theta, 2 * theta]}, backend)
    rows_of = ps.per_sample_grad(sharing_loss, jit=jit, chunk_size=chunk_size)
    x, y = states, rewards
    rows = ps.per_sample_grad(sharing_loss)(params, *arrays((x, y), backend))
    for _ in range(3):
        x, y = 1.5 - x, y + 1
        rows = rows_of(params, *arrays((x, y), backend), out=rows)
        error, scale = x @ (theta - 2 * theta) - y, states[0].sum()
        assert_close(ps.to_numpy(rows["a"][0]), scale * x)
        assert_close(ps.to_numpy(rows["a"][1]), scale * x)
        assert_close(ps.to_numpy(rows["c"]), error[:, None] * np.ones(3))
        assert_close(ps.to_numpy(rows["d"][0]), scale * x)
        assert_close(ps.to_numpy(rows["d"][1]), -scale * x)
    assert len(set(addresses(rows, backend))) == 5


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_one_array_given_for_two_parameters(backend):
    (first, _), (second, exact) = batches(backend)
    rows_of = ps.per_sample_grad(network_loss, jit=backend == "jax")
    rows = rows_of(*first)
    rows = rows_of(*second, out={**rows, "w2": rows["b1"]})
    assert_close(ps.to_numpy(rows), exact)


def test_loop_grad_and_mean_grad_have_none():
    with pytest.raises(TypeError, match="loop_grad: the call has the keyword arguments out;"):
        ps.loop_grad(ps.squared_loss)(theta, states, rewards, out=states)
    with pytest.raises(TypeError, match="mean_grad: the call has the keyword arguments out;"):
        ps.mean_grad(ps.squared_loss)(theta, states, rewards, out=theta)


def test_a_parameter_of_the_loss_called_out_is_given_by_position():
    rows_of = ps.per_sample_grad(lambda theta, x, out: ps.squared_loss(theta, x, out))
    rows = rows_of(theta, states, rewards)
    again = rows_of(theta, states, 2 * rewards, out=rows)
    assert again is rows
    assert_close(again, ps.loop_grad(ps.squared_loss)(theta, states, 2 * rewards))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_jax_consumes_what_it_is_given(jit, chunk_size):
    rows_of = ps.per_sample_grad(ps.squared_loss, jit=jit, chunk_size=chunk_size)
    given = inputs(CASES["squared_loss"], "jax")
    old = rows_of(*given)
    rows_of(*given, out=old)
    assert old.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        old + 1


def test_jax_leaves_a_numpy_array_that_looks_at_old_rows_alone():
    (first, exact), (second, exact_second) = batches("jax")
    rows_of = ps.per_sample_grad(network_loss, jit=True)
    rows = rows_of(*first)
    looked_at = ps.to_numpy(rows)
    rows = rows_of(*second, out=rows)
    assert_close(looked_at, exact)
    assert_close(ps.to_numpy(rows), exact_second)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_torch_keeps_no_graph_of_earlier_batches(chunk_size):
    (first, _), (second, exact) = batches("torch")
    params = {k: p.requires_grad_() for k, p in first[0].items()}
    rows_of = ps.per_sample_grad(network_loss, chunk_size=chunk_size)
    old = rows_of(params, *first[1:])
    rows = rows_of(*second, out=old)
    assert not any(x.requires_grad for x in rows.values())
    assert_close(ps.to_numpy(rows), exact)


@pytest.mark.parametrize("backend", ["numpy", "jax"])  # torch.compile repeats side effects
def test_jit_traces_once_more_for_out_at_most(backend):
    calls = []

    def loss(params, x, y):
        calls.append(1)
        return network_loss(params, x, y)

    (first, _), (second, _) = batches(backend)
    rows_of = ps.per_sample_grad(loss, jit=True)
    rows = rows_of(*first)
    before = len(calls)
    for given in (second, first, second):
        rows = rows_of(*given, out=rows)
    assert len(calls) - before <= 1


# Errors: said before anything is written or given away.
def wrong(rows, backend):
    """Yield (out, part of the message) for every way in which ``out`` does not fit."""
    exact = ps.to_numpy(rows)
    other = "torch" if backend == "numpy" else "numpy"
    yield [*rows.values()], r"out is \['\*', '\*', '\*', '\*'\] and the rows are {'W1': '\*'"
    yield {**rows, "W3": rows["W1"]}, "out is {.*'W3': .*} and the rows are {'W1'"
    yield rows["W1"], r"out is \* and the rows are {"
    yield {**rows, "W1": rows["W1"][:2]}, r"out_W1 is a \w+ array of shape \(2, 4, 3\) and type"
    yield {**rows, "w2": rows["W1"]}, r"out_w2 is .* shape \(5, 4, 3\) .* need .* shape \(5, 4\)"
    narrow = arrays(exact["b2"], backend, "float32")
    yield {**rows, "b2": narrow}, "out_b2 is .* type float32; the rows need .* type float64"
    yield {**rows, "b1": arrays(exact["b1"], other)}, f"out_b1 is a {other} array .* a {backend} "
    yield {**rows, "b1": 1.0}, "out_b1 is a Python float; the rows need a"


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("jit", [False, True])
@each_backend
def test_what_does_not_fit_is_refused_and_left_as_it_was(backend, jit, chunk_size):
    (first, exact), (second, _) = batches(backend)
    rows_of = ps.per_sample_grad(network_loss, jit=jit, chunk_size=chunk_size)
    rows = ps.per_sample_grad(network_loss)(*first)
    for out, text in wrong(rows, backend):
        with pytest.raises(ValueError, match=f"^per_sample_grad: {text}.*, or no out[.]$"):
            rows_of(*second, out=out)
    assert_close(ps.to_numpy(rows), exact)


@pytest.mark.parametrize("jit", [False, True])
@each_backend
def test_an_argument_in_the_memory_of_out_is_refused(backend, jit):
    thetas, x, y = (arrays(v, backend) for v in (theta + states, states, rewards))
    rows_of = ps.per_sample_grad(ps.squared_loss, (0, 0, 0), jit=jit)
    for given, n in (((thetas, x, y), 0), ((x, thetas, y), 1)):
        with pytest.raises(ValueError, match=f"out shares memory with argument {n}, so writing"):
            rows_of(*given, out=thetas)
    assert_close(ps.to_numpy(thetas), theta + states)


@pytest.mark.parametrize("backend", ["numpy", "torch"])  # a part of a JAX array is a copy
def test_an_argument_that_is_a_part_of_out_is_refused(backend):
    rows_of = ps.per_sample_grad(ps.squared_loss)
    x, y = arrays((states, rewards), backend)
    rows = rows_of(arrays(theta, backend), x, y)
    with pytest.raises(ValueError, match="out shares memory with argument 0, so writing"):
        rows_of(rows[3], x, y, out=rows)


# A call seen before, with memory like that of the call before: fewer checks, none left out.
each_quick_backend = pytest.mark.parametrize("backend", ["numpy", "jax"])


def seen_before(backend, loss=ps.squared_loss, **options):
    """Return rows_of, its arguments, and rows that it has written twice already."""
    rows_of = ps.per_sample_grad(loss, (0, 0, 0), **options)
    given = [arrays(v, backend) for v in (theta + states, states[::-1].copy(), rewards)]
    rows = arrays(np.empty((B, 3)), backend)
    for _ in range(2):
        rows = rows_of(*given, out=rows)
    return rows_of, given, rows


@pytest.mark.parametrize("jit", [False, True])
@each_quick_backend
def test_a_call_seen_before_does_not_make_every_check_again(backend, jit, monkeypatch):
    rows_of, (thetas, x, y), rows = seen_before(backend, jit=jit)
    monkeypatch.setattr(per_sample, "_in_parts", None)
    for _ in range(3):
        x, y = 1.5 - x, y * 2.0
        rows = rows_of(thetas, x, y, out=rows)
        exact = ((theta + states) * ps.to_numpy(x)).sum(1) - ps.to_numpy(y)
        assert_close(ps.to_numpy(rows), exact[:, None] * ps.to_numpy(x))
    with pytest.raises(TypeError):  # other memory needs all of them
        rows_of(thetas, x, y, out=rows[:, None])


@pytest.mark.parametrize("jit", [False, True])
@each_quick_backend
def test_a_call_seen_before_refuses_what_the_first_one_refuses(backend, jit):
    rows_of, given, rows = seen_before(backend, jit=jit)
    kept = [ps.to_numpy(v).copy() for v in given]
    for n in (0, 1):
        with pytest.raises(ValueError, match=f"out shares memory with argument {n}, so writing"):
            rows_of(*given, out=given[n])
    for out in (rows[:2], rows[None], arrays(np.zeros((B, 3)), backend, "float32"), [rows], 1.0):
        with pytest.raises(ValueError, match="per_sample_grad: out"):
            rows_of(*given, out=out)
    assert_close([ps.to_numpy(v) for v in given], kept)
    assert_close(ps.to_numpy(rows_of(*given, out=rows)), ps.to_numpy(rows_of(*given)))


@pytest.mark.parametrize("jit", [False, True])
def test_a_call_seen_before_notices_parts_of_one_array(jit):
    rows_of, (thetas, x, y), _ = seen_before("numpy", jit=jit)
    whole = np.concatenate([x, x])
    for first in (0, 1, B - 1):
        with pytest.raises(ValueError, match="out shares memory with argument 1, so writing"):
            rows_of(thetas, whole[first : first + B], y, out=whole[1 : B + 1])
        assert_close(whole, np.concatenate([x, x]))
    owner = np.ones((B, 3))
    for given, out in ((owner[::-1], owner), (owner, owner[:]), (owner[:], owner[:])):
        with pytest.raises(ValueError, match="out shares memory with argument 1, so writing"):
            rows_of(thetas, given, y, out=out)
    apart = rows_of(thetas, whole[:B], y, out=whole[B:])  # one array, no memory in common
    assert_close(apart, rows_of(thetas, x, y))
    assert apart is not whole
    assert np.shares_memory(apart, whole)
    assert_close(whole[:B], x)


@pytest.mark.parametrize("jit", [False, True])
def test_a_call_seen_before_takes_memory_of_every_form(jit):
    rows_of, given, rows = seen_before("numpy", jit=jit)
    exact = rows_of(*given)
    for out in (np.empty((3, B)).T, np.empty((2 * B, 6))[::2, ::-2], np.empty((B, 3), order="F")):
        assert rows_of(*given, out=out) is out
        assert_close(out, exact)
    fixed, spread = np.zeros((B, 3)), np.zeros(3)
    fixed.flags.writeable = False
    for out in (fixed, np.broadcast_to(spread, (B, 3))):
        assert_close(rows_of(*given, out=out), exact)
        assert not np.any(out)
    rows.flags.writeable = False
    rows_of(*given[::-1][1:], given[0][:, 0], out=rows)
    assert_close(rows, exact)


@pytest.mark.parametrize("jit", [False, True])
@each_quick_backend
def test_a_call_seen_before_notices_what_the_loss_takes_from_outside(backend, jit):
    scales = [2.0]

    def loss(params, x, y):
        scale = scales[0] if isinstance(scales[0], float) else scales[0][0, 0]
        return ps.squared_loss(params, x, y) * scale

    rows_of, given, rows = seen_before(backend, loss, jit=jit)
    exact = ps.to_numpy(ps.per_sample_grad(ps.squared_loss, (0, 0, 0))(*given))
    assert_close(ps.to_numpy(rows), 2 * exact)
    scales[0] = rows + 1
    expected = ps.to_numpy(scales[0])[0, 0] * exact
    rows = rows_of(*given, out=rows)
    assert_close(ps.to_numpy(rows), expected)
    with pytest.raises(ValueError, match="out shares memory with scales, which the loss uses"):
        rows_of(*given, out=scales[0])
    scales[0] = 3.0
    assert_close(ps.to_numpy(rows_of(*given, out=rows)), 3 * exact)


def test_a_jax_array_given_away_before_is_refused_by_a_call_seen_before():
    rows_of, given, rows = seen_before("jax", jit=True)
    rows_of(*given, out=rows)
    with pytest.raises(TypeError, match="out is a JAX array that was given away as out"):
        rows_of(*given, out=rows)


@pytest.mark.parametrize("jit", [False, True])
def test_a_number_in_a_call_seen_before(jit):
    loss = lambda t, x, y, c: ps.squared_loss(t, x, y) * c  # noqa: E731
    rows_of = ps.per_sample_grad(loss, (None, 0, 0, None), jit=jit)
    exact, rows = (states @ theta - rewards)[:, None] * states, np.empty((B, 3))
    for number in (0.5, 0.5, 3.0, 0.5, -0.0):
        assert rows_of(theta, states, rewards, number, out=rows) is rows
        assert_close(rows, number * exact)


@pytest.mark.parametrize("options", [{"values": True}, {"chunk_size": 2}, {"chunk_size": B}])
@each_quick_backend
def test_a_call_seen_before_with_other_options(backend, options):
    values = options.get("values", False)
    function = ps.per_sample_value_and_grad if values else ps.per_sample_grad
    rows_of = function(ps.squared_loss, (0, 0, 0), jit=True, chunk_size=options.get("chunk_size"))
    given = [arrays(v, backend) for v in (theta + states, states, rewards)]
    rows = arrays(np.empty((B, 3)), backend)
    error = ((theta + states) * states).sum(1) - rewards
    for _ in range(3):
        result = rows_of(*given, out=rows)
        losses, rows = result if values else (None, result)
        assert_close(ps.to_numpy(rows), error[:, None] * states)
        assert losses is None or assert_close(ps.to_numpy(losses), 0.5 * error**2) is None

"""What memory arrays have: shared, repeated, made apart, and how much is written at a time."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from persample import memory

MAKE = {"numpy": np.zeros, "torch": torch.zeros}
each_kind = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


@each_kind
def test_parts_of_one_array_share_memory_and_two_arrays_do_not(make):
    x, y = make((4, 3)), make((4, 3))
    assert memory.shared(x, x)
    assert memory.shared(x, x[1])
    assert memory.shared(x[:, 1], x[:, 2])  # their spans meet, though no number is common
    assert not memory.shared(x, y)
    assert memory.any_shared([y, x], [make(3), x[0]])
    assert memory.any_shared([x, y], [y])
    assert not memory.any_shared([x], [y])
    assert not memory.any_shared([], [x])
    assert not memory.any_shared([x], [])


def test_neighbours_in_memory_share_nothing():
    x = np.zeros((4, 3))
    assert not memory.shared(x[:2], x[2:])
    assert not memory.shared(x[2:], x[:2])
    assert memory.shared(x[:3], x[2:])


def test_a_tensor_and_an_array_of_the_same_memory_share_it():
    x = np.zeros((4, 3))
    assert memory.shared(torch.from_numpy(x), x)
    assert memory.shared(x[3], torch.from_numpy(x))
    assert not memory.shared(torch.from_numpy(x[:2].copy()), x)
    tensor = torch.from_numpy(x).requires_grad_()
    assert memory.any_shared([tensor], [np.zeros(2), x])
    assert memory.any_shared([x[1]], [torch.zeros(2), tensor])
    assert not memory.any_shared([np.zeros(2)], [tensor])
    halves = torch.from_numpy(x[:2]), x[2:]
    assert not memory.shared(*halves)
    assert not memory.shared(*halves[::-1])


def transposed(x):
    return x.mT if isinstance(x, torch.Tensor) else x.swapaxes(0, 1)


@each_kind
def test_whether_a_number_of_what_is_written_is_held(make):
    x, y = make((6, 4)), make((6, 4))
    assert memory.first_overlap([x], [y]) is None
    assert memory.first_overlap([x, y], []) is None
    assert memory.first_overlap([x], [y, y, y[2:], transposed(y)]) is None
    assert memory.first_overlap([x], [y, x[5]]) == (0, 2)
    assert memory.first_overlap([y, x], [make(2), x[0]]) == (1, 3)
    assert memory.first_overlap([x, y, x[:1]], [y]) == (0, 2)
    assert memory.first_overlap([x[3:]], [x[:3]]) is None
    assert memory.first_overlap([x[:4]], [x[3:]]) == (0, 1)
    assert memory.first_overlap([x[:, :2], x[:, 2:]], [y]) is None  # one between the other
    assert memory.first_overlap([x[:, :3], x[:, 2:]], [y]) == (0, 1)
    assert memory.first_overlap([transposed(x)[1:]], [x[:, 0], x[2:, 0]]) is None
    assert memory.first_overlap([transposed(x)[1:]], [x[:, 0], x[5, 1:]]) == (0, 2)
    assert memory.first_overlap([x[:0], x], [x[:0]]) is None


def test_extents_of_arrays_and_tensors():
    for make in MAKE.values():
        for part in (lambda x: x[1:3, 1:3], lambda x: x[:, ::2], lambda x: x[4:4], lambda x: x):
            start, end = memory.extent(part(make((5, 4))[1:]))
            size = make(1).dtype.itemsize
            assert (end - start) // size in (6, 15, 0, 16)
    x = np.zeros((5, 4))
    for part in (x[1:3, 1:3], x[:, ::2], x[2]):
        assert memory.extent(torch.from_numpy(part)) == memory.extent(part)


def test_an_array_of_jax_is_its_own_memory():
    x, y = jnp.zeros(3), jnp.zeros(3)
    assert memory.shared(x, x)
    assert not memory.shared(x, y)
    assert not memory.shared(x, np.zeros(3))
    assert memory.span(x) == (id(x), id(x) + 1)


@each_kind
def test_the_span_has_the_bytes_of_the_array(make):
    start, end = memory.span(make((4, 3)))
    assert end - start == make(1).dtype.itemsize * 12


def test_a_broadcast_repeats_its_numbers():
    numpys = np.broadcast_to(np.zeros(3), (2, 3))
    torchs = torch.zeros(3).expand(2, 3)
    for x in (numpys, torchs):
        assert memory.repeats(x)
        assert not memory.repeats(x[:1])  # once each
        assert not memory.repeats(x[0])
    assert memory.repeats(np.broadcast_to(np.zeros((2, 1)), (2, 5)))
    assert not memory.repeats(np.zeros((2, 3)))
    assert not memory.repeats(np.zeros(()))
    assert not memory.repeats(jnp.zeros((2, 3)))


def test_arrays_are_made_apart_only_where_they_share():
    x, y = np.zeros((2, 3)), np.ones((2, 3))
    fresh = np.array
    same = memory.apart({"a": x, "b": y}, fresh)
    assert same["a"] is x
    assert same["b"] is y
    twice = memory.apart([x, y, x], fresh)
    assert twice[0] is x
    assert twice[1] is y
    assert not memory.shared(twice[2], x)
    np.testing.assert_array_equal(twice[2], x)
    repeated = np.broadcast_to(x[0], (4, 3))
    for given in (repeated, [repeated]):
        apart = memory.apart(given, fresh)
        apart = apart[0] if isinstance(given, list) else apart
        assert not memory.repeats(apart)
        np.testing.assert_array_equal(apart, repeated)
    assert memory.apart(x, fresh) is x


def test_rows_are_written_where_they_belong():
    write = memory.into(lambda x: ({"w": x * 2}, x + 1), jit=False)
    x, out = np.arange(1.0, 3.0), {"w": np.zeros(4)}
    memory_of_out = out["w"]
    rows, extra = write(out, 1, x)
    assert rows["w"] is memory_of_out
    np.testing.assert_array_equal(memory_of_out, [0, 2, 4, 0])
    np.testing.assert_array_equal(extra, [2, 3])
    rows, extra = write({"w": memory_of_out[:2]}, None, x)
    np.testing.assert_array_equal(memory_of_out, [2, 4, 4, 0])
    np.testing.assert_array_equal(extra, [2, 3])


@pytest.mark.parametrize(
    ("size", "nbytes", "expected"),
    [
        (10, 0, 10),
        (10, 1, 10),
        (10, memory.CHUNK, 10),
        (10, memory.CHUNK + 1, 5),
        (10, 2 * memory.CHUNK, 5),
        (10, 3 * memory.CHUNK, 4),
        (10, 100 * memory.CHUNK, 1),
        (1, 5 * memory.CHUNK, 1),
    ],
)
def test_rows_at_a_time_fit_a_chunk(size, nbytes, expected):
    assert memory.samples_at_once(size, nbytes) == expected


def test_a_chunk_is_what_a_cache_holds():
    assert memory.CHUNK == 8 * 1024 * 1024

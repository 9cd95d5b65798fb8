"""What memory arrays have: where it lies, what they have in common, what can be written to."""

import numpy as np
import pytest
import torch

from persample.recorder import memory

MAKE = {"numpy": np.zeros, "torch": torch.zeros}
each_kind = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


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


def test_a_tensor_and_an_array_of_the_same_memory_overlap():
    x = np.zeros((4, 3))
    tensor = torch.from_numpy(x).requires_grad_()
    assert memory.first_overlap([x[1]], [torch.zeros(2), tensor]) == (0, 2)
    assert memory.first_overlap([tensor], [np.zeros(2), x]) == (0, 2)
    assert memory.first_overlap([torch.from_numpy(x[:2])], [x[2:]]) is None


def test_a_broadcast_repeats_its_numbers_and_cannot_be_written():
    for x in (np.broadcast_to(np.zeros(3), (2, 3)), torch.zeros(3).expand(2, 3)):
        assert memory.repeats(x)
        assert not memory.can_be_written(x)
        assert not memory.repeats(x[:1])  # once each
        assert not memory.repeats(x[0])
    assert memory.repeats(np.broadcast_to(np.zeros((2, 1)), (2, 5)))
    for x in (np.zeros((2, 3)), np.zeros(()), torch.zeros(2, 3)):
        assert memory.can_be_written(x)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    assert not memory.repeats(fixed)
    assert not memory.can_be_written(fixed)

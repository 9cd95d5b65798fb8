"""tape.tensor against PyTorch, case by case.

An entry of CASES is a short program for either library; the values that it yields must agree.
Intended differences are listed in test_leaf_programs.
"""

import gc
import operator

import numpy as np
import pytest
import torch

from persample import engine, tape
from persample.engine import namespace as xp
from support.tolerances import FLOAT64, assert_close


def float_or_whole(data):
    return np.asarray(data, int if np.asarray(data).dtype.kind == "i" else float)


class Ours:
    no_grad, exp, tanh, sum = tape.no_grad, xp.exp, xp.tanh, xp.sum
    float32, float64 = np.float32, np.float64

    def tensor(data, requires_grad=False):
        return tape.tensor(float_or_whole(data), requires_grad)


class Torch:
    no_grad, exp, tanh, sum = torch.no_grad, torch.exp, torch.tanh, torch.sum
    float32, float64 = torch.float32, torch.float64

    def tensor(data, requires_grad=False):
        return torch.tensor(float_or_whole(data), requires_grad=requires_grad)


CHANGES = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow]
CHANGES += [operator.ifloordiv, operator.imod]
CHANGES_OF_BITS = [operator.iand, operator.ior, operator.ixor]
CHANGES_OF_BITS += [operator.ilshift, operator.irshift]


def numbers(x):
    """Return a tensor or array as a NumPy array; return None and Python values unchanged."""
    if x is None or isinstance(x, bool | str | int | float):
        return x
    return np.array(x.detach().numpy() if hasattr(x, "detach") else x)


def about(x):
    return [x.is_leaf, x.requires_grad, x.grad_fn is None]


def gradient_of_a_product(m):
    x, y = m.tensor([1.0, 2.0], requires_grad=True), m.tensor([3.0, 4.0], requires_grad=True)
    unused = m.tensor([2.0], requires_grad=True)
    m.sum(x * y * x).backward()
    return [x.grad, y.grad, *about(x.grad), unused.grad]


def second_backward_through_a_new_graph_accumulates(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    m.sum(x * x).backward()
    first, memory = x.grad, x.grad.detach()
    m.sum(m.exp(x)).backward()
    seen = [x.grad, first is x.grad, memory]  # in place: earlier handles see it
    x.grad = None
    m.sum(m.exp(x)).backward()
    return [*seen, first, x.grad]


def retain_grad(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    x.retain_grad()  # changes nothing on a leaf
    y = x * x
    before = y.retains_grad
    y.retain_grad()
    y.retain_grad()
    loss = m.sum(y * y)
    loss.backward(retain_graph=True)
    once = np.array(y.grad.numpy())
    loss.backward()  # accumulates
    return [once, y.grad, x.grad, before, y.retains_grad, x.retains_grad, y.is_leaf]


def detach(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2.0
    d = y.detach()
    m.sum(y * d).backward()
    alias = x.detach()
    alias[0] = 7.0
    return [*about(d), x.grad, d, x, alias]


def step_under_no_grad(m):
    w = m.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        m.sum(w * w * w).backward()
        with m.no_grad():
            with m.no_grad():
                w -= 0.1 * w.grad
            w *= 0.9
            w /= 1.1
            w += 0.01
            w[0] = w[0] * 2.0
        w.grad = None
    v = w - 0.1  # rebinding is not in place
    return [w, *about(w), *about(v)]


def diamond(m):
    x = m.tensor([0.3, 0.7], requires_grad=True)
    y = m.tanh(x)
    a, b = y * y, m.exp(y)
    m.sum(a * b + y + (x + x)).backward()
    scalar = m.tensor(2.0, requires_grad=True)
    scalar.backward()  # on a leaf
    return [x.grad, scalar.grad]


def gradient_argument(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.backward(gradient=m.tensor([1.0, 10.0]))
    return [x.grad]


def to_another_dtype(m):
    x = m.tensor([1.5], requires_grad=True)
    y = x.to(m.float32)
    m.sum(y * y).backward()
    names = [str(t.dtype).split(".")[-1] for t in (y, x.grad)]
    return [*about(y), x.grad, *names, x.to(m.float64) is x, *about(x.to(m.float64))]


def requires_grad_afterwards(m):
    x = m.tensor([1.0, 2.0])
    y = x * 2.0
    y.requires_grad = True  # y has no history: a leaf
    m.sum(y * y).backward()
    seen = [*about(y), y.grad, x.grad]
    y.requires_grad = False
    return [*seen, *about(y), *about(y * y)]


def in_place_without_grad(m):
    seen = []
    for change in CHANGES + CHANGES_OF_BITS:
        whole = change in CHANGES_OF_BITS
        x = m.tensor([7, 5] if whole else [7.0, 5.0])
        same, seen = x, [*seen, x]
        x = change(x, m.tensor([2, 3] if whole else [2.0, 3.0]))
        x[1] = 4
        seen += [same is x, *about(x)]
    table = m.tensor([[1.0, 2.0], [3.0, 4.0]])
    row = table[0]  # a view
    row[1] = 9.0
    return [*seen, table]


def python_control_flow(m):
    x = m.tensor(3.0, requires_grad=True)
    y = x * 2.0 if x > 2.0 else x * x
    while y < 20.0:
        y = y * x
    y.backward()
    return [y, x.grad, float(y.detach()), int(y.detach()), bool(x.detach())]


CASES = [
    *(gradient_of_a_product, second_backward_through_a_new_graph_accumulates, retain_grad),
    *(detach, step_under_no_grad, diamond, gradient_argument),
    *(to_another_dtype, requires_grad_afterwards, in_place_without_grad, python_control_flow),
]


@pytest.mark.parametrize("program", CASES, ids=lambda f: f.__name__)
def test_as_in_pytorch(program):
    ours, theirs = program(Ours), program(Torch)
    assert len(ours) == len(theirs)
    for n, (x, y) in enumerate(zip(map(numbers, ours), map(numbers, theirs), strict=True)):
        assert type(x) is type(y), f"observation {n}: {x!r} and {y!r}"
        if isinstance(x, np.ndarray):
            assert_close(x, y, FLOAT64, f"observation {n}")
        else:
            assert x == y, f"observation {n}: {x!r} and {y!r}"


# Errors: PyTorch raises RuntimeError for the same program; ours says what to do. --------------


def twice(loss):
    loss.backward()
    loss.backward()


def shared_part(m, x):
    y = m.exp(x)
    m.sum(y * 2.0).backward()
    m.sum(y * 3.0).backward()


def unrecorded(m, x):
    with m.no_grad():
        return m.sum(x * x)


def changed(loss, part):
    """Change ``part`` in place after the loss has recorded it, then run the backward pass."""
    part += 1.0
    loss.backward()


def changed_output(m, x):
    y = m.exp(x)  # its rule reads its output
    with m.no_grad():
        y *= 2.0
    m.sum(y).backward()


def changed_gradient(m, x):
    w = m.tensor([1.0, 1.0], requires_grad=True)
    m.sum(x * x).backward()
    loss = m.sum(x.grad * w)
    m.sum(x * x).backward()  # adds to x.grad, which the first graph has recorded
    loss.backward()


# A program with a leaf that requires grad and another one; words of our sentence.
ERRORS = [
    (lambda m, x, y: twice(m.sum(m.exp(x))), "a second time through the same graph.*retain_graph"),
    (lambda m, x, y: shared_part(m, x), "a second time through the same graph"),
    (lambda m, x, y: operator.iadd(x, 1.0), r"change of a leaf tensor.*under no_grad\(\)"),
    (lambda m, x, y: operator.setitem(x, 0, 1.0), "in-place change of a leaf tensor"),
    (lambda m, x, y: m.tensor([1, 2], requires_grad=True), "only floating.*this one is int64"),
    (lambda m, x, y: unrecorded(m, x).backward(), "does not require grad and has no grad_fn"),
    (lambda m, x, y: (x * x).backward(), r"shape \(2,\).*sum or average it, or pass"),
    (lambda m, x, y: (x * x).backward(m.tensor([1.0])), r"has shape \(1,\), the tensor \(2,\)"),
    (lambda m, x, y: changed(m.sum(x * y), y), "an input of multiply was changed in place"),
    (lambda m, x, y: changed(m.sum(x * x), x.detach()), "was changed in place.*make a copy"),
    (lambda m, x, y: changed(m.sum(x * y), y[0:1]), "was changed in place"),
    (lambda m, x, y: changed_gradient(m, x), "an input of multiply was changed in place"),
    (lambda m, x, y: changed_output(m, x), "exp was changed in place"),
    (lambda m, x, y: y.retain_grad(), "does not require grad, so it has none"),
    (lambda m, x, y: setattr(x * 2.0, "requires_grad", False), "leaf tensors only; call x"),
    (lambda m, x, y: x.numpy(), r"call x.detach\(\).numpy\(\)"),
]


@pytest.mark.parametrize(("program", "words"), ERRORS, ids=range(len(ERRORS)))
def test_errors_as_in_pytorch(program, words):
    for m, match in ((Torch, None), (Ours, words)):
        with pytest.raises(RuntimeError, match=match):
            program(m, m.tensor([1.0, 2.0], requires_grad=True), m.tensor([3.0, 4.0]))


def test_the_warning_about_grad_names_the_line_that_asked():
    y = 2.0 * tape.tensor([1.0], requires_grad=True)
    with pytest.warns(UserWarning, match=r"not a leaf .*retain_grad\(\)") as caught:
        assert y.grad is None
    assert caught[0].filename == __file__


@pytest.mark.parametrize("m", [Ours, Torch])
def test_a_chain_of_ten_thousand_operations(m):
    x = m.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y * 1.0001
    y.backward()
    assert_close(numbers(x.grad), 1.0001**10_000, FLOAT64)
    del y
    gc.collect()  # taking the chain apart must not recurse either


def test_the_gradient_owns_its_memory():
    x = tape.tensor(np.ones(3), requires_grad=True)
    y = tape.tensor(np.ones(3), requires_grad=True)
    seed = np.ones(3)
    (x + y).backward(gradient=seed)
    arrays = [x.grad.data, y.grad.data, seed, x.data, y.data]
    for i, a in enumerate(arrays):
        assert not any(np.shares_memory(a, b) for b in arrays[:i])
    assert x.grad.data.flags.writeable
    x.zero_grad()
    assert x.grad is None


def test_the_data_are_copied_by_tensor_and_keep_their_dtype():
    data = np.ones(2, np.float32)
    x = tape.tensor(data, requires_grad=True)
    data[0] = 5.0
    assert x.data[0] == 1.0
    xp.sum(xp.exp(x) * 2.0).backward()
    assert x.grad.dtype == np.float32
    assert tape.tensor(x).data is not x.data


def test_a_tensor_prints_what_it_is():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2.0) == "tensor([2., 4.], grad_fn=<multiply node>)"
    assert repr(x.detach()) == "tensor([1., 2.])"


def test_arrays_of_numpys_are_copied_as_they_enter_a_graph():
    w, places = np.array([0.0, 1.0, 2.0]), np.array([2, 0, 1])
    x = tape.tensor([1.0, 2.0, 4.0], requires_grad=True)
    shown = np.broadcast_to(w, (4, 3))
    loss = xp.sum(x * w) + xp.sum(w * x) + xp.sum(x * shown) + xp.sum(x[places] ** 2)
    w[:], places[:] = 0.0, 1
    loss.backward()
    np.testing.assert_array_equal(x.grad.data, [2.0, 10.0, 20.0])


def test_a_failing_block_leaves_recording_on():
    with pytest.raises(KeyError), tape.no_grad():
        raise KeyError
    assert (tape.tensor(1.0, requires_grad=True) * 2.0).requires_grad


def test_tensors_inside_the_other_transforms():
    """Nest grad, vmap and jit in the tape, whose tensors are tracers of level 0."""
    x = tape.tensor(np.array([0.5, 1.0]), requires_grad=True)
    inner = engine.grad(lambda y: xp.sum(xp.tanh(y) * x))(x)
    xp.sum(inner).backward()
    expected = engine.grad(lambda x: xp.sum(engine.grad(lambda y: xp.sum(xp.tanh(y) * x))(x)))(
        x.data
    )
    assert_close(x.grad.data, expected, FLOAT64)
    rows = engine.vmap(lambda a: a * a)(x.detach())
    np.testing.assert_array_equal(rows.data, [0.25, 1.0])
    np.testing.assert_array_equal(engine.jit(lambda a: a * a)(x.detach()).data, [0.25, 1.0])

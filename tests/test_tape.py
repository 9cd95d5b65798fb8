"""tape.tensor against PyTorch, case by case.

Each row of CASES is a short program for either library; the observations it yields must agree.
Where the two differ on purpose, a test of its own says so (at the end).
"""

import gc
import operator
import warnings

import numpy as np
import pytest
import torch
from tolerances import FLOAT64, assert_close

from persample import engine, tape
from persample.engine import namespace as xp


class Ours:
    tensor = staticmethod(
        lambda data, requires_grad=False: tape.tensor(
            np.asarray(data) if np.asarray(data).dtype.kind == "i" else np.asarray(data, float),
            requires_grad,
        )
    )
    no_grad = staticmethod(tape.no_grad)
    exp, tanh, sum = staticmethod(lambda x: xp.exp(x)), staticmethod(lambda x: xp.tanh(x)), xp.sum
    float32, float64 = np.float32, np.float64


class Torch:
    tensor = staticmethod(
        lambda data, requires_grad=False: torch.tensor(
            data,
            dtype=torch.int64 if np.asarray(data).dtype.kind == "i" else torch.float64,
            requires_grad=requires_grad,
        )
    )
    no_grad = staticmethod(torch.no_grad)
    exp, tanh, sum = staticmethod(torch.exp), staticmethod(torch.tanh), staticmethod(torch.sum)
    float32, float64 = torch.float32, torch.float64


CHANGES = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow]
CHANGES += [operator.ifloordiv, operator.imod]
CHANGES_OF_BITS = [operator.iand, operator.ior, operator.ixor]
CHANGES_OF_BITS += [operator.ilshift, operator.irshift, operator.ipow]


def numbers(x):
    """Return a tensor, an array or None as something to compare."""
    if x is None or isinstance(x, bool | str | int | float):
        return x
    return np.array(x.detach().numpy() if hasattr(x, "detach") else x)


def about(x):
    return [x.is_leaf, x.requires_grad, x.grad_fn is None]


def leaf_made_by_the_user(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = m.tensor([1.0, 2.0])
    return [*about(x), *about(y), x.grad, y.grad]


def results(m):
    x, y = m.tensor([1.0, 2.0], requires_grad=True), m.tensor([3.0, 4.0])
    return [*about(x * y), *about(y * y), *about(x > y), *about(x.detach() * y), *about(-x)]


def gradient_of_a_product(m):
    x, y = m.tensor([1.0, 2.0], requires_grad=True), m.tensor([3.0, 4.0], requires_grad=True)
    m.sum(x * y * x).backward()
    return [x.grad, y.grad, *about(x.grad)]


def second_backward_through_a_new_graph_accumulates(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    m.sum(x * x).backward()
    first, memory = x.grad, x.grad.detach()
    m.sum(m.exp(x)).backward()
    return [x.grad, first is x.grad, first, memory]  # in place: earlier handles see it


def zeroing_in_between(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    m.sum(x * x).backward()
    x.grad = None
    m.sum(m.exp(x)).backward()
    return [x.grad]


def unused_input(m):
    x, y = m.tensor([1.0], requires_grad=True), m.tensor([2.0], requires_grad=True)
    m.sum(x * x).backward()
    return [x.grad, y.grad]


def retain_grad(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    before = y.retains_grad
    y.retain_grad()
    y.retain_grad()
    m.sum(y * y).backward()
    return [y.grad, x.grad, before, y.retains_grad, y.is_leaf]


def retain_grad_accumulates(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.retain_grad()
    loss = m.sum(y * y)
    loss.backward(retain_graph=True)
    loss.backward()
    return [y.grad, x.grad]


def retain_grad_on_a_leaf_changes_nothing(m):
    x = m.tensor([1.0], requires_grad=True)
    x.retain_grad()
    m.sum(x * x).backward()
    return [x.grad, x.retains_grad]


def detach(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2.0
    d = y.detach()
    m.sum(y * d).backward()
    return [*about(d), x.grad, d]


def detach_shares_memory(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    d = x.detach()
    d[0] = 7.0
    return [x, d]


def no_grad(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    with m.no_grad():
        y = x * x
    z = x * x
    return [*about(y), *about(z)]


def no_grad_inside_no_grad(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    with m.no_grad():
        with m.no_grad():
            pass
        y = x * x
    z = x * x
    return [*about(y), *about(z)]


def step_under_no_grad(m):
    w = m.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        m.sum(w * w * w).backward()
        with m.no_grad():
            w -= 0.1 * w.grad
            w *= 0.9
            w /= 1.1
            w += 0.01
            w[0] = w[0] * 2.0
        w.grad = None
    return [w, *about(w)]


def rebinding_is_not_in_place(m):
    w = m.tensor([1.0, 2.0], requires_grad=True)
    v = w - 0.1
    return [*about(w), *about(v), w]


def diamond(m):
    x = m.tensor([0.3, 0.7], requires_grad=True)
    y = m.tanh(x)
    a, b = y * y, m.exp(y)
    m.sum(a * b + y).backward()
    return [x.grad]


def same_tensor_twice(m):
    x = m.tensor([3.0], requires_grad=True)
    m.sum(x + x).backward()
    return [x.grad]


def backward_on_a_leaf(m):
    x = m.tensor(2.0, requires_grad=True)
    x.backward()
    return [x.grad]


def gradient_argument(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.backward(gradient=m.tensor([1.0, 10.0]))
    return [x.grad]


def to_the_dtype_it_has(m):
    x = m.tensor([1.0], requires_grad=True)
    return [x.to(m.float64) is x, *about(x.to(m.float64))]


def to_another_dtype(m):
    x = m.tensor([1.5], requires_grad=True)
    y = x.to(m.float32)
    m.sum(y * y).backward()
    return [*about(y), str(y.dtype).split(".")[-1], x.grad, str(x.grad.dtype).split(".")[-1]]


def requires_grad_afterwards(m):
    x = m.tensor([1.0, 2.0])
    y = x * 2.0
    y.requires_grad = True  # y has no history: a leaf
    m.sum(y * y).backward()
    return [*about(y), y.grad, x.grad]


def requires_grad_taken_back(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    x.requires_grad = False
    return [*about(x), *about(x * x)]


def in_place_without_grad(m):
    x = m.tensor([1.0, 2.0])
    same = x
    x += 1.0
    x[1] = 5.0
    return [x, same is x, *about(x)]


def every_in_place_operator(m):
    seen = []
    for change in CHANGES:
        x = m.tensor([7.0, 5.0])
        same, seen = x, [*seen, x]
        x = change(x, m.tensor([2.0, 3.0]))
        seen.append(same is x)
    for change in CHANGES_OF_BITS:
        x = m.tensor([7, 5])
        same, seen = x, [*seen, x]
        x = change(x, m.tensor([2, 3]))
        seen.append(same is x)
    return seen


def views_share_memory(m):
    x = m.tensor([[1.0, 2.0], [3.0, 4.0]])
    row = x[0]
    row[1] = 9.0
    return [x]


def change_before_recording_is_fine(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    with m.no_grad():
        x += 1.0
    m.sum(x * x).backward()
    return [x.grad]


def python_control_flow(m):
    x = m.tensor(3.0, requires_grad=True)
    y = x * 2.0 if x > 2.0 else x * x
    while y < 20.0:
        y = y * x
    y.backward()
    return [y, x.grad, float(y.detach()), int(y.detach()), bool(x.detach())]


def part_of_the_graph_twice(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = m.exp(x)
    loss = m.sum(y * y)
    loss.backward(retain_graph=True)
    loss.backward()
    return [x.grad]


CASES = [
    *(leaf_made_by_the_user, results, gradient_of_a_product, unused_input, zeroing_in_between),
    *(second_backward_through_a_new_graph_accumulates, retain_grad, retain_grad_accumulates),
    *(retain_grad_on_a_leaf_changes_nothing, detach, detach_shares_memory, no_grad, diamond),
    *(step_under_no_grad, rebinding_is_not_in_place, same_tensor_twice, backward_on_a_leaf),
    *(gradient_argument, to_the_dtype_it_has, to_another_dtype, requires_grad_afterwards),
    *(requires_grad_taken_back, in_place_without_grad, views_share_memory),
    *(every_in_place_operator, no_grad_inside_no_grad),
    *(change_before_recording_is_fine, python_control_flow, part_of_the_graph_twice),
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


def second_backward(m):
    x = m.tensor([1.0], requires_grad=True)
    loss = m.sum(m.exp(x))
    loss.backward()
    loss.backward()


def second_backward_through_a_shared_part(m):
    x = m.tensor([1.0], requires_grad=True)
    y = m.exp(x)
    m.sum(y * 2.0).backward()
    m.sum(y * 3.0).backward()


def in_place_on_a_leaf(m):
    x = m.tensor([1.0], requires_grad=True)
    x += 1.0


def setitem_on_a_leaf(m):
    x = m.tensor([1.0], requires_grad=True)
    x[0] = 1.0


def integers(m):
    m.tensor([1, 2], requires_grad=True)


def integers_afterwards(m):
    m.tensor([1, 2]).requires_grad = True


def no_graph(m):
    m.sum(m.tensor([1.0])).backward()


def no_graph_under_no_grad(m):
    x = m.tensor([1.0], requires_grad=True)
    with m.no_grad():
        loss = m.sum(x * x)
    loss.backward()


def not_a_scalar(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward()


def gradient_of_the_wrong_shape(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(gradient=m.tensor([1.0]))


def changed_input(m):
    x, y = m.tensor([1.0], requires_grad=True), m.tensor([2.0])
    loss = m.sum(x * y)
    y += 1.0
    loss.backward()


def changed_through_detach(m):
    x = m.tensor([1.0], requires_grad=True)
    loss = m.sum(x * x)
    d = x.detach()
    d += 1.0
    loss.backward()


def changed_through_a_view(m):
    x, y = m.tensor([1.0, 1.0], requires_grad=True), m.tensor([2.0, 3.0])
    part = y[0:1]
    loss = m.sum(x * y)
    part += 1.0
    loss.backward()


def changed_output(m):
    x = m.tensor([1.0], requires_grad=True)
    y = m.exp(x)  # its rule reads its output
    with m.no_grad():
        y *= 2.0
    m.sum(y).backward()


def changed_gradient(m):
    x, w = m.tensor([1.0, 2.0], requires_grad=True), m.tensor([1.0, 1.0], requires_grad=True)
    m.sum(x * x).backward()
    loss = m.sum(x.grad * w)
    m.sum(x * x).backward()  # adds to x.grad, which the first graph has recorded
    loss.backward()


def power_in_place_on_a_leaf(m):
    x = m.tensor([1.0], requires_grad=True)
    x **= 2


def retain_grad_without_grad(m):
    m.tensor([1.0]).retain_grad()


def requires_grad_off_in_the_middle(m):
    x = m.tensor([1.0], requires_grad=True)
    (x * 2.0).requires_grad = False


def numpy_of_a_tracked_tensor(m):
    m.tensor([1.0], requires_grad=True).numpy()


ERRORS = {
    second_backward: "a second time through the same graph.*retain_graph=True",
    second_backward_through_a_shared_part: "a second time through the same graph",
    in_place_on_a_leaf: r"in-place change of a leaf tensor.*under no_grad\(\)",
    setitem_on_a_leaf: "in-place change of a leaf tensor",
    integers: "only floating-point tensors can require gradients, this one is int64",
    integers_afterwards: "only floating-point tensors",
    no_graph: "does not require grad and has no grad_fn",
    no_graph_under_no_grad: "does not require grad and has no grad_fn",
    not_a_scalar: r"shape \(2,\).*sum or average it, or pass its cotangent as gradient=",
    gradient_of_the_wrong_shape: r"gradient has shape \(1,\), the tensor \(2,\)",
    changed_input: "an input of multiply was changed in place.*make a copy",
    changed_through_detach: "was changed in place",
    changed_through_a_view: "was changed in place",
    changed_gradient: "an input of multiply was changed in place",
    power_in_place_on_a_leaf: r"in-place change of a leaf tensor.*under no_grad\(\)",
    changed_output: "exp was changed in place",
    retain_grad_without_grad: "does not require grad, so it has none",
    requires_grad_off_in_the_middle: r"leaf tensors only; call x.detach\(\)",
    numpy_of_a_tracked_tensor: r"call x.detach\(\).numpy\(\)",
}


@pytest.mark.parametrize("program", ERRORS, ids=lambda f: f.__name__)
def test_errors_as_in_pytorch(program):
    with pytest.raises(RuntimeError):
        program(Torch)
    with pytest.raises(RuntimeError, match=ERRORS[program]):
        program(Ours)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("m", [Ours, Torch])
def test_grad_of_a_tensor_that_is_not_a_leaf_is_none_and_warns(m):
    x = m.tensor([1.0], requires_grad=True)
    y = x * x
    m.sum(y).backward()
    with pytest.warns(UserWarning, match=r"not a leaf .*retain_grad\(\)") as caught:
        assert y.grad is None
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is not None
        assert m.tensor([1.0]).grad is None
        y.retain_grad()
        assert y.grad is None  # asked for, not filled yet: nothing to warn of


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


def test_zero_grad_forgets():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    xp.sum(x * x).backward()
    x.zero_grad()
    assert x.grad is None


def test_the_gradient_owns_its_memory():
    x = tape.tensor(np.ones(3), requires_grad=True)
    y = tape.tensor(np.ones(3), requires_grad=True)
    seed = np.ones(3)
    (x + y).backward(gradient=seed)
    arrays = [x.grad.data, y.grad.data, seed, x.data, y.data]
    for i, a in enumerate(arrays):
        assert not any(np.shares_memory(a, b) for b in arrays[:i])
    assert x.grad.data.flags.writeable


def test_the_data_are_copied_by_tensor_and_keep_their_dtype():
    data = np.ones(2, np.float32)
    x = tape.tensor(data, requires_grad=True)
    data[0] = 5.0
    assert x.data[0] == 1.0
    xp.sum(xp.exp(x) * 2.0).backward()
    assert x.grad.dtype == np.float32
    assert tape.tensor(x).data is not x.data


def test_the_rules_are_those_of_grad():
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 2)), rng.normal(size=3)

    def loss(w, x):
        return xp.sum(xp.tanh(x @ w) ** 2) + xp.max(w)

    a, b = tape.tensor(w, requires_grad=True), tape.tensor(x, requires_grad=True)
    loss(a, b).backward()
    gw, gx = engine.grad(loss, (0, 1))(w, x)
    np.testing.assert_array_equal(a.grad.data, gw)
    np.testing.assert_array_equal(b.grad.data, gx)


def test_a_missing_rule_is_named(monkeypatch):
    from persample.engine.reverse import vjp_rules

    x = tape.tensor([1.0], requires_grad=True)
    loss = xp.sum(xp.exp(x))
    monkeypatch.delitem(vjp_rules, "exp")
    with pytest.raises(NotImplementedError, match="exp has no VJP rule; add a row"):
        loss.backward()


def test_a_tensor_prints_what_it_is():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2.0) == "tensor([2., 4.], grad_fn=<multiply node>)"
    assert repr(x.detach()) == "tensor([1., 2.])"


RECORDED = {
    "product": lambda x, w: x * w,
    "product from the left": lambda x, w: w * x,
    "matrices": lambda x, w: x @ w,
    "broadcast": lambda x, w: x[None, :] * w,
    "read-only view": lambda x, w: x * np.broadcast_to(w, (4, 3)),
}


@pytest.mark.parametrize("f", RECORDED.values(), ids=RECORDED)
def test_an_array_of_numpys_is_copied_as_it_enters_a_graph(f):
    w, start = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 4.0])
    expected = engine.grad(lambda x: xp.sum(f(x, w)))(start)
    x = tape.tensor(start, requires_grad=True)
    loss = xp.sum(f(x, w))
    w[:] = 0.0
    loss.backward()
    np.testing.assert_array_equal(x.grad.data, expected)


def test_index_arrays_are_copied_as_they_enter_a_graph():
    places, x = np.array([2, 0]), tape.tensor([1.0, 2.0, 4.0], requires_grad=True)
    loss = xp.sum(x[places] ** 2)
    places[:] = 1
    loss.backward()
    np.testing.assert_array_equal(x.grad.data, [2.0, 0.0, 8.0])


def test_a_failing_block_leaves_recording_on():
    with pytest.raises(KeyError), tape.no_grad():
        raise KeyError
    assert (tape.tensor(1.0, requires_grad=True) * 2.0).requires_grad


def test_tensors_inside_the_other_transforms():
    """A tensor is a tracer of level 0: grad and vmap of a function of tensors stay on the tape."""
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


# Differences on purpose ----------------------------------------------------------------------


def test_every_node_is_freed_where_pytorch_frees_what_saved_something():
    """PyTorch lets a second backward pass through an addition, which saves nothing."""

    def twice(m):
        x = m.tensor([1.0], requires_grad=True)
        loss = m.sum(x + 1.0)
        loss.backward()
        loss.backward()

    twice(Torch)
    with pytest.raises(RuntimeError, match="a second time"):
        twice(Ours)


def test_every_input_is_watched_where_pytorch_watches_what_a_rule_reads():
    """The rule of addition reads neither input: PyTorch lets one change, we do not."""

    def change(m):
        x, y = m.tensor([1.0], requires_grad=True), m.tensor([2.0])
        loss = m.sum(x + y)
        y += 1.0
        loss.backward()

    change(Torch)
    with pytest.raises(RuntimeError, match="was changed in place"):
        change(Ours)


PARTS = ["of a tensor with a grad_fn, that requires grad", "by a tensor that requires grad"]


@pytest.mark.parametrize("kind", PARTS)
def test_in_place_operations_are_not_recorded_where_pytorch_records_them(kind):
    def change(m):
        x = m.tensor([1.0], requires_grad=True)
        y = x * 2.0 if kind.startswith("of") else m.tensor([1.0])
        y += x
        return y

    assert change(Torch).requires_grad
    with pytest.raises(RuntimeError, match=f"in-place change {kind}.*write x = x"):
        change(Ours)

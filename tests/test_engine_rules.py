"""Every primitive has every rule, and every rule is right.

Four independent routes to the same number: finite differences, a Python loop, JAX, PyTorch.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from precision import enable_x64
from rule_checks import (
    check_batching,
    check_vjp,
    differentiable,
    subsets,
)
from specs import CASE_IDS, CASES, SPECS
from tolerances import FINITE_DIFFERENCES, FLOAT32, FLOAT64, assert_close

from persample.engine import grad, value_and_grad, vmap
from persample.engine import namespace as xp
from persample.engine.batching import batch_rules
from persample.engine.contraction import contract, split
from persample.engine.primitives import PRIMITIVES, apply
from persample.engine.reverse import vjp_rules

every_case = pytest.mark.parametrize(("name", "case"), CASES, ids=CASE_IDS)


@pytest.fixture(autouse=True)
def float64_in_jax():
    with enable_x64(True):
        yield


def test_every_primitive_has_every_rule_and_a_row_of_cases():
    assert set(PRIMITIVES) == set(vjp_rules) == set(batch_rules) == set(SPECS)
    assert all(SPECS.values())


def test_every_input_has_a_rule_or_none():
    for name, case in CASES:
        if name != "concat":  # any number of inputs
            assert len(vjp_rules[name]) == len(case.inputs), name


def test_the_tolerances_are_the_stated_ones():
    assert (FLOAT64, FLOAT32, FINITE_DIFFERENCES) == (1e-9, 1e-5, 1e-6)


@every_case
def test_vjp_to_second_order(name, case):
    check_vjp(name, case, seed=0)
    check_vjp(name, case, seed=10)


@every_case
def test_batch_rule(name, case):
    check_batching(name, case)


@every_case
def test_batch_of_one_sample(name, case):
    check_batching(name, case, size=1)


@every_case
def test_nested_vmap_against_two_loops(name, case):
    """Every way to batch the inputs in the outer vmap, times every way in the inner one."""

    def one(*xs):
        return apply(name, *xs, **case.params)

    many, inner_only = case.draw(0, (2, 3)), case.draw(1, (3,))
    outer_only, single = case.draw(2, (2,)), case.draw(3)
    for outer in subsets(len(single)):
        for inner in subsets(len(single)):
            picked = list(zip(outer, inner, many, inner_only, outer_only, single, strict=True))
            args = [(a if i else c) if o else (b if i else d) for o, i, a, b, c, d in picked]
            out_axes = tuple(0 if o else None for o in outer)
            in_axes = tuple(0 if i else None for i in inner)
            mapped = vmap(vmap(one, in_axes), out_axes)(*args)
            for p in range(2):
                for q in range(3):
                    xs = [x[p] if o else x for x, o in zip(args, outer, strict=True)]
                    xs = [x[q] if i else x for x, i in zip(xs, inner, strict=True)]
                    assert_close(mapped[p, q], one(*xs), FLOAT64, f"{name} {outer} {inner}")


@every_case
def test_gradients_have_the_dtype_of_their_input(name, case):
    xs = case.draw()
    small = [x.astype(np.float32) if x.dtype.kind == "f" else x for x in xs]
    out, out32 = apply(name, *xs, **case.params), apply(name, *small, **case.params)
    if out.dtype.kind == "f" and name != "astype":
        assert out32.dtype == np.float32
    assert_close(out32, out, FLOAT32, name)
    for i in differentiable(name, xs):
        ct = vjp_rules[name][i](np.ones_like(out), out, *xs, **case.params)
        ct32 = vjp_rules[name][i](np.ones_like(out32), out32, *small, **case.params)
        assert ct32.dtype == np.float32, f"{name}, input {i}: {ct32.dtype}"
        assert_close(ct32, ct, 10 * FLOAT32, f"{name}, input {i}")


# JAX and PyTorch -----------------------------------------------------------------------------


def one_hot(m, indices, length):
    """Return indices as rows of 0 and 1, negative ones counted from the end."""
    return ((indices % length)[..., None] == m.arange(length)) * m.asarray(np.float64(1.0))


def picked(m, x, indices, batch_dims):
    """``take`` as a product with a one-hot array: another route to the same numbers."""
    b, k = "ab"[:batch_dims], "pqr"[: indices.ndim - batch_dims]
    r = "xyz"[: x.ndim - batch_dims - 1]
    hot = one_hot(m, indices, x.shape[batch_dims])
    return m.einsum(f"{b}{k}n,{b}n{r}->{b}{k}{r}", hot, x)


def scattered(m, x, indices, length, batch_dims):
    b, k = "ab"[:batch_dims], "pqr"[: indices.ndim - batch_dims]
    r = "xyz"[: x.ndim - indices.ndim]
    return m.einsum(f"{b}{k}n,{b}{k}{r}->{b}n{r}", one_hot(m, indices, length), x)


def positions(m, n, part):
    return m.asarray(np.arange(n)[slice(*part)].copy())


def sliced(m, x, slices):
    """Static slices by a list of positions: PyTorch has no negative steps."""
    for axis, part in enumerate(slices):
        x = m.take(x, positions(m, x.shape[axis], part), axis)
    return x


def padded(m, x, shape, slices):
    for axis, (n, part) in enumerate(zip(shape, slices, strict=True)):
        hot = one_hot(m, positions(m, n, part), n)
        x = m.moveaxis(m.tensordot(x, hot, ([axis], [0])), -1, axis)
    return x


class Torch:
    """PyTorch under the names that the table below uses."""

    equal, power, max, permute_dims = torch.eq, torch.pow, torch.amax, torch.permute
    bitwise_invert = torch.bitwise_not
    asarray = staticmethod(lambda x: torch.as_tensor(x))
    take = staticmethod(lambda x, i, axis: torch.index_select(x, axis, i))
    tensordot = staticmethod(lambda x, y, axes: torch.tensordot(x, y, dims=axes))
    astype = staticmethod(lambda x, dtype: x.to(getattr(torch, dtype.name)))
    stop_gradient = staticmethod(lambda x: x.detach())

    def __getattr__(self, name):
        return getattr(torch, name)


class Jax:
    stop_gradient = staticmethod(jax.lax.stop_gradient)
    astype = staticmethod(lambda x, dtype: x.astype(dtype))

    def __getattr__(self, name):
        return getattr(jnp, name)


def product_along(m, x, axes):
    for axis in sorted(axes, reverse=True):  # PyTorch multiplies along one axis at a time
        x = m.prod(x, axis)
    return x


def along(jax_name, torch_name=None):
    """A function of one axis, under the name that each peer has for it."""
    names = {JAX: jax_name, TORCH: torch_name or jax_name}
    return lambda m, x, axis: getattr(m, names[m])(x, axis)


def symmetric(m, x):
    return (x + m.swapaxes(x, -1, -2)) / 2


# Where the peers' function of the same name does not take our arguments as they are.
JAX, TORCH = Jax(), Torch()
PEER_FORMS = {
    "min": lambda m, x, axes: m.min(x, axis=axes) if m is JAX else torch.amin(x, dim=axes),
    "prod": product_along,
    "cumulative_sum": along("cumsum"),
    "cumulative_prod": along("cumprod"),
    "argmax": along("argmax"),
    "argmin": along("argmin"),
    "argsort": lambda m, x, axis: m.argsort(
        x, **{"axis" if m is JAX else "dim": axis}, stable=True
    ),
    "solve": lambda m, x, y: m.linalg.solve(x, y),
    "cholesky": lambda m, x: m.linalg.cholesky(symmetric(m, x)),
    "log_abs_det": lambda m, x: m.linalg.slogdet(x)[1],
    "sign_of_det": lambda m, x: m.linalg.slogdet(x)[0],
    "astype": lambda m, x, dtype: m.astype(x, dtype),
    "einsum": lambda m, x, y, subscripts: m.einsum(subscripts, x, y),
    "sum": lambda m, x, axes: m.sum(x, axis=axes),
    "max": lambda m, x, axes: m.max(x, axis=axes) if m is JAX else m.max(x, dim=axes),
    "reshape": lambda m, x, shape: m.reshape(x, shape),
    "permute_dims": lambda m, x, axes: m.permute_dims(x, axes),
    "broadcast_to": lambda m, x, shape: m.broadcast_to(x, shape),
    "concat": lambda m, *xs, axis: m.concatenate(xs, axis),
    "slice": sliced,
    "pad": padded,
    "take": picked,
    "scatter_add": scattered,
}


def peer(m, name, *xs, **params):
    form = PEER_FORMS.get(name)
    return form(m, *xs, **params) if form else getattr(m, name)(*xs)


@every_case
def test_value_and_gradient_as_in_jax_and_pytorch(name, case):
    xs = case.draw(5)
    out = apply(name, *xs, **case.params)
    assert_close(np.asarray(peer(JAX, name, *map(jnp.asarray, xs), **case.params)), out, FLOAT64)
    tensors = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in xs]
    torch_out = peer(TORCH, name, *tensors, **case.params)
    assert_close(torch_out.detach().numpy(), out, FLOAT64)
    if out.dtype.kind != "f" or not any(x.dtype.kind == "f" for x in xs):
        return
    w = np.random.default_rng(6).normal(size=out.shape)
    floats = tuple(i for i, x in enumerate(xs) if x.dtype.kind == "f")
    ours = grad(lambda *xs: xp.sum(apply(name, *xs, **case.params) * w), floats)(*xs)
    if not differentiable(name, xs):
        assert not any(np.any(g) for g in ours)  # the peers have no rule for some of these
        return
    theirs = jax.grad(lambda *xs: jnp.sum(peer(JAX, name, *xs, **case.params) * w), floats)(
        *map(jnp.asarray, xs)
    )
    assert_close(ours, tuple(np.asarray(g) for g in theirs), FLOAT64, name)
    (torch_out * torch.tensor(w)).sum().backward()
    without = [0.0 * x for x in xs]  # what PyTorch calls None
    gradients = [without[i] if tensors[i].grad is None else tensors[i].grad for i in floats]
    assert_close(ours, tuple(map(np.asarray, gradients)), FLOAT64, name)


@pytest.mark.parametrize("subscripts", [c.params["subscripts"] for c in SPECS["einsum"]])
def test_a_contraction_is_what_einsum_says(subscripts):
    rng = np.random.default_rng(0)
    lengths = dict(zip("ijklbc", (2, 3, 4, 5, 6, 7), strict=True))
    x, y = [rng.normal(size=[lengths[a] for a in o]) for o in split(subscripts)[:2]]
    assert_close(contract(subscripts)(x, y), np.einsum(subscripts, x, y), FLOAT64, subscripts)


# Special values ------------------------------------------------------------------------------


def clip(m, x, low, high):
    return torch.clamp(x, low, high) if m is torch else m.clip(x, low, high)


SPECIAL = {
    "maximum at a tie": (lambda m, x, y: m.maximum(x, y), (1.0, 1.0)),
    "minimum at a tie": (lambda m, x, y: m.minimum(x, y), (1.0, 1.0)),
    "maximum of a thing and itself": (lambda m, x, y: m.maximum(x, x) * y, (2.0, 3.0)),
    "abs at 0": (lambda m, x, y: m.abs(x) * y, (0.0, 2.0)),
    "x ** 0.0 at 0": (lambda m, x, y: m.pow(x, 0.0) + y, (0.0, 1.0)),
    "x ** 1.0 at 0": (lambda m, x, y: m.pow(x, 1.0) + y, (0.0, 1.0)),
    "x ** 2 at 0": (lambda m, x, y: m.pow(x, 2) + y, (0.0, 1.0)),
    "x ** 3 at -2": (lambda m, x, y: m.pow(x, 3) + y, (-2.0, 1.0)),
    "x ** -1 at -2": (lambda m, x, y: m.pow(x, -1) + y, (-2.0, 1.0)),
    "0 ** y": (lambda m, x, y: m.pow(x, y), (0.0, 2.0)),
    "0 ** 0": (lambda m, x, y: m.pow(x, y), (0.0, 0.0)),
    "log1p at 0": (lambda m, x, y: m.log1p(x) * y, (0.0, 2.0)),
    "log1p near 0": (lambda m, x, y: m.log1p(x) * y, (1e-18, 2.0)),
    "tanh far out": (lambda m, x, y: m.tanh(x) * y, (400.0, 2.0)),
    "sqrt at 0 is infinitely steep": (lambda m, x, y: m.sqrt(x) + y, (0.0, 1.0)),
    "log at 0": (lambda m, x, y: m.log(x) + y, (0.0, 1.0)),
    "where keeps NaN in if the untaken branch has it": (
        lambda m, x, y: m.where(x > 0.0, m.sqrt(x - 1.0), y),
        (-2.0, 1.0),
    ),
    "where with the double-where remedy": (
        lambda m, x, y: m.where(x > 0.0, m.log(m.where(x > 0.0, x, m.ones_like(x))), y),
        (0.0, 1.0),
    ),
    "logaddexp at a tie": (lambda m, x, y: m.logaddexp(x, y), (1.0, 1.0)),
    "logaddexp with +inf": (lambda m, x, y: m.logaddexp(x, y), (np.inf, 1.0)),
    "logaddexp with -inf": (lambda m, x, y: m.logaddexp(x, y), (-np.inf, 1.0)),
    "clip at its lower bound": (lambda m, x, y: clip(m, x, 1.0, 3.0) * y, (1.0, 2.0)),
    "clip at its upper bound": (lambda m, x, y: clip(m, x, 1.0, 3.0) * y, (3.0, 2.0)),
    "clip beyond a bound": (lambda m, x, y: clip(m, x, 1.0, 3.0) * y, (4.0, 2.0)),
    "remainder of a negative": (lambda m, x, y: m.remainder(x, y), (-5.3, 2.0)),
    "remainder by a negative": (lambda m, x, y: m.remainder(x, y), (5.3, -2.0)),
    "sign at 0": (lambda m, x, y: m.sign(x) * y + x, (0.0, 2.0)),
    "atan2 on the negative axis": (lambda m, x, y: m.atan2(x, y), (0.0, -2.0)),
    "hypot at the origin": (lambda m, x, y: m.hypot(x, y), (0.0, 0.0)),
    "prod with a zero": (lambda m, x, y: m.prod(m.stack([x, y, x + 3.0])), (0.0, 2.0)),
    "prod with two zeros": (lambda m, x, y: m.prod(m.stack([x, y])), (0.0, 0.0)),
    "prod of nothing": (lambda m, x, y: m.prod(m.stack([x, y])[:0]) * x, (3.0, 2.0)),
    "norm at 0": (lambda m, x, y: m.linalg.vector_norm(m.stack([x, y])), (0.0, 0.0)),
    "asin at 1": (lambda m, x, y: m.asin(x) * y, (1.0, 2.0)),
    "atanh at 1": (lambda m, x, y: m.atanh(x) * y, (1.0, 2.0)),
    "sinh far out": (lambda m, x, y: m.sinh(x) * y, (700.0, 1e-300)),
    "expm1 near 0": (lambda m, x, y: m.expm1(x) * y, (1e-18, 2.0)),
    "logaddexp far apart": (lambda m, x, y: m.logaddexp(x, y), (-900.0, 900.0)),
}


# There the peers differ from each other; we take PyTorch's side. JAX 0.10 gives
AS_PYTORCH_ONLY = {
    "abs at 0",  # 1
    "x ** 0.0 at 0",  # NaN, though it is a constant
    "0 ** 0",  # the same
    "clip at its lower bound",  # 1/2, PyTorch from 2.15 on 0
    "clip at its upper bound",  # 1/2, PyTorch from 2.15 on 0
    "norm at 0",  # NaN
    "hypot at the origin",  # 1/2
    "logaddexp with +inf",  # e for the other input
}


TORCH_VERSION = tuple(map(int, torch.__version__.split(".")[:2]))


@pytest.mark.parametrize("what", SPECIAL)
def test_special_values_as_in_jax_and_pytorch(what):
    f, at = SPECIAL[what]
    with np.errstate(all="ignore"):
        value, ours = value_and_grad(lambda x, y: f(xp, x, y), (0, 1))(*map(np.float64, at))
    theirs = jax.value_and_grad(lambda x, y: f(jnp, x, y), (0, 1))(*map(float, at))
    if what not in AS_PYTORCH_ONLY:
        assert_close((value, ours), jax.tree.map(np.asarray, theirs), FLOAT64, what)
    x, y = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in at]
    out = f(torch, x, y)
    out.backward()
    gradients = [0.0 if t.grad is None else t.grad.item() for t in (x, y)]
    if what.startswith("clip at") and TORCH_VERSION >= (2, 15):
        assert (gradients[0], ours[0]) == (0.0, 2.0)
    else:
        assert_close((value, ours), (out.item(), tuple(gradients)), FLOAT64, what)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_ties_of_max_share_evenly(axes):
    x = np.array([[1.0, 3.0, 3.0], [3.0, 0.0, 3.0]])
    ours = grad(lambda x: xp.sum(xp.max(x, axis=axes)))(x)
    assert_close(ours, np.asarray(jax.grad(lambda x: jnp.sum(jnp.max(x, axis=axes)))(x)), FLOAT64)
    t = torch.tensor(x, requires_grad=True)
    torch.amax(t, axes).sum().backward()
    assert_close(ours, t.grad.numpy(), FLOAT64)


def test_a_negative_base_with_a_real_exponent_has_no_gradient_in_the_exponent():
    with np.errstate(invalid="ignore"):
        ours = grad(lambda x, y: xp.pow(x, y), (0, 1))(np.float64(-2.0), np.float64(3.0))
    theirs = jax.grad(lambda x, y: x**y, (0, 1))(-2.0, 3.0)
    assert_close(ours, tuple(map(np.asarray, theirs)), FLOAT64)
    assert np.isnan(ours[1])


# The checker is itself checked ---------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, c in SPECS.items() if differentiable(n, c[0].draw())])
def test_the_checker_rejects_a_rule_wrong_by_a_thousandth(name, monkeypatch):
    rules = [vjp_rules[name][i] for i in range(len(SPECS[name][0].inputs))]
    wrong = [r and (lambda *a, r=r, **p: r(*a, **p) * 1.001) for r in rules]
    monkeypatch.setitem(vjp_rules, name, wrong)
    with pytest.raises(AssertionError, match=name):
        check_vjp(name, SPECS[name][0])


def test_the_checker_rejects_a_rule_right_in_value_but_not_differentiable(monkeypatch):
    """To first order this rule is right; only the second order shows that it is a constant."""

    def frozen(ct, out, x):
        return ct * xp.stop_gradient(out)

    monkeypatch.setitem(vjp_rules, "exp", (frozen,))
    with pytest.raises(AssertionError, match="second order"):
        check_vjp("exp", SPECS["exp"][0])

"""Norms and clipped sums against a loop over samples, for the losses of clipped_sum_cases.

Each loss states which parameters are factored, as documented: used once in the whole program, by
one matrix product with one vector of each sample, or by one lookup of one entry of a table;
reshapes and casts are allowed in between.
"""

import functools

import numpy as np
import pytest

import persample as ps
from persample import backends, statistics
from support.clipped_sum_cases import BOTH, JAX, KIND, WEIGHTS, B, I, X, Y, square
from support.missing import MISSING
from support.processes import python

if "jax" not in MISSING:
    import jax
    import jax.numpy as jnp
    from jax import lax
if "torch" not in MISSING:
    import torch

pytestmark = pytest.mark.usefixtures("double_precision")
_rng = np.random.default_rng(55)


def with_lookups(test):
    """Decorate a test: skip it where PyTorch's vmap is too old for ``t[i]`` with a 0-d i."""

    @functools.wraps(test)
    def run(**given):
        try:
            test(**given)
        except RuntimeError as error:
            too_old = (
                "torch" not in MISSING
                and torch.torch_version.TorchVersion(torch.__version__) < "2.13"
            )
            if too_old and "calling .item()" in str(error):
                pytest.skip("this PyTorch's vmap takes no index that is one number")
            raise

    return run


def put(backend, tree):
    """Return a tree with its NumPy arrays converted to a backend's; other leaves stay."""
    make = {"numpy": np.array, "jax": lambda x: jnp.array(x), "torch": lambda x: torch.tensor(x)}
    return ps.arrays.tree_map(lambda x: make[backend](x) if isinstance(x, np.ndarray) else x, tree)


def program(entry, backend):
    """Return (loss, parameters, batch) of an entry of clipped_sum_cases, in a backend."""
    _, given, batch, f = entry
    rng = np.random.default_rng(1)
    params = {
        key: np.array(rng.normal(size=g)) if isinstance(g, tuple) else g
        for key, g in zip("abc", given, strict=False)
    }
    batch = tuple(np.ascontiguousarray(x) for x in batch)

    def loss(params, *sample):
        return f(ps.array_namespace(params), *params.values(), *sample)

    return loss, put(backend, params), put(backend, batch)


def numbers(tree):
    return [np.asarray(ps.to_numpy(x), np.float64) for x in ps.arrays.leaves(tree)]


def by_loop(rows, max_norm, weights=WEIGHTS):
    """Return (norms, weighted sum of the clipped rows) of a tree of rows, in plain NumPy."""
    rows = numbers(rows)
    norms = np.sqrt(sum((g.reshape(len(g), -1) ** 2).sum(1) for g in rows))
    factors = weights * np.minimum(1, max_norm / np.where(norms > 0, norms, 1))
    return norms, [np.tensordot(factors, g, 1) for g in rows]


def assert_near(found, wanted, tolerance=1e-10):
    found, wanted = numbers(found), numbers(wanted)
    assert [x.shape for x in found] == [x.shape for x in wanted]
    size = max([1.0, *(abs(x).max() for x in wanted if x.size)])
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * size)


def check(loss, params, batch, in_axes=None, tolerance=1e-10, **settings):
    rows = ps.loop_grad(loss, in_axes)(params, *batch)
    bound = float(np.median(by_loop(rows, 1.0)[0])) or 1.0
    norms, sums = by_loop(rows, bound)
    weights = put(ps.arrays.backend_of(params), WEIGHTS)
    assert_near(ps.per_sample_norms(loss, in_axes, **settings)(params, *batch), norms, tolerance)
    sum_of = ps.clipped_grad_sum(loss, in_axes, **settings)
    assert_near(sum_of(params, *batch, max_norm=bound, weights=weights), sums, tolerance)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("backend", ["numpy", "torch"])
@with_lookups
def test_as_a_loop(backend, name):
    case = program(BOTH[name], backend)
    for settings in ({}, {"chunk_size": None}, {"chunk_size": 2}):
        check(*case, **settings)
    if backend == "numpy":
        check(*case, jit=True, chunk_size=2)


def in_jax(entry, chunk_size, samples=B):
    """Compare norms and clipped sums of an entry, in one jax.jit, with a loop over samples."""
    loss, params, batch = program(entry, "jax")
    batch, weights = tuple(x[:samples] for x in batch), WEIGHTS[:samples]
    grad = jax.jit(jax.grad(loss))
    rows = [grad(params, *(x[i] for x in batch)) for i in range(samples)]
    rows = ps.backend("jax").stack(rows)
    bound = float(np.median(by_loop(rows, 1.0, weights)[0])) or 1.0
    norms_of = ps.per_sample_norms(loss, chunk_size=chunk_size)
    sum_of = ps.clipped_grad_sum(loss, chunk_size=chunk_size)

    @jax.jit
    def both(params, batch, bound, weights):
        total = sum_of(params, *batch, max_norm=bound, weights=weights)
        return norms_of(params, *batch), *total.values()

    norms, sums = by_loop(rows, bound, weights)
    assert_near(both(params, batch, bound, jnp.array(weights)), [norms, *sums])


@pytest.mark.parametrize("name", JAX)
@pytest.mark.skipif("jax" in MISSING, reason="jax is not installed")
def test_as_a_loop_in_a_compiled_program(name):
    in_jax(JAX[name], "auto")


@pytest.mark.slow
@pytest.mark.parametrize("name", {**BOTH, **JAX})
@pytest.mark.parametrize("backend", ["jax"])
def test_as_a_loop_in_jax(backend, name):
    entry = {**BOTH, **JAX}[name]
    in_jax(entry, 2, samples=4)  # two chunks; a third, smaller one would be compiled again
    if name in ("layers", "a lookup", "checkpoint", "branches", "low rank", "filled lookup"):
        check(*program(entry, "jax"), chunk_size=2)
        check(*program(entry, "jax"), jit=True, chunk_size=2)


@pytest.mark.parametrize("backend", ["numpy", "jax", "torch"])
@with_lookups
def test_which_parameters_are_factored(backend):
    for name, entry in {**BOTH, **(JAX if backend == "jax" else {})}.items():
        loss, params, batch = program(entry, backend)
        forms, found = ps.per_sample_norms(loss).forms, {}
        if backend == "jax":  # its types alone: much faster
            jax.eval_shape(lambda p, b, f=forms, to=found: to.update(f(p, *b)), params, batch)
        else:
            found = forms(params, *batch)
        wanted = {f"['{key}']": KIND.get(k) for key, k in zip("abc", entry[0], strict=False)}
        if backend == "torch":
            wanted = dict.fromkeys(wanted, "rows")
        assert found == {k: v or found[k] for k, v in wanted.items()}, name


def one(p, *sample):
    """Return one sample's loss: an outer product for w, a lookup for t, formed rows for b."""
    xp, (x, i) = ps.array_namespace(p), sample
    return square(xp.tanh(p["w"] @ x) + p["b"] + p["t"][i])


ONE = {"w": _rng.normal(size=(3, 4)), "b": _rng.normal(size=3), "t": _rng.normal(size=(3, 3))}
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "jax", "torch"])
SLOW_IN_JAX = pytest.mark.parametrize(
    "backend", ["numpy", "torch", pytest.param("jax", marks=pytest.mark.slow)]
)


def product(w, x):
    return square(w @ x)


@SLOW_IN_JAX
def test_other_axes_trees_and_one_array_in_several_places(backend):
    w, x, y = put(backend, (ONE["w"], X, Y))
    check(lambda p, a, b: square(p @ a - b), w, (x.T, y), (None, 1, 0))
    check(lambda p, a, b: square(p @ a * b[0]), w, (x[0], y), (None, None, 0))
    tree, batch = [None, (w, {"v": w})], ({"x": x, "y": x[0]}, True)

    def loss(p, d, flag):
        a, b = p[1][0], p[1][1]["v"]
        return square((a @ d["x"]) * (b @ d["y"])) if flag else a.sum()

    check(loss, tree, batch, (None, {"x": 0, "y": None}, None))
    check(lambda p, target, a: square(p @ a - target @ (a * a)), w, (w, x), (None, None, 0))
    check(lambda p, a: square((p @ a) * (w @ a)), w, (x,))
    check(product, x, (x,))
    with pytest.raises(ValueError, match="one set of parameters for each sample"):
        ps.clipped_grad_sum(product, 0)(put(backend, np.ones((B, 3, 4))), x, max_norm=1.0)


@SLOW_IN_JAX
@with_lookups
def test_samples_that_are_not_finite(backend):
    params, i = put(backend, (ONE, I))
    for bad in (np.nan, np.inf):
        x = X.copy()
        x[1] = bad
        keep = [0, 2, 3, 4]
        f = ps.clipped_grad_sum(lambda p, x, i: square(p["w"] @ x) + one(p, x, i), chunk_size=2)
        with np.errstate(invalid="ignore"):
            left = f(params, *put(backend, (x, I)), max_norm=1.0, weights=put(backend, WEIGHTS))
            total = f(params, *put(backend, (x, I)), max_norm=1.0)
        rest = put(backend, (x[keep], I[keep], WEIGHTS[keep]))
        assert_near(left, f(params, *rest[:2], max_norm=1.0, weights=rest[2]))
        assert np.isnan(ps.to_numpy(total["w"])).all()


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_a_row_that_overflows_when_it_is_multiplied_out(backend):
    w, x = put(backend, (np.ones((3, 4)), np.full((B, 4), 1e200)))
    with np.errstate(over="ignore", invalid="ignore"):
        total = ps.clipped_grad_sum(lambda w, x: 1e200 * (w @ x).sum())(w, x, max_norm=1.0)
    assert np.isnan(ps.to_numpy(total)).all()


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_factors_whose_squares_overflow_or_vanish(backend):
    for a, b in ((1e200, 1e-200), (1e-200, 1e200), (1e-100, 1e-60), (1e150, 1e150)):
        w, x = put(backend, (np.ones((3, 4)), a * (1 + np.arange(20.0).reshape(B, 4))))
        norms = ps.to_numpy(ps.per_sample_norms(lambda w, x, b=b: b * (w @ x).sum())(w, x))
        wanted = np.linalg.norm(1 + np.arange(20.0).reshape(B, 4), axis=1) * np.sqrt(3)
        np.testing.assert_allclose(norms / a / b, wanted, rtol=1e-10)


@BACKENDS
def test_bounds_weights_and_batches(backend):
    w, x = put(backend, (ONE["w"], X))
    f, rows = ps.clipped_grad_sum(product), ps.loop_grad(product)(w, x)
    for bound in (np.inf, 1e-200, np.array(0.7), 2):
        assert_near(f(w, x, max_norm=bound), by_loop(rows, float(bound), np.ones(B))[1])
    for bound in (0, -1.0, np.nan, np.ones(1), np.ones(B)):
        with pytest.raises(ValueError, match="a number above 0"):
            f(w, x, max_norm=bound)
    for weights in (np.ones(4), np.ones((B, 1)), 1.0):
        with pytest.raises(ValueError, match="the weights have shape"):
            f(w, x, max_norm=1.0, weights=weights)
    assert_near(f(w, x[:0], max_norm=1.0), np.zeros((3, 4)))
    assert ps.per_sample_norms(product)(w, x[:0]).shape == (0,)
    assert_near(f(w, x[:1], max_norm=0.7), by_loop(rows[:1], 0.7, np.ones(1))[1])
    total, aux = ps.clipped_grad_sum(
        lambda w, x: (product(w, x), {"w": w, "h": w @ x}), has_aux=True, chunk_size=2
    )(w, x, max_norm=0.7)
    assert_near(total, by_loop(rows, 0.7, np.ones(B))[1])
    assert_near([aux["w"], aux["h"]], [np.stack([ONE["w"]] * B), X @ ONE["w"].T])


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_the_sample_that_stands_in_for_none_is_zero(name, monkeypatch):
    """Fill uninitialised memory with NaN, which the loss for an empty batch must not read."""
    own, nan = backends.backend(name), put(name, np.full((1, 3), np.nan))
    monkeypatch.setattr(own, "empty", lambda shape, like: nan)
    (found,) = own.zeros_for_none((put(name, np.zeros((0, 3))),), (0,))
    assert_near(found, np.zeros((1, 3)))


@pytest.mark.parametrize("bound", ["1", 1j])
def test_a_bound_that_is_no_real_number(bound):
    with pytest.raises((TypeError, ValueError), match="max_norm"):
        ps.clipped_grad_sum(product)(ONE["w"], X, max_norm=bound)


@pytest.mark.slow
def test_16_bit_parameters():
    w, x = jnp.array(ONE["w"], jnp.bfloat16), jnp.array(X, jnp.bfloat16)
    check(product, w, (x,), tolerance=2e-2)
    assert ps.clipped_grad_sum(product)(w, x, max_norm=1.0).dtype == jnp.float32
    assert ps.per_sample_norms(product)(w, x).dtype == jnp.float32
    w, x = (jnp.array(a, jnp.float32) for a in (ONE["w"], X))
    cast = lambda a: a.astype(jnp.bfloat16)  # noqa: E731
    loss = lambda w, x: product(cast(w), cast(x)).astype(jnp.float32)  # noqa: E731
    check(loss, w, (x,), tolerance=2e-2, jit=True)
    assert ps.per_sample_norms(loss).forms(w, x) == {"": "outer product"}


# In JAX's transforms, against the same transform of plain JAX.


def plain(p, x, i, bound, weights):
    rows = jax.vmap(jax.grad(one), (None, 0, 0))(p, x, i)
    squares = sum((g.reshape(len(g), -1) ** 2).sum(1) for g in jax.tree.leaves(rows))
    factors = weights * jnp.minimum(1, bound / jnp.sqrt(squares))
    return jax.tree.map(lambda g: jnp.tensordot(factors, g, 1), rows)


def ours(p, x, i, bound, weights):
    return ps.clipped_grad_sum(one, chunk_size=2)(p, x, i, max_norm=bound, weights=weights)


def several(f):
    """Return the results of a clipped sum f under vmap (parameters, bounds), scan and grad."""
    given = *put("jax", (ONE, X, I)), 0.7, jnp.array(WEIGHTS)
    step = lambda p, _: (jax.tree.map(lambda a, g: a - 0.1 * g, p, f(p, *given[1:])), None)  # noqa: E731
    sines = lambda *a: sum(jnp.sin(g).sum() for g in jax.tree.leaves(f(*a)))  # noqa: E731
    twice = jax.tree.map(lambda a: jnp.stack([a, -2 * a]), given[0])
    return jax.jit(
        lambda: [
            jax.vmap(lambda p: f(p, *given[1:]))(twice),
            jax.vmap(lambda c: f(*given[:3], c, given[4]))(jnp.array([0.1, 3.0])),
            lax.scan(step, given[0], None, length=2)[0],
            jax.grad(sines, (0, 1, 3))(*given),
        ]
    )()


@pytest.mark.slow
def test_in_transforms_of_jax():
    assert_near(several(ours), numbers(several(plain)))


def test_the_derivative_by_a_weight_of_zero():
    given = *put("jax", (ONE, X, I)), 0.7
    found, wanted = (
        jax.jit(jax.grad(lambda w, f=f: f(*given, w)["b"].sum()))(jnp.array(WEIGHTS))
        for f in (ours, plain)
    )
    assert_near(found, wanted)


def test_the_derivative_at_a_row_of_zeros():
    """Compare a batch padded with samples of loss 0 with the batch without them."""
    given, i = put("jax", (ONE, X)), jnp.array(I)
    loss = lambda p, x, i, on: on * one(p, x, i)  # noqa: E731
    f = ps.clipped_grad_sum(loss)
    last = lambda p, x, i, on: f(p, x, i, on, max_norm=0.7)["b"].sum()  # noqa: E731
    on = jnp.array([1.0, 1.0, 0.0, 0.0, 1.0])
    found = jax.jit(jax.grad(last))(*given, i, on)
    keep = jnp.array([0, 1, 4])
    assert_near(found, numbers(jax.grad(last)(given[0], given[1][keep], i[keep], on[keep])))


@pytest.mark.parametrize("chunk_size", ["auto", 2])
def test_a_traced_bound_that_is_a_vector(chunk_size):
    f = jax.jit(ps.clipped_grad_sum(product, chunk_size=chunk_size))
    with pytest.raises(ValueError, match="a number above 0"):
        f(*put("jax", (ONE["w"], X)), max_norm=jnp.ones(B))


DEVICES = """
import jax, jax.numpy as jnp, numpy as np, persample as ps
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh, rng = Mesh(jax.devices(), "d"), np.random.default_rng(0)
over = lambda *a: NamedSharding(mesh, P(*a))
w, x = (jnp.array(rng.normal(size=s), "float32") for s in ((4, 4), (8, 4)))
loss = lambda w, x: (jnp.tanh(w @ x) ** 2).sum()
wanted = ps.statistics.clipped_sum(ps.loop_grad(loss)(w, x), 0.7)
def try_it(where, f, *given):
    try:
        print(where, bool(abs(np.asarray(f(*given)) - wanted).max() < 1e-5))
    except Exception as error:
        print(where, type(error).__name__)
def mapped(w, x):
    w = jax.lax.pcast(w, "d", to="varying")
    return jax.lax.psum(ps.clipped_grad_sum(loss)(w, x, max_norm=0.7), "d")
for settings in ({}, {"jit": True, "chunk_size": 3}):
    f = lambda w, x: ps.clipped_grad_sum(loss, **settings)(w, x, max_norm=0.7)
    xs = jax.device_put(x, over("d"))
    try_it("batch", f, jax.device_put(w, over()), xs)
    try_it("columns", f, jax.device_put(w, over(None, "d")), xs)
    try_it("donated", jax.jit(f, donate_argnums=0), jnp.array(w), x)
    try_it("lines", f, jax.device_put(w, over("d")), xs)
specs = {"in_specs": (P(), P("d")), "out_specs": P()}
try_it("map", jax.jit(jax.shard_map(mapped, mesh=mesh, **specs)), w, x)
"""


@pytest.fixture(scope="module")
def on_devices():
    if not hasattr(pytest.importorskip("jax").lax, "pcast"):
        pytest.skip("this JAX has no jax.lax.pcast")
    env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = python("-W", "ignore", "-c", DEVICES, env=env)
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["batch", "donated", "columns", "lines", "map"])
def test_on_four_devices(on_devices, where):
    assert {right for place, right in on_devices if place == where} == {"True"}


def test_noise_within_a_compiled_program():
    total = {k: jnp.zeros(s) for k, s in (("a", (100, 100)), ("b", (100, 100)), ("c", ()))}
    settings = {"max_norm": 0.7, "noise_multiplier": 1.5, "divisor": 10.0}
    noisy = jax.jit(lambda t, key: ps.privacy.noisy_mean(total=t, rng=key, **settings))
    first, second = (noisy(total, jax.random.key(k)) for k in (0, 1))
    draws = np.stack([np.ravel(t[k]) for t in (first, second) for k in "ab"])
    assert abs(draws.std(1) / 0.105 - 1).max() < 0.03
    assert abs(draws.mean(1)).max() < 0.005
    assert abs(np.corrcoef(draws) - np.eye(4)).max() < 0.05
    assert_near(ps.privacy.noisy_mean(total=total, rng=jax.random.key(0), **settings), first)
    with pytest.raises(TypeError, match="NumPy generator would be drawn once"):
        jax.jit(
            lambda t: ps.privacy.noisy_mean(total=t, rng=np.random.default_rng(0), **settings)
        )(total)


def test_noise_for_a_traced_bound_and_a_total_that_is_not():
    settings = {"total": jnp.zeros(3), "noise_multiplier": 1.0, "divisor": 1.0}
    noisy = jax.jit(lambda c, key: ps.privacy.noisy_mean(max_norm=c, rng=key, **settings))
    assert noisy(2.0, jax.random.key(0)).shape == (3,)


@pytest.mark.parametrize("backend", ["torch"])
def test_a_key_of_jax_for_an_array_of_pytorch(backend):
    with pytest.raises(TypeError, match="^noisy_mean: rng is of type"):
        ps.privacy.noisy_mean(
            total=torch.zeros(3), max_norm=1.0, noise_multiplier=1.0, divisor=1.0,
            rng=jax.random.key(0),
        )  # fmt: skip


@pytest.mark.parametrize("backend", ["numpy", "jax", "jax, compiled", "torch"])
def test_statistics_as_plain_numpy(backend):
    kind, compiled = backend.split(", ")[0], jax.jit if "," in backend else lambda f: f
    rows = {"b": _rng.normal(size=B), "w": _rng.normal(size=(B, 2, 3))}
    flat = np.concatenate([rows["b"][:, None], rows["w"].reshape(B, -1)], 1)
    given, other = put(kind, rows), put(kind, {k: x[:2] * 3 for k, x in rows.items()})
    assert_near(compiled(statistics.flatten)(given), flat)
    assert_near(compiled(statistics.gram)(given), flat @ flat.T)
    assert_near(compiled(statistics.gram)(given, other), flat @ (3 * flat[:2]).T)
    units = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    assert_near(compiled(statistics.cosines)(given, other), units @ units[:2].T)
    scaled = put(kind, {k: 1e200 * x for k, x in rows.items()})
    assert_near(compiled(statistics.cosines)(scaled), units @ units.T)
    rows["w"][1] = np.nan  # its weight is 0
    total = compiled(statistics.weighted_sum)(put(kind, rows), put(kind, WEIGHTS))
    wanted = np.delete(flat, 1, 0).T @ np.delete(WEIGHTS, 1)
    assert_near(total, [wanted[0], wanted[1:].reshape(2, 3)])

"""Losses that draw random numbers shared by the samples are refused; others are not.

Every draw here has so many outcomes that two of them never agree by chance.
"""

import random
from functools import partial

import numpy as np
import pytest

import persample as ps
from persample.backends import BACKENDS
from support.cases import WAYS, arrays
from support.missing import MISSING
from support.tolerances import FLOAT32, assert_close

if "torch" not in MISSING:
    import torch
    from torch.nn import functional as F
if "jax" not in MISSING:
    import jax
    import jax.numpy as jnp

pytestmark = pytest.mark.usefixtures("light_compiler", "kept_generators")

B, D = 4, 40
THETA, X = np.linspace(0.5, 1.5, D), np.linspace(1.0, 3.0, B * D).reshape(B, D)
OWN = np.random.default_rng(0)


def drawn():
    """Return a list with one number from each global random generator."""
    numbers = [random.random(), np.random.random()]  # noqa: NPY002, it is what is tested
    return numbers if "torch" in MISSING else [*numbers, torch.rand(()).item()]


def seed():
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    if "torch" not in MISSING:
        torch.manual_seed(0)


@pytest.fixture
def kept_generators():
    """Restore the states of the global random generators after a test."""
    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    of_torch = None if "torch" in MISSING else torch.get_rng_state()
    yield
    random.setstate(kept[0])
    np.random.set_state(kept[1])  # noqa: NPY002
    if of_torch is not None:
        torch.set_rng_state(of_torch)


class Augmented:
    """A loss that takes a random part of the sample, drawn from its own generator."""

    def __init__(self, inner):
        self.inner, self.rng = inner, np.random.default_rng(1)

    def crop(self, x):
        return x[self.rng.choice(D, D // 2, replace=False)]

    def __call__(self, theta, x):
        return self.inner(self.crop(theta * x))


class Keys:
    """A JAX key that is split at each use, as stateful libraries keep it."""

    def __init__(self):
        self.key = jax.random.key(0)

    def next(self):
        self.key, key = jax.random.split(self.key)
        return key


def shuffled(count):
    order = list(range(count))
    random.shuffle(order)
    return order


def noise_from(rng, theta, x):
    return np.tanh(theta * (x + rng.normal(size=D))).sum()


def words_of_noise(theta, x):
    """Return a loss of word2vec with eight negative samples, drawn by NumPy's generator OWN."""
    others = OWN.choice(D, 8, replace=False)
    return jnp.logaddexp(0, -theta @ x) + jnp.logaddexp(0, theta[others] * x[:8]).sum()


def with_key(keys, theta, x):
    return (theta * x * jax.random.bernoulli(keys.next(), 0.5, x.shape)).sum()


def in_training_mode():
    """Return a loss that calls a module with dropout by functional_call."""
    model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(D, 1, bias=False))
    call = partial(torch.func.functional_call, model)
    return lambda t, x: call({"1.weight": t[None]}, (x[None],))[0, 0]


# Name -> the backend, and what makes a loss.
DRAWS = {
    # NumPy
    "dropout": ("numpy", lambda: lambda t, x: np.sum(t * x * (OWN.random(D) > 0.5))),
    "legacy noise": ("numpy", lambda: partial(noise_from, np.random)),
    "bound": ("numpy", lambda: partial(noise_from, np.random.default_rng(2))),
    "a factor of Python's": ("numpy", lambda: lambda t, x: random.gauss(1, 0.1) * np.sum(t * x)),
    "of the system": ("numpy", lambda: lambda t, x: random.SystemRandom().random() * (t @ x)),
    "permutation": ("numpy", lambda: lambda t, x: t @ x[OWN.permutation(D)]),
    "hidden in an object": ("numpy", lambda: Augmented(np.sum)),
    "PyTorch's, in NumPy": ("numpy", lambda: lambda t, x: t @ (x * torch.rand(D).numpy())),
    # PyTorch
    "NumPy's mask": ("torch", lambda: lambda t, x: t @ (x * torch.from_numpy(OWN.random(D)))),
    "Python's order": ("torch", lambda: lambda t, x: t @ x[shuffled(D)]),
    "an object, in PyTorch": ("torch", lambda: Augmented(torch.sum)),
    "F.dropout": ("torch", lambda: lambda t, x: t @ F.dropout(x, 0.5)),
    "torch.randperm": ("torch", lambda: lambda t, x: t @ x[torch.randperm(D)]),
    "noise like the input": ("torch", lambda: lambda t, x: t @ (x + torch.randn_like(x))),
    "a module": ("torch", in_training_mode),
    # JAX
    "NumPy's noise": ("jax", lambda: lambda t, x: t @ (x + np.random.randn(D))),  # noqa: NPY002
    "Python's scale": ("jax", lambda: lambda t, x: jnp.exp(random.uniform(-1, 1)) * (t @ x)),
    "Python's choice": ("jax", lambda: lambda t, x: t @ x[np.array(random.sample(range(D), D))]),
    "PyTorch's, in JAX": ("jax", lambda: lambda t, x: t @ (x * torch.rand(D).numpy())),
    "negative samples": ("jax", lambda: words_of_noise),
    "a key that is kept": ("jax", lambda: partial(with_key, Keys())),
}
MORE_WAYS = {
    **WAYS,
    "mean": ps.mean_grad,
    "jit of the mean": partial(ps.mean_grad, jit=True),
    "losses": ps.per_sample_value_and_grad,
    "chunks": partial(ps.per_sample_grad, chunk_size=3),
}


def refused(call, where="per_sample_grad"):
    """Assert that a call raises the error on random numbers, naming the function ``where``."""
    with pytest.raises(RuntimeError, match=f"^{where}: .*draw random numbers beforehand, one for"):
        call()


# Each draw by one call of vmap, and by one other way in turn; one of PyTorch's own by all.
OTHERS = [*MORE_WAYS][1:]
TRIED = [(name, way) for n, name in enumerate(DRAWS) for way in ("vmap", OTHERS[n % len(OTHERS)])]
TRIED += [("torch.randperm", way) for way in OTHERS if ("torch.randperm", way) not in TRIED]


@pytest.mark.parametrize(("name", "way"), TRIED)
def test_a_draw_that_samples_would_share_is_refused(name, way):
    backend, make = DRAWS[name]
    rows, function = MORE_WAYS[way](make()), getattr(MORE_WAYS[way], "func", MORE_WAYS[way])
    given = arrays((THETA, X), backend)
    for _ in range(2):  # a call that was refused is not taken for checked
        refused(lambda: rows(*given), function.__name__)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_draw_beside_an_aux_is_refused(backend, jit):
    def loss(theta, x):
        noise = ps.backend(backend).asarray(OWN.normal(size=D))
        return (theta * (x + noise)).sum(), {"noisy": x + noise}

    rows = ps.per_sample_grad(loss, has_aux=True, jit=jit)
    refused(lambda: rows(*arrays((THETA, X), backend)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_draw_in_training_mode_alone_is_refused_in_training_mode_alone(backend):
    """Call with a static flag, each value of which is checked separately."""

    def loss(theta, x, training):
        if training:
            x = x * ps.backend(backend).asarray(OWN.random(D))
        return (theta * x).sum()

    rows = ps.per_sample_grad(loss, (None, 0, None))
    given = arrays((THETA, X), backend)
    for training in (False, True, False, True):
        if training:
            refused(lambda: rows(*given, True))
        else:
            assert_close(ps.to_numpy(rows(*given, False)), X)


# The global generators.
def after(call):
    """Seed the global generators, make a call, and return the next `drawn` numbers."""
    seed()
    call()
    return drawn()


@pytest.mark.parametrize("way", ["vmap", "jit", "loop"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_refusal_leaves_the_global_generators_where_they_were(backend, way):
    def loss(theta, x):
        return sum(drawn()) * (theta * x).sum()

    given = arrays((THETA, X), backend)
    where = "loop_grad" if way == "loop" else "per_sample_grad"
    call = lambda: refused(lambda: WAYS[way](loss)(*given), where)  # noqa: E731
    assert after(call) == after(lambda: None)


@pytest.mark.parametrize("way", ["vmap", "loop"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_check_draws_nothing_of_what_a_loss_draws_for_other_ends(backend, way):
    """Let a loss draw, as for logging: the first call must draw as many numbers as the others."""
    seen = []

    def loss(theta, x):
        if random.random() + np.random.random() < 0.1:  # noqa: NPY002
            seen.append(type(x))
        return (theta * x).sum()

    rows, given = WAYS[way](loss), arrays((THETA, X), backend)
    first, second = (after(lambda: rows(*given)) for _ in range(2))
    assert first == second
    assert first != after(lambda: None)
    assert_close(ps.to_numpy(rows(*given)), X)


# What is no fault.
@pytest.mark.parametrize(
    ("bad", "way"), [*[(np.nan, way) for way in MORE_WAYS], (np.inf, "vmap"), (-np.inf, "loop")]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loss_that_is_not_finite_is_no_draw(backend, bad, way):
    x = X.copy()
    x[0] = x[2] = bad  # the first sample, and another
    found = MORE_WAYS[way](lambda t, x: (t * x).sum())(*arrays((THETA, x), backend))
    found = ps.to_numpy(found[1] if way == "losses" else found)
    assert_close(found, x.mean(0) if "mean" in way else x)


def noted(calls, theta, x):
    calls.append(1)
    print("a loss of", theta.shape, "at call", len(calls))
    return (theta * x).sum()


def remembered(kept, theta, x):
    """Return a sample's loss with a random feature, drawn once and stored in ``kept``."""
    if not kept:
        kept.append(OWN.normal(size=D))
    return (theta * x * ps.backend(ps.arrays.backend_of(theta)).asarray(kept[0])).sum()


def seeded(theta, x):
    signs = np.random.default_rng(7).choice([-1.0, 1.0], D)
    return (theta * x * ps.backend(ps.arrays.backend_of(theta)).asarray(signs)).sum()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loss_that_is_the_same_each_time_is_no_draw(backend):
    given, kept = arrays((THETA, X), backend), []
    assert_close(ps.to_numpy(ps.per_sample_grad(partial(noted, []))(*given)), X)
    found = ps.to_numpy(ps.per_sample_grad(partial(remembered, kept))(*given))
    assert_close(found, X * kept[0])
    signs = np.random.default_rng(7).choice([-1.0, 1.0], D)
    for way in ("vmap", "loop"):
        assert_close(ps.to_numpy(WAYS[way](seeded)(*given)), X * signs)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sum_in_another_order_each_time_differs_by_rounding_and_is_no_draw(backend):
    def loss(theta, x):
        order = ps.backend(backend).asarray(OWN.permutation(D))
        return (theta[order] * x[order]).sum()

    for dtype in ("float32", "float64"):
        found = ps.per_sample_grad(loss)(*arrays((THETA, X), backend, dtype))
        assert_close(ps.to_numpy(found), X, FLOAT32)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_draw_for_each_sample_made_beforehand_is_right(backend, way):
    masks = OWN.random((B, D)) > 0.5
    found = WAYS[way](lambda t, x, mask: (t * x * mask).sum())(
        *arrays((THETA, X), backend), ps.backend(backend).asarray(masks)
    )
    assert_close(ps.to_numpy(found), X * masks)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", ["key", "PRNGKey"])
def test_keys_for_each_sample_are_right(make, way):
    jax = pytest.importorskip("jax")
    keys = jax.random.split(getattr(jax.random, make)(0), B)
    mask = lambda key: jax.random.bernoulli(key, 0.5, (D,))  # noqa: E731
    found = WAYS[way](lambda t, x, key: (t * x * mask(key)).sum())(
        *arrays((THETA, X), "jax"), keys
    )
    masks = np.array([mask(key) for key in keys])
    assert len(np.unique(masks, axis=0)) == B
    assert_close(np.asarray(found), X * masks)


# Inside an outer transform there is no value to compare, and nothing is checked.
def outer(backend):
    """Return the framework's own (vmap, jit, grad)."""
    if backend == "numpy":
        return ps.engine.vmap, ps.engine.jit, ps.engine.grad
    if backend == "jax":
        return jax.vmap, jax.jit, jax.grad
    return torch.func.vmap, partial(torch.compile, backend="eager"), torch.func.grad


@pytest.mark.parametrize("backend", BACKENDS)
def test_inside_the_transform_of_somebody_else_nothing_is_compared(backend):
    loss = lambda t, x: 0.5 * (t * x).sum() ** 2  # noqa: E731
    thetas, x = arrays((np.stack([THETA, 2 * THETA]), X), backend)
    vmap, jit, grad = outer(backend)
    expected = np.stack([(X @ (scale * THETA))[:, None] * X for scale in (1, 2)])
    assert_close(ps.to_numpy(vmap(ps.per_sample_grad(loss), (0, None))(thetas, x)), expected)
    theta, rows = thetas[1], expected[1]
    assert_close(ps.to_numpy(jit(ps.per_sample_grad(loss))(theta, x)), rows)
    inner = ps.per_sample_grad(loss)
    squares = grad(lambda t: (inner(t, x) ** 2).sum() / 2)(theta)
    assert_close(ps.to_numpy(squares), (rows * (X**2).sum(1)[:, None]).sum(0))

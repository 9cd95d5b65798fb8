"""Statistics inside jit or vmap: the same values as outside, or a clear error."""

import re
from functools import partial

import numpy as np
import pytest
from optree import tree_map

import persample as ps
from persample import privacy, statistics
from persample.backends import BACKENDS
from support import ROOT
from support.cases import arrays, rewards, states, theta
from support.missing import MISSING
from support.tolerances import FLOAT32, assert_close

if "torch" not in MISSING:
    import torch
if "jax" not in MISSING:
    import jax
    import jax.numpy as jnp

_rng = np.random.default_rng(3)
ROWS = {  # of a wide and of a high matrix, a vector and a number
    "wide": _rng.normal(size=(5, 2, 7)),
    "high": [_rng.normal(size=(5, 6, 2, 1))],
    "b": _rng.normal(size=(5, 3)),
    "c": _rng.normal(size=5),
}


def noisy(noise_multiplier=1.0, **settings):
    """Return a function of rows: `noisy_mean` with a NumPy generator of its own."""
    settings = {"max_norm": 0.7, "divisor": 5, "rng": np.random.default_rng(0), **settings}
    return lambda rows: privacy.noisy_mean(rows, noise_multiplier=noise_multiplier, **settings)


# Name -> what makes a function of rows.
STATISTICS = {
    "norms": lambda: statistics.norms,
    "clip": lambda: partial(statistics.clip, max_norm=0.7),
    "clipped_sum": lambda: partial(statistics.clipped_sum, max_norm=0.7),
    "mean": lambda: statistics.mean,
    "variance": lambda: statistics.variance,
    "signal_and_noise": lambda: statistics.signal_and_noise,
    "noise_scale": lambda: partial(statistics.noise_scale, unbiased=False),
    "project": lambda: partial(statistics.project, dim=4, seed=1),
    "project, many": lambda: partial(statistics.project, dim=300),
    "a bound of an outer array": lambda: partial(statistics.clip, max_norm=np.float32(0.75)),
    "noisy_mean": noisy,
    "noisy_mean without noise": lambda: noisy(0.0),
}


def stacked(trees):
    return ps.backend(ps.arrays.backend_of(trees[0])).stack(trees)


def one_by_one(jit):
    """Return run(f, trees), which compiles f once and calls it for each tree.

    Values that are wrongly fixed at the first call give wrong results at the second.
    """

    def run(f, trees):
        compiled = jit(f)
        return [compiled(tree) for tree in trees]

    return run


def at_once(vmap):
    def run(f, trees):
        found = vmap(f)(stacked(trees))
        return [tree_map(lambda x, i=i: x[i], found) for i in range(len(trees))]

    return run


def transforms():
    """Return {name: (backend, run(f, trees))}, where run applies a transform of f to each tree."""
    found = {
        "engine.jit": ("numpy", one_by_one(ps.engine.jit)),
        "engine.vmap": ("numpy", at_once(ps.engine.vmap)),
        "engine.jit of vmap": ("numpy", at_once(lambda f: ps.engine.jit(ps.engine.vmap(f)))),
    }
    if "jax" not in MISSING:
        found["jax.jit"] = "jax", one_by_one(jax.jit)
        found["jax.vmap"] = "jax", at_once(jax.vmap)
        found["jax.jit of vmap"] = "jax", at_once(lambda f: jax.jit(jax.vmap(f)))
        found["lax.map"] = "jax", at_once(lambda f: partial(jax.lax.map, f))
    if "torch" not in MISSING:
        found["torch.vmap"] = "torch", at_once(torch.vmap)
        compiler = partial(torch.compile, backend="eager")
        found["torch.compile"] = "torch", one_by_one(compiler)
    return found


TRANSFORMS = transforms()


def right_or_said(call, expected, words="outside", tolerance=FLOAT32):
    """Assert that call() returns ``expected`` or raises a one-line error that has ``words``."""
    said = None
    try:
        found = call()
    except (TypeError, ValueError, NotImplementedError, RuntimeError) as error:
        said = error
    if said is None:
        return assert_close(ps.to_numpy(found), ps.to_numpy(expected), tolerance)
    text = str(said)
    assert type(said).__module__ == "builtins", text  # no error of a framework
    assert any(word in text for word in words.split("|")), text
    assert "\n" not in text


# Compilers take their time, so those that are tried beside the plain ones get three, among the
# slow tests.
PLAIN = ("engine.jit", "engine.vmap", "jax.jit", "torch.vmap")
TRIED = [
    pytest.param(transform, name, marks=() if transform in PLAIN else pytest.mark.slow)
    for transform in TRANSFORMS
    for name in STATISTICS
    if transform in PLAIN or name in ("clip", "project", "noisy_mean")
]


@pytest.mark.parametrize(("transform", "name"), TRIED)
def test_inside_a_transform_it_is_the_number_of_outside(transform, name):
    backend, run = TRANSFORMS[transform]
    rows = arrays(ROWS, backend)
    trees, make = [rows, tree_map(lambda x: 3 * x, rows)], STATISTICS[name]
    outside = make()
    right_or_said(lambda: run(make(), trees), [outside(tree) for tree in trees])


@pytest.mark.parametrize("name", ["clipped_sum", "project", "noisy_mean without noise"])
def test_inside_jit_half_precision_is_added_up_in_float32_too(name):
    jax = pytest.importorskip("jax")
    rows = jax.tree.map(lambda x: jnp.asarray(x, "bfloat16"), ROWS)
    f = STATISTICS[name]()
    right_or_said(lambda: jax.jit(f)(rows), f(rows))


# What one would write: a whole step in one function.
def steps(backend):
    """Return {name: step(theta, x, y)} of training steps that use statistics of rows."""
    rows_of = ps.per_sample_grad(ps.squared_loss)
    both = ps.per_sample_value_and_grad(ps.squared_loss)

    def conflict(t, x, y):
        z = statistics.project(rows_of(t, x, y), 16)
        return t - 0.1 * (z @ z.T).sum()

    def weighted(t, x, y):
        losses, rows = both(t, x, y)
        return t - 0.1 * (statistics.clip(rows, 1.0) * losses[:, None]).sum(0)

    return {
        "private": lambda t, x, y: t - noisy(1.1)(rows_of(t, x, y)),
        "conflict": conflict,
        "weighted": weighted,
        "noise": lambda t, x, y: t / (1 + statistics.noise_scale(rows_of(t, x, y), False)),
    }


@pytest.mark.parametrize("step", ["private", "conflict", "weighted", "noise"])
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_a_whole_step_in_jit_ends_where_one_outside_ends(backend, step):
    given = arrays((theta, states, rewards), backend)
    run = steps(backend)[step]
    right_or_said(lambda: ps.backend(backend).jit(run)(*given), run(*given))


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_the_noise_of_a_compiled_step_is_not_that_of_the_step_before(backend):
    """Call a compiled step twice: noise drawn at tracing would be the same in both calls."""
    rows, f = arrays(ROWS, backend), noisy()
    outside, again = f(rows), f(rows)
    assert not np.allclose(outside["b"], again["b"])
    compiled = ps.backend(backend).jit(noisy())
    right_or_said(lambda: [compiled(rows) for _ in range(2)], [outside, again])


# Bounds and settings that are arguments of the compiled function.
SETTINGS = {
    "clip": (lambda rows, c: statistics.clip(rows, c), 0.7, "outside"),
    "clipped_sum": (lambda rows, c: statistics.clipped_sum(rows, c), 0.7, "outside"),
    "noisy_mean, max_norm": (lambda rows, c: noisy(0.0, max_norm=c)(rows), 0.7, "outside"),
    "noisy_mean, divisor": (lambda rows, c: noisy(0.0, divisor=c)(rows), 5.0, "outside"),
    "noisy_mean, noise": (lambda rows, c: noisy(c)(rows), 1.5, "outside"),
    "variance": (lambda rows, c: statistics.variance(rows, c), 1, "outside|static|Python"),
    "project, dim": (lambda rows, c: statistics.project(rows, c), 4, "outside|static|Python"),
    "project, seed": (lambda rows, c: statistics.project(rows, 3, c), 1, "outside|static|Python"),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_a_traced_setting_counts_or_is_said_to_be_traced(backend, name):
    f, value, words = SETTINGS[name]
    rows, own = arrays(ROWS, backend), ps.backend(backend)
    jit = ps.engine.jit if backend == "numpy" else own.jit
    traced = own.asarray(np.asarray(value))
    right_or_said(lambda: jit(f)(rows, traced), f(rows, value), words)


@pytest.mark.parametrize("clip", [statistics.clip, statistics.clipped_sum])
@pytest.mark.parametrize("backend", BACKENDS)
def test_several_bounds_at_once_and_the_derivative_in_a_bound(backend, clip):
    """Map clipping over three bounds by vmap, and differentiate it with respect to the bound."""
    rows, own = arrays(ROWS, backend), ps.backend(backend)
    bounds = np.array([0.2, 0.7, 90.0])
    expected = [clip(rows, float(c)) for c in bounds]
    vmapped = lambda: own.vmap(clip, (None, 0))(rows, own.asarray(bounds))  # noqa: E731
    right_or_said(vmapped, own.stack(expected), "outside|number")
    total = lambda c: sum(x.sum() for x in ps.arrays.leaves(clip(rows, c)))  # noqa: E731
    slope = (float(total(0.7 + 1e-6)) - float(total(0.7 - 1e-6))) / 2e-6
    derived = lambda: own.grad(total)(own.asarray(np.asarray(0.7)))  # noqa: E731
    right_or_said(derived, own.asarray(np.asarray(slope)), "outside|number")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_projection_is_linear_under_grad_too(backend):
    rows = arrays(ROWS, backend)
    other = tree_map(lambda x: x + 1, rows)
    total = lambda rows: (statistics.project(rows, 6) ** 2).sum() / 2  # noqa: E731
    found = lambda: sum(  # noqa: E731
        (g * x).sum()
        for g, x in zip(
            ps.arrays.leaves(ps.backend(backend).grad(total)(rows)),
            ps.arrays.leaves(other),
            strict=True,
        )
    )
    z, along = statistics.project(rows, 6), statistics.project(other, 6)
    right_or_said(found, (z * along).sum())


@pytest.mark.parametrize(("size", "rate"), [(8, None), (None, 0.5)])
def test_a_poisson_batch_has_no_size_inside_jit(size, rate):
    jax = pytest.importorskip("jax")
    drawn = lambda x: privacy.poisson_batch(  # noqa: E731
        np.random.default_rng(0), x if size is None else size, x if rate is None else rate
    )
    with pytest.raises((TypeError, ValueError), match="^poisson_batch: .*outside"):
        jax.jit(drawn)(8 if size is None else 0.5)


def said_of_jit():
    """Return {call: (whether it runs inside jax.jit, static arguments)} from the API page."""
    text = (ROOT / "reference" / "api.md").read_text("utf-8")
    lines = text.partition("| call | inside")[2].partition("\n\n")[0].splitlines()[2:]
    found = {}
    for line in lines:
        calls, runs, fixed = (cell.strip() for cell in line.strip("|").split("|"))
        names, _, way = calls.partition(", with ")
        ways = re.findall("`(.*?)`", names)
        found |= {f"{name}, {way}".rstrip(", "): (runs == "yes", fixed) for name in ways}
    return found


def of_page(bound, key):
    """Return {call: function of rows} for the names on the API page; ``bound`` may be traced."""
    stats, given = statistics, arrays((theta, states, rewards), "jax")
    calls = {name: getattr(stats, name) for name in stats.__all__}
    calls |= {n: partial(getattr(stats, n), max_norm=bound) for n in ("clip", "clipped_sum")}
    calls["weighted_sum"] = lambda rows: stats.weighted_sum(rows, bound * jnp.arange(5.0))
    calls["project"] = lambda rows: stats.project(rows, dim=4, seed=1)
    norms, clipped = ps.per_sample_norms, ps.clipped_grad_sum
    calls["per_sample_grad"] = lambda rows: ps.per_sample_grad(ps.squared_loss)(*given)
    calls["per_sample_norms"] = lambda rows: norms(ps.squared_loss)(*given)
    calls["clipped_grad_sum"] = lambda rows: clipped(ps.squared_loss)(*given, max_norm=bound)
    calls["noisy_mean, a JAX key"] = noisy(1.1, max_norm=bound, rng=key)
    calls["noisy_mean, a NumPy generator"] = noisy(1.1)
    calls["poisson_batch"] = lambda rows: privacy.poisson_batch(
        np.random.default_rng(0), 8, 0.5 * bound
    )
    return calls


@pytest.mark.skipif("jax" in MISSING, reason="jax is not installed")
@pytest.mark.parametrize("name", said_of_jit())
def test_the_page_says_what_runs_inside_jit(name):
    runs, fixed = said_of_jit()[name]
    rows, key = arrays(ROWS, "jax"), jax.random.key(0)
    call = lambda rows, bound, key: of_page(bound, key)[name](rows)  # noqa: E731
    if not runs:
        with pytest.raises((TypeError, ValueError), match="outside"):
            jax.jit(call)(rows, 0.7, key)
        return
    found = jax.jit(call)(rows, 0.7, key)
    assert_close(ps.to_numpy(found), ps.to_numpy(call(rows, 0.7, key)), FLOAT32)
    for setting in re.findall("`(.*?)`", fixed):
        words = {"dim": 4, "seed": 1, "correction": 1}
        given = {k: words[k] for k in ("dim",) if name == "project"}
        traced = lambda x: getattr(statistics, name)(rows, **given | {setting: x})  # noqa: B023, E731
        with pytest.raises((TypeError, ValueError), match="outside|static|Python"):
            jax.jit(traced)(words[setting])


def test_the_page_names_all_of_them():
    names = {name.partition(",")[0] for name in said_of_jit()}
    assert names >= {*statistics.__all__, *privacy.__all__}


# Memory that was given away, as by donate_argnums.
def given_away(which):
    """Return arguments (params, x, y); argument ``which`` is donated, and so deleted."""
    given = list(arrays(({"w": theta}, states, rewards), "jax"))
    take = jax.jit(lambda tree: jax.tree.map(lambda x: x + 1, tree), donate_argnums=0)
    take(given[which])
    assert all(x.is_deleted() for x in jax.tree.leaves(given[which]))
    return given


WAYS = {
    "rows": ps.per_sample_grad,
    "jit": partial(ps.per_sample_grad, jit=True),
    "chunks": partial(ps.per_sample_grad, chunk_size=2),
    "losses": ps.per_sample_value_and_grad,
    "loop": ps.loop_grad,
    "mean": partial(ps.mean_grad, jit=True),
}


@pytest.mark.skipif("jax" in MISSING, reason="jax is not installed")
@pytest.mark.parametrize(("way", "which"), [*zip(WAYS, 2 * (0, 1, 2), strict=True)])
def test_a_donated_array_is_named_at_the_first_call_and_at_each_later_one(way, which):
    loss = lambda p, x, y: ps.squared_loss(p["w"], x, y)  # noqa: E731
    run, fine = WAYS[way](loss), arrays(({"w": theta}, states, rewards), "jax")
    sentence = f"argument {which}.* (deleted|donated).*(return|copy|copies)"
    for _ in range(2):
        with pytest.raises((TypeError, ValueError, RuntimeError), match=sentence):
            run(*given_away(which))
    expected = run(*fine)  # the refusals have spoiled nothing
    for _ in range(2):
        with pytest.raises((TypeError, ValueError, RuntimeError), match=sentence):
            run(*given_away(which))
    assert_close(ps.to_numpy(run(*fine)), ps.to_numpy(expected))


@pytest.mark.skipif("jax" in MISSING, reason="jax is not installed")
def test_a_loop_that_donates_its_parameters_goes_on_with_what_comes_back():
    rows_of = ps.per_sample_grad(ps.squared_loss)

    def step(t, x, y):
        return t - 0.1 * statistics.clipped_sum(rows_of(t, x, y), 1.0)

    (t, x, y), donating = arrays((theta, states, rewards), "jax"), jax.jit(step, donate_argnums=0)
    expected = t
    for _ in range(3):
        expected = step(expected, x, y)
    t = t.copy()
    for _ in range(3):
        before, t = t, donating(t, x, y)
    assert before.is_deleted()
    assert_close(np.asarray(t), np.asarray(expected))
    with pytest.raises((TypeError, ValueError, RuntimeError), match="deleted.*(return|cop)"):
        rows_of(before, x, y)

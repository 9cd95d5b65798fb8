"""Errors of the engine for bad input: every ``raise`` is reached, its message is checked."""

from pathlib import Path

import numpy as np
import pytest

from persample import batches, engine
from persample.engine import grad, jit, make_graph, optimise, value_and_grad, vmap
from persample.engine import namespace as xp
from persample.engine.batching import batch_rules
from persample.engine.primitives import apply
from persample.engine.reverse import vjp_rules
from support.error_tables import check_errors

x = np.arange(6.0).reshape(2, 3)
cube, v, number = np.ones((2, 3, 4)), np.arange(3.0), np.float64(1.0)


def in_grad(f):
    """Return a function that runs f on a tracer of grad."""
    return lambda: grad(lambda x: f(x))(x)


def filled(f, *shape):
    """Return a function of w that fills a NumPy array by f(array, w) and sums it."""

    def write(w):
        r = np.zeros(shape)
        f(r, w)
        return xp.sum(w)

    return write


# What puts a tracer, w[0], into a work array; NumPy's own words for it say nothing of this.
WRITES = {
    "entry": filled(lambda r, w: r.__setitem__(0, w[0]), 2),
    "entry of a matrix": filled(lambda r, w: r.__setitem__((0, 1), w[0]), 2, 2),
    "added to an entry": filled(lambda r, w: r.__setitem__(0, r[0] + w[0]), 2),
    "fill": filled(lambda r, w: r.fill(w[0]), 2),
    "from an iterator": filled(lambda r, w: np.fromiter(w, float), 2),
    "float32": filled(lambda r, w: r.astype("f4").__setitem__(0, w[0]), 2),
}


def total(w, *others):
    return xp.sum(w)


def without_rules(run):
    """Return a function that calls run() while the primitive tanh has no rules."""

    def trigger():
        with pytest.MonkeyPatch.context() as patch:
            patch.delitem(vjp_rules, "tanh")
            patch.delitem(batch_rules, "tanh")
            run()

    return trigger


# What to do, the kind of error, and words of its text.
ERRORS = [
    # Making arrays
    (lambda: xp.asarray(x, device="gpu"), ValueError, "asarray: no device 'gpu'"),
    (lambda: xp.asarray(np.ma.array([1.0])), TypeError, "a MaskedArray has rules of its own"),
    (lambda: xp.exp(1j), TypeError, "complex 1j is complex; the NumPy engine computes with real"),
    (lambda: xp.add("a", 1.0), TypeError, "str 'a' is not an array of numbers; give one"),
    (lambda: jit(lambda x: "a")(x), TypeError, "str 'a' is not an array of numbers; give one"),
    (lambda: grad(total)(None), TypeError, "NoneType None is not an array"),
    (lambda: xp.meshgrid(v, indexing="ji"), ValueError, "meshgrid: indexing is 'ji'; give"),
    # Shapes
    (lambda: xp.add(x, np.ones(2)), ValueError, "shapes [(2, 3), (2,)] do not broadcast together"),
    (lambda: xp.reshape(x, (-1, -1)), ValueError, "(-1, -1) leaves two lengths open; give all"),
    (lambda: xp.reshape(x, 4), ValueError, "(2, 3) has 6 elements, (4,) needs others"),
    (lambda: xp.reshape(x, (4, -1)), ValueError, "(2, 3) has 6 elements, (4, 1) needs others"),
    (lambda: xp.broadcast_to(x, (3,)), ValueError, "shape (2, 3) does not fill (3,)"),
    (lambda: xp.broadcast_to(x, (2, 4)), ValueError, "shape (2, 3) does not fill (2, 4)"),
    (lambda: xp.permute_dims(x, (0, -2)), ValueError, "(0, 0) does not name each axis of (2, 3)"),
    (lambda: xp.sum(x, axis=2), ValueError, "axis 2 is out of range for an array with 2 axes"),
    (lambda: xp.take(x, np.array([0]), axis=2), ValueError, "axis 2 is out of range"),
    (lambda: xp.stack([v], axis=5), ValueError, "axis 5 is out of range"),
    (lambda: xp.concat([1.0, 2.0]), ValueError, "axis 0 is out of range"),
    (lambda: xp.mean(x, axis=(0, -2)), ValueError, "axis (0, -2) names an axis of shape (2, 3)"),
    (lambda: xp.concat([]), ValueError, "concat: there are no arrays to join"),
    (lambda: xp.concat([x, x.T], axis=1), ValueError, "(3, 2)] differ in more than axis 1"),
    (lambda: xp.concat([x, v]), ValueError, "[(2, 3), (3,)] differ in more than axis 0"),
    (lambda: xp.stack([x, v]), ValueError, "stack: the shapes [(2, 3), (3,)] differ"),
    (lambda: xp.matrix_transpose(v), ValueError, "matrix_transpose: shape (3,) is no matrix"),
    (lambda: xp.squeeze(x, 0), ValueError, "axes (0,) of shape (2, 3) are not all of length 1"),
    (lambda: xp.moveaxis(cube, (0, 1), 0), ValueError, "[0, 1] and [0] are not distinct axes"),
    (lambda: xp.moveaxis(cube, (0, -3), (0, 1)), ValueError, "[0, 0] and [0, 1] are not distinct"),
    (lambda: xp.moveaxis(cube, (0, 1), (0, -3)), ValueError, "[0, 1] and [0, 0] are not distinct"),
    (lambda: xp.roll(cube, (1, 2), axis=(0, 1, 2)), ValueError, "roll: 2 shifts for 3 axes"),
    # Indices
    (lambda: xp.take(x, np.array([0])), ValueError, "an array of shape (2, 3) needs an axis"),
    (lambda: xp.take(v, v > 0), TypeError, "take: indices are bool; give integers (no masks)"),
    (in_grad(lambda x: x[x > 0]), TypeError, "x[...]: indices are bool; give integers (no masks)"),
    (lambda: xp.take_along_axis(x, [0]), ValueError, "2 axes and indices with 1; give as many"),
    (in_grad(lambda x: x[0, 0, 0]), IndexError, "3 indices for an array of shape (2, 3)"),
    (in_grad(lambda x: x[..., ...]), IndexError, "one ellipsis at most stands for the axes"),
    (in_grad(lambda x: x[0, 3]), IndexError, "index 3 is out of range for axis 1, length 3"),
    # Along axes
    (lambda: xp.cumulative_sum(x), ValueError, "cumulative_sum: an array of shape (2, 3) needs"),
    (lambda: xp.searchsorted(v, x, side="middle"), ValueError, "side is 'middle'; give \"left\""),
    (lambda: xp.searchsorted(x, x), ValueError, "shape (2, 3) to search in; give one axis"),
    (lambda: xp.bitwise_and(1, v), TypeError, "bitwise_and: float64 has no bits"),
    (in_grad(lambda x: ~x), TypeError, "bitwise_invert: float64 has no bits"),
    # Products
    (lambda: xp.matmul(x, x), ValueError, "shapes (2, 3) and (2, 3) do not fit (n,k) @ (k,m)"),
    (lambda: xp.matmul(x, 2.0), ValueError, "do not fit (n,k) @ (k,m)"),
    (lambda: xp.vecdot(x, np.ones(1)), ValueError, "vecdot: the axes have lengths 3 and 1"),
    (lambda: xp.linalg.outer(x, v), ValueError, "outer: shapes (2, 3) and (3,); give two vectors"),
    (lambda: xp.einsum("...i->i", x), NotImplementedError, "'...i->i' has an ellipsis"),
    *[
        (lambda text=text: xp.einsum(text, x), ValueError, f"einsum: {text!r} is not of the form")
        for text in ("ij-i", "ij->i->", "ij->i,", "i1->i", "ij>i", "i-j->")
    ],
    (lambda: xp.einsum("ij->ii", x), ValueError, "behind the arrow a letter twice, or one that"),
    (lambda: xp.einsum("ij->k", x), ValueError, "behind the arrow a letter twice, or one that"),
    (lambda: xp.einsum("ij,jk->ik", x), ValueError, "'ij,jk->ik' is for 2 arrays, 1 were given"),
    (lambda: xp.einsum("i->i"), ValueError, "'i->i' is for 1 arrays, 0 were given"),
    (lambda: xp.einsum("ijk->i", x), ValueError, "'ijk' of 'ijk->i' stands for an array of shape"),
    (lambda: xp.einsum("ij,j->i", x, np.ones(1)), ValueError, "of 'ij,j->i' has the lengths 3"),
    (lambda: xp.einsum("ii->i", x), ValueError, "'i' of 'ii->i' has the lengths 2 and 3"),
    # Matrices
    (lambda: xp.linalg.det(x), ValueError, "linalg.slogdet: shape (2, 3) is no square matrix"),
    (lambda: xp.linalg.cholesky(v), ValueError, "cholesky: shape (3,) is no square matrix"),
    (lambda: xp.linalg.solve(np.eye(3), x), ValueError, "shapes (3, 3) and (2, 3) do not fit"),
    (lambda: xp.linalg.trace(v), ValueError, "linalg.diagonal: shape (3,) is no matrix"),
    (lambda: xp.linalg.cross(np.ones(2), v), ValueError, "lengths 2 and 3; both need 3"),
    (lambda: xp.linalg.matrix_norm(v), ValueError, "matrix_norm: shape (3,) is no matrix"),
    (lambda: xp.linalg.matrix_norm(x, ord=2), NotImplementedError, "ord=2 needs singular values"),
    # What is not there
    (lambda: xp.nonzero(x), AttributeError, "the shape of its result depends on values"),
    (lambda: xp.erf(x), AttributeError, "a row in persample/engine/primitives.py; another"),
    (lambda: xp.linalg.svd(x), AttributeError, "the NumPy engine has no function 'linalg.svd'"),
    # Tracers
    (in_grad(lambda x: x.sort()), AttributeError, "have no sort; use np.sort(x), or xp.sort(x)"),
    (in_grad(lambda x: x.__cuda_array_interface__), AttributeError, "__cuda_array_interface__"),
    (in_grad(lambda x: x.__setitem__(0, 1.0)), TypeError, "cannot be changed in place; build a"),
    (lambda: grad(len)(number), TypeError, "len() of ReverseTracer(float64[] in grad), which is"),
    (lambda: vmap(bool)(v), TypeError, "BatchTracer(float64[] in vmap), which has none there"),
    (lambda: jit(lambda x: f"{x:.2f}")(number), TypeError, "a Python value was asked of Stage"),
    (in_grad(np.asarray), TypeError, "NumPy was to make an array of ReverseTracer(float64[2, 3]"),
    *[(lambda f=f: grad(f)(v), TypeError, "follows; collect the en") for f in WRITES.values()],
    (in_grad(lambda x: np.zeros(3).__iadd__(x)), TypeError, "use the result (a = a + x for a +="),
    # The transforms
    (lambda: grad(total)(x, w=2.0), TypeError, "arguments (w) were given to a transformed"),
    (lambda: vmap(total)(x, b=v, c=x), TypeError, "keyword arguments (b, c)"),
    (lambda: jit(total)(x, w=2.0), TypeError, "or bind them beforehand with functools.partial"),
    (lambda: make_graph(total)(x, w=2.0), TypeError, "keyword arguments (w)"),
    (lambda: value_and_grad(total)(w=x), TypeError, "keyword arguments (w)"),
    (without_rules(lambda: grad(np.tanh)(1.0)), NotImplementedError, "tanh has no VJP rule"),
    (without_rules(lambda: vmap(np.tanh)(v)), NotImplementedError, "tanh has no batch rule"),
    (lambda: grad(float)(1.0), TypeError, "the gradient would end there unnoticed; compute with"),
    (lambda: grad(total, 1)(x), ValueError, "argnums=1 for 1 arguments; give the number of one"),
    (lambda: grad(total, "w")(x), ValueError, "argnums='w' for 1 arguments"),
    (lambda: grad(total, [0])(x), ValueError, "argnums=[0] for 1 arguments"),
    (lambda: grad(total)(), ValueError, "argnums=0 for 0 arguments"),
    (lambda: grad(total, -1)(x, np.arange(3)), TypeError, "argument 1 is int64[3]; gradients"),
    (lambda: grad(lambda w: w * 2.0)(v), ValueError, "returned an array of shape (3,); gradients"),
    (lambda: grad(lambda w: {"a": w})(v), ValueError, "the function returned dict; gradients are"),
    (lambda: grad(lambda w: np.int64(3))(v), TypeError, "returned int64; it must be floating"),
    (lambda: vmap(total, (0, None))(x), ValueError, "in_axes has 2 entries, the call has 1"),
    (lambda: vmap(total, (False,))(x), ValueError, "the entry False; each entry is an axis"),
    (lambda: vmap(total, 0.0)(x), ValueError, "the entry 0.0; each entry is an axis"),
    (lambda: vmap(total, ({"w": 0},))(x), ValueError, "{'w': 0}, which does not fit argument 0"),
    (lambda: vmap(total)(x, 2.0), TypeError, "argument 1 is batched and holds 2.0,"),
    (lambda: vmap(total)(x, number), ValueError, "argument 1 is 0-d, so it has no axis 0 that"),
    (lambda: vmap(total, (0, -3))(x, x), ValueError, "argument 1 is 2-d, so it has no axis -3"),
    (lambda: vmap(total, None)(x), ValueError, "in_axes marks no array as batched; give an"),
    (lambda: vmap(total)(x, v), ValueError, "batch sizes differ: 2 (argument 0), 3 (argument 1)"),
    (lambda: vmap(total)((x, v)), ValueError, "differ: 2 (argument 0), 3 (argument 0); the axis"),
    (lambda: vmap(total)(x[:0]), ValueError, "the batch is empty; give at least one sample"),
    (in_grad(lambda w: total(jit(lambda v: v * w)(x))), TypeError, "from outside; pass it as arg"),
    (lambda: optimise(make_graph(total)(x), ["dead_code", "typo"]), ValueError, "['typo']"),
    (lambda: vmap(lambda w: jit(total).source(w))(x), TypeError, "a program was asked for with"),
    (lambda: jit(total)(x, {"a", "b"}), TypeError, "an argument holds a set, which is not hash"),
    *[
        (lambda d=d: jit(total)(np.ones(3, int).astype(d)), TypeError, "not an array of numbers")
        for d in (object, "datetime64[D]", "S1")
    ],
]


def escaped(transform, use):
    """Take a tracer out of a transform; return use(tracer, transform) after it has ended."""
    kept = []
    transform(lambda x: kept.append(x) or xp.sum(x))(x)
    return use(kept[0], transform)


USES = [
    lambda kept, transform: kept + 1.0,
    lambda kept, transform: grad(lambda y: xp.sum(kept * y))(x),
    lambda kept, transform: vmap(lambda y: kept)(x),
    lambda kept, transform: jit(lambda y: kept)(x),
    lambda kept, transform: transform(lambda y: xp.sum(kept) * xp.sum(y))(x),
]
ERRORS += [
    (lambda t=t, use=use: escaped(t, use), ValueError, "had returned; return the value from the")
    for t in (grad, vmap, jit, make_graph)
    for use in USES
]


def test_bad_input_gets_its_sentence_and_every_raise_is_reached():
    folder = Path(engine.__file__).parent
    files = [f for f in folder.rglob("*.py") if "numpy_" not in str(f.relative_to(folder))]
    check_errors(ERRORS, [*files, batches.__file__])


@pytest.mark.parametrize("transform", [grad, lambda f: vmap(grad(f)), jit, make_graph])
@pytest.mark.parametrize("name", WRITES)
def test_a_tracer_in_a_work_array_gets_a_sentence_and_the_line_where_it_was_put(name, transform):
    given = np.ones((2, 3)) if transform not in (grad, jit, make_graph) else v
    with pytest.raises(TypeError, match=r"^r\[i\] = x: .* join them with np.stack") as caught:
        transform(WRITES[name])(given)
    assert isinstance(caught.value.__cause__, ValueError)  # NumPy's, raised where it happened


def test_a_wrong_entry_that_is_no_tracer_keeps_the_words_of_numpy():
    with pytest.raises(ValueError, match="^setting an array element with a sequence"):
        grad(filled(lambda r, w: r.__setitem__(0, [1.0, 2.0]), 2))(v)
    with pytest.raises(ValueError, match="does not fit argument 0"):  # for a cause with a tracer
        grad(lambda w: vmap(total, ({"w": 0},))(w))(v)
    taken = grad(filled(lambda r, w: r.__setitem__(0, xp.stop_gradient(w[0])), 2))(v)
    assert taken.tolist() == [1.0, 1.0, 1.0]


def test_an_exception_does_not_leave_a_level_behind():
    for transform in (grad, vmap, jit):
        with pytest.raises(KeyError):
            transform(lambda x: {}[0])(x)
    levels = []
    for _ in range(2):
        vmap(lambda x: levels.append(x._trace.level) or x)(x)
    assert levels == [1, 1]
    assert apply("tanh", number) == np.tanh(1.0)

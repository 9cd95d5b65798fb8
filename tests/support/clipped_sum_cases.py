"""Losses, with the expected `forms` of `per_sample_norms` for each of their parameters.

The expected forms (outer product, lookup or rows) follow the docstring, not the code. Many losses
differ only slightly from one with another form.
"""

import numpy as np

import persample as ps
from support.missing import MISSING

if "jax" not in MISSING:
    import jax
    import jax.numpy as jnp
    from jax import lax

B = 5
WEIGHTS = np.array([1.0, 0.0, -0.5, 2.0, 1.0])
stop = ps.stop_gradient
_rng = np.random.default_rng(54)
X, Y, XS = (_rng.normal(size=s) for s in ((B, 4), (B, 3), (B, 2, 4)))
I = np.array([0, 2, 1, 2, 0])  # noqa: E741
OUT = np.array([0, 3, -1, -4, 7])  # places in a table of three lines, and beyond it


def square(z):
    return 0.5 * (z * z).sum()


def relu(xp, z):
    return xp.maximum(z, xp.zeros_like(z))


# Name -> a word for each parameter (outer product, lookup, rows; "-": the docstring leaves it
# open), the parameters or their shapes, the batch, the loss of the namespace, parameters, sample.
W, WV = [(3, 4)], [(3, 4), (3, 4)]
BOTH = {
    # One product with one vector, seen from many sides.
    "a vector": ("o", [(4,)], (X,), lambda xp, w, x: (w @ x - 1) ** 2),
    "a bare product": ("o", [(4,)], (X,), lambda xp, w, x: w @ x),
    "on the left": ("o", W, (X,), lambda xp, w, x: square(w @ x)),
    "on the right": ("o", W, (Y,), lambda xp, w, x: square(x @ w)),
    "transposed": ("o", W, (X,), lambda xp, w, x: square(x @ w.T)),
    "reshaped": ("o", [(12,)], (X,), lambda xp, w, x: square(xp.reshape(w, (3, 4)) @ x)),
    "three axes": (
        "o", [(2, 4, 3)], (X,),
        lambda xp, w, x: square(x @ xp.reshape(xp.permute_dims(w, (1, 2, 0)), (4, 6))),
    ),
    "squeezed and broadcast": (
        "o", [(3, 1, 4)], (X,),
        lambda xp, w, x: square(xp.broadcast_to(xp.squeeze(w, axis=1)[None], (1, 3, 4)) @ x),
    ),
    "sizes of one": ("ooo", [(4, 1), (1, 3), (1, 1)], (X,),
                     lambda xp, a, b, c, x: square((x @ a @ b)[:1] @ c)),
    "heads": ("o", [(2, 3, 4)], (X,), lambda xp, w, x: square(xp.einsum("hdk,k->hd", w, x))),
    "a vector a head": ("r", [(2, 3, 4)], (XS,),
                        lambda xp, w, x: square(xp.einsum("hdk,hk->hd", w, x))),
    "positions": ("r", [(4, 3)], (XS,), lambda xp, w, x: square(xp.tanh(x @ w))),
    "one position": ("o", [(4, 3)], (XS[:, :1],), lambda xp, w, x: square(xp.tanh(x @ w))),
    "column by line": ("r", [(3, 1)], (X,), lambda xp, w, x: square(xp.tanh(w @ x[None, :]))),
    "bilinear": ("o", [(4, 4)], (X,), lambda xp, w, x: square(x @ w @ x - 1)),
    "a diagonal": ("r", [(4, 4)], (X,), lambda xp, w, x: square(xp.einsum("ii,i->i", w, x))),
    "entry by entry": ("r", [(4,)], (X,), lambda xp, w, x: square(xp.tanh(w * x))),
    "no entries": ("or", [(3, 4), (0,)], (X,), lambda xp, a, b, x: square(a @ x) + b.sum()),
    "layers": ("oor", [(4, 4), (4, 2), (4,)], (X,),
               lambda xp, a, b, c, x: square(xp.tanh(x @ a + c) @ b)),
    "all sizes equal": ("oo", [(B, B), (B, B)], (np.outer(WEIGHTS + 2, I + 1.0),),
                        lambda xp, a, b, x: square(xp.tanh(0.1 * x @ a) @ b)),
    "masked": ("oo", WV, (X, Y),
               lambda xp, a, b, x, y: square(xp.where(y > 0, a @ x + y, b @ x))),
    "low rank": ("rr", [(3, 2), (2, 4)], (X,), lambda xp, a, b, x: square((a @ b) @ x)),
    "low rank, in turn": ("oo", [(3, 2), (2, 4)], (X,), lambda xp, a, b, x: square(a @ (b @ x))),
    "a product of parameters": ("--", [(3, 4), (4,)], (Y,),
                                lambda xp, a, b, y: square(a @ b - y)),
    # Kinks, and derivatives that are not those of the value.
    "relu at zero": ("or", [np.ones((3, 4)), -np.arange(3.0)], (np.full((B, 4), 0.25),),
                     lambda xp, a, b, x: relu(xp, a @ x + b).sum()),
    "straight through": ("o", W, (X,), lambda xp, w, x: (
        lambda z: square(z + stop(xp.round(z) - z)))(w @ x)),
    "straight through the weight": ("r", W, (X,), lambda xp, w, x: square(
        (w + stop(xp.round(w) - w)) @ x)),
    "stopped in one of two uses": ("-", W, (X,), lambda xp, w, x: square(
        (w @ x) * (stop(w) @ (x + 1)))),
    "stopped afterwards": ("oo", WV, (X,), lambda xp, a, b, x: square(stop(a @ x) + b @ x)),
    "not used": ("orr", [(3, 4), (2, 2), ()], (X,), lambda xp, a, b, c, x: square(a @ x)),
    "a constant loss": ("r", W, (X,), lambda xp, w, x: square(x)),
    # Weights that are changed before use, or used twice.
    "scaled": ("r", W, (X,), lambda xp, w, x: square((2 * w) @ x)),
    "weight norm": ("rr", [(3, 4), (3,)], (X,), lambda xp, w, g, x: square(
        g * ((w / xp.sqrt((w * w).sum())) @ x))),
    "sliced": ("r", W, (X,), lambda xp, w, x: square(w[:2] @ x)),
    "joined": ("rr", WV, (X,), lambda xp, a, b, x: square(xp.concat([a, b], axis=0) @ x)),
    "chosen": ("rr", WV, (X,), lambda xp, a, b, x: square(xp.where(x[0] > 0, a, b) @ x)),
    "with its transpose": ("r", [(4, 4)], (X,), lambda xp, w, x: square((w + w.T) @ x)),
    "regularised": ("r", W, (X,), lambda xp, w, x: square(w @ x) + 0.1 * square(w)),
    "used twice": ("r", [(4, 4)], (X,), lambda xp, w, x: square(w @ xp.tanh(w @ x))),
    "tied embedding": ("r", W, (I,), lambda xp, w, i: square(w @ xp.tanh(w[i]) - 1)),
    "numbers": ("rr", [(), (1,)], (X,), lambda xp, a, b, x: square(a * x.sum() + b)),
    # Lookups.
    "a lookup": ("lo", [(3, 4), (4, 2)], (I,), lambda xp, t, w, i: square(xp.tanh(t[i] @ w))),
    "a bare lookup": ("l", [(3,)], (I,), lambda xp, t, i: t[i]),
    "a negative lookup": ("l", W, (I - 3,), lambda xp, t, i: square(t[i])),
    "a take": ("l", W, (I[:, None],), lambda xp, t, i: square(xp.tanh(xp.take(t, i, axis=0)))),
    "a column": ("l", [(4, 3)], (I,), lambda xp, t, i: square(t.T[i] - 1)),
    "two lookups": ("r", W, (np.stack([I, I[::-1]], 1),),
                    lambda xp, t, i: square(xp.tanh(xp.take(t, i, axis=0)))),
    "a lookup of a scaled table": ("r", W, (I,), lambda xp, t, i: square((t * 3)[i])),
}  # fmt: skip


def doubled(f):
    """Return f as a JAX function with a custom VJP rule that differs from its derivative."""
    f = jax.custom_vjp(f)
    f.defvjp(lambda *a: (f(*a), a), lambda a, ct: tuple(ct.sum() * x + 1 for x in a))
    return f


def jvp_of_three(z):
    f = jax.custom_jvp(lambda z: jnp.maximum(z, 0))
    f.defjvp(lambda primals, tangents: (f(*primals), 3.0 * tangents[0]))
    return f(z)


def layer(w, x):
    return jnp.tanh(w @ x)


def scanned(w, x, **settings):
    return lax.scan(lambda h, v: (layer(w if v is None else v, h), None), x, **settings)[0]


SQ, SQ2 = [(4, 4)], [(4, 4), (4, 4)]
JAX = {
    "a rule after the product": ("o", W, (X,), lambda _, w, x: square(jvp_of_three(w @ x))),
    "a rule before the product": ("r", W, (X,), lambda _, w, x: square(jvp_of_three(w) @ x)),
    "a rule around the product": ("r", W, (X,), lambda _, w, x: square(
        doubled(lambda a, b: a @ b)(w, x))),
    "a compiled layer": ("o", W, (X,), lambda _, w, x: square(jax.jit(layer)(w, x))),
    "compiled, one weight": ("r", SQ, (X,), lambda _, w, x: (
        lambda f: square(f(w, f(w, x))))(jax.jit(layer))),
    "compiled, two weights": ("oo", SQ2, (X,), lambda _, a, b, x: (
        lambda f: square(f(a, f(b, x))))(jax.jit(layer))),
    "scan": ("r", SQ, (X,), lambda _, w, x: square(scanned(w, x, length=2))),
    "scan of one": ("r", SQ, (X,), lambda _, w, x: square(scanned(w, x, length=1))),
    "scan of layers": ("r", [(2, 4, 4)], (X,), lambda _, w, x: square(scanned(w, x, xs=w))),
    "while, held fixed": ("o", W, (X,), lambda _, w, x: square(w @ x) * stop(
        lax.while_loop(lambda k: k < x[0], lambda k: k + 1, 0.0))),
    "branches": ("rr", WV, (X,), lambda _, a, b, x: square(
        lax.cond(x[0] > 0, lambda: a @ x, lambda: layer(b, x)))),
    "vmap over positions": ("r", W, (XS,), lambda _, w, x: square(
        jax.vmap(lambda a: layer(w, a))(x))),
    "vmap over heads": ("o", [(2, 3, 4)], (X,), lambda _, w, x: square(
        jax.vmap(lambda v: layer(v, x))(w))),
    "checkpoint": ("oo", SQ2, (X,), lambda _, a, b, x: (
        lambda f: square(f(a, f(b, x))))(jax.checkpoint(layer))),
    "checkpoint by a policy": ("-", SQ, (X,), lambda _, w, x: square(jax.checkpoint(
        layer, policy=jax.checkpoint_policies.dots_saveable)(w, x))),
    "checkpoint, one weight": ("r", SQ, (X,), lambda _, w, x: (
        lambda f: square(f(f(x))))(jax.checkpoint(lambda h: layer(w, h)))),
    "a gradient penalty": ("r", W, (X,), lambda _, w, x: square(
        jax.grad(lambda a: square(layer(w, a)))(x))),
    "a derivative within": ("-", W, (X,), lambda _, w, x: square(
        jax.jvp(lambda a: layer(w, a), (x,), (x * x,))[1])),
    "clipped lookup": ("l", W, (OUT,), lambda _, t, i: square(jnp.take(t, i, 0, mode="clip"))),
    "filled lookup": ("l", W, (OUT,), lambda _, t, i: square(
        t.at[i].get(mode="fill", fill_value=7))),
    "lookup beyond": ("l", W, (OUT,), lambda _, t, i: square(t[i])),
    "dynamic slice": ("-", W, (I,), lambda _, t, i: square(lax.dynamic_slice(t, (i, 1), (2, 2)))),
    "two indices": ("-", W, (I, I[::-1]), lambda _, t, i, j: square(t[i, j])),
    "enlarged": ("r", [(1, 4)], (Y,), lambda _, w, x: square(
        layer(jnp.broadcast_to(w, (3, 4)).T, x))),
    "a convolution": ("-", [(2, 1, 2)], (X,), lambda _, w, x: square(
        lax.conv(x[None, None], w, (1,), "VALID"))),
    "a solve": ("-", [(4, 4)], (X,), lambda _, w, x: square(jnp.linalg.solve(w, x))),
}  # fmt: skip
KIND = {"o": "outer product", "l": "lookup", "r": "rows"}

"""Factors in JAX: uses of a parameter are read from the jaxpr of the loss for one sample.

The jaxpr is evaluated with a zero (a *bump*) added to the result of each product or lookup that
makes a parameter factored; the derivative with respect to the bump is delta. Of the equations
that contain a jaxpr only ``jit`` and ``checkpoint`` are entered.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from . import Formed, Product, mapped

ENTERED = {"jit", "pjit", "checkpoint", "remat2"}
RESHAPING = {"reshape", "transpose", "squeeze", "broadcast_in_dim", "convert_element_type"}


class Use(NamedTuple):
    """One use of a parameter: operand ``operand`` of ``equation``, after the equations ``views``.

    ``path`` is the index of the equation, preceded by those of the equations that contain it.
    """

    path: tuple[int, ...]
    equation: Any
    operand: int
    views: tuple

    @property
    def kind(self) -> str:
        return "outer product" if self.equation.primitive.name == "dot_general" else "lookup"


def factors(loss: Callable, in_axes: Any, has_aux: bool = False) -> Callable:
    """Return a function of (parameters, *batch): ([`Formed` or `Product` of each parameter], aux).

    ``loss(parameters, *sample)`` returns a number, or (number, aux) with ``has_aux``; ``in_axes``
    is as in ``jax.vmap``.
    """
    return mapped(jax.vmap, partial(_of_sample, loss, has_aux), in_axes)


def _of_sample(loss, has_aux, parameters, *sample):
    """Return (arrays of each parameter, aux, makers) for one sample, as `mapped` needs them."""
    leaves, structure = jax.tree.flatten(parameters)
    program, uses = _program(lambda leaves: loss(structure.unflatten(leaves), *sample), leaves)
    formed = [x for x, use in zip(leaves, uses, strict=True) if use is None]
    outs = {use.path: use.equation.outvars[0].aval for use in uses if use is not None}
    # x + -0.0 is x, also where x is -0.0.
    zero = lambda out: _varying(jnp.full(out.shape, -0.0, out.dtype), _devices(out))  # noqa: E731
    bumps = {path: zero(out) for path, out in outs.items()}

    def bumped(formed, bumps):
        given = iter(formed)
        every = [x if use else next(given) for x, use in zip(leaves, uses, strict=True)]
        result, operands = program(every, bumps)
        value, aux = result if has_aux else (result, None)
        return value, (aux, operands)

    differentiate = jax.grad(bumped, (0, 1), has_aux=True)
    (rows, deltas), (aux, operands) = differentiate(formed, bumps)
    rows, parts, makers = iter(rows), [], []
    for x, use in zip(leaves, uses, strict=True):
        if use is None:
            parts.append((next(rows),))
            makers.append(Formed)
        else:
            others = [v for i, v in enumerate(operands[use.path]) if i != use.operand]
            left, where = _beside(use, others)
            parts.append((left, deltas[use.path], where))
            total = partial(_total, use, x.shape, _devices(x))
            makers.append(partial(Product, total=total, kind=use.kind))
    return parts, aux, makers


def _program(loss, leaves):
    """Return a function (leaves, bumps) -> (result of the loss, {path: operands}), and the uses.

    ``uses`` has one entry for each leaf: its `Use`, or None if it is not factored.
    """
    try:
        program, shape = jax.make_jaxpr(loss, return_shape=True)(leaves)
        uses: list[list] = [[] for _ in leaves]
        jaxpr = program.jaxpr
        inputs = {v: (n, ()) for n, v in enumerate(jaxpr.invars)}
        for returned in _follow(jaxpr, inputs, (), uses):
            if returned is not None:
                uses[returned[0]].append(None)
    except Exception:  # no leaf is factored then; grad of the loss raises it again, or works
        uses = [[] for _ in leaves]
    only = [found[0] if len(found) == 1 and _is_factored(found[0]) else None for found in uses]
    if not any(only):
        return (lambda leaves, bumps: (loss(leaves), {})), only

    def run(leaves, bumps):
        results, operands = _run(jaxpr, program.consts, (), leaves, bumps)
        return jax.tree.unflatten(jax.tree.structure(shape), results), operands

    return run, only


def _follow(jaxpr, seen, path, uses):
    """Append to ``uses[leaf]`` each use of a variable in ``seen``: {variable: (leaf, views)}.

    Return, for each output of the jaxpr, (leaf, views) if it is a view of a leaf, else None.
    """
    for n, equation in enumerate(jaxpr.eqns):
        operands = enumerate(equation.invars)
        taken = [(i, seen[v]) for i, v in operands if not isinstance(v, Literal) and v in seen]
        if not taken:
            continue
        if equation.primitive.name in ENTERED:
            inner, _ = _inside(equation)
            results = _follow(inner, {inner.invars[i]: x for i, x in taken}, (*path, n), uses)
            shown = zip(equation.outvars, results, strict=True)
            seen.update((v, x) for v, x in shown if x is not None)
        elif _is_view(equation):
            leaf, views = taken[0][1]
            seen[equation.outvars[0]] = leaf, (*views, equation)
        else:
            for i, (leaf, views) in taken:
                uses[leaf].append(Use((*path, n), equation, i, views))
    return [None if isinstance(v, Literal) else seen.get(v) for v in jaxpr.outvars]


def _is_view(equation):
    """Return whether an equation only reshapes or casts its operand, keeping every entry once."""
    if equation.primitive.name not in RESHAPING or len(equation.invars) != 1:
        return False
    before, after = equation.invars[0].aval, equation.outvars[0].aval
    return before.size == after.size and jnp.issubdtype(after.dtype, jnp.floating)


def _is_factored(use):
    """Return whether a use is a product with one vector or a lookup of one entry."""
    if use is None:  # returned
        return False
    name, params = use.equation.primitive.name, use.equation.params
    operands = [v.aval for v in use.equation.invars]
    if name == "dot_general":
        other = operands[1 - use.operand]
        summed = params["dimension_numbers"][0][1 - use.operand]
        one_position = other.size == prod(other.shape[axis] for axis in summed)
        return one_position and jnp.issubdtype(other.dtype, jnp.floating)
    if name == "gather":
        return use.operand == 0 and operands[1].size == operands[1].shape[-1]
    return name == "dynamic_slice" and use.operand == 0


def _beside(use, others):
    """Return the factors that give one sample's row, with the cotangent.

    They are (vector, None) for an outer product and (hit, indices) for a lookup. An index out of
    range is clipped, or left as it is with ``hit`` 0 instead of 1, depending on the lookup's mode.
    """
    if use.kind == "outer product":
        return others[0], None
    params, table = use.equation.params, use.equation.invars[0].aval
    sizes, hit = params["slice_sizes"], jnp.ones((), jnp.float32)
    if use.equation.primitive.name == "dynamic_slice":
        ends = [n - size for n, size in zip(table.shape, sizes, strict=True)]
        return hit, [jnp.clip(x, 0, end) for x, end in zip(others, ends, strict=True)]
    axes = params["dimension_numbers"].start_index_map
    (start,) = others
    ends = jnp.asarray([table.shape[axis] - sizes[axis] for axis in axes], start.dtype)
    inside = jnp.clip(start, 0, ends)
    if "CLIP" in str(params["mode"]) or "PROMISE" in str(params["mode"]):
        return hit, [inside]
    return hit * jnp.all(start == inside), others


def _total(use, shape, devices, beside, delta):
    """Return sum_i g_i: apply the transpose of the use, batched over ``beside``, to delta."""
    equation = use.equation
    views = [view for view in use.views if view.primitive.name != "convert_element_type"]
    others = beside if use.kind == "lookup" else [beside.astype(delta.dtype)]

    def of_sample(leaf, others):
        for view in views:
            (leaf,) = _bind(view, [leaf])
        operands = [*others[: use.operand], leaf, *others[use.operand :]]
        if use.kind == "lookup":
            return _bind(equation, operands)[0]
        dims, precision = equation.params["dimension_numbers"], equation.params["precision"]
        return jax.lax.dot_general(*operands, dims, precision=precision)

    of_batch = lambda leaf: jax.vmap(of_sample, (None, 0))(leaf, others)  # noqa: E731
    leaf = jax.ShapeDtypeStruct(shape, delta.dtype)
    if devices:
        leaf = _varying(jnp.zeros(shape, delta.dtype), devices)
    return jax.linear_transpose(of_batch, leaf)(delta)[0]


def _devices(x):
    """Return the names of the mesh axes over which an array varies, inside ``shard_map``."""
    aval = getattr(x, "aval", x)
    named = getattr(aval, "manual_axis_type", None)  # JAX 0.10; before it, aval.vma
    return tuple(sorted(getattr(aval, "vma", getattr(named, "varying", ()))))


def _varying(x, devices):
    """Return x, marked as varying over the mesh axes ``devices``; x itself if there are none."""
    if devices and hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(x, devices, to="varying")
    return jax.lax.pvary(x, devices) if devices else x  # before JAX had pcast


def _run(jaxpr, consts, path, given, bumps):
    """Evaluate a jaxpr, with bumps; return (results, {path: operands of a bumped equation})."""
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *given], strict=True))
    kept: dict = {}
    for n, equation in enumerate(jaxpr.eqns):
        here = (*path, n)
        operands = [v.val if isinstance(v, Literal) else values[v] for v in equation.invars]
        if here in bumps:
            (result,) = _bind(equation, operands)
            results = [result + bumps[here]]
            kept[here] = operands
        elif any(other[: len(here)] == here for other in bumps):
            inner, inner_consts = _inside(equation)
            run = partial(_run, inner, inner_consts, here)
            if "policy" in equation.params:
                policy, prevent = equation.params["policy"], equation.params["prevent_cse"]
                run = jax.checkpoint(run, policy=policy, prevent_cse=prevent)
            results, more = run(operands, bumps)
            kept.update(more)
        else:
            results = _bind(equation, operands)
        values.update(zip(equation.outvars, results, strict=True))
    return [v.val if isinstance(v, Literal) else values[v] for v in jaxpr.outvars], kept


def _bind(equation, operands):
    """Apply an equation's primitive, custom derivative rules included; return a list."""
    params = equation.primitive.get_bind_params(equation.params)
    functions, params = params if isinstance(params, tuple) else ((), params)  # before JAX 0.10
    with equation.ctx.manager:
        found = equation.primitive.bind(*functions, *operands, **params)
    return found if equation.primitive.multiple_results else [found]


def _inside(equation):
    """Return the jaxpr inside an equation, and its constants."""
    inner = equation.params["jaxpr"]
    return getattr(inner, "jaxpr", inner), getattr(inner, "consts", ())

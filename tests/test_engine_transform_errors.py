"""What bad input gets from the transforms, the compiler and the Tensor: one sentence, in full.

The last test reads the modules and fails when one of their messages is missing here.
"""

import re
import sys

import numpy as np
import pytest

from persample import batches, tape
from persample.engine import (
    batching,
    codegen,
    contraction,
    core,
    grad,
    jit,
    make_graph,
    optimise,
    primitives,
    reverse,
    staging,
    vmap,
)
from persample.engine import namespace as xp
from persample.engine.core import ELEMENTWISE, Primitive
from persample.engine.primitives import PRIMITIVES, apply
from persample.engine.reverse import vjp_rules
from persample.tape import tensor

from .test_errors import messages

x, batch = np.ones(3), np.ones((4, 3))


def total(w):
    return xp.sum(w)


def with_cube(run):
    """Run with a primitive that has no rules."""

    def trigger():
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(PRIMITIVES, "cube", Primitive("cube", np.square, ELEMENTWISE))
            run()

    return trigger


def escaped():
    kept = []
    grad(lambda w: kept.append(w) or xp.sum(w))(x)
    grad(lambda w: xp.sum(w * kept[0]))(x)


def gradient_of_tensor(w=2.0):
    t = tensor(w, requires_grad=True)
    return t, t * t


def second_backward():
    _, y = gradient_of_tensor()
    y.backward()
    y.backward()


def changed_after_recording():
    t, y = gradient_of_tensor()
    with tape.no_grad():
        t += 1.0
    y.backward()


def change_in_place(kind):
    t, y = gradient_of_tensor()
    if kind == "leaf":
        t += 1.0
    elif kind == "result":
        y += 1.0
    else:
        plain = tensor(1.0)
        plain += t


def do_not_require(y):
    y.requires_grad = False


ROWS = ", ".join([*vjp_rules])
BATCH_ROWS = ", ".join([*batching.batch_rules])
IN_PLACE = (
    "that requires grad: the graph would lose its value; update parameters under no_grad(), or "
    "write x = x + ... for a new tensor."
)

# One row for each message: what to do, the kind of error, the whole text.
ERRORS = {
    # core
    "a tracer that escaped": (
        escaped,
        ValueError,
        "a tracer of grad was used after grad had returned; return the value from the function "
        "instead of storing it outside.",
    ),
    "keyword arguments": (
        lambda: grad(lambda w, scale: w)(1.0, scale=2.0),
        TypeError,
        "keyword arguments (scale) were given to a transformed function; pass them by position, "
        "or bind them beforehand with functools.partial.",
    ),
    "keyword arguments of jit": (
        lambda: jit(lambda w, scale: w)(x, scale=2.0),
        TypeError,
        "keyword arguments (scale) were given to a transformed function; pass them by position, "
        "or bind them beforehand with functools.partial.",
    ),
    # reverse
    "no VJP rule": (
        with_cube(lambda: grad(lambda w: apply("cube", w))(1.0)),
        NotImplementedError,
        f"grad: cube has no VJP rule; add a row to vjps.vjp_rules (there are rows for {ROWS}).",
    ),
    "float of a differentiated value": (
        lambda: grad(lambda w: float(w))(1.0),
        TypeError,
        "float() of ReverseTracer(float64[] in grad): the gradient would end there unnoticed; "
        "compute with x itself, compare it as it is (x < 1), or hold it fixed first: "
        "stop_gradient(x).",
    ),
    "argnums": (
        lambda: grad(total, 1)(x),
        ValueError,
        "grad: argnums=1 for 1 arguments; give the number of one (the first is 0, the last -1) or "
        "a tuple of such numbers.",
    ),
    "argnums that is no number": (
        lambda: grad(total, "w")(x),
        ValueError,
        "grad: argnums='w' for 1 arguments; give the number of one (the first is 0, the last -1) "
        "or a tuple of such numbers.",
    ),
    "integer parameters": (
        lambda: grad(lambda y, w: total(w), -1)(x, np.arange(3)),
        TypeError,
        "grad: argument 1 is int64[3]; gradients need floating-point arrays: convert it, or "
        "choose another argument with argnums.",
    ),
    "a loss of many numbers": (
        lambda: grad(lambda w: w * 2.0)(x),
        ValueError,
        "grad: the function returned an array of shape (3,); gradients are defined for one "
        "number, a 0-d array: sum or average it, or use vmap for one loss per sample.",
    ),
    "a loss of nothing": (
        lambda: grad(lambda w: None)(x),
        ValueError,
        "grad: the function returned NoneType; gradients are defined for one number, a 0-d array: "
        "sum or average it, or use vmap for one loss per sample.",
    ),
    "an integer loss": (
        lambda: grad(lambda w: np.int64(3))(x),
        TypeError,
        "grad: the function returned int64; it must be floating-point.",
    ),
    # batching
    "no batch rule": (
        with_cube(lambda: vmap(lambda w: apply("cube", w))(x)),
        NotImplementedError,
        "vmap: cube has no batch rule; add a row to batching.batch_rules (there are rows for "
        f"{BATCH_ROWS}).",
    ),
    "in_axes of another length": (
        lambda: vmap(total, (0, None))(batch),
        ValueError,
        "vmap: in_axes has 2 entries, the call has 1 arguments; give one entry for each argument: "
        "the axis that counts the samples, or None (shared by all samples).",
    ),
    "in_axes with a truth value": (
        lambda: vmap(total, (False,))(batch),
        ValueError,
        "vmap: in_axes has the entry False; each entry is an axis (an integer, 0 for the first) "
        "or None (shared by all samples).",
    ),
    "in_axes that does not fit": (
        lambda: vmap(total, ({"w": 0},))(batch),
        ValueError,
        "vmap: in_axes has the entry {'w': 0}, which does not fit argument 0; give an axis, None, "
        "or a tree of these that begins like the argument.",
    ),
    "a number as a batched argument": (
        lambda: vmap(lambda w, k: w, 0)(batch, 2.0),
        TypeError,
        "vmap: argument 1 is batched and holds 2.0, a Python value without an axis that counts "
        "samples (a list is a tree, not an array); make it an array with "
        "ps.backend(name).asarray, or mark it as shared with None in in_axes.",
    ),
    "0-d argument": (
        lambda: vmap(lambda w, k: w, 0)(batch, np.float64(2.0)),
        ValueError,
        "vmap: argument 1 is 0-d, so it has no axis 0 that counts samples; give one entry for "
        "each sample, or mark it as shared with None in in_axes.",
    ),
    "nothing batched": (
        lambda: vmap(total, None)(batch),
        ValueError,
        "vmap: in_axes marks no array as batched; give an argument the 0.",
    ),
    "batch sizes": (
        lambda: vmap(lambda w, k: w * k)(batch, np.ones(2)),
        ValueError,
        "vmap: the batch sizes differ: 4 (argument 0), 2 (argument 1); the axis of samples must "
        "have one length in every batched argument; mark what all samples share with None in "
        "in_axes.",
    ),
    "empty batch": (
        lambda: vmap(total)(batch[:0]),
        ValueError,
        "vmap: the batch is empty; give at least one sample.",
    ),
    # staging, optimise, jit
    "a tracer from outside": (
        lambda: grad(lambda w: total(jit(lambda v: v * w)(x)))(x),
        TypeError,
        "jit: the function uses ReverseTracer(float64[3] in grad) from outside; pass it as "
        "argument.",
    ),
    "a pass that does not exist": (
        lambda: optimise(make_graph(total)(x), ["dead_code", "typo"]),
        ValueError,
        "optimise: no pass ['typo']; the passes are ['constants', 'identities', "
        "'common_subexpressions', 'broadcasts', 'dead_code'].",
    ),
    "a program for tracers": (
        lambda: vmap(lambda w: jit(total).program(w))(batch),
        TypeError,
        "jit: a program was asked for with tracers; give arrays as examples.",
    ),
    "an argument that cannot be remembered": (
        lambda: jit(lambda w, names: w)(x, {"a", "b"}),
        TypeError,
        "jit: an argument holds a set, which is not hashable, so no program can be kept for it; "
        "give arrays, numbers, strings, or trees of these.",
    ),
    # tape
    "numpy() of a tensor that requires grad": (
        lambda: gradient_of_tensor()[1].numpy(),
        RuntimeError,
        "numpy(): this tensor requires grad; call x.detach().numpy().",
    ),
    "an integer tensor that requires grad": (
        lambda: tensor([1, 2], requires_grad=True),
        RuntimeError,
        "requires_grad: only floating-point tensors can require gradients, this one is int64; "
        "make it from floats.",
    ),
    "requires_grad of a result": (
        lambda: do_not_require(gradient_of_tensor()[1]),
        RuntimeError,
        "requires_grad: it can be changed for leaf tensors only; call x.detach() for the same "
        "numbers without history.",
    ),
    "retain_grad without grad": (
        lambda: tensor(1.0).retain_grad(),
        RuntimeError,
        "retain_grad: this tensor does not require grad, so it has none.",
    ),
    "backward without grad": (
        lambda: tensor(1.0).backward(),
        RuntimeError,
        "backward: this tensor does not require grad and has no grad_fn; create a tensor it "
        "depends on with requires_grad=True, and do not detach on the way.",
    ),
    "backward from an array": (
        lambda: gradient_of_tensor([1.0, 2.0])[1].backward(),
        RuntimeError,
        "backward: the tensor has shape (2,), a gradient is defined for one number; sum or "
        "average it, or pass its cotangent as gradient=.",
    ),
    "a cotangent of another shape": (
        lambda: gradient_of_tensor([1.0, 2.0])[1].backward(np.ones(3)),
        RuntimeError,
        "backward: gradient has shape (3,), the tensor (2,); it needs one number for every entry "
        "of the tensor.",
    ),
    "a leaf tensor changed": (
        lambda: change_in_place("leaf"),
        RuntimeError,
        f"in-place change of a leaf tensor {IN_PLACE}",
    ),
    "a result changed": (
        lambda: change_in_place("result"),
        RuntimeError,
        f"in-place change of a tensor with a grad_fn, {IN_PLACE}",
    ),
    "a plain tensor changed by one that requires grad": (
        lambda: change_in_place("plain"),
        RuntimeError,
        f"in-place change by a tensor {IN_PLACE}",
    ),
    "a second backward": (
        second_backward,
        RuntimeError,
        "backward: a second time through the same graph, whose saved values were freed by the "
        "first; sum the losses and call backward once, compute the loss anew, or pass "
        "retain_graph=True to the first call.",
    ),
    "an input changed after recording": (
        changed_after_recording,
        RuntimeError,
        "backward: an input of multiply was changed in place after the graph was recorded; make a "
        "copy before changing it, or change it after backward().",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_input_gets_one_sentence(name):
    trigger, kind, text = ERRORS[name]
    with pytest.raises(kind) as caught:
        trigger()
    assert in_order(str(caught.value)) == in_order(text)
    assert type(caught.value) is kind


def in_order(text):
    """Sort the names of a table: a test that takes a row away puts it back at the end."""
    return re.sub(r"(?<=there are rows for )[^)]*", lambda m: str(sorted(m[0].split(", "))), text)


MODULES = [batches, core, primitives, contraction, reverse, batching, staging, codegen, tape]
MODULES += [sys.modules[f.__module__] for f in (optimise, jit)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_raise_is_in_the_table(module):
    texts = [text for _, _, text in ERRORS.values()]
    lines = [line for line, pattern in messages(module) if not fits(pattern, texts)]
    assert lines == []


def fits(pattern, texts):
    return any(re.fullmatch(pattern, text) for text in texts)


def test_the_modules_raise_as_often_as_the_table_was_written_for():
    assert sum(len(list(messages(module))) for module in MODULES) >= 28

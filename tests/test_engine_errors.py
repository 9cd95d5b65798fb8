"""What bad input gets from the engine's functions and arrays: one sentence for every ``raise``.

The last test reads the modules and fails when one of their messages is missing here.
"""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from persample import engine
from persample.engine import grad, jit, vmap
from persample.engine import namespace as xp

x = np.arange(6.0).reshape(2, 3)
cube, vector, number = np.ones((2, 3, 4)), np.arange(3.0), np.float64(1.0)
E_FORM = 'is not of the form "ij,jk->ik": letters, commas, one arrow.'


def in_grad(f):
    """Run f on a tracer."""
    return lambda: grad(lambda x: f(x))(x)


# One row for each case: what to do, the kind of error, the whole text.
ERRORS = {
    # Making arrays
    "a device": (
        lambda: xp.asarray(x, device="gpu"),
        ValueError,
        "asarray: no device 'gpu'; the NumPy engine has \"cpu\" only.",
    ),
    "a masked array": (
        lambda: xp.asarray(np.ma.array([1.0])),
        TypeError,
        "asarray: a MaskedArray has rules of its own, which would be lost; give x.filled(value), "
        "or np.asarray(x).",
    ),
    "a complex number": (
        lambda: xp.exp(1j),
        TypeError,
        "complex 1j is complex; the NumPy engine computes with real numbers: give real and "
        "imaginary parts as two arrays.",
    ),
    "a text": (
        lambda: xp.add("a", 1.0),
        TypeError,
        "str 'a' is not an array of numbers; give one.",
    ),
    "grids": (
        lambda: xp.meshgrid(vector, indexing="ji"),
        ValueError,
        'meshgrid: indexing is \'ji\'; give "xy" or "ij".',
    ),
    # Shapes
    "shapes that do not broadcast": (
        lambda: xp.add(x, np.ones(2)),
        ValueError,
        "arrays of shapes [(2, 3), (2,)] do not broadcast together.",
    ),
    "two lengths left open": (
        lambda: xp.reshape(x, (-1, -1)),
        ValueError,
        "reshape: (-1, -1) leaves two lengths open; give all but one.",
    ),
    "another number of elements": (
        lambda: xp.reshape(x, 4),
        ValueError,
        "reshape: (2, 3) has 6 elements, (4,) needs others.",
    ),
    "a length that does not divide": (
        lambda: xp.reshape(x, (4, -1)),
        ValueError,
        "reshape: (2, 3) has 6 elements, (4, 1) needs others.",
    ),
    "a shape not filled": (
        lambda: xp.broadcast_to(x, (3,)),
        ValueError,
        "broadcast_to: an array of shape (2, 3) does not fill (3,).",
    ),
    "a shape that does not fit": (
        lambda: xp.broadcast_to(x, (2, 4)),
        ValueError,
        "broadcast_to: an array of shape (2, 3) does not fill (2, 4).",
    ),
    "an axis twice": (
        lambda: xp.permute_dims(x, (0, -2)),
        ValueError,
        "permute_dims: (0, 0) does not name each axis of (2, 3) once.",
    ),
    "no such axis": (
        lambda: xp.sum(x, axis=2),
        ValueError,
        "axis 2 is out of range for an array with 2 axes.",
    ),
    "one axis by two names": (
        lambda: xp.mean(x, axis=(0, -2)),
        ValueError,
        "axis (0, -2) names an axis of shape (2, 3) twice.",
    ),
    "nothing to join": (
        lambda: xp.concat([]),
        ValueError,
        "concat: there are no arrays to join; give at least one.",
    ),
    "joined along the wrong axis": (
        lambda: xp.concat([x, x.T], axis=1),
        ValueError,
        "concat: shapes [(2, 3), (3, 2)] differ in more than axis 1.",
    ),
    "joined with fewer axes": (
        lambda: xp.concat([x, vector]),
        ValueError,
        "concat: shapes [(2, 3), (3,)] differ in more than axis 0.",
    ),
    "stacked": (
        lambda: xp.stack([x, vector]),
        ValueError,
        "stack: the shapes [(2, 3), (3,)] differ; give one shape.",
    ),
    "a vector transposed": (
        lambda: xp.matrix_transpose(vector),
        ValueError,
        "matrix_transpose: shape (3,) is no matrix; give two axes or more.",
    ),
    "squeezed": (
        lambda: xp.squeeze(x, 0),
        ValueError,
        "squeeze: axes (0,) of shape (2, 3) are not all of length 1.",
    ),
    "axes moved": (
        lambda: xp.moveaxis(cube, (0, 1), 0),
        ValueError,
        "moveaxis: [0, 1] and [0] are not distinct axes in pairs.",
    ),
    "an axis moved twice": (
        lambda: xp.moveaxis(cube, (0, -3), (0, 1)),
        ValueError,
        "moveaxis: [0, 0] and [0, 1] are not distinct axes in pairs.",
    ),
    "two axes moved to one place": (
        lambda: xp.moveaxis(cube, (0, 1), (0, -3)),
        ValueError,
        "moveaxis: [0, 1] and [0, 0] are not distinct axes in pairs.",
    ),
    "shifts": (
        lambda: xp.roll(cube, (1, 2), axis=(0, 1, 2)),
        ValueError,
        "roll: 2 shifts for 3 axes; give one for each.",
    ),
    # Indices
    "take without an axis": (
        lambda: xp.take(x, np.array([0])),
        ValueError,
        "take: an array of shape (2, 3) needs an axis; give axis=.",
    ),
    "a mask": (
        lambda: xp.take(vector, vector > 0),
        TypeError,
        "take: indices are bool; give integers (no masks).",
    ),
    "a mask in brackets": (
        in_grad(lambda x: x[x > 0]),
        TypeError,
        "x[...]: indices are bool; give integers (no masks).",
    ),
    "other axes": (
        lambda: xp.take_along_axis(x, np.array([0])),
        ValueError,
        "take_along_axis: 2 axes and indices with 1; give as many.",
    ),
    "too many indices": (
        in_grad(lambda x: x[0, 0, 0]),
        IndexError,
        "3 indices for an array of shape (2, 3).",
    ),
    "two ellipses": (
        in_grad(lambda x: x[..., ...]),
        IndexError,
        "x[..., ...]: one ellipsis at most stands for the axes not named.",
    ),
    "out of range": (
        in_grad(lambda x: x[0, 3]),
        IndexError,
        "index 3 is out of range for axis 1, length 3.",
    ),
    # Along axes
    "running sum": (
        lambda: xp.cumulative_sum(x),
        ValueError,
        "cumulative_sum: an array of shape (2, 3) needs an axis; give axis=.",
    ),
    "side": (
        lambda: xp.searchsorted(vector, x, side="middle"),
        ValueError,
        'searchsorted: side is \'middle\'; give "left" or "right".',
    ),
    "searched in a matrix": (
        lambda: xp.searchsorted(x, x),
        ValueError,
        "searchsorted: shape (2, 3) to search in; give one axis.",
    ),
    "bits of a float": (
        lambda: xp.bitwise_and(1, vector),
        TypeError,
        "bitwise_and: float64 has no bits; give integers or booleans.",
    ),
    "inverted float": (
        in_grad(lambda x: ~x),
        TypeError,
        "bitwise_invert: float64 has no bits; give integers or booleans.",
    ),
    # Products
    "matmul": (
        lambda: xp.matmul(x, x),
        ValueError,
        "matmul: shapes (2, 3) and (2, 3) do not fit (n,k) @ (k,m).",
    ),
    "vecdot": (
        lambda: xp.vecdot(x, np.ones(1)),
        ValueError,
        "vecdot: the axes have lengths 3 and 1.",
    ),
    "outer": (
        lambda: xp.linalg.outer(x, vector),
        ValueError,
        "outer: shapes (2, 3) and (3,); give two vectors.",
    ),
    "an ellipsis": (
        lambda: xp.einsum("...i->i", x),
        NotImplementedError,
        "einsum: '...i->i' has an ellipsis; write a letter for each axis.",
    ),
    **{
        f"einsum of {text}": (
            lambda text=text: xp.einsum(text, x),
            ValueError,
            f"einsum: {text!r} {E_FORM}",
        )
        for text in ("ij-i", "ij->i->", "ij->i,", "i1->i", "ij>i", "i-j->")
    },
    **{
        f"einsum to {text}": (
            lambda text=text: xp.einsum(text, x),
            ValueError,
            f"einsum: {text!r} has behind the arrow a letter twice, or one that no operand has; "
            "name each letter of the result once.",
        )
        for text in ("ij->ii", "ij->k")
    },
    "operands": (
        lambda: xp.einsum("ij,jk->ik", x),
        ValueError,
        "einsum: 'ij,jk->ik' is for 2 arrays, 1 were given.",
    ),
    "no operands": (
        lambda: xp.einsum("i->i"),
        ValueError,
        "einsum: 'i->i' is for 1 arrays, 0 were given.",
    ),
    "axes": (
        lambda: xp.einsum("ijk->i", x),
        ValueError,
        "einsum: 'ijk' of 'ijk->i' stands for an array of shape (2, 3); write one letter for each "
        "axis.",
    ),
    "lengths": (
        lambda: xp.einsum("ij,j->i", x, np.ones(1)),
        ValueError,
        "einsum: 'j' of 'ij,j->i' has the lengths 3 and 1; axes with one letter have one length.",
    ),
    "a diagonal of a rectangle": (
        lambda: xp.einsum("ii->i", x),
        ValueError,
        "einsum: 'i' of 'ii->i' has the lengths 2 and 3; axes with one letter have one length.",
    ),
    # Matrices
    "not square": (
        lambda: xp.linalg.det(x),
        ValueError,
        "linalg.slogdet: shape (2, 3) is no square matrix; give one.",
    ),
    "no matrix at all": (
        lambda: xp.linalg.cholesky(vector),
        ValueError,
        "linalg.cholesky: shape (3,) is no square matrix; give one.",
    ),
    "a system": (
        lambda: xp.linalg.solve(np.eye(3), x),
        ValueError,
        "linalg.solve: shapes (3, 3) and (2, 3) do not fit.",
    ),
    "a diagonal of a vector": (
        lambda: xp.linalg.trace(vector),
        ValueError,
        "linalg.diagonal: shape (3,) is no matrix; give two axes or more.",
    ),
    "cross product in the plane": (
        lambda: xp.linalg.cross(np.ones(2), vector),
        ValueError,
        "linalg.cross: the axes have lengths 2 and 3; both need 3.",
    ),
    "norm of no matrix": (
        lambda: xp.linalg.matrix_norm(vector),
        ValueError,
        "linalg.matrix_norm: shape (3,) is no matrix; give two axes or more.",
    ),
    "spectral norm": (
        lambda: xp.linalg.matrix_norm(x, ord=2),
        NotImplementedError,
        'linalg.matrix_norm: ord=2 needs singular values; choose "fro", 1, -1, inf or -inf.',
    ),
    # What is not there
    "a missing function": (
        lambda: xp.nonzero(x),
        AttributeError,
        "the NumPy engine has no function 'nonzero': the shape of its result depends on values, "
        "which vmap and jit cannot follow.",
    ),
    "an unknown function": (
        lambda: xp.erf(x),
        AttributeError,
        "the NumPy engine has no function 'erf': write it with those that it has. To add it: a "
        "ufunc of one input needs a row in persample/engine/primitives.py; another function also "
        "a function in persample/engine/functions and its name in __all__ there.",
    ),
    "a missing function of matrices": (
        lambda: xp.linalg.svd(x),
        AttributeError,
        "the NumPy engine has no function 'linalg.svd': losses rarely need it, and its "
        "derivatives fail where values tie.",
    ),
    # Tracers
    "a method": (
        in_grad(lambda x: x.sort()),
        AttributeError,
        "x.sort with x = ReverseTracer(float64[2, 3] in grad): arrays inside grad have no sort; "
        "use np.sort(x), or xp.sort(x) of xp = ps.array_namespace(x).",
    ),
    "a protocol": (
        in_grad(lambda x: x.__cuda_array_interface__),
        AttributeError,
        "__cuda_array_interface__",
    ),
    "in place": (
        in_grad(lambda x: x.__setitem__(0, 1.0)),
        TypeError,
        "x[...] = value on ReverseTracer(float64[2, 3] in grad): arrays inside grad cannot be "
        "changed in place; build a new one with xp.where, xp.concat or xp.stack.",
    ),
    "len": (
        lambda: grad(len)(number),
        TypeError,
        "len() of ReverseTracer(float64[] in grad), which is 0-d; give an array with an axis.",
    ),
    "a Python value": (
        lambda: vmap(bool)(vector),
        TypeError,
        "a Python value was asked of BatchTracer(float64[] in vmap), which has none there: no "
        "`if`, `while`, float() or int() on it; choose with xp.where, or pass it as a Python "
        "number.",
    ),
    "a formatted number": (
        lambda: jit(lambda x: f"{x:.2f}")(number),
        TypeError,
        "a Python value was asked of StageTracer(float64[] in jit), which has none there: no "
        "`if`, `while`, float() or int() on it; choose with xp.where, or pass it as a Python "
        "number.",
    ),
    "a function of NumPy that the engine has not": (
        in_grad(np.linalg.svd),
        TypeError,
        "np.linalg.svd: on ReverseTracer(float64[2, 3] in grad): it needs eigenvalues or singular "
        "values, whose derivatives fail where values tie; use np.linalg.solve, slogdet or "
        "cholesky where they serve as well.",
    ),
    "what NumPy does not hand over": (
        in_grad(np.asarray),
        TypeError,
        "NumPy was to make an array of ReverseTracer(float64[2, 3] in grad), which would end grad "
        "there; write np.stack([a, b]) for np.array([a, b]), x for np.asarray(x), np.dot(a, x) "
        "for a.dot(x), np.where or np.concatenate for a[i] = x.",
    ),
}


@pytest.mark.parametrize("what", ERRORS)
def test_bad_input_gets_the_whole_sentence(what):
    call, kind, text = ERRORS[what]
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value) == text
    assert caught.value.__cause__ is None


FOLDER = Path(engine.__file__).parent
FILES = [FOLDER / f"{name}.py" for name in ("operations", "indexing", "tracer", "namespace")]
FILES += sorted(FOLDER.glob("functions/*.py"))


def messages(path):
    """Yield (line, pattern) of every raise in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            text = node.exc.args[0]
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            fixed = [re.escape(p.value) if isinstance(p, ast.Constant) else ".*" for p in parts]
            yield node.lineno, "".join(fixed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_raise_is_in_the_table(path):
    texts = [text for _, _, text in ERRORS.values()]
    found = list(messages(path))
    assert [n for n, pattern in found if not any(re.fullmatch(pattern, t) for t in texts)] == []


def test_the_files_have_messages():
    assert sum(len(list(messages(path))) for path in FILES) > 35


@pytest.mark.parametrize("dtype", [object, "datetime64[D]", "S1"])
def test_a_compiled_function_refuses_what_holds_no_numbers(dtype):
    def loss(p, x):
        return xp.sum(xp.logaddexp(p, x))

    rows_of = jit(vmap(grad(loss), (None, 0)))
    with pytest.raises(TypeError, match="is not an array of numbers; give one"):
        rows_of(np.ones(3), np.ones((2, 3), np.int64).astype(dtype))

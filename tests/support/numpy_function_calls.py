"""Calls of NumPy's functions: the table CALLS has their arguments as source text.

They also test the Array API's functions of the same names. `x_35` is an array of shape (3, 5),
drawn as LETTERS defines for its letter: away from kinks, ties and poles, so that finite
differences are accurate. `i5_22` are indices into an axis of length 5, of shape (2, 2).
"""

import re

import numpy as np

from support import specs

# Letters, and what of specs.py is drawn for them.
NAMES = """xyz real, n nonzero, fg few, r rising, c condition, d near, e apart, i index,
j invertible, k fractional, l definite, p positive, u extreme"""
NAMES = [pair.split() for pair in NAMES.split(",")]
LETTERS = {a: getattr(specs, name) for some, name in NAMES for a in some}

# Name: arguments; arguments. What has the name in it is a whole expression.
CALLS = """
sum: x_35; x_35, 1; x_234, axis=(0, 2), keepdims=True
sum: x_35, 0, np.float32; c_7
prod: n_23; n_23, 1, keepdims=True
max: d_35; d_35, axis=1, keepdims=True
min: d_35; d_35, axis=(0,), keepdims=True
amax: d_35, 0
amin: d_35, 0
all: f_35
any: f_32, axis=1
count_nonzero: f_35; f_35, axis=1, keepdims=True
mean: x_35; x_35, axis=0, keepdims=True; f_35
var: x_35; x_35, axis=1, ddof=1, keepdims=True; x_234, (0, 2), None, None, 2
std: x_35; x_35, axis=1, ddof=1, keepdims=True
argmax: d_35; d_35, axis=1, keepdims=True
argmin: d_35; d_35, 0
cumsum: x_35; x_35, axis=1, dtype=np.float32; x_35, 0
cumprod: n_23; n_23, axis=1
cumulative_sum: x_4; x_35, axis=0, include_initial=True
cumulative_prod: n_4; n_23, axis=1, include_initial=True
sort: d_35; d_35, axis=0; d_35, None, kind="stable"
argsort: d_35; f_35, axis=0, stable=True; d_35, axis=None
searchsorted: r_6, x_23; r_6 // 1, f_5, side="right"
searchsorted: np.array([3.0, 1.0, 2.0]), p_4, sorter=np.array([1, 2, 0])
isin: f_35, [1, 3]; f_35, g_2, invert=True
shape: x_35
ndim: x_35
size: x_35; x_35, 1
reshape: x_35, (5, -1); x_35, -1; x_35, shape=[1, 15]
ravel: x_35
squeeze: x_131; x_131, axis=0; x_131, (0, 2)
expand_dims: x_35, 1; x_35, (0, -1)
atleast_1d: x_; x_23, y_
atleast_2d: x_3; x_231, y_, z_23
transpose: x_234; x_234, (1, 2, 0)
moveaxis: x_234, 0, -1; x_234, source=(0, 1), destination=[2, 0]
swapaxes: x_234, 0, -1
matrix_transpose: x_234
linalg.matrix_transpose: x_234
broadcast_to: x_35, (2, 3, 5); x_, 4
broadcast_arrays: x_31, y_5
flip: x_35; x_35, 1; x_234, axis=(0, 2)
roll: x_35, 2; x_35, -1, axis=1; x_35, (1, 2), axis=(0, 1); x_35, np.int64(1), 0
repeat: x_35, 2; x_35, [1, 0, 3], axis=0
tile: x_35, 2; x_35, (2, 1, 3)
take: x_35, [0, -1, 3]; x_35, i5_22, axis=1; x_35, 1, axis=0
take_along_axis: x_35, i5_32, axis=1; x_35, i3_25, 0; x_35, i15_4, None
concatenate: [x_35, y_15]; (x_35, y_32), axis=1; [x_35, y_2], axis=None; x_35
concatenate: [x_35, y_15], 0, None, casting="same_kind"
stack: [x_35, y_35]; [x_35, y_35], axis=-1; [x_4[0], x_4[2] * x_4[1]]
vstack: [x_4, y_24]
hstack: [x_4, y_2]; [x_35, y_32]; [x_, y_]
split: x_35, 3; x_35, [1, 4], axis=1
unstack: x_35, axis=1
dot: x_4, y_4; x_35, y_52; x_234, y_243; x_234, y_4; x_4, y_243; x_35, 2.0; x_4, y_4, None
inner: x_4, y_4; x_234, y_54; x_, y_4
outer: x_35, y_4
cross: x_3, y_3; x_43, y_3; x_34, y_34, axis=0
tensordot: x_234, y_342; x_35, y_52, axes=1; x_4, y_2, axes=0
tensordot: x_234, y_32, axes=([1, 0], [0, 1]); x_234, y_42, (-1, 0)
einsum: "ij,jk->ki", x_35, y_52; "ij, j", x_35, y_5, optimize=True; "ii", x_33
einsum: "i,ij,j->", x_2, y_23, z_3; "ij,jk,ki->", x_34, y_42, z_23; "i,i,i", x_3, y_3, z_3
einsum: "a,ab,abc->abc", x_2, y_23, z_234; "ij,jk,kl->il", x_34, y_42, z_25; ",i->i", x_, y_3
einsum: "ii,i->i", x_33, y_3; "ii->i", x_33; "iii->i", x_333; "ijj->i", x_344; "->", x_
einsum: "ij->", x_34; "ji", x_34; "ij,k->k", x_34, y_2; "ijk,k->i", x_342, y_2
einsum: "ij , jk -> ki", x_34, y_42; "iij,j->ji", x_334, y_4; "ii,jj->ij", x_33, y_44
diag: x_3, -2; x_3, 0; x_3, 1; x_35, -1; x_35, 0; x_35, 3
diagonal: x_35, 1; x_234; x_234, -1, axis1=2, axis2=1
trace: x_35; x_234, 1, 2, 0
tril: x_35; x_234, -1; x_4
triu: x_35, k=1; x_243
linalg.norm: n_4, None; n_4, 1; n_4, 2; n_4, 3.5; n_4, -1; n_4, 0; e_4, np.inf; e_4, -np.inf
linalg.norm: n_35, ord=None; n_35, ord="fro"; x_234; x_23, keepdims=True; x_234, axis=1
linalg.norm: n_23, 1, axis=-1, keepdims=True; x_234, axis=(0, 2), keepdims=True
linalg.det: j_233
linalg.slogdet: j_33
linalg.inv: j_33
linalg.solve: j_33, x_3; j_233, x_231
linalg.matrix_power: j_33, -2; j_33, 0; x_2533, 0; j_33, 1; j_33, 3
linalg.cholesky: l_33 + l_33.T; l_33 + l_33.T, upper=True
linalg.matmul: x_234, y_41
linalg.tensordot: x_35, y_52, axes=1
linalg.vecdot: x_35, y_31, axis=0
linalg.outer: x_4, y_3
linalg.cross: x_32, y_32, axis=0
linalg.diagonal: x_234, offset=1
linalg.trace: x_234, offset=-1
linalg.matrix_norm: n_234, ord=1
linalg.vector_norm: n_234, axis=(0, 2), ord=3
where: c_35, x_35, y_5; n_35 > 0, np.exp(n_35), 0.0; np.eye(3, dtype=bool), x_3, -1.0
select: [n_35 > 0.5, n_35 > 0], [n_35, x_35], 7.0; [n_4 > 0.0], [n_4**2]
clip: d_34 - 0.6, -0.42, 0.42; n_34, a_min=0.0, a_max=None; n_34, min=0.0, max=0.9
clip: d_7, e_7, e_7[::-1] + 0.23; f_5, None, 2
round: k_35; f_3
diff: x_35; x_35, 2, axis=0
zeros_like: x_35; x_35, dtype=int
ones_like: x_35, np.float32
empty_like: 0.0 * np.nan_to_num(np.empty_like(x_35))
full_like: x_35, 7.0; x_4, x_4[0], dtype=np.float32
copy: x_35
astype: x_35, np.float32
power: f_5, 3; x_35, 2
exp: x_35, out=None, where=True, casting="same_kind", order="K", subok=True
logical_not: c_35
invert: c_35
matmul: x_35, y_5; x_234, y_42; x_2323, y_2334
vecdot: x_35, y_5
add.reduce: x_35; x_35, 1, keepdims=True
multiply.reduce: n_23, axis=(0, 1)
maximum.reduce: d_35; np.stack([d_3, e_3])
minimum.reduce: d_35, -1
logaddexp.reduce: x_35; x_35, axis=1, keepdims=True
subtract.outer: x_23, y_4
maximum.outer: d_3, e_4
"""

# The shapes of ufuncs of one input and of two.
SHAPES = {
    1: [[(3, 5)], [()]],
    2: [[(3, 5), (5,)], [(), (3,)], [(2, 1), (1, 3)], [(2, 1, 3, 1), (2, 3, 4)], [(2, 0), (1,)]],
}


def parsed(name, text, module=np):
    """Return a call in CALLS as a tuple: a function of arrays, then an Input for each array."""
    text = text if f"np.{name}(" in text else f"np.{name}({text})"
    found = dict.fromkeys(re.findall(r"\b([a-z])(\d*)_(\d*)\b", text))
    names = [f"{letter}{bound}_{shape}" for letter, bound, shape in found]
    drawn = [LETTERS[a](*map(int, [bound] * (bound != "")), *map(int, s)) for a, bound, s in found]
    return eval(f"lambda {', '.join(names)}: {text}", {"np": module}), *drawn


def lines(table):
    """Yield (name, text) of every call of a table."""
    for line in table.strip().splitlines():
        name, _, rest = line.partition(": ")
        yield from ((name, text) for text in rest.split("; "))


def calls():
    """Yield (name, (function of arrays, Input of each array, ...)) for CALLS and every ufunc."""
    yield from ((name, parsed(name, text)) for name, text in lines(CALLS))
    for name, domains in specs.DOMAINS.items():
        for shapes in SHAPES[len(domains)]:
            inputs = [domain(*shape) for domain, shape in zip(domains, shapes, strict=True)]
            yield name, (getattr(np, name), *inputs)

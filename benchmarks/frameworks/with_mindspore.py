"""MindSpore: rows as in its own tutorial, and that tutorial as published and corrected."""

import contextlib
import io
import json
import runpy
from pathlib import Path

import common
import mindspore as ms
import numpy as np
from common import said
from mindspore import Tensor, jit, nn, ops, vmap

ms.set_context(mode=ms.PYNATIVE_MODE)
FLOAT = ms.float32


# [rows]
def td_loss(theta, s, r, s_next):
    target = ops.stop_gradient(r + s_next @ theta)
    return 0.5 * (target - s @ theta) ** 2


rows = jit(vmap(ms.grad(td_loss), in_axes=(None, 0, 0, 0)))
# [end]


def loss_with_sums(theta, s, r, s_next):
    target = ops.stop_gradient(r + (s_next * theta).sum())
    return 0.5 * (target - (s * theta).sum()) ** 2


rows_with_sums = jit(vmap(ms.grad(loss_with_sums), in_axes=(None, 0, 0, 0)))


def mean_loss(theta, s, r, s_next):
    targets = ops.stop_gradient(r + s_next @ theta)
    return (0.5 * (targets - s @ theta) ** 2).mean()


mean = jit(ms.grad(mean_loss))

# [cell]
net = nn.SequentialCell(nn.Dense(4, 3), nn.Tanh(), nn.Dense(3, 1))


def cell_loss(x, y):
    output = net(x[None])[0]  # a batch of one
    return ((output - y) ** 2).sum()


row = ms.grad(cell_loss, grad_position=None, weights=net.trainable_params())
rows_of_cell = jit(vmap(row, in_axes=(0, 0)))
# [end]


# [leaf]
def v_res(v1, v2):
    return ((v1 + v2) * 2).sum()


v1, v2 = Tensor(common.V1, FLOAT), Tensor(common.V2, FLOAT)
g1 = ms.grad(v_res, grad_position=0)(v1, v2)
# [end]

# [steps]
theta = Tensor([0.2, -0.2, 0.1], FLOAT)
s = Tensor([[2, 1, -2], [1, 3, 1], [0, 1, 2]], FLOAT)  # three transitions
r = Tensor([2, 0, 1], FLOAT)
s_next = Tensor([[1, 2, 0], [0, 1, 2], [2, 1, -2]], FLOAT)

one = ms.grad(td_loss)  # the row of one transition
first = one(theta, s[0], r[0], s_next[0])
three = vmap(one, in_axes=(None, 0, 0, 0))(theta, s, r, s_next)
compiled = jit(vmap(one, in_axes=(None, 0, 0, 0)))(theta, s, r, s_next)
stepped = theta - 0.1 * compiled.mean(0)
# [end]

# [published]
weights = Tensor([0.2, -0.2, 0.1], FLOAT)
here, reward = Tensor([2.0, 1.0, -2.0], FLOAT), Tensor(2.0, FLOAT)
there = Tensor([1.0, 2.0, 0.0], FLOAT)


def value(theta, s):
    return s @ theta


def published(theta, s_before, r, s_after):
    # reward and there come from outside, not from the arguments
    target = reward + value(theta, there)
    return (ops.stop_gradient(target) - value(theta, s_after)) ** 2


def mended(theta, s, r, s_next):
    target = r + value(theta, s_next)
    return (ops.stop_gradient(target) - value(theta, s)) ** 2
    # [end]


def convert(x):
    return Tensor(np.array(x), FLOAT)


def kept_sign(x):
    return x if x > 0 else -x


def square(x, y):
    return x * x


def batch_norm_in_training():
    """Return the error, or "", of rows of a Cell with batch normalization in training mode."""
    x, y = (convert(np.random.default_rng(i).normal(size=(6, n))) for i, n in enumerate((4, 1)))
    net = nn.SequentialCell(nn.Dense(4, 3), nn.BatchNorm1d(3), nn.Dense(3, 1)).set_train()

    def loss(x, y):
        return ((net(x[None])[0] - y) ** 2).sum()

    row = ms.grad(loss, grad_position=None, weights=net.trainable_params())
    return said(lambda: vmap(row, in_axes=(0, 0))(x, y))


def cell_against_loop():
    """Return the largest error of a Cell's rows against a loop, over two steps, and the shapes."""
    x, y = (convert(np.random.default_rng(i).normal(size=(6, n))) for i, n in enumerate((4, 1)))
    largest = []
    for _ in range(2):
        found, alone = rows_of_cell(x, y), [row(x[i], y[i]) for i in range(6)]
        pairs = [
            np.abs(rows.asnumpy() - np.stack([one[k].asnumpy() for one in alone])).max()
            for k, rows in enumerate(found)
        ]
        largest.append(float(max(pairs)))
        for weight, rows in zip(net.trainable_params(), found):
            ops.assign_sub(weight, 0.1 * rows.mean(0))
    return {"difference": max(largest), "shapes": [list(rows.shape) for rows in found]}


def notebook_prints_what_it_stores():
    """Run the downloadable notebook's cells; return whether they print the stored outputs."""
    path = Path(__file__).parents[2] / "chapters/files/td0_in_mindspore.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    program = Path("td0_in_mindspore.py")  # a file, as jit reads the functions' source
    program.write_text("\n".join("".join(cell["source"]) for cell in code), encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(program))
    stored = "".join("".join(out["text"]) for cell in code for out in cell["outputs"])
    return printed.getvalue() == stored


measured = common.times(
    rows, mean, convert, lambda g: g.asnumpy()
)  # first, so that first calls are
with_sums = common.times(rows_with_sums, mean, convert, lambda g: g.asnumpy())
arguments = [convert(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
x, y, many, two = map(convert, (2.0, 3.0, [1.0, -2.0], [1.0, 2.0]))
common.report(
    "mindspore",
    rows=[f(*arguments).asnumpy().tolist() for f in (rows, rows_with_sums)],
    leaf={"value": float(v_res(v1, v2).asnumpy()), "v1": g1.asnumpy().tolist(), "v2": None},
    model=cell_against_loop(),
    notebook=notebook_prints_what_it_stores(),
    published=ms.grad(published)(weights, here, reward, there).asnumpy().tolist(),
    mended=ms.grad(mended)(weights, here, reward, there).asnumpy().tolist(),
    unused=str(ms.grad(lambda x, y: x * x, grad_position=1)(x, y).asnumpy()),
    vector=ms.grad(lambda x: x * x)(many).asnumpy().tolist(),
    one_weight={
        "losses": float(ms.grad(lambda w: (w * two) ** 2)(convert(1.0)).asnumpy()),
        "mean": float(ms.grad(lambda w: ((w * two) ** 2).mean())(convert(1.0)).asnumpy()),
    },
    same_tensor_twice=float(ms.grad(lambda x, y: x * x, grad_position=1)(x, x).asnumpy()),
    same_tensor_in_jit=float(jit(ms.grad(square, grad_position=1))(x, x).asnumpy()),
    keeps_grad=any(map(common.keeps, (x, net.trainable_params()[0]))),
    starts_in_training=net.training,
    batch_norm=batch_norm_in_training(),
    copy_twice=float(ms.grad(lambda x, y: x * x, grad_position=1)(x, x.copy()).asnumpy()),
    branch={
        "eager": said(lambda: ms.grad(kept_sign)(x)),
        "compiled": said(lambda: jit(kept_sign)(x)),
        "batched": said(lambda: vmap(kept_sign)(many)),
    },
    twice=[float(ms.grad(lambda x: x * x)(x).asnumpy()) for _ in range(2)],
    shared=common.shared(__file__, "in_axes=(None, 0, 0, 0)"),
    words=common.named(
        globals(),
        {
            "record": "ms.grad",
            "compile": "jit",
            "batch": "vmap",
            "stop": "ops.stop_gradient",
            "leaf": "ms.Parameter.requires_grad",
            "gradient": "ms.grad",
            "jacobian": "ms.jacrev",
        },
    ),
    times=measured,
    times_with_sums=with_sums,
)

"""This book's engine: grad, vmap and jit for NumPy arrays, and a Tensor with .grad."""

import common
import numpy as np
from common import said

import persample as ps
from persample import engine
from persample.tape import Tensor


# [rows]
def td_loss(theta, s, r, s_next):
    target = ps.stop_gradient(r + s_next @ theta)
    return 0.5 * (target - s @ theta) ** 2


rows = engine.jit(engine.vmap(engine.grad(td_loss), in_axes=(None, 0, 0, 0)))
# [end]


@engine.jit
@engine.grad
def mean(theta, s, r, s_next):
    targets = ps.stop_gradient(r + s_next @ theta)
    return (0.5 * (targets - s @ theta) ** 2).mean()


# [leaf]
v1 = Tensor(common.V1, requires_grad=True)
v2 = Tensor(common.V2)
v_sum = v1 + v2
v_res = (v_sum * 2).sum()
v_res.backward()
v1.grad, v2.grad
# [end]


def kept_sign(x):
    return x if x > 0 else -x


def accumulated():
    w, seen = Tensor(2.0, requires_grad=True), []
    for _ in range(2):
        (w * w).backward()
        seen.append(float(w.grad))
    return seen


def unused():
    w, other = (Tensor(2.0, requires_grad=True) for _ in range(2))
    (w * w).backward()
    return other.grad


measured = common.times(rows, mean, np.array, np.asarray)  # first, so that first calls are
arguments = [np.array(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
x, many = np.array(2.0), np.array([1.0, -2.0])
leaf = Tensor(many, requires_grad=True)
common.report(
    "persample",
    rows=[rows(*arguments).tolist()],
    leaf={
        "value": float(v_res.detach().numpy()),
        "v1": v1.grad.numpy().tolist(),
        "v2": v2.grad,
        "is_leaf": [t.is_leaf for t in (v1, v2, v_sum, v_res)],
    },
    unused=str(engine.grad(lambda y, x: x * x)(x, x)),
    vector=said(lambda: engine.grad(lambda x: x * x)(many)),
    branch={
        "eager": said(lambda: engine.grad(kept_sign)(x)),
        "compiled": said(lambda: engine.jit(kept_sign)(x)),
        "batched": said(lambda: engine.vmap(kept_sign)(many)),
    },
    twice=[float(engine.grad(lambda x: x * x)(x)) for _ in range(2)],
    same_tensor_twice=float(engine.grad(lambda y, x: x * x)(x, x)),
    kept={
        "unused": str(unused()),
        "vector": said(lambda: (leaf * leaf).backward()),
        "twice": accumulated(),
    },
    keeps_grad=common.keeps(v1),
    shared=common.shared(__file__, "in_axes=(None, 0, 0, 0)"),
    words=common.named(
        globals(),
        {
            "record": "Tensor",
            "compile": "engine.jit",
            "batch": "engine.vmap",
            "stop": "ps.stop_gradient",
            "leaf": "Tensor.is_leaf",
            "gradient": "engine.grad",
            "jacobian": "",
        },
    ),
    times=measured,
)

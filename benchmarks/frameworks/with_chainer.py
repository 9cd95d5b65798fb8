"""Chainer: Variables with .grad, define-by-run; the samples by a loop or by leaf copies."""

import chainer
import chainer.functions as F
import common
import numpy as np
from chainer import Variable
from common import said


# [rows]
def td_loss(theta, s, r, s_next):
    target = r + F.sum(s_next * theta, axis=-1).array
    return 0.5 * (target - F.sum(s * theta, axis=-1)) ** 2


def rows(theta, s, r, s_next):
    copies = Variable(np.repeat(theta[None], len(s), axis=0))
    F.sum(td_loss(copies, s, r, s_next)).backward()
    return copies.grad
    # [end]


# [loop]
def rows_by_loop(theta, s, r, s_next):
    found = []
    for sample in zip(s, r, s_next):
        weights = Variable(theta)
        td_loss(weights, *sample).backward()
        found.append(weights.grad)
    return np.stack(found)
    # [end]


def mean(theta, s, r, s_next):
    weights = Variable(theta)
    targets = r + s_next @ theta
    values = F.reshape(F.matmul(s, F.reshape(weights, (-1, 1))), (-1,))
    F.mean(0.5 * (targets - values) ** 2).backward()
    return weights.grad


# [leaf]
v1 = Variable(np.array(common.V1))
v2 = np.array(common.V2)
v_sum = v1 + v2
v_res = F.sum(v_sum * 2)
v_res.backward()
v1.grad
# [end]


def kept_sign(x):
    return x if x.array > 0 else -x


def differentiated(f, *arguments):
    variables = [Variable(np.array(x)) for x in arguments]
    out = f(*variables)
    out.backward()
    return variables


def accumulated():
    w, seen = Variable(np.array(2.0)), []
    for _ in range(2):
        (w * w).backward()
        seen.append(float(w.grad))
    return seen


measured = common.times(rows, mean, np.array, np.asarray)  # first, so that first calls are


def summed():
    x = Variable(np.array([1.0, -2.0]))
    return chainer.grad([x * x], [x])[0].array.tolist()


arguments = [np.array(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
common.report(
    "chainer",
    rows=[rows(*arguments).tolist(), rows_by_loop(*arguments).tolist()],
    leaf={
        "value": float(v_res.array),
        "v1": v1.grad.tolist(),
        "v2": None,
        "has_creator": [t.creator is not None for t in (v1, v_sum, v_res)],
    },
    unused=str(differentiated(lambda x, y: x * x, 2.0, 3.0)[1].grad),
    vector_plus_one=str(differentiated(lambda x: x + 1, [1.0, 2.0])[0].grad),
    vector=said(lambda: differentiated(lambda x: x * x, [1.0, 2.0])),
    summed={"chainer.grad": summed()},
    branch={
        "eager": said(lambda: differentiated(kept_sign, 2.0)),
        "eager_variable": said(lambda: bool(Variable(np.array(2.0)) > 0)),
    },
    twice=accumulated(),
    keeps_grad=common.keeps(v1),
    shared=common.shared(__file__, "np.repeat(theta[None], len(s), axis=0)"),
    words=common.named(
        globals(),
        {
            "record": "Variable",
            "compile": "",
            "batch": "",
            "stop": "Variable.array",
            "leaf": "Variable",
            "gradient": "Variable.backward",
            "jacobian": "",
        },
    ),
    times=measured,
)

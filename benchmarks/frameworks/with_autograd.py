"""HIPS autograd: NumPy with gradients; the samples by a loop or a Jacobian."""

import autograd.numpy as anp
import common
from autograd import elementwise_grad, grad, jacobian
from autograd.tracer import getval
from common import said


# [rows]
def td_losses(theta, s, r, s_next):
    targets = getval(r + anp.dot(s_next, theta))
    return 0.5 * (targets - anp.dot(s, theta)) ** 2


rows = jacobian(td_losses)
# [end]


# [loop]
def td_loss(theta, s, r, s_next):
    target = getval(r + anp.dot(s_next, theta))
    return 0.5 * (target - anp.dot(s, theta)) ** 2


def rows_by_loop(theta, s, r, s_next):
    row = grad(td_loss)
    return anp.stack([row(theta, *sample) for sample in zip(s, r, s_next)])
    # [end]


mean = grad(lambda *arguments: anp.mean(td_losses(*arguments)))


# [leaf]
def v_res(v1, v2):
    return anp.sum((v1 + v2) * 2)


v1, v2 = anp.array(common.V1), anp.array(common.V2)
g1 = grad(v_res, 0)(v1, v2)
# [end]


def kept_sign(x):
    return x if x > 0 else -x


measured = common.times(rows, mean, anp.array, anp.asarray)  # first, so that first calls are
arguments = [anp.array(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
many = anp.array([1.0, -2.0])
common.report(
    "autograd",
    rows=[rows(*arguments).tolist(), rows_by_loop(*arguments).tolist()],
    leaf={"value": float(v_res(v1, v2)), "v1": g1.tolist(), "v2": None},
    unused=str(grad(lambda x, y: x * x, 1)(2.0, 3.0)),
    vector=said(lambda: grad(lambda x: x * x)(many)),
    summed={"elementwise_grad": elementwise_grad(lambda x: x * x)(many).tolist()},
    branch={"eager": said(lambda: grad(kept_sign)(2.0))},
    twice=[float(grad(lambda x: x * x)(2.0)) for _ in range(2)],
    same_tensor_twice=float(grad(lambda x, y: x * x, 1)(many[0], many[0])),
    keeps_grad=common.keeps(many),
    shared=common.shared(__file__, "jacobian(td_losses)"),
    words=common.named(
        globals(),
        {
            "record": "grad",
            "compile": "",
            "batch": "",
            "stop": "getval",
            "leaf": "",
            "gradient": "grad",
            "jacobian": "jacobian",
        },
    ),
    times=measured,
)

"""PyTensor, which continues Theano: a symbolic graph first, then a compiled function."""

import common
import numpy as np
import pytensor
import pytensor.tensor as pt
from common import said
from pytensor.gradient import disconnected_grad
from pytensor.graph.replace import vectorize_graph

# [rows]
theta, s = pt.dvector("theta"), pt.dvector("s")
r, s_next = pt.dscalar("r"), pt.dvector("s_next")
target = disconnected_grad(r + s_next @ theta)
td_loss = 0.5 * (target - s @ theta) ** 2
row = pytensor.grad(td_loss, theta)

S, R, S_next = pt.dmatrix("S"), pt.dvector("R"), pt.dmatrix("S_next")
batched = vectorize_graph(row, {s: S, r: R, s_next: S_next})
rows = pytensor.function([theta, S, R, S_next], batched)
# [end]

# [jacobian]
losses = 0.5 * (disconnected_grad(R + S_next @ theta) - S @ theta) ** 2
rows_as_jacobian = pytensor.function(
    [theta, S, R, S_next], pytensor.gradient.jacobian(losses, theta)
)
# [end]

mean = pytensor.function([theta, S, R, S_next], pytensor.grad(losses.mean(), theta))

# [leaf]
v1, v2 = pt.dvector("v1"), pt.dvector("v2")
v_res = ((v1 + v2) * 2).sum()
g1 = pytensor.grad(v_res, wrt=v1)
session = pytensor.function([v1, v2], [v_res, g1])
# [end]


def kept_sign(x):
    return x if x > 0 else -x


x, y = pt.dscalar("x"), pt.dscalar("y")
measured = common.times(rows, mean, np.array, np.asarray)  # first, so that first calls are
arguments = [np.array(a) for a in (common.THETA, common.S, common.R, common.S_NEXT)]
value, gradient = session(common.V1, common.V2)
square = pytensor.function([x], pytensor.grad(x * x, x))
common.report(
    "pytensor",
    rows=[rows(*arguments).tolist(), rows_as_jacobian(*arguments).tolist()],
    leaf={"value": float(value), "v1": gradient.tolist(), "v2": None},
    unused=said(lambda: pytensor.grad(x * x, y)).split(":")[0],
    unused_zero=float(pytensor.grad(x * x, y, disconnected_inputs="ignore").eval({y: 3.0})),
    vector=said(lambda: pytensor.grad(v1 * v1, v1)),
    branch={"compiled": said(lambda: kept_sign(x))},
    twice=[float(square(2.0)) for _ in range(2)],
    keeps_grad=common.keeps(x),
    shared=common.shared(__file__, "{s: S, r: R, s_next: S_next}"),
    words=common.named(
        globals(),
        {
            "record": "",
            "compile": "pytensor.function",
            "batch": "vectorize_graph",
            "stop": "disconnected_grad",
            "leaf": "",
            "gradient": "pytensor.grad",
            "jacobian": "pytensor.gradient.jacobian",
        },
    ),
    times=measured,
)

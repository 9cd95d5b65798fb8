"""MLX: grad, vmap and compile, on a CPU as well; float32."""

import common
import mlx.core as mx
from common import said

mx.set_default_device(mx.cpu)


# [rows]
def td_loss(theta, s, r, s_next):
    target = mx.stop_gradient(r + s_next @ theta)
    return 0.5 * (target - s @ theta) ** 2


rows = mx.compile(mx.vmap(mx.grad(td_loss), in_axes=(None, 0, 0, 0)))
# [end]


def mean_loss(theta, s, r, s_next):
    targets = mx.stop_gradient(r + s_next @ theta)
    return mx.mean(0.5 * (targets - s @ theta) ** 2)


mean = mx.compile(mx.grad(mean_loss))


# [leaf]
def v_res(v1, v2):
    return ((v1 + v2) * 2).sum()


v1, v2 = mx.array(common.V1), mx.array(common.V2)
g1 = mx.grad(v_res, argnums=0)(v1, v2)
# [end]


def kept_sign(x):
    return x if x > 0 else -x


def wait(x):
    mx.eval(x)


measured = common.times(rows, mean, mx.array, wait)  # first, so that first calls are
arguments = [mx.array(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
x, y, many = mx.array(2.0), mx.array(3.0), mx.array([1.0, -2.0])
common.report(
    "mlx",
    rows=[rows(*arguments).tolist()],
    leaf={"value": v_res(v1, v2).item(), "v1": g1.tolist(), "v2": None},
    unused=str(mx.grad(lambda x, y: x * x, argnums=1)(x, y).item()),
    vector=said(lambda: mx.grad(lambda x: x * x)(many)),
    branch={
        "eager": said(lambda: mx.grad(kept_sign)(x)),
        "compiled": said(lambda: mx.compile(kept_sign)(x)),
        "batched": said(lambda: mx.vmap(kept_sign)(many)),
    },
    twice=[mx.grad(lambda x: x * x)(x).item() for _ in range(2)],
    same_tensor_twice=mx.grad(lambda x, y: x * x, argnums=1)(x, x).item(),
    keeps_grad=common.keeps(x),
    shared=common.shared(__file__, "in_axes=(None, 0, 0, 0)"),
    words=common.named(
        globals(),
        {
            "record": "mx.grad",
            "compile": "mx.compile",
            "batch": "mx.vmap",
            "stop": "mx.stop_gradient",
            "leaf": "",
            "gradient": "mx.grad",
            "jacobian": "",
        },
    ),
    times=measured,
)

"""JAX: grad, vmap and jit, functions of functions."""

import common
import jax
import jax.numpy as jnp
from common import said

jax.config.update("jax_enable_x64", True)


# [rows]
def td_loss(theta, s, r, s_next):
    target = jax.lax.stop_gradient(r + s_next @ theta)
    return 0.5 * (target - s @ theta) ** 2


rows = jax.jit(jax.vmap(jax.grad(td_loss), in_axes=(None, 0, 0, 0)))
# [end]


@jax.jit
@jax.grad
def mean(theta, s, r, s_next):
    targets = jax.lax.stop_gradient(r + s_next @ theta)
    return jnp.mean(0.5 * (targets - s @ theta) ** 2)


# [leaf]
def v_res(v1, v2):
    return ((v1 + v2) * 2).sum()


v1, v2 = jnp.array(common.V1), jnp.array(common.V2)
g1 = jax.grad(v_res, argnums=0)(v1, v2)
# [end]


def kept_sign(x):
    return x if x > 0 else -x


measured = common.times(
    rows, mean, jnp.array, jax.block_until_ready
)  # first, so that first calls are
arguments = [jnp.array(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
many = jnp.array([1.0, -2.0])
common.report(
    "jax",
    rows=[rows(*arguments).tolist()],
    leaf={"value": float(v_res(v1, v2)), "v1": g1.tolist(), "v2": None},
    unused=str(jax.grad(lambda x, y: x * x, argnums=1)(2.0, 3.0)),
    vector=said(lambda: jax.grad(lambda x: x * x)(many)),
    branch={
        "eager": said(lambda: jax.grad(kept_sign)(2.0)),
        "compiled": said(lambda: jax.jit(kept_sign)(2.0)),
        "batched": said(lambda: jax.vmap(kept_sign)(many)),
    },
    twice=[float(jax.grad(lambda x: x * x)(2.0)) for _ in range(2)],
    same_tensor_twice=float(jax.grad(lambda x, y: x * x, argnums=1)(many[0], many[0])),
    keeps_grad=common.keeps(many),
    shared=common.shared(__file__, "in_axes=(None, 0, 0, 0)"),
    words=common.named(
        globals(),
        {
            "record": "jax.grad",
            "compile": "jax.jit",
            "batch": "jax.vmap",
            "stop": "jax.lax.stop_gradient",
            "leaf": "",
            "gradient": "jax.grad",
            "jacobian": "jax.jacrev",
        },
    ),
    times=measured,
)

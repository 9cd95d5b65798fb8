"""Rows on many devices in JAX, the wrong way and the right ones: shown by the chapter.

`in_jax` runs these functions and compares them with one device. The [marks] tell the chapter
where a piece begins and ends.
"""

# [imports]
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

# [end]


# [loss]
def loss(theta, x, y):  # of one sample
    return 0.5 * (x @ theta - y) ** 2


rows_of = jax.vmap(jax.grad(loss), (None, 0, 0))
# [end]


# [trap]
def trapped(mesh):
    return jax.shard_map(
        rows_of,
        mesh=mesh,
        in_specs=(P(), P("devices"), P("devices")),  # theta: on all
        out_specs=P("devices"),
    )
    # [end]


# [unchecked]
def unchecked(mesh):
    return jax.shard_map(
        rows_of,
        mesh=mesh,
        in_specs=(P(), P("devices"), P("devices")),
        out_specs=P("devices"),
        check_vma=False,
    )
    # [end]


# [varying]
def rows_varying(theta, x, y):
    theta = jax.lax.pcast(theta, "devices", to="varying")
    return rows_of(theta, x, y)
    # [end]


def varying(mesh):
    return jax.shard_map(
        rows_varying,
        mesh=mesh,
        in_specs=(P(), P("devices"), P("devices")),
        out_specs=P("devices"),
    )


# [check]
def check(rows, theta, x, y):
    for i in (0, len(x) - 1):  # on the first device, on the last
        row = jax.tree.map(lambda g, i=i: g[i], rows)
        one = jax.grad(loss)(theta, x[i], y[i])
        row, one = ravel_pytree(row)[0], ravel_pytree(one)[0]
        off = jnp.abs(row - one).max()
        assert off <= 1e-4 * jnp.abs(one).max(), f"row {i} is wrong"
    # [end]


# [placed]
def placed(theta, x, y, n=8):
    mesh = Mesh(jax.devices()[:n], "devices")
    x, y = jax.device_put((x, y), NamedSharding(mesh, P("devices")))
    return jax.jit(rows_of)(theta, x, y)
    # [end]


# [clipped]
@jax.jit
def clipped_sum_jax(theta, x, y, weight, C=1.0):
    rows = rows_of(theta, x, y)  # (B, ...), divided like x
    leaves = jax.tree.leaves(rows)  # the arrays
    squares = sum((g.reshape(len(g), -1) ** 2).sum(1) for g in leaves)
    factors = weight * C / jnp.maximum(jnp.sqrt(squares), C)
    return jax.tree.map(lambda g: jnp.tensordot(factors, g, 1), rows)
    # [end]


# [padded]
def padded(a, n):  # to a multiple of n
    more = -len(a) % n
    return np.concatenate([a, a[:1].repeat(more, axis=0)])
    # [end]

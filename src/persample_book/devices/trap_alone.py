"""The trap and two ways out, as one program to copy: it needs JAX alone. Shown by the chapter."""

# [program]
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 2)  # simulated


def loss(theta, x, y):  # of one sample
    return 0.5 * (x @ theta - y) ** 2


def rows_varying(theta, x, y):
    theta = jax.lax.pcast(theta, "devices", to="varying")
    return rows_of(theta, x, y)


rows_of = jax.vmap(jax.grad(loss), (None, 0, 0))
theta = jnp.ones(2)
x = jnp.array([[1.0, 3], [4, 1], [2, -1], [3, -3]])
y = x @ theta - 1  # so the row of a sample is its x

mesh = Mesh(jax.devices()[:2], "devices")
divided = P("devices")
places = {"mesh": mesh, "out_specs": divided}
places["in_specs"] = P(), divided, divided
x_placed, y_placed = jax.device_put((x, y), NamedSharding(mesh, divided))

wrong = jax.shard_map(rows_of, **places)(theta, x, y)
mended = jax.shard_map(rows_varying, **places)(theta, x, y)
by_jit = jax.jit(rows_of)(theta, x_placed, y_placed)
for rows in (wrong, mended, by_jit):
    print(rows.tolist())
# [end]

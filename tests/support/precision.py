"""`enable_x64`, JAX's context manager for double precision, in old and new versions."""

import jax
from jax import experimental

# `jax.enable_x64` is the newer name.
enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else experimental.enable_x64

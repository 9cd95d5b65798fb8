"""`enable_x64`, JAX's context for double precision, from where the installed version has it."""

import jax
from jax import experimental

# `jax.enable_x64` is the newer name.
enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else experimental.enable_x64

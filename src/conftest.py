"""Where a framework is not installed, the doctests that do not need it still run."""

from missing import MISSING, left_out

# A program that sets up JAX: it runs in a process of its own, as tests/test_devices_jax.py does.
ALONE = ["persample_book/devices/trap_alone.py"]

collect_ignore = left_out(MISSING, "src") + ALONE

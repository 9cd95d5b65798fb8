"""Where a framework is not installed, the doctests that do not need it still run."""

from missing import pytest_make_collect_report  # noqa: F401, a hook

# A program that sets up JAX: it runs in a process of its own, as tests/test_devices_jax.py does.
collect_ignore = ["persample_book/devices/trap_alone.py"]

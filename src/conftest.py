"""Where a framework is not installed, the doctests that do not need it still run."""

from support.missing import pytest_make_collect_report  # noqa: F401, a hook

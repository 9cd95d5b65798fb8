"""Skip the doctests that need a framework that is not installed; run the others."""

from support.missing import pytest_make_collect_report  # noqa: F401, a hook

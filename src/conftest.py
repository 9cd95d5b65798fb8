"""Where a framework is not installed, the doctests that do not need it still run."""

from missing import MISSING, left_out

collect_ignore = left_out(MISSING, "src")

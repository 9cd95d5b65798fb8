"""The rest of the Array API, derived from ``operations``: one file per group of functions.

No module here depends on a transform, and only ``linalg`` has VJP rules. ``namespace`` lists the
public names.
"""

"""The rest of the Array API, derived from ``operations``: one file for each part of it.

Nothing here knows a transform, and nothing but ``linalg`` brings rules of its own. ``namespace``
lists the public names.
"""

"""The programs of the chapter on many devices, each run in processes of its own.

Separate because a notebook has one JAX device and one process; `book.processes` starts them.
Each prints its results as JSON, in sections; the chapter shows what stands between [marks].
"""

"""Prepare the figures of a kernel that runs this file at its start; leave no name defined."""

__import__("runpy").run_path(
    str(__import__("pathlib").Path(__file__).parents[1] / "src/persample_book/figures.py")
)["prepare"](get_ipython())  # noqa: F821 (IPython has it)

"""Prepare the figures of the kernel that runs this file at its start; define no name in it."""

__import__("runpy").run_path(
    str(__import__("pathlib").Path(__file__).parents[1] / "src/persample_book/figures.py")
)["prepare"](get_ipython())  # noqa: F821 (IPython has it)

"""Wrong answers to the exercises of chapters 10 to 17, and what the check must say of each.

The key is the id of the cell with the check. RIGHT has what a folded solution calls otherwise.
"""

WRONG = {
}
RIGHT = {
    # Chapter 13
    "3899b67f": "wanted_sigma = 20 * sqrt(10)",
    "d5be0e29": "seeded_sum = mended_sum",
    "220e2a4c": "in_parts = noise_at_the_end",
}

"""The book's colours and line styles, which need no plotting library."""

# Okabe and Ito's palette (2008): told apart with every kind of colour vision. Its yellow comes
# last because it is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")

# Line styles run along with the colours, so that a figure still reads in grey.
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)))

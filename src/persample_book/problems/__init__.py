"""What the chapters work on, as arrays: one module a problem, NumPy only.

Every module gives transitions as (s, r, s_next) with one sample a row; a terminal state is a row
of zeros, whose linear value is 0.
"""

"""Sums of products: einsum with its full grammar, and functions derived from it."""

from functools import cache
from string import ascii_letters

from ..operations import asarray, broadcast, multiply, permute_dims, product, promote, reshape, sum
from .shapes import moveaxis

# Names that namespace exports.
__all__ = ["einsum", "tensordot", "vecdot"]


def einsum(subscripts, /, *operands):
    """Multiply arrays, and sum over the letters that are missing after the arrow.

    ``einsum("ij,jk->ik", x, y)`` is a product of matrices. Each axis has one letter; a letter that
    is repeated in one operand takes its diagonal; without an arrow the output has the letters that
    occur once, in alphabetical order. Three or more operands are multiplied from left to right.
    """
    letters, out = _read(subscripts)
    operands = promote(*operands) if operands else []
    _check(subscripts, letters, operands)
    left, x = _tidy(letters[0], operands[0], set(out).union(*letters[1:]))
    for i, (right, y) in enumerate(zip(letters[1:], operands[1:], strict=True), 1):
        needed = set(out).union(*letters[i + 1 :])
        right, y = _tidy(right, y, {*left, *needed})
        left, x = _tidy(left, x, {*right, *needed})
        last = i == len(letters) - 1
        joined = "".join(dict.fromkeys(a for a in left + right if a in needed))
        joined = out if last else joined
        x = product(f"{left},{right}->{joined}", x, y)
        left = joined
    return permute_dims(x, [left.index(a) for a in out])


@cache
def _read(subscripts):
    """Return ([letters of each operand], letters of the output); raise if they are malformed."""
    text = subscripts.replace(" ", "")
    operands, arrow, out = text.partition("->")
    letters = operands.split(",")
    if not arrow:
        joined = "".join(letters)
        out = "".join(sorted(a for a in set(joined) if joined.count(a) == 1))
    if "." in text:
        raise NotImplementedError(
            f"einsum: {subscripts!r} has an ellipsis; write a letter for each axis."
        )
    strange = set(text.replace("->", "", 1)) - set(ascii_letters) - {","}
    if strange or "," in out:
        raise ValueError(
            f'einsum: {subscripts!r} is not of the form "ij,jk->ik": letters, commas, one arrow.'
        )
    if len(set(out)) < len(out) or set(out) - set(operands):
        raise ValueError(
            f"einsum: {subscripts!r} has behind the arrow a letter twice, or one that no operand "
            "has; name each letter of the result once."
        )
    return letters, out


def _check(subscripts, letters, operands):
    if len(letters) != len(operands):
        raise ValueError(
            f"einsum: {subscripts!r} is for {len(letters)} arrays, {len(operands)} were given."
        )
    lengths = {}
    for names, x in zip(letters, operands, strict=True):
        if len(names) != x.ndim:
            raise ValueError(
                f"einsum: {names!r} of {subscripts!r} stands for an array of shape {x.shape}; "
                "write one letter for each axis."
            )
        for name, n in zip(names, x.shape, strict=True):
            if lengths.setdefault(name, n) != n:
                raise ValueError(
                    f"einsum: {name!r} of {subscripts!r} has the lengths {lengths[name]} and {n}; "
                    "axes with one letter have one length."
                )


def _tidy(letters, x, needed):
    """Take diagonals of repeated letters, sum over unused ones; return (letters, array)."""
    for a in dict.fromkeys(letters):
        while letters.count(a) > 1:
            i, j = letters.index(a), letters.rindex(a)
            x = _diagonal(moveaxis(x, (i, j), (-2, -1)))
            letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + a
    alone = tuple([i for i, a in enumerate(letters) if a not in needed])
    return "".join(a for a in letters if a in needed), sum(x, alone) if alone else x


def _diagonal(x):
    """Return the diagonal of the last two axes, which have equal lengths."""
    *batch, n, _ = x.shape
    return reshape(x, (*batch, n * n))[..., :: n + 1]


def vecdot(x1, x2, /, *, axis=-1):
    """Return the sum of x1 * x2 over an axis; the other axes broadcast."""
    x1, x2 = promote(x1, x2)
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"vecdot: the axes have lengths {x1.shape[-1]} and {x2.shape[-1]}.")
    x1, x2 = broadcast(x1, x2)
    letters = ascii_letters[: x1.ndim]
    return product(f"{letters},{letters}->{letters[:-1]}", x1, x2)


def tensordot(x1, x2, /, *, axes=2):
    """Multiply x1 and x2 and sum over pairs of axes.

    An integer pairs the last ``axes`` axes of x1 with the first of x2; otherwise ``axes`` holds
    the axes of x1 and the axes of x2, two sequences of one length.
    """
    x1, x2 = promote(x1, x2)
    if isinstance(axes, int):
        axes = range(x1.ndim - axes, x1.ndim), range(axes)
    axes = [[named] if isinstance(named, int) else named for named in axes]
    pairs = [(a % x1.ndim, b % x2.ndim) for a, b in zip(*axes, strict=True)]
    left = list(ascii_letters[: x1.ndim])
    right = list(ascii_letters[x1.ndim : x1.ndim + x2.ndim])
    for a, b in pairs:
        right[b] = left[a]
    out = [a for i, a in enumerate(left) if i not in dict(pairs)]
    out += [b for j, b in enumerate(right) if j not in [b for _, b in pairs]]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", x1, x2)


def outer(x1, x2, /):
    """Return the matrix of all products x1[i] * x2[j] of two vectors."""
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: shapes {x1.shape} and {x2.shape}; give two vectors.")
    return multiply(reshape(x1, (-1, 1)), x2)

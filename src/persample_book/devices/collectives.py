"""What a compiled JAX program sends between devices, read from its text.

Separate because the page counts bytes with it, and a test feeds it texts by hand.
"""

import re

KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
)
BYTES = {
    "pred": 1,
    "s8": 1,
    "u8": 1,
    "bf16": 2,
    "f16": 2,
    "s32": 4,
    "u32": 4,
    "f32": 4,
}
BYTES |= {
    "s64": 8,
    "u64": 8,
    "f64": 8,
    "s16": 2,
    "u16": 2,
    "c64": 8,
    "c128": 16,
}
CALL = re.compile(
    rf"= (?P<result>.+?) (?P<kind>{'|'.join(KINDS)})(?:-start)?\("
)
ARRAY = re.compile(r"\b(?P<dtype>[a-z]+\d+|pred)\[(?P<shape>[\d,]*)\]")


def collectives(text: str) -> list[tuple[str, int]]:
    """Return (kind, bytes of its result on one device) of each collective operation, in order.

    ``text`` is what ``jax.jit(f).lower(...).compile().as_text()`` returns. One operation may
    carry several arrays.

    Example
    -------
    >>> collectives("%r = (f64[5]{0}, f64[3,5]{1,0}) all-reduce(%a, %b), channel_id=1")
    [('all-reduce', 160)]
    """
    found = []
    for line in text.splitlines():
        if match := CALL.search(line):
            found.append((match["kind"], _bytes(match["result"])))
    return found


def _bytes(types: str) -> int:
    total = 0
    for array in ARRAY.finditer(types):
        size = BYTES[array["dtype"]]
        for length in filter(None, array["shape"].split(",")):
            size *= int(length)
        total += size
    return total

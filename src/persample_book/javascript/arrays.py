"""Operations on whole arrays as loops in JavaScript: one row for each primitive.

Each takes the program under construction, the equation and its operands, and returns the result.
Separate from `program`, which knows what a program is but no primitive.
"""

from math import prod

from persample.engine.contraction import split

from .scalars import PRODUCT, infix
from .values import Index, Value, held, offset

# How a reduction begins, and the text of a step.
STARTS = {"sum": "0", "prod": "1", "max": "-Infinity", "min": "Infinity"}
STEPS = {"sum": "{into} += {x}", "prod": "{into} *= {x}"}
STEPS |= {name: f"{{into}} = Math.{name}({{into}}, {{x}})" for name in ("max", "min")}


def reduction(program, eq, x):
    """Add (multiply, compare) along axes, one element after the other."""
    kind, axes, shape = eq.primitive.name, eq.params["axes"], eq.output.shape
    name = program.memory(shape, STARTS[kind])

    def line(index):
        kept = [i for axis, i in enumerate(index) if axis not in axes]
        into = f"{name}[{offset(kept, shape)}]" if shape else name
        return STEPS[kind].format(into=into, x=x.at(index))

    program.loop(x.shape, line)
    return held(name, shape)


def einsum(program, eq, x, y):
    """Multiply, and add over the letters that the result lacks."""
    *letters, out = split(eq.params["subscripts"])
    sizes = dict(zip(letters[0] + letters[1], x.shape + y.shape, strict=True))
    every = out + "".join(letter for letter in sizes if letter not in out)
    repeats = prod(sizes.values())
    x, y = [v if v.simple or prod(v.shape) == repeats else program.keep(v) for v in (x, y)]

    def product(index):
        place = dict(zip(every, index, strict=True))
        factors = [
            v.at([place[letter] for letter in names])
            for v, names in zip((x, y), letters, strict=True)
        ]
        return infix("*", PRODUCT)(*factors)

    shape = eq.output.shape
    if every == out:
        return Value(shape, product)
    name = program.memory(shape)

    def line(index):
        into = f"{name}[{offset(index[: len(out)], shape)}]" if shape else name
        return f"{into} += {product(index)}"

    program.loop([sizes[letter] for letter in every], line)
    return held(name, shape)


def reshape(program, eq, x):
    """Show the elements in another shape; only axes of length 1 cost nothing wherever they are."""
    shape = eq.output.shape
    if [n for n in x.shape if n != 1] != [n for n in shape if n != 1]:
        x = x if x.name else program.keep(x)
        return held(x.name, shape)

    def at(index):
        long = iter([i for i, n in zip(index, shape, strict=True) if n != 1])
        return x.at([next(long) if n != 1 else Index() for n in x.shape])

    return Value(shape, at, x.name if x.shape and shape else None, x.simple)


def permute_dims(program, eq, x):
    """Show the axes in another order."""
    axes = eq.params["axes"]
    order = [axes.index(axis) for axis in range(len(axes))]
    return Value(eq.output.shape, lambda index: x.at([index[i] for i in order]), None, x.simple)


def broadcast_to(program, eq, x):
    """Show the same elements along new axes; what would be computed repeatedly is kept first."""
    return program.spread(x, eq.output.shape)


def slice_(program, eq, x):
    """Show some elements: start + step * i along each axis."""
    slices = eq.params["slices"]

    def at(index):
        pairs = zip(index, slices, strict=True)
        return x.at([i * step + Index((), start) for i, (start, _, step) in pairs])

    return Value(eq.output.shape, at, None, x.simple)


def pad(program, eq, x):
    """Put x where slices say, zeros elsewhere."""
    shape, slices = eq.output.shape, eq.params["slices"]
    name = program.memory(shape)

    def line(index):
        pairs = zip(index, slices, strict=True)
        place = [i * step + Index((), start) for i, (start, _, step) in pairs]
        return f"{name}[{offset(place, shape)}] = {x.at(index)}"

    program.loop(x.shape, line)
    return held(name, shape)


def concat(program, eq, *xs):
    """Write arrays after each other along an axis."""
    shape, axis, start = eq.output.shape, eq.params["axis"], 0
    name = program.memory(shape)
    for x in xs:

        def line(index, x=x, start=start):
            place = [i + Index((), start) if a == axis else i for a, i in enumerate(index)]
            return f"{name}[{offset(place, shape)}] = {x.at(index)}"

        program.loop(x.shape, line)
        start += x.shape[axis]
    return held(name, shape)


def _picked(program, indices, place, length):
    """Return the index that an array of indices has at a place, counted from the start."""
    program.helper("wrap")
    return Index(((f"wrap({indices.at(place)}, {length})", 1),))


def take(program, eq, x, indices):
    """Read the elements that an array of indices names."""
    first, last = eq.params["batch_dims"], len(indices.shape)
    x, indices = [v if v.simple else program.keep(v) for v in (x, indices)]

    def at(index):
        picked = _picked(program, indices, index[:last], x.shape[first])
        return x.at([*index[:first], picked, *index[last:]])

    return Value(eq.output.shape, at)


def scatter_add(program, eq, x, indices):
    """Add each element to the place that an array of indices names."""
    first, last, shape = eq.params["batch_dims"], len(indices.shape), eq.output.shape
    indices = indices if indices.simple else program.keep(indices)
    name = program.memory(shape)

    def line(index):
        picked = _picked(program, indices, index[:last], shape[first])
        place = [*index[:first], picked, *index[last:]]
        return f"{name}[{offset(place, shape)}] += {x.at(index)}"

    program.loop(x.shape, line)
    return held(name, shape)


def cumulative(symbol):
    """Return the operation that adds (or multiplies) the elements up to each along an axis."""

    def write(program, eq, x):
        axis, shape = eq.params["axis"], eq.output.shape
        name, step = program.memory(shape), prod(shape[axis + 1 :])

        def line(index):
            here = offset(index, shape)
            before = f"{name}[{here + Index((), -step)}] {symbol} "
            element = x.at(index).within(PRODUCT + 1)
            if not index[axis].terms:  # an axis of length 1
                return f"{name}[{here}] = {element}"
            return f"{name}[{here}] = {index[axis]} ? {before}{element} : {element}"

        program.loop(shape, line)
        return held(name, shape)

    return write


def arg(symbol):
    """Return the operation that finds the first largest (or smallest) element along an axis."""

    def write(program, eq, x):
        axis, shape = eq.params["axis"], eq.output.shape
        x = x if x.simple else program.keep(x)
        name = program.memory(shape)

        def line(index):
            kept = [i for a, i in enumerate(index) if a != axis]
            into = f"{name}[{offset(kept, shape)}]" if shape else name
            best = [Index(((into, 1),)) if a == axis else i for a, i in enumerate(index)]
            return f"if ({x.at(index)} {symbol} {x.at(best)}) {into} = {index[axis]}"

        program.loop(x.shape, line)
        return held(name, shape)

    return write


def same(program, eq, x):
    """Return x: the rules have run."""
    return x


ARRAYS = {
    **dict.fromkeys(STARTS, reduction),
    "einsum": einsum,
    "reshape": reshape,
    "permute_dims": permute_dims,
    "broadcast_to": broadcast_to,
    "slice": slice_,
    "pad": pad,
    "concat": concat,
    "take": take,
    "scatter_add": scatter_add,
    "cumulative_sum": cumulative("+"),
    "cumulative_prod": cumulative("*"),
    "argmax": arg(">"),
    "argmin": arg("<"),
    "stop_gradient": same,
}

"""grad, vmap and jit for NumPy, as the chapter "Build your own" builds them.

    goal = jit(vmap(grad(td_loss), (None, 0, 0, 0)))

scripts/write_small_engine.py writes this file from the chapter's cells.
Licence: MIT.
"""

# How does a program find its own gradient?

import numpy as np

compute = {
    "add": np.add,
    "multiply": np.multiply,
    "einsum": lambda x, y, a, b, c: np.einsum(f"{a},{b}->{c}", x, y),
    "tanh": np.tanh,
    "stop_gradient": lambda x: x,
}

class Operators:
    """What Python calls for +, *, -, @, < and >."""

    __array_ufunc__ = None    # NumPy's arrays leave their operators to us
    __add__ = __radd__ = lambda x, y: add(x, y)
    __mul__ = __rmul__ = lambda x, y: multiply(x, y)
    __neg__ = lambda x: multiply(-1.0, x)
    __sub__ = lambda x, y: add(x, -y)
    __rsub__ = lambda x, y: add(y, -x)
    __matmul__ = lambda x, y: matmul(x, y)
    __rmatmul__ = lambda x, y: matmul(y, x)
    __lt__ = lambda x, y: float(x) < float(y)
    __gt__ = lambda x, y: float(x) > float(y)
    __bool__ = lambda x: float(x) != 0

class Tracer(Operators):
    """Stands in for an array while a transform is at work."""

    shape = property(lambda self: np.shape(self.value))
    __float__ = lambda self: float(self.value)
    __repr__ = lambda self: f"{type(self).__name__}({self.value})"

    def __init__(self, trace, value, note=None):
        self.trace, self.value, self.note = trace, value, note

def tanh(x):
    return bind("tanh", x)

def stop_gradient(x):
    return bind("stop_gradient", x)

def einsum(x, y, a, b, c):
    return bind("einsum", x, y, a=a, b=b, c=c)

def matmul(x, y):
    """x @ y for vectors and matrices; j is the axis they share."""
    a = "ij"[-len(np.shape(x)):]
    b = "jk"[:len(np.shape(y))]
    return einsum(x, y, a, b, (a + b).replace("j", ""))

class Trace:
    """A transform at work. Who begins later has a higher level."""

    begun = 0

    def __init__(self):
        Trace.begun += 1
        self.level = Trace.begun

def belongs(x, trace):
    return isinstance(x, Tracer) and x.trace is trace

def opened(args, trace):
    return [x.value if belongs(x, trace) else x for x in args]

class Tape(Trace):
    """The trace of grad: computes, and keeps a list of what it did."""

    def __init__(self, tracer=Tracer):        # jit will take another
        super().__init__()
        self.tracer, self.nodes = tracer, []

    def process(self, name, args, settings):
        out = bind(name, *opened(args, self), **settings)
        self.nodes.append(self.tracer(self, out, (name, args, settings)))
        return self.nodes[-1]

vjp_rules = {
    "add": lambda ct, out, x, y: [ct, ct],
    "multiply": lambda ct, out, x, y: [ct * y, ct * x],
    "einsum": lambda ct, out, x, y, a, b, c: [
        einsum(ct, y, c, b, a), einsum(ct, x, c, a, b)],
    "tanh": lambda ct, out, x: [ct * (1.0 - out * out)],
    "stop_gradient": lambda ct, out, x: [None],
}

def backward(tape, cts):
    """Carry cotangents from the last node to the first."""
    for node in reversed(tape.nodes):
        if node in cts:
            name, args, settings = node.note
            found = vjp_rules[name](
                cts[node], node.value, *opened(args, tape), **settings)
            for x, ct in zip(args, found):
                if belongs(x, tape) and ct is not None:
                    cts[x] = cts[x] + ct if x in cts else ct
    return cts

def grad(f):
    """The gradient of f, a function to one number, by its argument 0."""
    def gradient(x, *rest):
        tape = Tape()
        leaf = Tracer(tape, x)
        loss = f(leaf, *rest)
        if np.shape(loss) != ():
            raise ValueError(f"grad: a loss of shape {np.shape(loss)}")
        start = {loss: 1.0} if belongs(loss, tape) else {}
        return backward(tape, start).get(leaf, np.zeros(np.shape(x)))
    return gradient

# Why has my gradient the wrong shape?

compute["sum"] = lambda x, axes: np.sum(x, axis=axes)
compute["expand"] = lambda x, axes, shape: np.broadcast_to(
    np.expand_dims(x, axes), shape)

vjp_rules["sum"] = lambda ct, out, x, axes: [expand(ct, axes, np.shape(x))]
vjp_rules["expand"] = lambda ct, out, x, axes, shape: [sum_over(ct, axes)]

def sum_over(x, axes):
    return bind("sum", x, axes=axes)

def expand(x, axes, shape):
    return bind("expand", x, axes=axes, shape=shape)

def total(x):
    """The sum of all entries."""
    return sum_over(x, tuple(range(len(np.shape(x)))))

def fit(x, shape):
    """Repeat x as NumPy would, so that it has this shape."""
    old, new = np.shape(x), len(shape) - len(np.shape(x))
    if old == shape or isinstance(x, float):
        return x
    ones = tuple(a for a, n in enumerate(old) if n != shape[new + a])
    x = sum_over(x, ones) if ones else x
    return expand(x, (*range(new), *(new + a for a in ones)), shape)

def fitted(x, y):
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    return fit(x, shape), fit(y, shape)

def add(x, y):
    return bind("add", *fitted(x, y))         # was: bind("add", x, y)

def multiply(x, y):
    return bind("multiply", *fitted(x, y))    # was: ..., x, y)

# How can one call serve a whole batch?

class Batched(Tracer):
    """Looks like one sample; its value has all, along axis 0."""

    shape = property(lambda self: np.shape(self.value)[1:])

    def __float__(self):
        raise TypeError("no `if` and no float() of this value:"
                        f" {self} is not one known number")

class Batch(Trace):
    """The trace of vmap: does an operation for all samples."""

    def process(self, name, args, settings):
        batched = [belongs(x, self) for x in args]
        out = batch_rules[name](batched, *opened(args, self), **settings)
        return Batched(self, out)

def einsum_batch(batched, x, y, a, b, c):
    new = next(z for z in "zyxwvutsr" if z not in a + b)
    a = new + a if batched[0] else a
    b = new + b if batched[1] else b
    return einsum(x, y, a, b, new + c)

def moved(axes):
    return tuple(a + 1 for a in axes)

batch_rules = {
    "add": lambda batched, x, y: add(x, y),
    "multiply": lambda batched, x, y: multiply(x, y),
    "einsum": einsum_batch,
    "tanh": lambda batched, x: tanh(x),
    "stop_gradient": lambda batched, x: stop_gradient(x),
    "sum": lambda batched, x, axes: sum_over(x, moved(axes)),
    "expand": lambda batched, x, axes, shape: expand(
        x, moved(axes), (np.shape(x)[0], *shape)),
}

def vmap(f, in_axes):
    """f for a batch; in_axes says 0, or None for what all share."""
    def mapped(*args):
        pairs = list(zip(args, in_axes, strict=True))
        sizes = {np.shape(x)[0] for x, axis in pairs if axis == 0}
        if len(sizes) != 1 or set(in_axes) - {0, None}:
            raise ValueError(f"vmap: axes {in_axes}, sizes {sizes}")
        trace = Batch()
        out = f(*[x if axis is None else Batched(trace, x)
                  for x, axis in pairs])
        if belongs(out, trace):
            return out.value
        return expand(out, (0,), (*sizes, *np.shape(out)))
    return mapped

# What goes wrong when transforms meet?

def bind(name, *args, **settings):
    """Compute a primitive, or leave it to the innermost trace."""
    tracers = [x for x in args if isinstance(x, Tracer)]
    if not tracers:
        return compute[name](*args, **settings)
    trace = max((x.trace for x in tracers),   # was: tracers[0].trace
                key=lambda trace: trace.level)
    return trace.process(name, args, settings)

# What does jit keep of my function?

class Staged(Tracer):
    """A variable of a program; its value is only an example."""

    __float__ = Batched.__float__

def live(program, out):
    """The nodes that the result depends on."""
    kept, needed = [], {x for x in [out] if belongs(x, program)}
    for node in reversed(program.nodes):
        if node in needed:
            kept.append(node)
            name, args, settings = node.note
            needed.update(x for x in args if belongs(x, program))
    return kept[::-1]

def word(x, program, names, scope):
    """How the text of the program speaks of a value."""
    if belongs(x, program):
        return names[x]
    if isinstance(x, Tracer):
        raise TypeError(f"jit: pass {x} as an argument")
    if np.shape(x) == () and np.isfinite(x):
        return repr(float(x))
    scope[f"array_{len(scope)}"] = np.array(x)
    return f"array_{len(scope) - 1}"

def record(f, **args):
    """The program of f for arguments like these, and its scope."""
    program, scope = Tape(Staged), dict(compute)
    leaves = [Staged(program, x) for x in args.values()]
    out = f(*leaves)
    numbers = [f"_{i + 1}" for i in range(len(program.nodes))]
    names = dict(zip(leaves + program.nodes, [*args, *numbers]))
    lines = [f"def program({', '.join(args)}):"]
    for node in live(program, out):
        name, inputs, settings = node.note
        words = [word(x, program, names, scope) for x in inputs]
        words += [f"{key}={x!r}" for key, x in settings.items()]
        lines.append(f"    {names[node]} = {name}({', '.join(words)})")
    last = f"    return {word(out, program, names, scope)}"
    return "\n".join([*lines, last]), scope

def jit(f):
    """f as a program, written once for each combination of shapes."""
    programs = {}
    def run(*args):
        if any(isinstance(x, Tracer) for x in args):
            return f(*args)                   # part of another transform
        shapes = tuple(np.shape(x) for x in args)
        if shapes not in programs:
            named = {f"x{i}": x for i, x in enumerate(args)}
            text, scope = record(f, **named)
            exec(text, scope)
            programs[shapes] = scope["program"]
        return programs[shapes](*args)
    return run

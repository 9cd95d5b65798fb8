"""grad, vmap and jit for NumPy, as the chapter "Build your own" builds them.

    goal = jit(vmap(grad(td_loss), (None, 0, 0, 0)))

scripts/write_small_engine.py writes this file from the chapter's cells.
Licence: MIT.
"""

# How does a program find its own gradient?

import numpy as np

compute, vjp_rules = {}, {}

compute["multiply"] = np.multiply
vjp_rules["multiply"] = lambda ct, out, x, y: [ct * y, ct * x]

compute["add"] = np.add
vjp_rules["add"] = lambda ct, out, x, y: [ct, ct]

class Tracer:
    """Takes the place of an array, and reports what is done with it."""

    def __init__(self, trace, value, note=None):
        self.trace, self.value, self.note = trace, value, note

    __add__ = __radd__ = lambda self, other: add(self, other)
    __mul__ = __rmul__ = lambda self, other: multiply(self, other)
    __neg__ = lambda self: multiply(-1.0, self)
    __sub__ = lambda self, other: add(self, -other)
    __rsub__ = lambda self, other: add(other, -self)

    def __array__(self, *how, **more):
        raise TypeError(f"{self} is no array; jit needs it as an argument")

    __array_ufunc__ = None      # NumPy's arrays leave operators to us
    shape = property(lambda self: np.shape(self.value))
    __repr__ = lambda self: f"{type(self).__name__}({self.value})"

def bind(name, *args, **settings):
    """Compute a primitive, or let a trace process it."""
    traces = [x.trace for x in args if isinstance(x, Tracer)]
    if traces:
        return choose(traces).process(name, args, settings)
    return compute[name](*args, **settings)

class Trace:
    """A transform at work: what it has written down, and its number."""

    begun = 0

    def __init__(self):
        Trace.begun += 1      # needed where transforms are nested
        self.level, self.nodes = Trace.begun, []

def belongs(x, trace):
    return isinstance(x, Tracer) and x.trace is trace

def opened(args, trace):
    """The inputs, with the trace's own tracers replaced by values."""
    return [x.value if belongs(x, trace) else x for x in args]

class Tape(Trace):
    """The trace of grad: computes, and keeps a list of what it did."""

    def process(self, name, args, settings):
        out = bind(name, *opened(args, self), **settings)
        self.nodes.append(Tracer(self, out, (name, args, settings)))
        return self.nodes[-1]

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
        if loss is None or np.shape(loss) != ():
            raise ValueError(f"grad: the loss is {loss}, not one number")
        start = {loss: 1.0} if belongs(loss, tape) else {}
        return backward(tape, start).get(leaf, np.zeros(np.shape(x)))
    return gradient

# How can one call serve a whole batch?

class Batched(Tracer):
    """Looks like one sample; its value has all, along axis 0."""

    shape = property(lambda self: np.shape(self.value)[1:])

class Batch(Trace):
    """The trace of vmap: does an operation for all samples."""

    def process(self, name, args, settings):
        out = batch_rules[name](*opened(args, self), **settings)
        return Batched(self, out)

batch_rules = {}
batch_rules["add"] = lambda x, y: add(x, y)
batch_rules["multiply"] = lambda x, y: multiply(x, y)

def vmap(f, in_axes):
    """f for a batch; in_axes says 0, or None for what all share."""
    def mapped(*args):
        pairs = list(zip(args, in_axes, strict=True))
        sizes = {np.shape(x)[0] for x, axis in pairs if axis == 0}
        if len(sizes) != 1 or set(in_axes) - {0, None}:
            raise ValueError(f"vmap: axes {in_axes}, sizes {sizes}")
        trace = Batch()
        out = f(*[Batched(trace, x) if axis == 0 else x for x, axis in pairs])
        if belongs(out, trace):
            return out.value
        return multiply(np.ones((*sizes, *np.shape(out))), out)
    return mapped

def choose(traces):
    """The innermost trace: the one that began last."""
    return max(traces, key=lambda trace: trace.level)

# What does jit keep of my function?

class Program(Trace):
    """The trace of jit: computes an example, and keeps lines."""

    def process(self, name, args, settings):
        out = bind(name, *opened(args, self), **settings)
        words = [word(x, self) for x in args]
        words += [f"{key}={x!r}" for key, x in settings.items()]
        variable = f"_{len(self.nodes) + 1}"
        self.nodes.append((variable, name, words))
        return Tracer(self, out, variable)

def word(x, program):
    """The text that stands for x in the program."""
    if belongs(x, program):
        return x.note
    if isinstance(x, (int, float)) and np.isfinite(x):
        return repr(float(x))
    name = f"array_{len(program.scope)}"
    program.scope[name] = np.array(x)
    return name

def live(nodes, result):
    """The lines on which the result depends."""
    kept, needed = [], {result}
    for variable, name, words in reversed(nodes):
        if variable in needed:
            kept.append(f"    {variable} = {name}({', '.join(words)})")
            needed.update(words)
    return kept[::-1]

def record(f, **args):
    """The program of f for arguments like these, and its scope."""
    program = Program()
    program.scope = dict(compute)
    out = f(*[Tracer(program, x, name) for name, x in args.items()])
    result = word(out, program)
    lines = live(program.nodes, result)
    text = [f"def program({', '.join(args)}):", *lines, f"    return {result}"]
    return "\n".join(text), program.scope

def jit(f):
    """f as a program, written once for each combination of shapes."""
    scopes = {}
    def run(*args):
        if any(isinstance(x, Tracer) for x in args):
            return f(*args)     # in another transform: not compiled
        shapes = tuple(np.shape(x) for x in args)
        if shapes not in scopes:
            named = {f"x{i}": x for i, x in enumerate(args)}
            text, scopes[shapes] = record(f, **named)
            exec(text, scopes[shapes])
        return scopes[shapes]["program"](*args)
    return run

def known(x):
    """The number of a tracer of grad, for an `if`."""
    if not isinstance(x.trace, Tape):
        raise TypeError(f"no `if` here: {x} is not one known number")
    return x.value

Tracer.__gt__ = lambda x, y: known(x) > y
Tracer.__lt__ = lambda x, y: known(x) < y
Tracer.__eq__ = lambda x, y: known(x) == y  # dicts try `is` first
Tracer.__bool__ = lambda x: bool(known(x))

# What changes with arrays?

tanh = lambda x: bind("tanh", x)
compute["tanh"] = np.tanh
vjp_rules["tanh"] = lambda ct, out, x: [ct * (1.0 - out * out)]
batch_rules["tanh"] = lambda x: tanh(x)

stop_gradient = lambda x: bind("stop_gradient", x)
compute["stop_gradient"] = lambda x: x
vjp_rules["stop_gradient"] = lambda ct, out, x: [None]
batch_rules["stop_gradient"] = lambda x: stop_gradient(x)

sum_over = lambda x, axes: bind("sum", x, axes=axes) if axes else x
compute["sum"] = lambda x, axes: np.sum(x, axis=axes)
vjp_rules["sum"] = lambda ct, out, x, axes: [expand(ct, axes, np.shape(x))]

expand = lambda x, axes, shape: bind("expand", x, axes=axes, shape=shape)
compute["expand"] = lambda x, axes, shape: np.broadcast_to(
    np.expand_dims(x, axes), shape)
vjp_rules["expand"] = lambda ct, out, x, axes, shape: [sum_over(ct, axes)]

total = lambda x: sum_over(x, tuple(range(len(np.shape(x)))))  # all axes

batch_rules["sum"] = lambda x, axes: sum_over(
    x, tuple(a + 1 for a in axes))
batch_rules["expand"] = lambda x, axes, shape: expand(
    x, tuple(a + 1 for a in axes), (np.shape(x)[0], *shape))

def fit(x, shape):
    """Repeat x along the axes that it lacks, so that it has this shape."""
    has = np.shape(x)
    if has == shape or isinstance(x, (int, float)):
        return x                              # a number fits every shape
    lacks = len(shape) - len(has)
    if has != shape[lacks:]:
        raise ValueError(f"shapes {has} and {shape} do not fit")
    return expand(x, tuple(range(lacks)), shape)

def fitted(x, y):
    shape = max(np.shape(x), np.shape(y), key=len)
    return fit(x, shape), fit(y, shape)

add = lambda x, y: bind("add", *fitted(x, y))
multiply = lambda x, y: bind("multiply", *fitted(x, y))

def matmul(x, y):
    """x @ y, where y is a vector or a matrix."""
    n, m = np.shape(x), np.shape(y)
    if not n or len(m) > 2 or n[-1:] != m[:1]:
        raise ValueError(f"@ of shapes {n} and {m}")
    if len(m) == 2:
        x = expand(x, (len(n),), n + m[1:])   # (2, 3) to (2, 3, 4)
    return sum_over(multiply(x, y), (len(n) - 1,))

Tracer.__matmul__ = lambda x, y: matmul(x, y)
Tracer.__rmatmul__ = lambda x, y: matmul(y, x)

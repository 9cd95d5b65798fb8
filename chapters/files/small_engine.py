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
    """What Python calls for +, *, -, @, <, >, == and `if`."""

    __array_ufunc__ = None    # NumPy's arrays leave their operators to us
    __add__ = __radd__ = lambda x, y: add(x, y)
    __mul__ = __rmul__ = lambda x, y: multiply(x, y)
    __neg__ = lambda x: multiply(-1.0, x)
    __sub__ = lambda x, y: add(x, -y)
    __rsub__ = lambda x, y: add(y, -x)
    __matmul__ = lambda x, y: matmul(x, y)
    __rmatmul__ = lambda x, y: matmul(y, x)
    __lt__ = lambda x, y: x.known() < y
    __gt__ = lambda x, y: x.known() > y
    __eq__ = lambda x, y: x.known() == y
    __bool__ = lambda x: bool(x.known())
    __hash__ = object.__hash__    # or Python drops it, because of __eq__

class Tracer(Operators):
    """Stands in for an array while a transform is at work."""

    shape = property(lambda self: np.shape(self.value))
    known = lambda self: self.value           # what an `if` may look at
    __repr__ = lambda self: f"{type(self).__name__}({self.value})"

    def __init__(self, trace, value, note=None):
        self.trace, self.value, self.note = trace, value, note

    def __array__(self, *how, **more):
        raise TypeError(f"{self} is no array; jit needs it as an argument")

def bind(name, *args, **settings):
    """Compute a primitive, or leave it to a trace."""
    tracers = [x for x in args if isinstance(x, Tracer)]
    if not tracers:
        return compute[name](*args, **settings)
    return asked(tracers).process(name, args, settings)

def add(x, y):
    return bind("add", *fitted(x, y))

def multiply(x, y):
    return bind("multiply", *fitted(x, y))

def tanh(x):
    return bind("tanh", x)

def stop_gradient(x):
    return bind("stop_gradient", x)

def einsum(x, y, a, b, c):
    return bind("einsum", x, y, a=a, b=b, c=c)

def matmul(x, y):
    """x @ y for vectors and matrices; j is the axis they share."""
    if np.shape(x)[-1:] != np.shape(y)[:1]:
        raise ValueError(f"@ of shapes {np.shape(x)} and {np.shape(y)}")
    a = "ij"[-len(np.shape(x)):]
    b = "jk"[:len(np.shape(y))]
    return einsum(x, y, a, b, (a + b).replace("j", ""))

class Trace:
    """A transform at work. Who begins later has a higher level."""

    begun = 0

    def __init__(self):
        self.level = Trace.begun = Trace.begun + 1
        self.nodes = []

def belongs(x, trace):
    return isinstance(x, Tracer) and x.trace is trace

def opened(args, trace):
    return [x.value if belongs(x, trace) else x for x in args]

class Tape(Trace):
    """The trace of grad: computes, and keeps a list of what it did."""

    def process(self, name, args, settings):
        out = bind(name, *opened(args, self), **settings)
        self.nodes.append(Tracer(self, out, (name, args, settings)))
        return self.nodes[-1]

# A rule gets the cotangent ct of the result, the result out, the inputs and
# the settings. It returns a list: for each input a cotangent, or None.
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
        if loss is None or np.shape(loss) != ():
            raise ValueError(f"grad: the loss is {loss}, not one number")
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
    if np.shape(x) == shape or isinstance(x, (int, float)):
        return x
    lacks = len(shape) - len(np.shape(x))
    ones = [a for a, n in enumerate(np.shape(x)) if n != shape[lacks + a]]
    x = sum_over(x, tuple(ones)) if ones else x
    repeated = [*range(lacks), *[lacks + a for a in ones]]
    return expand(x, tuple(repeated), shape)

def fitted(x, y):
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    return fit(x, shape), fit(y, shape)

# How can one call serve a whole batch?

class Batched(Tracer):
    """Looks like one sample; its value has all, along axis 0."""

    shape = property(lambda self: np.shape(self.value)[1:])

    def known(self):
        raise TypeError(f"no `if` here: {self} is not one known number")

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
    return tuple(a + 1 if a >= 0 else a for a in axes)

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
        out = f(*[Batched(trace, x) if axis == 0 else x for x, axis in pairs])
        if belongs(out, trace):
            return out.value
        return expand(out, (0,), (*sizes, *np.shape(out)))
    return mapped

# What goes wrong when transforms meet?

def asked(tracers):
    """The innermost of the traces that sent these."""
    return max(tracers, key=lambda x: x.trace.level).trace

# What does jit keep of my function?

class Staged(Tracer):
    """A variable of a program; its value is only an example."""

    known = Batched.known

class Program(Trace):
    """The trace of jit: computes an example, and keeps lines."""

    def process(self, name, args, settings):
        out = bind(name, *opened(args, self), **settings)
        words = [word(x, self) for x in args]
        words += [f"{key}={x!r}" for key, x in settings.items()]
        variable = f"_{len(self.nodes) + 1}"
        self.nodes.append((variable, name, words))
        return Staged(self, out, variable)

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
    out = f(*[Staged(program, x, name) for name, x in args.items()])
    result = word(out, program)
    lines = live(program.nodes, result)
    text = [f"def program({', '.join(args)}):", *lines, f"    return {result}"]
    return "\n".join(text), program.scope

def jit(f):
    """f as a program, written once for each combination of shapes."""
    scopes = {}
    def run(*args):
        if any(isinstance(x, Tracer) for x in args):
            return f(*args)                   # part of another transform
        shapes = tuple(np.shape(x) for x in args)
        if shapes not in scopes:
            named = {f"x{i}": x for i, x in enumerate(args)}
            text, scopes[shapes] = record(f, **named)
            exec(text, scopes[shapes])
        return scopes[shapes]["program"](*args)
    return run

"""grad, vmap and jit for numbers, as the chapter "Build your own" has them.

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
    """Takes the place of a number."""

    def __init__(self, trace, value, note=None):
        self.trace, self.value, self.note = trace, value, note

    def __add__(self, other):
        return add(self, other)

    def __mul__(self, other):
        return multiply(self, other)

    __radd__, __rmul__ = __add__, __mul__    # 5.0 + x, 5.0 * x
    __array_ufunc__ = None                   # NumPy leaves 5.0 + x to us

    shape = property(lambda self: np.shape(self.value))
    __repr__ = lambda self: f"{type(self).__name__}({self.value})"

def bind(name, *args):
    """Compute a primitive, or let a trace process it."""
    traces = [x.trace for x in args if isinstance(x, Tracer)]
    if traces:
        return choose(traces).process(name, args)
    return compute[name](*args)

def add(x, y):
    return bind("add", x, y)

def multiply(x, y):
    return bind("multiply", x, y)

class Trace:
    """A transform at work."""

    begun = 0

    def __init__(self):
        Trace.begun += 1
        self.nodes, self.level = [], Trace.begun

def belongs(x, trace):
    return isinstance(x, Tracer) and x.trace is trace

def opened(args, trace):
    """The inputs, with the trace's own tracers replaced by values."""
    return [x.value if belongs(x, trace) else x for x in args]

class Tape(Trace):
    """The trace of grad: computes, and keeps a list of what it did."""

    def process(self, name, args):
        out = bind(name, *opened(args, self))
        node = Tracer(self, out, (name, args))
        self.nodes.append(node)
        return node

def backward(tape, cts):
    """Carry cotangents from the last node to the first."""
    for node in reversed(tape.nodes):
        if node in cts:
            name, inputs = node.note
            values = opened(inputs, tape)
            found = vjp_rules[name](cts[node], node.value, *values)
            for x, ct in zip(inputs, found):
                if belongs(x, tape):
                    cts[x] = cts[x] + ct if x in cts else ct
    return cts

def one_number(loss):
    """A gradient is that of one number, so refuse anything else."""
    if loss is None or np.shape(loss) != ():
        raise ValueError(f"grad: the loss is {loss}, not one number")
    return loss

def grad(f):
    """The gradient of f, a function to one number, by its argument 0."""
    def gradient(x, *rest):
        tape = Tape()
        leaf = Tracer(tape, x)
        loss = one_number(f(leaf, *rest))
        start = {loss: 1.0} if belongs(loss, tape) else {}
        return backward(tape, start).get(leaf, np.zeros(np.shape(x)))
    return gradient

# How can one call serve a whole batch?

Tracer.__neg__ = lambda self: multiply(-1.0, self)
Tracer.__sub__ = lambda self, other: add(self, -other)
Tracer.__rsub__ = lambda self, other: add(other, -self)

class Batched(Tracer):
    """Looks like one sample; its value has all, along axis 0."""

    shape = property(lambda self: np.shape(self.value)[1:])

class Batch(Trace):
    """The trace of vmap: does an operation for all samples."""

    def process(self, name, args):
        out = batch_rules[name](*opened(args, self))
        return Batched(self, out)

batch_rules = {}
batch_rules["add"] = lambda x, y: add(x, y)
batch_rules["multiply"] = lambda x, y: multiply(x, y)

def size(args, in_axes):
    """The number of samples."""
    pairs = zip(args, in_axes, strict=True)
    sizes = {np.shape(x)[0] for x, axis in pairs if axis == 0}
    if len(sizes) != 1 or set(in_axes) - {0, None}:
        raise ValueError(f"vmap: axes {in_axes}, sizes {sizes}")
    return sizes.pop()

def vmap(f, in_axes):
    """f for a batch; in_axes says 0, or None for what all share."""
    def mapped(*args):
        trace, samples = Batch(), size(args, in_axes)
        out = f(*[x if axis is None else Batched(trace, x)
                  for x, axis in zip(args, in_axes)])
        if belongs(out, trace):
            return out.value
        return multiply(np.ones((samples, *np.shape(out))), out)
    return mapped

def choose(traces):
    """The innermost trace: the one that began last."""
    return max(traces, key=lambda trace: trace.level)

# What does jit keep of my function?

def word(x, program):
    """The text that stands for x in the program."""
    if belongs(x, program):
        return x.note
    if isinstance(x, (int, float)) and np.isfinite(x):
        return str(x)
    name = f"array_{len(program.scope)}"
    program.scope[name] = np.array(x)
    return name

def refuse(self, *how, **more):
    raise TypeError(f"{self} is no constant; jit needs it as an argument")

Tracer.__array__ = refuse                     # what np.array calls

class Program(Trace):
    """The trace of jit: computes an example, and keeps lines."""

    def process(self, name, args):
        out = bind(name, *opened(args, self))
        words = ", ".join(word(x, self) for x in args)
        variable = f"_{len(self.nodes) + 1}"
        self.nodes.append(f"{variable} = {name}({words})")
        return Tracer(self, out, variable)

def record(f, **args):
    """The program of f for arguments like these, and its scope."""
    program = Program()
    program.scope = dict(compute)
    out = f(*[Tracer(program, x, name) for name, x in args.items()])
    first = f"def program({', '.join(args)}):"
    last = f"return {word(out, program)}"
    return "\n    ".join([first, *program.nodes, last]), program.scope

def jit(f):
    """f as a program, written once for each combination of shapes."""
    scopes = {}
    def run(*args):
        if any(isinstance(x, Tracer) for x in args):
            return f(*args)
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
Tracer.__eq__ = lambda x, y: known(x) == y    # a dict asks `is` first
Tracer.__bool__ = lambda x: bool(known(x))

# Is it the real thing?

def stop_gradient(x):
    return bind("stop_gradient", x)

compute["stop_gradient"] = lambda x: x
vjp_rules["stop_gradient"] = lambda ct, out, x: []
batch_rules["stop_gradient"] = lambda x: stop_gradient(x)

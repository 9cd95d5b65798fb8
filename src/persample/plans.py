"""One plan for each signature: a call is checked and prepared once, and looked up afterwards.

The signature is the structure, types, shapes and dtypes of the arguments: whatever the checks
look at, and no value of an array. Devices and values of Python numbers are checked by the
functions that a plan calls.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

from . import trees
from .backends import backend
from .captured import Captured
from .checks import check_call, check_out, row_shapes

MOST = 1000  # plans that are kept; a loop over ever new shapes does not fill the memory


class BatchCalls(NamedTuple):
    """What computes one batch in one backend, with one in_axes."""

    one: Callable  # (params, *sample) -> what contains the gradient of one sample
    call: Callable  # (*arguments) -> the result
    pair: Callable | None = None  # (*arguments) -> (rows, extra)
    write: Callable | None = None  # (out, start, *arguments) -> (rows in out's memory, extra)
    overwrite: Callable | None = None  # (out, *arguments) -> rows in out's memory; faster


class Plan:
    """What a call with one signature does."""

    def __init__(self, where: str, arguments: tuple, in_axes: Any):
        name, self.axes, self.size = check_call(where, arguments, in_axes)
        self.where, self.module = where, backend(name)
        self.packed: Packed | None = None
        self.call, self.pair, self.write, self.overwrite = None, None, None, None
        self.simple = not any(isinstance(x, trees.CONTAINERS) for x in arguments)
        leaves = trees.flatten(arguments[0])[0]
        shapes = row_shapes(arguments[0], self.axes[0], self.size)
        each = [
            prod(shape[1:]) * x.dtype.itemsize for shape, x in zip(shapes, leaves, strict=True)
        ]
        self.row_bytes = sum(each)
        self._outs: set = set()
        self._written: tuple = (None, None, None)

    def check_out(self, arguments: tuple, out: Any) -> None:
        """Check the shapes and types of ``out``, once for each of its signatures."""
        key = signature((out,))
        if key not in self._outs or any(map(self.module.refusal, trees.leaves_of(out))):
            check_out(self.where, arguments, self.axes, self.size, out)
            self._outs.add(key)

    def remember_out(self, out: Any) -> None:
        """Remember that ``out`` was checked and written over as a whole: `may_write` looks."""
        if self.simple and hasattr(out, "dtype"):
            self._written = out.__class__, out.shape, out.dtype

    def may_write(self, out: Any, arguments: tuple) -> bool:
        """Say at once whether ``out`` is an array like one before, and may be written over.

        False only means that all checks are needed. What a loss uses besides is not looked at.
        """
        kind, shape, dtype = self._written
        same = out.__class__ is kind and out.shape == shape and out.dtype == dtype
        return same and self.module.may_write(out, arguments)

    def new_rows(self, params: Any) -> Any:
        """Return fresh memory for the rows."""
        leaves, structure = trees.flatten(params)
        shapes = row_shapes(params, self.axes[0], self.size)
        rows = [self.module.empty(s, x) for s, x in zip(shapes, leaves, strict=True)]
        return trees.unflatten(structure, rows)


class Plans:
    """The plans of one loss: signature -> Plan.

    All are forgotten when a captured value is seen to have changed.
    """

    def __init__(self, where: str, loss: Callable, in_axes: Any, jit: bool, build: Callable):
        """``build(module, axes)`` returns the BatchCalls of a batch."""
        self._where, self._in_axes, self._jit, self._build = where, in_axes, jit, build
        self._loss, self._captured = loss, None
        self._marks: list = []
        self._known: dict = {}
        self._calls: dict = {}  # (backend, axes) -> BatchCalls, so that jit traces once

    @property
    def captured(self) -> Captured:
        """What the loss takes from outside; looked for once the loss has run, or is about to."""
        if self._captured is None:
            self._captured = Captured(self._loss)
        return self._captured

    def find(self, arguments: tuple) -> Plan:
        """Return the plan for these arguments; make it, with all checks, at their first call."""
        if self._marks and self._marks != self.captured.marks():
            self._known, self._calls, self._marks = {}, {}, []
            self._captured = None
        plan = self._known.get(key := signature(arguments))
        return plan if plan is not None else self._new(key, arguments)

    def _new(self, key, arguments):
        plan = Plan(self._where, arguments, self._in_axes)
        if packing_needed(plan.module, arguments):
            plan.packed = Packed(plan.module)
        else:
            same = plan.module.NAME, plan.axes
            if same not in self._calls:
                self._calls[same] = self._build(plan.module, plan.axes)
            one, plan.call, plan.pair, plan.write, plan.overwrite = self._calls[same]
            plan.module.examine(one, lambda: samples(arguments, plan.axes, 0))
            if self._jit and plan.module.FREEZES:
                plan.call = self._remembering(plan, plan.call)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = plan
        return plan

    def _remembering(self, plan, call):
        """Return ``call`` for its first time, when it traces.

        Afterwards what it captured is remembered.
        """

        def run(*arguments):
            result, plan.call = call(*arguments), call
            self.remember_captured(plan)
            return result

        return run

    def remember_captured(self, plan: Plan) -> None:
        """Take what the loss finds outside now as what its compiled program was made with."""
        if self._jit and plan.module.FREEZES:
            self._marks = self.captured.marks()


def signature(arguments: tuple) -> tuple:
    """Return types, shapes, dtypes and structure of the arguments, hashable."""
    key: list = []
    for x in arguments:
        try:
            key += (x.__class__, x.shape, x.dtype)
        except AttributeError:  # no array
            leaves, structure = trees.flatten(x)
            key.append(structure)
            for leaf in leaves:
                shape = getattr(leaf, "shape", None)
                key += (leaf.__class__, shape, getattr(leaf, "dtype", None))
    return tuple(key)


def samples(arguments: tuple, axes: tuple, index: int | slice) -> list:
    """Return the arguments with the batched arrays indexed along axis 0."""
    pairs = zip(arguments, axes, strict=True)
    return [x if a is None else trees.tree_map(lambda x: x[index], x) for x, a in pairs]


def packing_needed(module: Any, arguments: tuple) -> bool:
    """Say whether the arguments hold None or a Python value that the backend does not take."""
    values = [x for x in trees.flatten(arguments)[0] if not hasattr(x, "dtype")]
    values += [None] if trees.has_none(arguments) else []
    return not all(isinstance(x, module.KEEPS) for x in values)


class Packed:
    """Calls a transformed loss with lists of arrays alone; the rest is bound to the loss.

    PyTorch takes no None as a parameter, JAX no string; a loss may take both.
    """

    def __init__(self, module: Any):
        self._keeps, self._known = module.KEEPS, {}

    def __call__(self, make: Callable, loss: Callable, arguments: tuple, **options: Any) -> Any:
        """Return ``make(packed loss, restore)(*packed arguments)``.

        ``restore`` turns a list of rows into a tree like the parameters.
        """
        parts = [trees.flatten(x) for x in arguments]
        kept = [[self._is_kept(x) for x in leaves] for leaves, _ in parts]
        bound = sum(_pick(parts, kept, False), [])
        try:
            key = tuple([(type(x), repr(x) if isinstance(x, float) else x) for x in bound])
            run = self._known.get(key)
        except TypeError:  # not hashable: nothing is kept for it
            key = run = None
        if run is None:
            restore = partial(trees.unflatten, parts[0][1])
            run = make(self._unpacking(loss, parts, kept), restore)
            if len(self._known) >= MOST:
                self._known.clear()
            if key is not None:
                self._known[key] = run
        if options.get("out") is not None:
            options["out"] = trees.flatten(options["out"])[0]
        return run(*_pick(parts, kept, True), **options)

    def _is_kept(self, x):
        return hasattr(x, "dtype") or isinstance(x, self._keeps)

    def _unpacking(self, loss, parts, kept):
        """Return the loss as a function of lists of arrays."""
        bound = _pick(parts, kept, False)

        def unpacked(*packed):
            arguments = []
            for (_, structure), flags, arrays, rest in zip(
                parts, kept, packed, bound, strict=True
            ):
                sources = iter(arrays), iter(rest)
                leaves = [next(sources[0 if flag else 1]) for flag in flags]
                arguments.append(trees.unflatten(structure, leaves))
            return loss(*arguments)

        unpacked.__name__, unpacked.__wrapped__ = getattr(loss, "__name__", "loss"), loss
        return unpacked


def _pick(parts, kept, wanted):
    """Return, for each argument, the leaves that are kept, or those that are not."""
    return [
        [x for x, flag in zip(leaves, flags, strict=True) if flag is wanted]
        for (leaves, _), flags in zip(parts, kept, strict=True)
    ]

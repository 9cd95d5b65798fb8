"""What a loss takes from outside its arguments: closure cells, globals, defaults, attributes.

A compiled loss keeps their values from the time of its trace, and memory given as ``out`` may be
one of them; both are looked for here. Followed are functions of the loss's own package, and one
step into objects: the attributes that its code names.
"""

import functools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from . import trees
from .backends import kind_of

PLAIN = frozenset([bool, int, float, complex, str, bytes, type(None)])
LIBRARY = __name__.partition(".")[0]  # the losses of this package keep nothing
MANY = 64  # entries of a dict, tuple or list that are looked at; of a longer one the identity
SMALL = 4096  # bytes of a NumPy array whose numbers are compared; of larger ones the identity


class Captured:
    """The values that a function takes from outside, read anew at every call."""

    def __init__(self, f: Callable):
        self._readers: dict[str, Callable] = {}
        self._package = (getattr(_root(f), "__module__", None) or "").partition(".")[0]
        self._seen: set = set()
        self._follow(f, frozenset())

    def arrays(self) -> list[tuple[str, Any]]:
        """Return (name, array) of every array among them."""
        found: list = []
        if not self._readers:
            return found
        for name, value in self._values():
            if not (_plain(value) or callable(value)):
                found += [(name, x) for x in _arrays_in(value)]
        return found

    def marks(self) -> list:
        """Return one mark for each value; equal lists mean that no change was noticed."""
        return [_mark(value) for _, value in self._values()] if self._readers else []

    def _values(self) -> Iterator[tuple[str, Any]]:
        for name, read in self._readers.items():
            try:
                yield name, read()
            except (AttributeError, KeyError, ValueError):  # deleted, or a cell not filled yet
                yield name, None

    def _follow(self, f, names):
        """Find what a callable reads; ``names`` are the attributes named in the code around it."""
        if id(f) in self._seen:
            return
        self._seen.add(id(f))
        if hasattr(f, "__wrapped__"):
            self._follow(f.__wrapped__, names)
        if isinstance(f, functools.partial):
            self._follow(f.func, names)
            names = names | _names_in(f)
            for n, value in enumerate(f.args):
                self._take(f"argument {n} of a partial", lambda value=value: value, names)
            for key, value in f.keywords.items():
                self._take(key, lambda value=value: value, names)
        elif isinstance(f, MethodType):
            self._follow(f.__func__, names)
            self._attributes("self", f.__self__, _names_in(f.__func__))
        elif isinstance(f, FunctionType):
            self._function(f)
        elif callable(f) and hasattr(f, "__dict__"):
            call = type(f).__call__
            self._follow(call, names)
            self._attributes("self", f, _names_in(call))

    def _function(self, f):
        if _foreign(f, self._package):
            return
        names = _names(f.__code__)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            self._take(name, lambda cell=cell: cell.cell_contents, names)
        for name in names & set(f.__globals__):
            if not _foreign(f.__globals__[name], self._package):
                self._take(name, lambda name=name: f.__globals__[name], names)
        positional = f.__code__.co_varnames[: f.__code__.co_argcount]
        defaults = f.__defaults__ or ()
        first = len(positional) - len(defaults)
        for n, name in enumerate(positional[first:] if defaults else ()):
            self._take(name, lambda n=n: f.__defaults__[n], names)
        for name in f.__kwdefaults__ or {}:
            self._take(name, lambda name=name: f.__kwdefaults__[name], names)

    def _take(self, name, read, names):
        """Note one value, and look into it where it has parts that the code names."""
        try:
            value = read()
        except ValueError:  # an empty cell
            value = None
        if isinstance(value, ModuleType | type):
            return
        while name in self._readers:
            name += "'"
        self._readers[name] = read
        if _foreign(value, self._package):
            return
        if isinstance(value, FunctionType | MethodType | functools.partial):
            self._follow(value, names)
        elif not _plain(value) and kind_of(value) is None:
            self._attributes(name, value, names)

    def _attributes(self, owner, value, names):
        for key in names & set(getattr(value, "__dict__", ())):
            read = lambda key=key: getattr(value, key)  # noqa: E731, a name in a table
            if kind_of(read()) is not None or _plain(read()):
                self._readers[f"{owner}.{key}"] = read


def _root(f):
    """Return the function that partials and wrappers lead to."""
    while isinstance(f, functools.partial) or hasattr(f, "__wrapped__"):
        f = f.func if isinstance(f, functools.partial) else f.__wrapped__
    return f


def _foreign(value, package):
    """Say whether a value is a function of somebody else's package, which does not change."""
    home = getattr(value, "__module__", None)
    home = home.partition(".")[0] if callable(value) and isinstance(home, str) else package
    return home != package or home == LIBRARY


def _plain(value):
    return value.__class__ in PLAIN


def _names_in(f):
    """Return the names in a callable's code, and in what partials and wrappers lead to."""
    codes = [getattr(g, "__code__", None) for g in (f, _root(f))]
    return frozenset().union(*[_names(code) for code in codes if code])


def _names(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in a code object and those inside it."""
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


def _arrays_in(value):
    """Return the arrays in dicts, tuples and lists, each of which is entered once.

    Not by ``trees.flatten``: keys without an order, and a list that holds itself, are no trees.
    """
    found, entered, waiting = [], set(), [value]
    while waiting:
        x = waiting.pop()
        if isinstance(x, trees.CONTAINERS):
            if id(x) not in entered:
                entered.add(id(x))
                waiting += x.values() if isinstance(x, dict) else x
        elif kind_of(x):
            found.append(x)
    return found


def _mark(value, around=()):
    """Return what stands for a value: equal marks, no change that is noticed.

    ``around`` are the ids of the containers around it: one that holds itself is not entered again.
    """
    if value.__class__ in PLAIN:  # repr of what is falsy: 0.0 == -0.0, their reprs differ
        return value.__class__, value or repr(value)
    if isinstance(value, np.ndarray) and value.nbytes <= SMALL and not value.dtype.hasobject:
        return value.shape, value.dtype, value.tobytes()
    if isinstance(value, trees.CONTAINERS) and len(value) <= MANY and id(value) not in around:
        around = (*around, id(value))
        if isinstance(value, dict):
            return [(_mark(key, around), _mark(x, around)) for key, x in value.items()]
        return [_mark(x, around) for x in value]
    return _Same(value)


class _Same:
    """Equal if it is the same object; keeps the object, so that nothing else gets its place."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, _Same) and self.value is other.value

    __hash__ = None

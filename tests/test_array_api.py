"""The engine's namespace is the Array API's: names, signatures, values, dtypes, errors.

``array_api_strict`` is the standard as a program: it has its names and no others, and refuses
what the standard leaves open.
"""

import inspect
from operator import attrgetter

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from persample.engine import namespace as xp

from .array_api_calls import CALLS
from .tolerances import FLOAT32, FLOAT64

# What array_api_strict has for its own switches; the standard knows nothing of it.
ITS_OWN = {
    *("ArrayAPIStrictFlags", "Device", "__version__", "get_array_api_strict_flags"),
    *("reset_array_api_strict_flags", "set_array_api_strict_flags"),
}
NAMES = sorted(set(strict.__all__) - ITS_OWN)
LINALG = sorted({*strict.linalg.__all__, "eig", "eigvals"})
STANDARD = NAMES + [f"linalg.{name}" for name in LINALG]


def ours(name):
    """Return the engine's function of a dotted name, without asking a module's __getattr__."""
    module, _, last = name.rpartition(".")
    return vars(xp.linalg if module else xp)[last]


def standard(name):
    return attrgetter(name)(strict)


def test_every_name_of_the_standard_is_there_or_stands_in_the_list_of_exceptions():
    missing = {name for name in NAMES if name not in vars(xp)}
    missing |= {f"linalg.{name}" for name in LINALG if name not in vars(xp.linalg)}
    assert missing == set(xp.MISSING)


def test_every_exception_has_a_reason_and_says_it():
    for name, reason in xp.MISSING.items():
        assert len(reason.split()) >= 5, name
        module = xp.linalg if "." in name else xp
        with pytest.raises(AttributeError, match=f"has no function '{name}': {reason}"):
            getattr(module, name.rpartition(".")[2])


def functions():
    for prefix, module in (("", xp), ("linalg.", xp.linalg)):
        for name, f in vars(module).items():
            own = inspect.isfunction(f) and f.__module__.startswith("persample")
            if own and not name.startswith("_"):
                yield prefix + name, f


OURS = dict(functions())


@pytest.mark.parametrize("name", [name for name in OURS if name in STANDARD])
def test_a_function_takes_what_the_standard_says(name):
    own, wanted = inspect.signature(OURS[name]), inspect.signature(standard(name))
    positional, keywords = [], {}
    for p in wanted.parameters.values():
        if p.kind is not p.KEYWORD_ONLY:
            positional.append(p.name)
        else:
            keywords[p.name] = p.default
            if p.name not in ("device", "copy"):
                assert own.parameters[p.name].default == p.default, p.name
        if p.kind is p.POSITIONAL_OR_KEYWORD:
            assert p.name in own.parameters, p.name
    own.bind(*positional, **keywords)
    pairs = zip(wanted.parameters.values(), own.parameters.values(), strict=False)
    for p, q in pairs:
        if p.kind is p.POSITIONAL_ONLY:
            assert q.kind is p.kind, f"{q.name} can be given by name"


def test_help_says_something():
    for name, f in OURS.items():
        if "." not in name or name in STANDARD:
            assert f.__name__ == name.rpartition(".")[2]
            assert (f.__doc__ or "").partition("\n")[0].endswith("."), name
    assert "x1 + x2" in xp.add.__doc__


# Values ----------------------------------------------------------------------------------------

# Constants, dtypes and what tells of them: NumPy's own, or looked at below.
CONSTANTS = {
    *("arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "linspace"),
    *("ones", "zeros", "broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype"),
    *("result_type", "__array_namespace_info__", "bool", "e", "inf", "nan", "newaxis", "pi"),
    *("__array_api_version__", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "linalg"),
}
SAME = {f"linalg.{name}" for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")}


def test_every_function_is_called():
    assert set(STANDARD) - set(xp.MISSING) == set(CALLS) | CONSTANTS | SAME
    for name in SAME:
        assert ours(name) is ours(name.removeprefix("linalg."))


def as_strict(x):
    if isinstance(x, np.ndarray | np.generic):
        return strict.asarray(np.asarray(x))
    if isinstance(x, np.dtype):
        return getattr(strict, x.name)
    return [as_strict(v) for v in x] if isinstance(x, list) else x


def several(x):
    return list(x) if isinstance(x, tuple | list) else [x]


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_values_shapes_and_dtypes_are_the_standards(name, data):
    args, keywords = data.draw(CALLS[name])
    with np.errstate(all="ignore"):
        expected = several(standard(name)(*map(as_strict, args), **keywords))
        results = several(ours(name)(*args, **keywords))
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        wanted = np.asarray(wanted)
        assert result.shape == wanted.shape
        assert result.dtype == wanted.dtype
        tolerance = FLOAT32 if wanted.dtype == np.float32 else FLOAT64
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)


MADE = [
    lambda m: m.arange(2, 7, 2, dtype=m.float32),
    lambda m: m.eye(2, 3, k=1, dtype=m.int32),
    lambda m: m.full((2, 3), 4, dtype=m.int8),
    lambda m: m.full(3, 2.5),
    lambda m: m.linspace(0.0, 1.0, 5, endpoint=False),
    lambda m: m.ones((2, 1), dtype=m.bool),
    lambda m: m.zeros(3, dtype=m.uint8, device=None),
    lambda m: m.asarray([[1, 2], [3, 4]], dtype=m.float64, copy=True),
    lambda m: m.from_dlpack(m.ones(3)),
]


def test_constants_and_information():
    for name in ("e", "inf", "pi", "newaxis", "__array_api_version__"):
        assert getattr(xp, name) == getattr(strict, name)
    assert np.isnan(xp.nan)
    for make in MADE:
        result, wanted = make(xp), np.asarray(make(strict))
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(result, wanted)
    assert xp.empty((2, 3), dtype=xp.float32).shape == (2, 3)
    assert xp.empty_like(np.ones((4, 1), np.int8)).dtype == np.int8
    assert xp.broadcast_shapes((2, 1), (3,)) == (2, 3)
    assert xp.can_cast(np.ones(1, np.int8), xp.int16)
    assert not xp.can_cast(xp.float64, xp.float32)
    assert (xp.finfo(np.ones(1, np.float32)).bits, xp.iinfo(xp.int8).max) == (32, 127)
    assert xp.finfo(np.dtype("float32")) == np.finfo(np.float32)
    assert xp.isdtype(xp.int8, "integral")
    assert xp.result_type(np.ones(1, np.float32), np.dtype("int8"), 3) == np.float32
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is False
    assert info.capabilities()["data-dependent shapes"] is False
    assert (info.default_device(), info.devices()) == ("cpu", ["cpu"])
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, np.bool])
def test_integers_become_float64_where_the_result_is_real(kind):
    """The standard leaves it open; NumPy alone would give float16 for booleans."""
    x = np.array([1, 0, 1], kind)
    for name in ("exp", "sqrt", "sin", "mean", "var", "reciprocal"):
        with np.errstate(divide="ignore"):
            assert ours(name)(x).dtype == np.float64, name
    assert xp.hypot(x, x).dtype == xp.linalg.vector_norm(x).dtype == np.float64


def test_unsigned_integers_and_booleans():
    x = np.array([0, 200, 7], np.uint8)
    assert xp.min(x) == 0
    np.testing.assert_array_equal(xp.abs(x), x)
    np.testing.assert_array_equal(xp.minimum(x, 100), [0, 100, 7])
    least = np.array([-128, 5], np.int8)
    assert xp.min(least) == -128
    np.testing.assert_array_equal(xp.minimum(least, np.int8(7)), [-128, 5])
    b = np.array([True, False])
    for f, expected in ((xp.min, False), (xp.max, True), (lambda b: xp.abs(b)[1], False)):
        assert f(b) == expected
    np.testing.assert_array_equal(xp.minimum(b, True), b)

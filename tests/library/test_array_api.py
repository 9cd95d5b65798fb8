"""The engine's namespace follows the Array API: names, signatures, values, dtypes, errors.

``array_api_strict`` implements the standard and nothing else: it has no other names, and refuses
calls that the standard leaves undefined.
"""

import inspect
from operator import attrgetter

import array_api_strict as strict
import numpy as np
import pytest

from persample.engine import namespace as xp
from persample.engine.numpy_functions import numpys
from support.numpy_function_calls import CALLS, lines, parsed
from support.tolerances import FLOAT32, FLOAT64

# What array_api_strict has for its own switches; the standard knows nothing of it.
ITS_OWN = {
    *("ArrayAPIStrictFlags", "Device", "__version__", "get_array_api_strict_flags"),
    *("reset_array_api_strict_flags", "set_array_api_strict_flags"),
}
NAMES = sorted(set(strict.__all__) - ITS_OWN)
LINALG = sorted({*strict.linalg.__all__, "eig", "eigvals"})
STANDARD = NAMES + [f"linalg.{name}" for name in LINALG]


def ours(name):
    """Return the engine's function of a dotted name; KeyError unless its module defines it."""
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

# Constants, dtypes and functions of dtypes: NumPy's own, or tested below.
CONSTANTS = {
    *("arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "linspace"),
    *("ones", "zeros", "broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype"),
    *("result_type", "__array_namespace_info__", "bool", "e", "inf", "nan", "newaxis", "pi"),
    *("__array_api_version__", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "linalg"),
}
SAME = {f"linalg.{name}" for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")}
CALLED = sorted(set(STANDARD) - set(xp.MISSING) - CONSTANTS - SAME)
ELEMENTWISE = [n for n in CALLED if isinstance(numpys(n), np.ufunc) and not numpys(n).signature]
FLOATS = ["float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = [*FLOATS, *INTEGERS, "bool"]

# Calls of functions that are not elementwise, in addition to those of NumPy's functions.
OTHERS = """
sum: x_03; x_203, axis=1, keepdims=True; x_
prod: x_03; n_23, axis=1
all: x_03, axis=1
any: x_0
count_nonzero: x_03, axis=0
max: d_33, axis=()
mean: x_234, axis=(0, -1)
var: x_35, axis=1, correction=0.5, keepdims=True
std: x_234, axis=(0, 2), correction=2
argmin: d_35, axis=0
argsort: f_35, axis=0, descending=True
sort: f_35, axis=0, descending=True
diff: x_35, axis=0, n=2; x_35, n=0
flip: x_03; x_
roll: x_03, -2, axis=1
repeat: x_35, 2, axis=1
isin: f_35, g_2
take: x_35, i5_4, axis=1
take_along_axis: x_35, i3_25, axis=0
reshape: x_03, (3, -1, 0); x_, (1, 1)
meshgrid: x_2, y_3, z_1
tril: x_234, k=-3; x_234, k=4
clip: u_35, 1, 3
ones_like: x_35
astype: k_35, np.int16; k_35, np.bool
matmul: x_2134, y_342; x_30, y_04; x_4, y_243; x_203, y_3
vecdot: x_23, y_413
tensordot: x_23, y_232
linalg.cross: x_23, y_13
linalg.diagonal: x_34, offset=4; x_34, offset=-2
linalg.matrix_norm: n_23; n_23, ord="fro", keepdims=True; n_23, ord=-1; n_23, ord=np.inf
linalg.matrix_norm: n_23, ord=-np.inf
linalg.vector_norm: n_35; n_35, ord=0; n_35, ord=1, axis=0; n_35, ord=-np.inf, keepdims=True
linalg.vector_norm: n_35, axis=(1,), ord=np.inf
linalg.solve: x_33, y_232
"""
# Deviations of array_api_strict from the standard, in arguments or results.
LAX = {"d_35, axis=None", "x_, 4", "f_35, g_2, invert=True"}
TABLE = [row for row in [*lines(CALLS), *lines(OTHERS)] if row[1] not in LAX]


def test_the_same_functions_stand_in_the_module_linalg():
    for name in SAME:
        assert ours(name) is ours(name.removeprefix("linalg."))


def several(x):
    return list(x) if isinstance(x, tuple | list) else [x]


def agree(theirs, own, args):
    """Compare a call with array_api_strict's; return False if that refuses the arguments."""
    arrays = [strict.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
    try:
        expected = several(theirs(*arrays))
    except (TypeError, ValueError, AttributeError):
        return False
    results = several(own(*args))
    for result, wanted in zip(results, map(np.asarray, expected), strict=True):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        tolerance = FLOAT32 if wanted.dtype == np.float32 else FLOAT64
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)
    return True


def special(dtype):
    """Return an array of the special values of a dtype and a few ordinary ones."""
    if dtype == "bool":
        return np.array([True, False])
    if dtype in FLOATS:
        signed = [0.0, 0.3, 1.0, 1.5, 2.0, 7.25, 1e30, np.inf]
        return np.array([*signed, *np.negative(signed), np.nan], dtype)
    limits = np.iinfo(dtype)
    return np.array([0, 1, 2, 3, 7, limits.max, limits.min, limits.max // 2], dtype)


def pairs(name, x, dtype):
    """Return the pairs of x and `special(dtype)` in the function's domain, as two arrays."""
    a, b = [part.ravel() for part in np.meshgrid(x, special(dtype), indexing="ij")]
    kept = (b >= 0) & (b < 8) if name.endswith("shift") else np.ones(b.shape, bool)
    if name == "pow" and x.dtype.kind in "iu":
        kept = b >= 0
    return a[kept], b[kept]


@pytest.mark.parametrize("name", ELEMENTWISE)
@np.errstate(all="ignore")
def test_elementwise_functions_are_the_standards(name):
    """Try special values, pairs of dtypes, Python numbers, empty and 0-d arrays."""
    calls = []
    for dtype in DTYPES:
        x = special(dtype)
        if numpys(name).nin == 1:
            calls += [(x,), (np.array(x[0]),), (x[:0, None],)]
            continue
        number, single = x[1].item(), np.array(x[1])
        calls += [pairs(name, x, other) for other in DTYPES]
        calls += [(x, number), (number, abs(x)), (single, x[2:4, None]), (x[1:, None], x[:0])]
    taken = [agree(standard(name), ours(name), args) for args in calls]
    assert any(taken)


@pytest.mark.parametrize("name", [name for name in CALLED if name not in ELEMENTWISE])
@np.errstate(all="ignore")
def test_other_functions_are_the_standards(name):
    taken = []
    for text in [text for other, text in TABLE if numpys(other) is numpys(name)]:
        (theirs, *inputs), (own, *_) = parsed(name, text, strict), parsed(name, text, xp)
        for dtype in DTYPES:
            rng = np.random.default_rng(0)
            drawn = [np.asarray(x.draw(rng, x.shape)) for x in inputs]
            args = [x.astype(dtype) if x.dtype.kind == "f" else x for x in drawn]
            taken.append(agree(theirs, own, args))
    assert any(taken)


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
    """Check what the standard leaves open; NumPy alone would give float16 for booleans."""
    x = np.array([1, 0, 1], kind)
    for name in ("exp", "sqrt", "sin", "mean", "var", "reciprocal"):
        with np.errstate(divide="ignore"):
            assert ours(name)(x).dtype == np.float64, name
    assert xp.hypot(x, x).dtype == xp.linalg.vector_norm(x).dtype == np.float64


def test_the_least_integer_and_booleans_have_a_least_and_a_largest():
    assert xp.min(np.array([-128, 5], np.int8)) == -128
    b = np.array([True, False])
    for f, expected in ((xp.min, False), (xp.max, True), (lambda b: xp.abs(b)[1], False)):
        assert f(b) == expected
    np.testing.assert_array_equal(xp.minimum(b, True), b)

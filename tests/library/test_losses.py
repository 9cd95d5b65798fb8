"""The losses: their values, and that they use only the Array API standard."""

import inspect
from functools import partial

import array_api_strict
import numpy as np
import pytest

import persample as ps
from persample import losses
from persample.backends import BACKENDS
from support.cases import CASES, TD_EXAMPLE, arrays, labels, states, theta
from support.tolerances import assert_close


@pytest.mark.parametrize("name", losses.__all__)
def test_a_loss_uses_only_the_array_api_standard(name, monkeypatch):
    """Compute each loss in array_api_strict, which has only the standard's functions."""
    given = [CASES[name].params, *(np.array(x[0]) for x in CASES[name].sample)]
    expected = CASES[name].loss(*given)
    monkeypatch.setattr(losses, "array_namespace", lambda x: array_api_strict)
    monkeypatch.setattr(losses, "stop_gradient", lambda x: x)
    value = CASES[name].loss(*map(array_api_strict.asarray, given))
    assert value.shape == ()
    assert_close(float(value), float(expected))


def test_every_loss_has_a_case_and_is_public():
    functions = inspect.getmembers(losses, inspect.isfunction)
    defined = {name for name, f in functions if f.__module__ == losses.__name__}
    assert defined == set(losses.__all__) <= set(CASES)
    assert set(losses.__all__) <= set(ps.__all__)


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_of_the_losses(backend):
    asarray = ps.backend(backend).asarray
    value = lambda loss, *args: float(loss(*map(asarray, args)))  # noqa: E731
    # delta = 2 + 1 * (0.2 - 0.4) - (0.4 - 0.2 - 0.2) = 1.8
    example = [TD_EXAMPLE[0], TD_EXAMPLE[1][0], TD_EXAMPLE[2][0], TD_EXAMPLE[3][0]]
    assert_close(value(ps.td_loss, *example), 1.8**2 / 2)
    assert_close(value(partial(ps.td_loss, gamma=0.5), *example), 1.9**2 / 2)
    assert_close(value(ps.squared_loss, [1.0, 2.0], [3.0, 4.0], 5.0), 18.0)
    assert_close(value(ps.logistic_loss, [1.0, 2.0], [2.0, -1.0], 1.0), np.log(2))
    assert_close(value(ps.cross_entropy_loss, [0.0, np.log(2.0), 0.0], 1), np.log(2))
    assert_close(value(ps.cross_entropy_loss, [1000.0, 0.0, -1000.0], 2), 2000.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_large_numbers_do_not_overflow(backend):
    given = arrays([np.array([1.0]), np.array([[1000.0], [-1000.0]]), labels[:2]], backend)
    assert_close(ps.to_numpy(ps.per_sample_grad(ps.logistic_loss)(*given)), [[1000.0], [1000.0]])
    given = arrays([np.array([1000.0, 0.0, -1000.0]), np.array([0, 2], np.int16)], backend)
    rows = ps.per_sample_grad(ps.cross_entropy_loss)(*given)
    assert_close(ps.to_numpy(rows), [[0.0, 0, 0], [1, 0, -1]])


def test_a_label_is_a_whole_number_and_a_class():
    with pytest.raises(IndexError, match="out of bounds"):
        ps.cross_entropy_loss(theta, np.array(3))
    wrong = "the label is of float64; it must be the number of a class, an integer from 0 to 2."
    with pytest.raises(TypeError, match=wrong):
        ps.per_sample_grad(ps.cross_entropy_loss)(theta, labels)
    rows_of = ps.per_sample_grad(ps.logistic_loss)
    assert_close(rows_of(theta, states, labels.astype(int)), rows_of(theta, states, labels))


def test_pytorch_does_not_go_through_the_samples_one_by_one():
    """Count PyTorch's operations, which grow with the batch where vmap has no rule."""
    torch = pytest.importorskip("torch")
    counts = []
    for B in (5, 50):
        y = torch.arange(B) % 3
        with torch.profiler.profile(acc_events=True) as profile:
            ps.per_sample_grad(ps.cross_entropy_loss)(torch.from_numpy(theta), y)
        counts.append(len(profile.events()))
    assert counts[0] == counts[1]

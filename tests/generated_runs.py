"""How generated calls are run: what the tests of right and of wrong ones share."""

from collections import Counter

import jax
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from precision import enable_x64

import persample as ps

WITH_OPTIONS = ("per_sample_grad", "per_sample_value_and_grad")
WAYS = (*WITH_OPTIONS * 3, "loop_grad", "mean_grad")


@pytest.fixture(scope="module")
def quick():
    """One thread for small arrays, no time spent on making compiled programs fast."""
    threads, effort = torch.get_num_threads(), jax.config.jax_exec_time_optimization_effort
    torch.set_num_threads(1)
    jax.config.update("jax_exec_time_optimization_effort", -1.0)
    with pytest.MonkeyPatch.context() as patch, enable_x64(True), np.errstate(all="ignore"):
        patch.setattr(ps.backend("torch"), "compiler", lambda: "aot_eager")
        yield
    jax.config.update("jax_exec_time_optimization_effort", effort)
    torch.set_num_threads(threads)


def calls(**counts):
    """Parametrize over the backends; ``name=(few, many)``, many being for `make check`."""
    few = [pytest.param(name, few, id=name) for name, (few, _) in counts.items()]
    return pytest.mark.parametrize(
        ("name", "count"),
        few
        + [
            pytest.param(name, many, id=f"{name}-{many}", marks=pytest.mark.slow)
            for name, (_, many) in counts.items()
        ],
    )


def run_all(record_property, what, count, strategy, check):
    """Check ``count`` drawn calls; the summary of the run has the number of each kind."""
    seen: Counter = Counter()

    @settings(max_examples=count)
    @given(strategy)
    def each(call):
        seen[check(*call) or what] += 1

    each()
    for kind, number in seen.items():
        record_property("generated calls", (kind, number))


def converted(backend, x):
    """Return a NumPy array as one of a backend, anything else as it is."""
    is_array = isinstance(x, np.ndarray | np.generic)
    return ps.backend(backend).asarray(np.array(x)) if is_array else x

"""What importing the package loads: neither PyTorch nor JAX, nor what is needed later."""

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import persample as ps

theta, s = np.array([0.2, -0.2, 0.1]), np.array([[2.0, 1, -2], [0, 1, 1]])
r, s_next = np.array([2.0, 1]), np.array([[1.0, 2, 0], [1, 0, 1]])
expected = [[-3.6, -1.8, 3.6], [0, -1.4, -1.4]]
for options in ({}, {"jit": True}, {"chunk_size": 1}):
    rows = ps.per_sample_grad(ps.td_loss, **options)(theta, s, r, s_next)
    np.testing.assert_allclose(rows, expected, atol=1e-9)
np.testing.assert_allclose(ps.loop_grad(ps.td_loss)(theta, s, r, s_next), expected, atol=1e-9)
ps.mean_grad(ps.td_loss)(theta, s, r, s_next)
ps.to_numpy(ps.stop_gradient(theta))
ps.tape.tensor([1.0], requires_grad=True).sum().backward()
ps.backend("numpy")
loaded = {name.partition(".")[0] for name in sys.modules}
print(*sorted(loaded & {"torch", "jax", "jaxlib", "matplotlib"}), "end")
"""


def test_the_numpy_path_loads_neither_torch_nor_jax():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["end"]


def test_importing_the_package_loads_no_more_than_it_needs():
    """Each of these is loaded when it is used first; benchmarks/engine.py has the time."""
    program = "import sys, persample; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = done.stdout.split()
    late = (
        "numpy_functions",
        "numpy_calls",
        "recorder.capture",
        "recorder.forms",
        "torch_",
        "jax_",
    )
    own = [name for name in loaded if name.startswith("persample")]
    assert [name for name in own if any(x in name for x in late)] == []
    assert {name.partition(".")[0] for name in loaded} & {"torch", "jax", "scipy"} == set()

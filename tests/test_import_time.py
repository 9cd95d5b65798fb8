"""What importing the package costs: neither PyTorch nor JAX, and 50 ms more than NumPy."""

import os
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


TIME = """
import time
import numpy
start = time.process_time()
import persample
print(time.process_time() - start)
"""


def test_the_package_is_imported_in_50_ms_more_than_numpy(tmp_path):
    """Of the processor's time, which other programs leave alone; with bytecode, as installed."""
    kept = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    seconds = [
        float(subprocess.check_output([sys.executable, "-c", TIME], env=os.environ | kept))
        for _ in range(8)
    ]
    assert min(seconds) < 0.05  # the first one compiles

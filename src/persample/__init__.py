"""Per-sample gradients in NumPy, PyTorch and JAX: one loss, written for one sample.

>>> import numpy as np
>>> import persample as ps
>>> theta = np.array([0.2, -0.2, 0.1])
>>> s, r, s_next = np.array([[2.0, 1, -2]]), np.array([2.0]), np.array([[1.0, 2, 0]])
>>> ps.per_sample_grad(ps.td_loss)(theta, s, r, s_next)
array([[-3.6, -1.8,  3.6]])
"""

from . import engine, privacy, recorder, statistics, tape
from .arrays import array_namespace, stop_gradient, to_numpy
from .backends import backend
from .clipping import clipped_grad_sum, per_sample_norms
from .losses import cross_entropy_loss, logistic_loss, squared_loss, td_loss
from .per_sample import loop_grad, mean_grad, per_sample_grad, per_sample_value_and_grad
from .recorder import record

__all__ = [
    "array_namespace",
    "backend",
    "clipped_grad_sum",
    "cross_entropy_loss",
    "engine",
    "logistic_loss",
    "loop_grad",
    "mean_grad",
    "per_sample_grad",
    "per_sample_norms",
    "per_sample_value_and_grad",
    "privacy",
    "record",
    "recorder",
    "squared_loss",
    "statistics",
    "stop_gradient",
    "tape",
    "td_loss",
    "to_numpy",
]

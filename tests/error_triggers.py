"""What makes each message of the error index appear: `TRIGGERS[name]()` raises it or warns it.

A name is framework.topic; reference/errors.md quotes the message under the same name.
"""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import torch

import persample as ps
from persample import engine, tape

from .cases import arrays, rewards, states, theta
from .precision import enable_x64
from .test_errors import ERRORS

S, R, THETA = arrays(states, "torch"), arrays(rewards, "torch"), arrays(theta, "torch")
JS, JR, JTHETA = arrays(states, "jax"), arrays(rewards, "jax"), arrays(theta, "jax")
TRIGGERS: dict = {}


def trigger(name):
    def add(function):
        TRIGGERS[name] = function
        return function

    return add


def ours(name, key):
    TRIGGERS[f"persample.{name}"] = ERRORS[key][0]


def branch(theta, x, y):
    return ps.squared_loss(theta, x, y) if y > 0 else 0 * ps.squared_loss(theta, x, y)


# One number
ours("scalar", "a loss of many numbers")
ours("nothing", "a loss of nothing")
TRIGGERS["torch.scalar"] = lambda: torch.func.grad(lambda x: 2 * x)(THETA)
TRIGGERS["torch.backward-scalar"] = lambda: (2 * leaf()).backward()
TRIGGERS["jax.scalar"] = lambda: jax.grad(lambda x: 2 * x)(JTHETA)

# Floating point
ours("integer", "integer parameters")
ours("list-parameters", "a list of parameters")
TRIGGERS["torch.integer"] = lambda: torch.tensor([1, 2]).requires_grad_()
TRIGGERS["jax.integer"] = lambda: jax.grad(lambda x: x * x)(2)
TRIGGERS["torch.dtype"] = lambda: torch.ones(3) @ torch.ones(3, dtype=torch.float64)

# The batch and in_axes
ours("sizes", "batch sizes")
TRIGGERS["torch.parameters-batched"] = lambda: torch.vmap(torch.func.grad(ps.td_loss))(
    THETA, S, R, S
)
TRIGGERS["jax.parameters-batched"] = lambda: jax.vmap(jax.grad(ps.td_loss))(JTHETA, JS, JR, JS)
ours("axes-entry", "in_axes with an axis")
ours("axes-length", "in_axes of another length")
TRIGGERS["torch.axes-length"] = lambda: torch.vmap(torch.mul, in_dims=(0,))(R, R)
TRIGGERS["jax.axes-length"] = lambda: jax.vmap(jnp.multiply, in_axes=(0,))(JR, JR)
ours("zero-d", "0-d argument")
TRIGGERS["torch.zero-d"] = lambda: torch.vmap(torch.mul)(R, R[0])
TRIGGERS["jax.zero-d"] = lambda: jax.vmap(jnp.multiply)(JR, JR[0])
ours("keywords", "keyword arguments")
ours("mixed", "two backends")
ours("list", "a list of data")
ours("empty", "empty batch")
ours("package", "package not installed")


# Python and tracers
@trigger("persample.branch")
def _():
    ps.per_sample_grad(branch)(theta, states, rewards)


@trigger("torch.branch")
def _():
    ps.per_sample_grad(branch)(THETA, S, R)


@trigger("torch.compile-branch")
def _():
    torch.compile(lambda x: x if x > 0 else -x, backend="aot_eager", fullgraph=True)(R[0])


@trigger("jax.branch")
def _():
    ps.per_sample_grad(branch)(JTHETA, JS, JR)


TRIGGERS["jax.float"] = lambda: jax.jit(lambda x: float(x))(1.0)
TRIGGERS["persample.numpy-function"] = lambda: engine.grad(lambda x: np.tanh(x).sum())(theta)
TRIGGERS["torch.numpy-function"] = lambda: np.tanh(leaf())
TRIGGERS["jax.numpy-function"] = lambda: jax.grad(lambda x: np.tanh(x).sum())(JTHETA)
TRIGGERS["jax.mask"] = lambda: jax.jit(lambda x: x[x > 0])(JTHETA)


@trigger("persample.in-place")
def _():
    def first_is_zero(theta, x):
        x[0] = 0.0
        return (theta * x).sum()

    engine.vmap(first_is_zero, (None, 0))(theta, states)


@trigger("torch.in-place-vmap")
def _():
    def copy_first(x):
        copied = torch.zeros(3, dtype=x.dtype)
        copied[0] = x[0]
        return copied

    torch.vmap(copy_first)(S)


@trigger("jax.in-place")
def _():
    JTHETA[0] = 1.0


@trigger("persample.leak")
def _():
    kept = []
    engine.grad(lambda x: kept.append(x) or x * x)(1.0)
    kept[0] * 2


@trigger("jax.leak")
def _():
    kept = []
    jax.jit(lambda x: kept.append(x) or x * x)(1.0)
    kept[0] * 2


# Leaf tensors, .grad and the graph
def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


@trigger("torch.non-leaf-grad")
def _():
    (2 * leaf()).grad  # noqa: B018, reading is what warns


@trigger("persample.non-leaf-grad")
def _():
    (2 * tape.tensor([1.0, 2.0], requires_grad=True)).grad  # noqa: B018, as above


@trigger("torch.in-place-leaf")
def _():
    x = leaf()
    x -= 0.1


@trigger("persample.in-place-leaf")
def _():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    x -= 0.1


@trigger("torch.in-place-saved")
def _():
    y = leaf().exp()
    loss = (y * y).sum()
    y += 1
    loss.backward()


TRIGGERS["torch.no-grad-fn"] = lambda: torch.tensor([1.0, 2.0]).sum().backward()
TRIGGERS["persample.no-grad-fn"] = lambda: tape.tensor([1.0, 2.0]).sum().backward()
TRIGGERS["torch.unused"] = lambda: torch.autograd.grad(leaf().sum(), leaf())


@trigger("torch.second-backward")
def _():
    loss = (leaf() ** 2).sum()
    loss.backward()
    loss.backward()


@trigger("persample.second-backward")
def _():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


# Layers under vmap
@trigger("torch.random")
def _():
    torch.vmap(lambda x: torch.nn.functional.dropout(x, 0.5))(S)


@trigger("torch.batch-norm")
def _():
    torch.vmap(torch.nn.BatchNorm1d(3).double())(S[:, None].expand(5, 2, 3))


@trigger("jax.float64")
def _():
    with enable_x64(False):
        jnp.asarray(1.0, dtype="float64")


ours("float64", "64 bits in JAX's 32-bit mode")


# Rows of layers, and memory used again
def layerwise(model, loss_of=lambda z: z.sum(1), backwards=1, **options):
    with ps.layerwise(model.double(), **options) as record:
        loss = loss_of(model(S))
        for _ in range(backwards):
            if options:
                loss.backward()
            else:
                record.backward(loss, retain_graph=True)
    record.rows()


LINEAR = torch.nn.Linear(3, 2)
CENTRED = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softmax(0))
TRIGGERS["persample.layers-batch-norm"] = lambda: layerwise(
    torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
)
TRIGGERS["persample.layers-outside"] = lambda: layerwise(
    LINEAR, lambda z: z.sum() + (LINEAR.weight**2).sum(), reduction="sum"
)
TRIGGERS["persample.layers-scalar"] = lambda: layerwise(LINEAR, torch.sum)
TRIGGERS["persample.layers-tokens"] = lambda: layerwise(LINEAR, lambda z: z)
TRIGGERS["persample.layers-second"] = lambda: layerwise(LINEAR, backwards=2)
TRIGGERS["persample.layers-none"] = lambda: layerwise(LINEAR, backwards=0)


@trigger("persample.layers-mixed")
def _():
    with ps.layerwise(CENTRED.double()) as record:
        record.backward(CENTRED(S).square().sum(1), retain_graph=True)
    record.check()


@trigger("jax.deleted")
def _():
    rows_of = ps.per_sample_grad(ps.squared_loss, jit=True)
    rows = rows_of(JTHETA, JS, JR)
    rows_of(JTHETA, JS, JR, out=rows)
    rows + 1


def message(name):
    """Run a trigger; return its message and the name of its kind, a warning's included."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            TRIGGERS[name]()
        except Exception as error:
            return type(error).__name__, str(error)
    return None, ""

"""What makes each message of the error index appear: `TRIGGERS[name]()` raises it or warns it.

A name is framework.topic; reference/errors.md quotes the message under the same name.
"""

import copy
import logging
import warnings
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import torch
import torch.nn.functional as F

import persample as ps
from persample import engine, tape

from .cases import arrays, rewards, states, theta
from .precision import enable_x64
from .test_errors import ERRORS
from .test_record_errors import ERRORS as LAYER_ERRORS
from .test_record_errors import own_function, used

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


def of_layers(name, key):
    TRIGGERS[f"persample.recorder-{name}"] = LAYER_ERRORS[key][0]


def branch(theta, x, y):
    return ps.squared_loss(theta, x, y) if y > 0 else 0 * ps.squared_loss(theta, x, y)


# One number
ours("scalar", "a loss of many numbers")
ours("nothing", "a loss of nothing")
ours("not-floating", "a whole number")
ours("aux-pair", "aux without a pair")
ours("aux-arrays", "aux that holds a number")
TRIGGERS["torch.scalar"] = lambda: torch.func.grad(lambda x: 2 * x)(THETA)
TRIGGERS["torch.backward-scalar"] = lambda: (2 * leaf()).backward()
TRIGGERS["jax.scalar"] = lambda: jax.grad(lambda x: 2 * x)(JTHETA)

# Floating point
ours("integer", "integer parameters")
ours("list-parameters", "a list of parameters")
ours("parameter-kind", "a parameter of another kind")
TRIGGERS["torch.integer"] = lambda: torch.tensor([1, 2]).requires_grad_()
TRIGGERS["jax.integer"] = lambda: jax.grad(lambda x: x * x)(2)
TRIGGERS["torch.dtype"] = lambda: S[0].float() @ S[0].double()
TRIGGERS["torch.dtype-linear"] = lambda: torch.nn.Linear(3, 2).float()(S.double())

# Shapes and memory
TRIGGERS["torch.target-size"] = lambda: F.mse_loss(R[:, None], R)
TRIGGERS["torch.cpu-memory"] = lambda: torch.empty(10**15)
TRIGGERS["jax.memory"] = lambda: jnp.zeros(10**15).block_until_ready()
ours("chunk-size", "chunk_size")

# The batch and in_axes
ours("sizes", "batch sizes")
TRIGGERS["torch.parameters-batched"] = lambda: torch.vmap(torch.func.grad(ps.td_loss))(
    THETA, S, R, S
)
TRIGGERS["jax.parameters-batched"] = lambda: jax.vmap(jax.grad(ps.td_loss))(JTHETA, JS, JR, JS)
ours("axes-entry", "in_axes with False")
ours("axes-fit", "in_axes with a tree")
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
ours("backend", "backend")
ours("no-array", "no arrays")
ours("axes-kind", "in_axes that is no tuple")
ours("none-batched", "nothing batched")
ours("mean-parameters", "parameters a sample in mean_grad")


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


@trigger("torch.compile-print")
def _():
    def loud(x):
        print("never seen")
        return x * x

    torch.compile(loud, backend="eager", fullgraph=True)(R)


@trigger("torch.recompile-limit")
def _():
    def power(x, n):
        for _ in range(n):
            x = x * x
        return x

    logger = logging.getLogger("torch._dynamo")
    before = logger.level
    logger.setLevel(logging.CRITICAL)  # its warning would be the first thing to raise
    try:
        compiled = torch.compile(power, backend="eager", fullgraph=True)
        for n in range(1, 10):
            compiled(R, n)
    finally:
        logger.setLevel(before)


@trigger("torch.fail-on-recompile")
def _():
    compiled = torch.compile(lambda x: x * x, backend="eager")
    compiled(R)
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(R[:2])


@trigger("torch.cond")
def _():
    def step(x):
        return torch.cond(x > 0, lambda x: x * x, torch.sin, (x,))

    torch.func.grad(step)(R[0])


TRIGGERS["jax.integer-conversion"] = lambda: jax.jit(lambda x, n: [x for _ in range(n)])(1.0, 3)
TRIGGERS["jax.static"] = lambda: jax.jit(lambda x, n: x, static_argnums=1)(1.0, np.ones(2))
TRIGGERS["jax.while"] = lambda: jax.grad(
    lambda x: jax.lax.while_loop(lambda x: x > 1, lambda x: x / 2, x)
)(40.0)
TRIGGERS["jax.float"] = lambda: jax.jit(lambda x: float(x))(1.0)
TRIGGERS["persample.float"] = lambda: engine.grad(lambda x: float(x) * x)(2.0)
ours("float-torch", "a number made of a parameter")
ours("random", "random numbers in a torch loss")
TRIGGERS["persample.numpy-array"] = lambda: engine.grad(lambda x: np.array([x[0], x[1]]))(theta)
TRIGGERS["persample.numpy-function"] = lambda: engine.grad(lambda x: np.unique(x).sum())(theta)
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


TRIGGERS["torch.grad-is-none"] = lambda: leaf().grad.norm()
TRIGGERS["torch.optimise-non-leaf"] = lambda: torch.optim.SGD([2 * leaf()], lr=0.1)
TRIGGERS["torch.deepcopy"] = lambda: copy.deepcopy(2 * leaf())
TRIGGERS["torch.not-required"] = lambda: torch.autograd.grad(leaf().sum(), torch.ones(2))


@trigger("torch.in-place-view")
def _():
    leaf()[0] = 0.0


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


TRIGGERS["torch.in-place-version"] = TRIGGERS["torch.in-place-saved"]
TRIGGERS["torch.no-grad-fn"] = lambda: torch.tensor([1.0, 2.0]).sum().backward()
TRIGGERS["persample.no-grad-fn"] = lambda: tape.tensor([1.0, 2.0]).sum().backward()
TRIGGERS["torch.unused"] = lambda: torch.autograd.grad(leaf().sum(), leaf())


@trigger("torch.second-backward")
def _():
    loss = (leaf() ** 2).sum()
    loss.backward()
    loss.backward()


TRIGGERS["torch.second-backward-hint"] = TRIGGERS["torch.second-backward"]


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


@trigger("torch.backward-inside")
def _():
    w = leaf()
    torch.vmap(lambda x: (w * x).sum().backward())(S[:, :2])


TRIGGERS["torch.recurrent"] = lambda: torch.vmap(torch.nn.GRU(3, 2).double())(S[:, None])
TRIGGERS["torch.data-pointer"] = lambda: torch.vmap(lambda x: x.data_ptr())(S)
TRIGGERS["torch.performance-drop"] = lambda: torch.vmap(torch.histc)(S)


@trigger("jax.float64")
def _():
    with enable_x64(False):
        jnp.asarray(1.0, dtype="float64")


ours("float64", "64 bits in JAX's 32-bit mode")


# Arrays that are refused
@dataclass
class Pair:
    a: np.ndarray


class Series:
    """A table of another library, as far as the package can see."""

    def __array__(self, dtype=None, copy=None):
        return rewards


class Marked(torch.Tensor):
    """A tensor with rules of its own."""


ROWS_OF = ps.per_sample_grad(ps.squared_loss)
TRIGGERS["persample.subclass"] = lambda: ROWS_OF(np.ma.array(theta), states, rewards)
TRIGGERS["persample.foreign"] = lambda: ROWS_OF(theta, states, Series())
TRIGGERS["persample.dataclass"] = lambda: ROWS_OF(Pair(theta), states, rewards)
TRIGGERS["persample.subclass-torch"] = lambda: ROWS_OF(THETA, S.as_subclass(Marked), R)
TRIGGERS["persample.label"] = lambda: ps.cross_entropy_loss(theta, np.array(1.0))
TRIGGERS["persample.few-samples"] = lambda: ps.statistics.variance(states[:1])
TRIGGERS["persample.project-dim"] = lambda: ps.statistics.project(states, 0)
TRIGGERS["persample.project-seed"] = lambda: ps.statistics.project(states, 8, seed=-1)


def deleted():
    """Return an array whose memory was given away."""
    x = JTHETA + 1
    jax.jit(lambda x: 2 * x, donate_argnums=0)(x)
    return x


TRIGGERS["persample.deleted"] = lambda: ROWS_OF(deleted(), JS, JR)


# Rows of layers
of_layers("no-tensor", "no tensor")
of_layers("several-outputs", "outputs of several lengths")
of_layers("lazy", "a lazy layer")
of_layers("divided", "divided parameters")
of_layers("fetched", "parameters fetched for a pass")
of_layers("replaced", "a parameter that was replaced")
of_layers("batch-norm", "batch norm")
of_layers("scalar", "one number")
of_layers("tokens", "a number for each token")
of_layers("not-proved", "a penalty")
of_layers("hook", "a hook on a parameter")
of_layers("hidden", "a function that may hide a parameter")
of_layers("not-finite", "a row that is not finite")
of_layers("copy", "a copy")
TRIGGERS["persample.recorder-replay"] = lambda: used(own_function())
of_layers("not-from-output", "called before")
of_layers("other-model", "another model's losses")
of_layers("no-gradient", "no gradient")
of_layers("none", "no backward")
of_layers("both", "both ways")
of_layers("second", "a second backward")
of_layers("overwritten", "an input overwritten")
of_layers("stepped", "a step before autograd runs again")
of_layers("check", "a check that fails")
of_layers("check-graph", "a check without a graph")
of_layers("reentrant", "re-entrant checkpointing")
of_layers("model", "no model")
of_layers("frozen", "nothing to train")
of_layers("reduction", "unknown reduction")
of_layers("norm", "a norm below 0")


# Memory used again
TRIGGERS["jax.donated"] = lambda: jax.jit(lambda x: x.sum(), donate_argnums=0)(JTHETA + 1)


TRIGGERS["jax.deleted"] = lambda: np.asarray(deleted())


@trigger("jax.deleted-buffer")
def _():
    double = jax.jit(lambda x: 2 * x)
    double(JTHETA)  # so that the next call is not traced
    double(deleted())


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

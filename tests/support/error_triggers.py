"""Triggers of the error index's messages: `TRIGGERS[name]()` raises the error or the warning.

A name is framework.topic; reference/errors.md quotes the message under the same name.
"""

import copy
import logging
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import torch
import torch.nn.functional as F
from torch.func import functional_call

import persample as ps
from persample import engine, tape
from support.cases import arrays, rewards, states, theta
from support.layer_models import own_function
from support.precision import enable_x64
from support.wrong_calls import ERRORS
from support.wrong_records import ERRORS as LAYER_ERRORS
from support.wrong_records import tried, used

S, R, THETA = arrays((states, rewards, theta), "torch")
JS, JR, JTHETA = arrays((states, rewards, theta), "jax")


# Programs that several frameworks refuse, each in its own words.
def torch_leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def tape_leaf():
    return tape.tensor([1.0, 2.0], requires_grad=True)


def branch(*given):
    ps.per_sample_grad(lambda t, x, y: (1 if y > 0 else 0) * ps.squared_loss(t, x, y))(*given)


def non_leaf_grad(x):
    (2 * x).grad  # noqa: B018, reading is what warns


def in_place(x):
    x -= 0.1


def second_backward(x):
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


def leak(transform):
    kept = []
    transform(lambda x: kept.append(x) or x * x)(1.0)
    kept[0] * 2


# Programs of one framework.
def in_place_view():
    torch_leaf()[0] = 0.0


def in_place_saved():
    y = torch_leaf().exp()
    loss = (y * y).sum()
    y += 1
    loss.backward()


def in_place_vmap():
    def copy_first(x):
        copied = torch.zeros(3, dtype=x.dtype)
        copied[0] = x[0]
        return copied

    torch.vmap(copy_first)(S)


def work_array(theta):
    filled = np.zeros(2)
    filled[0] = theta[0] * theta[1]
    return filled.sum()


def first_is_zero(theta, x):
    x[0] = 0.0
    return (theta * x).sum()


def backward_inside():
    w = torch_leaf()
    torch.vmap(lambda x: (w * x).sum().backward())(S[:, :2])


def inference():
    with torch.inference_mode():
        constant = torch.ones(2)
    torch_leaf() * constant


def flattened_sample():
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2))
    model(torch.ones(5, 3, 4))
    torch.vmap(model)(torch.ones(5, 3, 4))


def batch_norm_captured():
    norm = torch.nn.BatchNorm2d(3)
    loss = lambda s, x: (s * norm(x[None])).sum()  # noqa: E731
    torch.vmap(torch.func.grad(loss), (None, 0))(torch.ones(()), torch.ones(5, 3, 2, 2))


def shared_state():
    """Compute rows of a GRU under vmap; its default initial state has no sample axis."""
    gru = torch.nn.GRU(3, 4, batch_first=True)
    loss = lambda p, x: functional_call(gru, p, (x[None],))[0].sum()  # noqa: E731
    rows_of = torch.vmap(torch.func.grad(loss), (None, 0))
    rows_of(dict(gru.named_parameters()), torch.ones(5, 6, 3))


def half_input():
    """Compute rows of a LayerNorm after a layer that autocast runs in 16 bits."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4))
    loss = lambda p, x: functional_call(model, p, (x[None],)).sum()  # noqa: E731
    with torch.autocast("cpu", torch.bfloat16):
        rows_of = torch.vmap(torch.func.grad(loss), (None, 0))
        rows_of(dict(model.named_parameters()), S.float())


def compile_print():
    def loud(x):
        print("never seen")
        return x * x

    torch.compile(loud, backend="eager", fullgraph=True)(R)


def recompile_limit():
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


def fail_on_recompile():
    compiled = torch.compile(lambda x: x * x, backend="eager")
    compiled(R)
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(R[:2])


def cond():
    step = lambda x: torch.cond(x > 0, lambda x: x * x, torch.sin, (x,))  # noqa: E731
    torch.func.grad(step)(R[0])


def float64():
    with enable_x64(False):
        jnp.asarray(1.0, dtype="float64")


def deleted():
    """Return a JAX array that was donated to a function and so deleted."""
    x = JTHETA + 1
    jax.jit(lambda x: 2 * x, donate_argnums=0)(x)
    return x


def given_twice(donated):
    """Pass one array as both arguments of a jitted function that donates ``donated``."""
    x = JTHETA + 1
    jax.jit(lambda x, y: (2 * x, 3 * y), donate_argnums=donated)(x, x)


def deleted_buffer():
    double = jax.jit(lambda x: 2 * x)
    double(JTHETA)  # so that the next call is not traced
    double(deleted())


def computed_flag():
    (2 * torch_leaf()).requires_grad = False


def nan_found():
    zero = torch.zeros(2, requires_grad=True)
    with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
        (0 * zero.sqrt()).sum().backward()


TRIGGERS = {
    # Leaf tensors, .grad and the graph
    "torch.scalar": lambda: torch.func.grad(lambda x: 2 * x)(THETA),
    "torch.backward-scalar": lambda: (2 * torch_leaf()).backward(),
    "torch.integer": lambda: torch.tensor([1, 2]).requires_grad_(),
    "torch.grad-is-none": lambda: torch_leaf().grad.norm(),
    "torch.optimise-non-leaf": lambda: torch.optim.SGD([2 * torch_leaf()], lr=0.1),
    "torch.deepcopy": lambda: copy.deepcopy(2 * torch_leaf()),
    "torch.not-required": lambda: torch.autograd.grad(torch_leaf().sum(), torch.ones(2)),
    "torch.unused": lambda: torch.autograd.grad(torch_leaf().sum(), torch_leaf()),
    "torch.no-grad-fn": lambda: torch.tensor([1.0, 2.0]).sum().backward(),
    "torch.non-leaf-grad": lambda: non_leaf_grad(torch_leaf()),
    "torch.in-place-leaf": lambda: in_place(torch_leaf()),
    "torch.in-place-view": in_place_view,
    "torch.in-place-saved": in_place_saved,
    "torch.in-place-version": in_place_saved,
    "torch.second-backward": lambda: second_backward(torch_leaf()),
    "torch.second-backward-hint": lambda: second_backward(torch_leaf()),
    "torch.inference": inference,
    "torch.numpy-function": lambda: np.tanh(torch_leaf()),
    "torch.requires-grad-flag": computed_flag,
    "torch.grad-output": lambda: (2 * torch_leaf()).backward(torch.ones(3)),
    "torch.nan": nan_found,
    "torch.copy-construct": lambda: torch.tensor(R),
    # Shapes, dtypes, memory
    "torch.dtype-loss": lambda: F.binary_cross_entropy(
        torch_leaf().sigmoid(), torch.ones(2, dtype=torch.float64)
    ).backward(),
    "torch.broadcast": lambda: torch_leaf() + torch.ones(3),
    "torch.matrix-shapes": flattened_sample,
    "torch.ambiguous": lambda: bool(R > 0),
    "torch.batch-norm-one": lambda: torch.nn.BatchNorm1d(3)(torch.ones(1, 3)),
    "torch.dtype": lambda: S[0].float() @ S[0].double(),
    "torch.dtype-linear": lambda: torch.nn.Linear(3, 2).float()(S.double()),
    "torch.dtype-matrices": lambda: S.float() @ S.double().T,
    "torch.dtype-scalar": lambda: torch.einsum("bi,bi->b", S.double(), S.float()),
    "torch.dtype-convolution": lambda: torch.nn.Conv1d(1, 1, 2).float()(S[:, None].double()),
    "torch.target-size": lambda: F.mse_loss(R[:, None], R),
    "torch.cpu-memory": lambda: torch.empty(10**15),
    # vmap and torch.compile
    "torch.parameters-batched": lambda: torch.vmap(ps.td_loss)(THETA, S, R, S),
    "torch.axes-length": lambda: torch.vmap(torch.mul, in_dims=(0,))(R, R),
    "torch.zero-d": lambda: torch.vmap(torch.mul)(R, R[0]),
    "torch.random": lambda: torch.vmap(lambda x: F.dropout(x, 0.5))(S),
    "torch.batch-norm": lambda: torch.vmap(torch.nn.BatchNorm1d(3))(torch.ones(5, 2, 3)),
    "torch.batch-norm-captured": batch_norm_captured,
    "torch.backward-inside": backward_inside,
    "torch.recurrent": lambda: torch.vmap(torch.nn.GRU(3, 2).double())(S[:, None]),
    "torch.recurrent-state": shared_state,
    "torch.autocast": half_input,
    "torch.dynamic-shape": lambda: torch.vmap(torch.nonzero)(S),
    "torch.boolean-index": lambda: torch.vmap(lambda x: x[x > 0])(S),
    "torch.data-pointer": lambda: torch.vmap(lambda x: x.data_ptr())(S),
    "torch.performance-drop": lambda: torch.vmap(torch.histc)(S),
    "torch.in-place-vmap": in_place_vmap,
    "torch.branch": lambda: branch(THETA, S, R),
    "torch.item": lambda: torch.vmap(lambda x: x.item())(R),
    "torch.compile-branch": lambda: torch.compile(
        lambda x: x if x > 0 else -x, backend="aot_eager", fullgraph=True
    )(R[0]),
    "torch.compile-print": compile_print,
    "torch.recompile-limit": recompile_limit,
    "torch.fail-on-recompile": fail_on_recompile,
    "torch.cond": cond,
    # JAX
    "jax.scalar": lambda: jax.grad(lambda x: 2 * x)(JTHETA),
    "jax.integer": lambda: jax.grad(lambda x: x * x)(2),
    "jax.float64": float64,
    "jax.memory": lambda: jnp.zeros(10**15).block_until_ready(),
    "jax.parameters-batched": lambda: jax.vmap(ps.td_loss)(JTHETA, JS, JR, JS),
    "jax.axes-length": lambda: jax.vmap(jnp.multiply, in_axes=(0,))(JR, JR),
    "jax.zero-d": lambda: jax.vmap(jnp.multiply)(JR, JR[0]),
    "jax.branch": lambda: branch(JTHETA, JS, JR),
    "jax.integer-conversion": lambda: jax.jit(lambda n: list(range(n)))(3),
    "jax.static": lambda: jax.jit(lambda x, n: x, static_argnums=1)(1.0, np.ones(2)),
    "jax.while": lambda: jax.grad(
        lambda x: jax.lax.while_loop(lambda x: x > 1, lambda x: x / 2, x)
    )(40.0),
    "jax.float": lambda: jax.jit(lambda x: float(x))(1.0),
    "jax.numpy-function": lambda: jax.grad(lambda x: np.tanh(x).sum())(JTHETA),
    "jax.mask": lambda: jax.jit(lambda x: x[x > 0])(JTHETA),
    "jax.in-place": lambda: JTHETA.__setitem__(0, 1.0),
    "jax.leak": lambda: leak(jax.jit),
    "jax.read-only": lambda: np.asarray(JTHETA).__setitem__(0, 1.0),
    "jax.carry": lambda: jax.lax.scan(lambda c, x: (c + x, x), jnp.zeros((), int), jnp.ones(3)),
    "jax.donated": lambda: jax.jit(lambda x: x.sum(), donate_argnums=0)(JTHETA + 1),
    "jax.deleted": lambda: np.asarray(deleted()),
    "jax.deleted-buffer": deleted_buffer,
    "jax.deleted-ready": lambda: deleted().block_until_ready(),
    "jax.donated-twice": lambda: given_twice((0, 1)),
    "jax.donated-used": lambda: given_twice(0),
    # This package: the rest has a row in a table of its own tests
    "persample.branch": lambda: branch(theta, states, rewards),
    "persample.float": lambda: engine.grad(lambda x: float(x) * x)(2.0),
    "persample.numpy-array": lambda: engine.grad(lambda x: np.array([x[0], x[1]]))(theta),
    "persample.entry": lambda: engine.grad(work_array)(theta),
    "persample.numpy-function": lambda: engine.grad(lambda x: np.unique(x).sum())(theta),
    "persample.in-place": lambda: engine.vmap(first_is_zero, (None, 0))(theta, states),
    "persample.leak": lambda: leak(engine.grad),
    "persample.non-leaf-grad": lambda: non_leaf_grad(tape_leaf()),
    "persample.in-place-leaf": lambda: in_place(tape_leaf()),
    "persample.no-grad-fn": lambda: tape.tensor([1.0, 2.0]).sum().backward(),
    "persample.second-backward": lambda: second_backward(tape_leaf()),
    "persample.label": lambda: ps.cross_entropy_loss(theta, np.array(1.0)),
    "persample.few-samples": lambda: ps.statistics.variance(states[:1]),
    "persample.project-dim": lambda: ps.statistics.project(states, 0),
    "persample.project-seed": lambda: ps.statistics.project(states, 8, seed=-1),
    "persample.recorder-replay": lambda: used(own_function()),
    "persample.recorder-tried": lambda: used(tried()),
    **{f"persample.{name}": row[0] for name, row in ERRORS.items() if " " not in name},
    **{
        f"persample.recorder-{name}": row[0]
        for name, row in LAYER_ERRORS.items()
        if " " not in name
    },
}


def message(name):
    """Run a trigger; return (class name, message) of its error or warning, or (None, "")."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            TRIGGERS[name]()
        except Exception as error:
            return type(error).__name__, str(error)
    return None, ""

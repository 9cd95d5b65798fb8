"""The programs compared: builders of calls that process one batch.

A builder takes a `Case` and returns a function without arguments that runs the forward and
backward pass and returns rows, norms or a clipped sum. It raises ImportError if its library is not
installed, NotImplementedError for a model that the library does not support. Where the batch may
change from call to call (steps.py), the function takes another x and y.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import persample as ps

MAX_NORM = 1.0


@dataclass(frozen=True)
class Case:
    """A model, named by its widths or "cnn", and the size of its batch; float32."""

    widths: tuple[int, ...] | str
    size: int
    device: str = "cpu"

    def of_size(self, size: int) -> "Case":
        return Case(self.widths, size, self.device)

    def model(self) -> nn.Sequential:
        """Return a new copy of the model, with the same initial parameters at every call."""
        torch.manual_seed(0)
        if self.widths == "cnn":  # that of PyTorch's tutorial on per-sample gradients
            model = nn.Sequential(
                nn.Conv2d(1, 32, 3),
                nn.ReLU(),
                nn.Conv2d(32, 64, 3),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(9216, 128),
                nn.ReLU(),
                nn.Linear(128, 10),
            )
            return model.to(self.device)
        layers: list = []
        for d, p in zip(self.widths, self.widths[1:], strict=False):
            layers += [nn.Linear(d, p), nn.ReLU()]
        return nn.Sequential(*layers[:-1]).to(self.device)

    def losses(self, output: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropy of each sample, (B,)."""
        return cross_entropy(output, y, reduction="none")

    def jax_loss(self, params: dict, x, y):
        """Return the loss of one sample in JAX, 0-d."""
        return (cnn_loss if self.widths == "cnn" else mlp_loss)(params, x, y)

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (x, labels): float32 (B, *input shape) and int64 (B,), on the case's device.

        They are copied into memory allocated by PyTorch, as a DataLoader's batches are.
        """
        rng = np.random.default_rng(0)
        shape = (1, 28, 28) if self.widths == "cnn" else self.widths[:1]
        count = 10 if self.widths == "cnn" else self.widths[-1]
        x = torch.tensor(rng.normal(size=(self.size, *shape)), dtype=torch.float32)
        return x.to(self.device), torch.tensor(rng.integers(0, count, self.size)).to(self.device)

    def arrays(self) -> tuple[dict, np.ndarray, np.ndarray]:
        """Return {name: parameter}, x and labels as NumPy arrays, for pure functions."""
        params = {k: p.detach().cpu().numpy() for k, p in self.model().named_parameters()}
        return params, *[t.cpu().numpy() for t in self.batch()]


cross_entropy = nn.functional.cross_entropy


def _pass(case, model=None):
    """Return (call, model); the call sets `.grad` to None and runs a forward and backward pass."""
    model, (x, y) = model or case.model(), case.batch()

    def run(x=x, y=y):
        model.zero_grad(set_to_none=True)
        case.losses(model(x), y).mean().backward()

    return run, model


def ordinary(case: Case) -> Callable:
    return _pass(case)[0]


def backward_alone(case: Case) -> Callable:
    """Return a call that runs the backward pass alone, on a retained graph."""
    model, (x, y) = case.model(), case.batch()
    loss = case.losses(model(x), y).mean()

    def run():
        model.zero_grad(set_to_none=True)
        loss.backward(retain_graph=True)

    return run


def fill(case: Case) -> Callable:
    """Return a call that fills preallocated buffers of the rows' shapes once."""
    parameters = case.model().parameters()
    buffers = [torch.zeros(case.size, *p.shape, device=case.device) for p in parameters]
    return lambda: [buffer.fill_(1.0) for buffer in buffers]


def _recorded(case, accumulate):
    """Return a call that runs one pass under `record` and returns the record."""
    model, (x, y) = case.model(), case.batch()

    def run(x=x, y=y):
        model.zero_grad(set_to_none=True)
        with ps.record(model) as record:
            record.backward(case.losses(model(x), y), accumulate=accumulate)
        return record

    return run


def _record(read, accumulate=False):
    def build(case):
        run, state = _recorded(case, accumulate), {}

        def call(*batch):
            return read(run(*batch), state)

        return call

    return build


def _into_buffers(record, state):
    state["rows"] = record.rows(state.get("rows"))
    return state["rows"]


def _each_chunk(record, state):
    for rows in record.chunks(32):
        state["last"] = rows
    return None


warm = _record(_into_buffers)
fresh = _record(lambda record, state: record.rows())
chunks = _record(_each_chunk)
norms = _record(lambda record, state: record.squared_norms())
clipped = _record(lambda record, state: record.clipped_sum(MAX_NORM))
norms_and_grad = _record(lambda record, state: record.squared_norms(), accumulate=True)
clipped_and_grad = _record(lambda record, state: record.clipped_sum(MAX_NORM), accumulate=True)
moments = _record(lambda record, state: record.moments())


def _after_the_pass(read):
    """Return a builder of calls that only read a finished record: the cost beyond the pass."""

    def build(case):
        record = _recorded(case, False)()
        return lambda: read(record)

    return build


norms_alone = _after_the_pass(lambda record: record.squared_norms())
clipped_alone = _after_the_pass(lambda record: record.clipped_sum(MAX_NORM))


def torch_vmap(case: Case, chunk_size: int | None = None) -> Callable:
    model, (x, y) = case.model(), case.batch()
    params = {k: p.detach() for k, p in model.named_parameters()}

    def loss(params, x, y):
        output = torch.func.functional_call(model, params, (x[None],))
        return case.losses(output, y[None])[0]

    rows = torch.vmap(torch.func.grad(loss), (None, 0, 0), chunk_size=chunk_size)

    def call(x=x, y=y):
        with sdpa_kernel(SDPBackend.MATH):  # vmap has no batching rule for the others
            return rows(params, x, y)

    return call


def torch_loop(case: Case) -> Callable:
    model, (x, y) = case.model(), case.batch()
    names, params = zip(*model.named_parameters(), strict=True)

    def call():
        rows = [
            torch.autograd.grad(case.losses(model(x[i : i + 1]), y[i : i + 1])[0], params)
            for i in range(case.size)
        ]
        return dict(zip(names, map(torch.stack, zip(*rows, strict=True)), strict=True))

    return call


def torch_grads_batched(case: Case) -> Callable:
    """Return a call of rows by B vector-Jacobian products, batched by ``is_grads_batched``."""
    model, (x, y) = case.model(), case.batch()
    names, params = zip(*model.named_parameters(), strict=True)
    each = torch.eye(case.size, device=case.device)

    def call():
        losses = case.losses(model(x), y)
        rows = torch.autograd.grad(losses, params, each, is_grads_batched=True)
        return dict(zip(names, rows, strict=True))

    return call


def mlp_loss(params, x, y):
    """Return the cross-entropy of one sample under the MLP, in every backend of the package."""
    xp = ps.array_namespace(params)
    *inner, last = range(0, len(params), 2)  # Linear layers; a transform may sort the names
    for n in inner:
        x = xp.matmul(params[f"{n}.weight"], x) + params[f"{n}.bias"]
        x = xp.maximum(x, xp.zeros_like(x))
    z = xp.matmul(params[f"{last}.weight"], x) + params[f"{last}.bias"]
    return ps.cross_entropy_loss(z, y)


def cnn_loss(params, x, y):
    """Return the cross-entropy of one sample under the CNN, in JAX."""
    import jax

    names = [f"{n}.{kind}" for n in (0, 2, 6, 8) for kind in ("weight", "bias")]
    (w1, b1, w2, b2, w3, b3, w4, b4), x = (params[name] for name in names), x[None]
    for weight, bias in ((w1, b1), (w2, b2)):
        x = jax.lax.conv(x, weight, (1, 1), "VALID") + bias[:, None, None]
        x = jax.nn.relu(x)
    x = jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    z = w4 @ jax.nn.relu(w3 @ x.ravel() + b3) + b4
    return ps.cross_entropy_loss(z, y)


def _jax_problem(case):
    import jax

    return jax, case.jax_loss, jax.tree.map(jax.numpy.asarray, case.arrays())


def jax_jit(case: Case) -> Callable:
    jax, loss, (params, x, y) = _jax_problem(case)
    rows = jax.jit(jax.vmap(jax.grad(loss), (None, 0, 0)))
    return lambda: jax.block_until_ready(rows(params, x, y))


def engine_jit(case: Case) -> Callable:
    if case.widths == "cnn":
        raise NotImplementedError
    params, x, y = case.arrays()
    rows = ps.per_sample_grad(mlp_loss, jit=True)
    return lambda: rows(params, x, y)


def package_chunks(case: Case) -> Callable:
    params, x, y = case.arrays()
    params = {k: torch.from_numpy(p) for k, p in params.items()}
    rows = ps.per_sample_grad(mlp_loss, chunk_size=32)
    return lambda: rows(params, torch.from_numpy(x), torch.from_numpy(y))


def hips_autograd(case: Case) -> Callable:
    import autograd
    import autograd.numpy as anp

    if case.widths == "cnn":
        raise NotImplementedError
    params, x, y = case.arrays()

    def loss(params, x, y):
        for weight, bias in zip(params[:-2:2], params[1:-2:2], strict=True):
            x = anp.maximum(anp.dot(weight, x) + bias, 0)
        z = anp.dot(params[-2], x) + params[-1]
        return anp.log(anp.sum(anp.exp(z))) - z[y]

    gradient, leaves = autograd.grad(loss), list(params.values())

    def call():  # it has no vmap: one sample after the other
        rows = [gradient(leaves, *sample) for sample in zip(x, y, strict=True)]
        return dict(zip(params, map(np.stack, zip(*rows, strict=True)), strict=True))

    return call


def expanded_weights(case: Case) -> Callable:
    from torch.nn.utils._per_sample_grad import call_for_per_sample_grads

    model, (x, y) = case.model(), case.batch()

    def call():
        for p in model.parameters():
            p.grad_sample = None
        run = call_for_per_sample_grads(model, batch_size=case.size, loss_reduction="mean")
        case.losses(run(x), y).mean().backward()
        return {k: p.grad_sample for k, p in model.named_parameters()}

    return call


def optax_clip(case: Case) -> Callable:
    """Rows in JAX and optax's clipped sum of them, compiled as one program."""
    import optax

    jax, loss, (params, x, y) = _jax_problem(case)

    def run(params, x, y):
        rows, tree = jax.tree.flatten(jax.vmap(jax.grad(loss), (None, 0, 0))(params, x, y))
        return jax.tree.unflatten(tree, optax.per_example_global_norm_clip(rows, MAX_NORM)[0])

    run = jax.jit(run)
    return lambda: jax.block_until_ready(run(params, x, y))


def jax_privacy_clip(case: Case) -> Callable:
    from jax_privacy import clipped_grad

    jax, loss, (params, x, y) = _jax_problem(case)
    # One sample at a time: by default, all at once, it takes 3 s on the first case.
    settings = {"batch_argnums": (1, 2), "keep_batch_dim": False, "microbatch_size": 1}
    run = jax.jit(clipped_grad(loss, l2_clip_norm=MAX_NORM, **settings))
    return lambda: jax.block_until_ready(run(params, x, y))


def opacus_hooks(case: Case) -> Callable:
    from opacus import GradSampleModule

    model = GradSampleModule(case.model())
    run, _ = _pass(case, model)

    def call(*batch):
        run(*batch)
        return {k.removeprefix("_module."): p.grad_sample for k, p in model.named_parameters()}

    return call


def opacus_ghost(case: Case, ghost: bool = True) -> Callable:
    """Opacus' clipped sum in two backward passes; without ``ghost`` each layer forms its rows."""
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

    model = GradSampleModuleFastGradientClipping(
        case.model(), max_grad_norm=MAX_NORM, use_ghost_clipping=ghost
    )
    optimizer = DPOptimizerFastGradientClipping(
        torch.optim.SGD(model.parameters(), lr=0.0),
        noise_multiplier=0.0,
        max_grad_norm=MAX_NORM,
        expected_batch_size=case.size,
    )
    x, y = case.batch()

    def call(x=x, y=y):
        optimizer.zero_grad(set_to_none=True)
        losses = case.losses(model(x), y)
        DPTensorFastGradientClipping(model, optimizer, losses).backward()
        return {k.removeprefix("_module."): p.grad for k, p in model.named_parameters()}

    return call


def backpack_batch_grad(case: Case) -> Callable:
    if not isinstance(case.model(), nn.Sequential):
        raise NotImplementedError
    from backpack import backpack, extend
    from backpack.extensions import BatchGrad

    model, loss, (x, y) = extend(case.model()), extend(nn.CrossEntropyLoss()), case.batch()

    def call():
        model.zero_grad(set_to_none=True)
        with backpack(BatchGrad()):
            loss(model(x), y).backward()
        return {k: p.grad_batch for k, p in model.named_parameters()}  # each row over B

    return call


LIMITS = {"ordinary pass": ordinary, "fill once": fill, "backward alone": backward_alone}
ROWS = {
    "record, warm": warm,
    "record, fresh": fresh,
    "engine jit (NumPy)": engine_jit,
    "torch loop": torch_loop,
    "torch is_grads_batched": torch_grads_batched,
    "torch.func vmap(grad)": torch_vmap,
    "jax jit(vmap(grad))": jax_jit,
    "torch ExpandedWeights": expanded_weights,
    "Opacus hooks": opacus_hooks,
    "BackPACK BatchGrad": backpack_batch_grad,
    "HIPS autograd, loop": hips_autograd,
}
SUMS = {
    "record norms": norms,
    "record clipped sum": clipped,
    "record moments": moments,
    "norms, pass apart": norms_alone,
    "clipped sum, pass apart": clipped_alone,
    "Opacus ghost clipping": opacus_ghost,
    "optax clipped sum": optax_clip,
    "jax_privacy clipped sum": jax_privacy_clip,
}
PACKAGES = ["numpy", "torch", "jax", "opacus", "backpack-for-pytorch", "autograd"]
PACKAGES += ["optax", "jax-privacy"]


def build(builders: dict, case: Case) -> tuple[dict, dict]:
    """Return {name: call} of the builders that can run, and {name: reason} of the others."""
    calls, absent = {}, {}
    for name, builder in builders.items():
        try:
            calls[name] = builder(case)
        except ImportError as error:
            absent[name] = f"not installed ({error.name})"
        except NotImplementedError:
            absent[name] = "no such layers"
    return calls, absent


def agree(case: Case, parts: dict[str, dict]) -> None:
    """Raise AssertionError if the rows or clipped sums of two contenders differ on five samples.

    The tolerance is 1e-3 of an array's largest entry, or of 0.1 if that is larger.
    """
    few = case.of_size(5)
    for builders in parts.values():
        calls, _ = build({name: builders[name] for name in builders if "norms" not in name}, few)
        calls = {name: call for name, call in calls.items() if "moments" not in name}
        answers = {name: call() for name, call in calls.items()}
        first = {key: _on_cpu(x) for key, x in next(iter(answers.values())).items()}
        for name, answer in answers.items():
            scale = few.size if name.startswith("BackPACK") else 1  # its rows are over B
            for key, expected in first.items():
                # A parameter is compared by its largest number: of 124 million some are tiny.
                error = np.abs(_on_cpu(answer[key]) * scale - expected).max()
                if not error <= 1e-3 * max(np.abs(expected).max(), 0.1):
                    raise AssertionError(f"{name}: {key} differs by {error:.2g}")


def _on_cpu(x) -> np.ndarray:
    return x.detach().float().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)

"""What the error index says beside its messages and cures holds, for the models it names."""

import re
import warnings
from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.func import functional_call

import persample as ps

from .cases import rewards, states
from .test_error_index import CURES


def rows_of_module(model, *batch, loss=lambda out: out.square().sum()):
    """Return the rows by vmap, and by a loop, of a module that gets one sample at a time."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    one_loss = lambda p, *x: loss(functional_call(model, p, tuple(a[None] for a in x)))  # noqa: E731
    axes = (None, *(0 for _ in batch))
    rows = torch.vmap(torch.func.grad(one_loss), axes)(parameters, *batch)
    loop = [torch.func.grad(one_loss)(parameters, *sample) for sample in zip(*batch, strict=True)]
    return rows, {name: torch.stack([row[name] for row in loop]) for name in parameters}


class Recurrent(torch.nn.Module):
    """A recurrent layer or cell that makes its initial state itself, or gets it from `start`."""

    def __init__(self, name, dtype, start, **options):
        super().__init__()
        self.cell = name.endswith("Cell")
        kind = {} if self.cell else {"batch_first": True}
        self.layer = getattr(torch.nn, name)(3, 4, **kind, **options).to(dtype)
        self.pair, self.start = name.startswith("LSTM"), start
        self.layers = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))

    def forward(self, x):
        shape = (len(x), 4) if self.cell else (self.layers, len(x), 4)
        given = self.start and self.start(x, shape)
        state = () if given is None else ((given, given),) if self.pair else (given,)
        out = self.layer(x[:, 0] if self.cell else x, *state)
        return out[0] if isinstance(out, tuple) else out


STARTS = {
    "none": None,
    "torch.zeros": lambda x, shape: torch.zeros(shape, dtype=x.dtype),
    "x.new_zeros": lambda x, shape: x.new_zeros(shape),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell"])
def test_recurrent_layers_need_a_state_made_from_the_sample(name, dtype):
    torch.manual_seed(0)
    x = torch.randn(5, 6, 3, dtype=dtype)
    fast = name == "LSTM" and dtype == torch.float32  # where the processor has such a kernel
    options = [{}] if name.endswith("Cell") else [{}, {"num_layers": 2, "bidirectional": True}]
    for more in options:
        for start in ("none", "torch.zeros"):
            if not fast:
                with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
                    rows_of_module(Recurrent(name, dtype, STARTS[start], **more), x)
        with warnings.catch_warnings(action="ignore"):  # the fast kernel goes sample by sample
            rows, loop = rows_of_module(Recurrent(name, dtype, STARTS["x.new_zeros"], **more), x)
        for key, row in rows.items():
            assert torch.allclose(row, loop[key], atol=1e-5)
    refused = not name.startswith(("RNNCell", "GRUCell"))
    model = Recurrent(name, dtype, None)
    stop = pytest.raises(RuntimeError, match="Batching rule not") if refused else nullcontext()
    with stop, warnings.catch_warnings(action="ignore"):
        torch.vmap(lambda x: model(x[None]))(x)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell"])
def test_record_reads_recurrent_layers_as_they_are(name):
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        model, x = Recurrent(name, dtype, None), torch.randn(5, 6, 3, dtype=dtype)
        with warnings.catch_warnings(action="ignore"), ps.record(model) as record:
            record.backward(model(x).flatten(1).square().sum(1), retain_graph=True)
        record.check()
        slow = any("sample by sample" in form for form in record.forms().values())
        assert not slow or (name, dtype) == ("LSTM", torch.float32)


NORMS = {
    "LayerNorm": lambda: torch.nn.LayerNorm([4, 8]),
    "InstanceNorm": lambda: torch.nn.InstanceNorm1d(4, affine=True),
    "BatchNorm": lambda: torch.nn.BatchNorm1d(4).eval(),
}


@pytest.mark.parametrize("name", NORMS)
def test_autocast_needs_a_32_bit_input_of_a_norm_or_an_ordinary_pass(name):
    torch.manual_seed(0)
    x, norm = torch.randn(5, 2, 8), NORMS[name]()
    model = torch.nn.Sequential(torch.nn.Conv1d(2, 4, 1), norm, torch.nn.Flatten())
    loss = lambda out: out.float().square().mean()  # noqa: E731
    with torch.autocast("cpu", torch.bfloat16):
        with ps.record(model) as record:
            record.backward(model(x).float().square().mean(1), retain_graph=True)
        record.check()
        with pytest.raises(RuntimeError, match="expected scalar type BFloat16 but found Float"):
            rows_of_module(model, x, loss=loss)
        norm.register_forward_pre_hook(lambda m, args: (args[0].float(),))
        rows, loop = rows_of_module(model, x, loss=loss)
    for key, row in rows.items():
        assert torch.allclose(row, loop[key], atol=1e-2)
        assert torch.allclose(row, record.rows()[key], atol=1e-2)


class AsksForValues(torch.nn.Module):
    """A model whose forward pass asks for values, as models of libraries do."""

    def __init__(self, ask):
        super().__init__()
        self.layer, self.ask = torch.nn.Linear(3, 2), ask

    def forward(self, x, mask):
        self.ask(x, mask)
        return self.layer(x * mask)


ASKS = {
    "an if": lambda x, mask: 1 if mask.all() else 2,
    "item": lambda x, mask: mask.sum().item(),
    "tolist": lambda x, mask: mask.tolist(),
    "numpy": lambda x, mask: mask.numpy(),
    "nonzero": lambda x, mask: mask.nonzero(),
    "unique": lambda x, mask: mask.unique(),
    "a mask": lambda x, mask: x[mask > 0],
    "equal": lambda x, mask: torch.equal(x, mask),
}


@pytest.mark.parametrize("name", ASKS)
def test_record_takes_a_model_that_asks_for_values(name):
    model, mask = AsksForValues(ASKS[name]), (torch.arange(15) % 4 > 0).float().view(5, 3)
    x = torch.arange(15.0).sin().view(5, 3)
    words = (
        "calling .item|access data pointer|support batching operators that can"
        "|Batching rule not implemented"
    )
    with pytest.raises(RuntimeError, match=words):
        rows_of_module(model, x, mask)
    with warnings.catch_warnings(action="error"), ps.record(model) as record:
        record.backward(model(x, mask).square().sum(1), retain_graph=True)
    record.check()


def test_nnx_modules_need_a_copy_and_keys_of_their_own():
    nnx = pytest.importorskip("flax.nnx")
    from flax.errors import TraceContextError

    class Net(nnx.Module):
        def __init__(self, middle, rngs):
            self.a, self.middle = nnx.Linear(3, 8, rngs=rngs), middle
            self.b = nnx.Linear(8, 1, rngs=rngs)

        def __call__(self, x):
            return self.b(self.middle(self.a(x)))[..., 0]

    x, y = jnp.asarray(states, "float32"), jnp.asarray(rewards, "float32")
    keys = jax.random.split(jax.random.key(1), len(x))

    def rows_of(model, one_loss=None, reseed=True, copy=True):
        graph, params, rest = nnx.split(model, nnx.Param, ...)
        words = {"nnx": nnx, "graph": graph, "rest": rest}
        code = next(code for _, code in CURES if "nnx.merge" in code)
        code = code if copy else code.replace(", copy=True", "")
        exec(code if reseed else re.sub(r"^ *nnx.reseed.*$", "", code, flags=re.M), words)
        loss = words["loss"]
        rows = jax.vmap(jax.grad(loss), (None, 0, 0, 0))(params, x, y, keys)
        loop = [jax.grad(loss)(params, *sample) for sample in zip(x, y, keys, strict=True)]
        return rows, jax.tree.map(lambda *r: jnp.stack(r), *loop)

    dropout = lambda: Net(nnx.Dropout(0.5, rngs=nnx.Rngs(0)), nnx.Rngs(0))  # noqa: E731
    norm = lambda: Net(nnx.BatchNorm(8, rngs=nnx.Rngs(0)), nnx.Rngs(0))  # noqa: E731
    for model, kept in ((dropout(), "RngCount"), (norm(), "BatchStat")):
        with pytest.raises(TraceContextError, match=f"Cannot mutate {kept} from a different tr"):
            rows_of(model, reseed=False, copy=False)
    masks = lambda rows: len(np.unique(np.asarray(rows["b"]["kernel"][...]) == 0, axis=0))  # noqa: E731
    rows, loop = rows_of(dropout())
    assert masks(rows) > 1
    assert jax.tree.all(jax.tree.map(lambda r, s: jnp.allclose(r, s, atol=1e-5), rows, loop))
    assert masks(rows_of(dropout(), reseed=False)[0]) == 1
    assert not rows_of(norm())[0]["a"]["kernel"][...].any()
    stored = norm()
    stored.eval()
    assert rows_of(stored, copy=False)[0]["a"]["kernel"][...].any(axis=(1, 2)).all()

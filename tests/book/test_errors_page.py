"""Claims of the error index other than its messages and cures, on the models that it names."""

import warnings
from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.func import functional_call

import persample as ps
from support import ROOT
from support.cases import rewards, states
from support.errors_page import CURES


def rows_of_module(model, *batch, loss=lambda out: out.square().sum()):
    """Return two dicts {name: rows} of a module: by vmap, and by a loop over the samples."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    one_loss = lambda p, *x: loss(functional_call(model, p, tuple(a[None] for a in x)))  # noqa: E731
    axes = (None, *(0 for _ in batch))
    rows = torch.vmap(torch.func.grad(one_loss), axes)(parameters, *batch)
    loop = [torch.func.grad(one_loss)(parameters, *sample) for sample in zip(*batch, strict=True)]
    return rows, {name: torch.stack([row[name] for row in loop]) for name in parameters}


class Recurrent(torch.nn.Module):
    """A recurrent layer or cell with its own initial state, or with ``start(x, shape)``."""

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
        with warnings.catch_warnings(action="error"), ps.record(model) as record:
            record.backward(model(x).flatten(1).square().sum(1), retain_graph=True)
        record.check()


class Packed(Recurrent):
    """A recurrent layer that reads packed sequences of 6, 5, ... steps."""

    def forward(self, x):
        lengths = torch.arange(6, 6 - len(x), -1)
        sequence = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        state = () if self.start is None else (self.start(x, (1, len(x), 4)),)
        out, _ = self.layer(sequence, *state)
        return torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0]


@pytest.mark.parametrize("start", STARTS)
def test_packed_sequences_fail_under_vmap_and_are_read_by_record(start):
    torch.manual_seed(0)
    x, model = torch.randn(5, 6, 3), Packed("GRU", torch.float32, STARTS[start])
    with pytest.raises(RuntimeError), warnings.catch_warnings(action="ignore"):
        rows_of_module(model, x)
    with warnings.catch_warnings(action="error"), ps.record(model) as record:
        record.backward(model(x).square().sum((1, 2)), retain_graph=True)
    record.check()


def test_a_float32_lstm_with_projections_needs_a_state_too():
    model = Recurrent("LSTM", torch.float32, None, proj_size=2)
    refused = pytest.raises(RuntimeError, match="doesn't match the broadcast shape")
    with refused, warnings.catch_warnings(action="ignore"):
        rows_of_module(model, torch.ones(5, 6, 3))


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
    """A model whose forward pass calls ``ask(x, mask)``, often a data-dependent branch."""

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


@pytest.fixture(scope="module")
def nnx():
    return pytest.importorskip("flax.nnx")


def nnx_model(nnx, kind, rngs):
    """Return a Flax model of two layers, with dropout, BatchNorm or a scan, as in ``kind``."""

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.layer, self.dropout = nnx.Linear(8, 8, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x):
            return self.dropout(self.layer(x))

    class Net(nnx.Module):
        def __init__(self):
            self.a, self.b = nnx.Linear(3, 8, rngs=rngs), nnx.Linear(8, 1, rngs=rngs)
            if kind == "scan":
                self.middle = nnx.split_rngs(splits=2)(nnx.vmap(Block))(rngs)
            else:
                norm = kind == "norm"
                self.middle = nnx.BatchNorm(8, rngs=rngs) if norm else nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x):
            through = lambda x, layer: layer(x)  # noqa: E731
            if kind == "scan":
                through = nnx.scan(through, in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
            return self.b(through(self.a(x), self.middle))[..., 0]

    return Net()


def nnx_rows(nnx, model, *changes, by=jax.vmap):
    """Return the rows of a Flax model for the loss in the error index.

    ``changes`` are (old, new) replacements in its source; ``by`` maps the loss over the samples.
    """
    (code,) = (code for _, code in CURES if "nnx.merge" in code)
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    words = {"nnx": nnx, "graph": graph, "rest": rest}
    exec(code, words)
    keys = jax.random.split(jax.random.key(1), len(states))
    batch = (jnp.asarray(states, "float32"), jnp.asarray(rewards, "float32"), keys)
    return jax.jit(by(lambda *sample: jax.grad(words["loss"])(params, *sample)))(*batch)


def in_a_loop(f):
    return lambda *batch: jax.lax.map(lambda sample: f(*sample), batch)


RESEED = "nnx.reseed(model, default=key)"
MERGE = "nnx.merge(graph, params, rest, copy=True)"
UNCOPIED, UNSEEDED = (", copy=True", ""), (RESEED, "key")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("dropout", "Cannot mutate RngCount from a different trace level"),
        ("norm", "Cannot mutate BatchStat from a different trace level"),
        ("scan", "Cannot extract graph node from different trace level"),
    ],
)
def test_nnx_merge_needs_a_copy(nnx, kind, error):
    from flax.errors import TraceContextError

    stop = ValueError if kind == "scan" else TraceContextError
    with pytest.raises(stop, match=error):
        nnx_rows(nnx, nnx_model(nnx, kind, nnx.Rngs(0)), UNCOPIED, UNSEEDED)


@pytest.mark.slow
def test_nnx_dropout_needs_a_key_for_each_sample(nnx):
    def masks(*given):
        kernels = nnx_rows(nnx, *given)["b"]["kernel"][...]
        return len(np.unique(np.asarray(kernels) == 0, axis=0))

    model, scan = (nnx_model(nnx, kind, nnx.Rngs(0)) for kind in ("dropout", "scan"))
    named = nnx_model(nnx, "dropout", nnx.Rngs(0, dropout=1))
    match_shape = ("model, default", 'model, policy="match_shape", default')
    assert masks(model, UNSEEDED) == masks(scan, UNSEEDED) == masks(named) == 1
    assert masks(model) > 1
    rows, loop = nnx_rows(nnx, model), nnx_rows(nnx, model, by=in_a_loop)
    assert jax.tree.all(jax.tree.map(lambda r, s: jnp.allclose(r, s, atol=1e-5), rows, loop))
    assert masks(named, ("default=", "dropout=")) > 1
    assert masks(scan, match_shape) > 1
    with pytest.raises(ValueError, match="match_shape"):
        masks(scan)
    said = (ROOT / "reference" / "recipes.ipynb").read_text()
    assert all(call in said for call in (RESEED, MERGE))


def test_nnx_batch_norm_takes_part_only_with_stored_averages(nnx):
    model = nnx_model(nnx, "norm", nnx.Rngs(0))
    assert not nnx_rows(nnx, model, UNSEEDED)["a"]["kernel"][...].any()
    model.eval()
    rows = nnx_rows(nnx, model, UNSEEDED, UNCOPIED)
    assert rows["a"]["kernel"][...].any(axis=(1, 2)).all()

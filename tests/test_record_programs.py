"""Rows of misleading programs: against autograd's gradient of each loss on the recorded graph."""

import copy
import random
from contextlib import nullcontext

import pytest
import torch
from torch import nn

import persample as ps

from .layer_models import Made, agree, alone, losses, replayed
from .layer_programs import PROGRAMS, REPLAYED, B, linear, product
from .tolerances import assert_close

pytestmark = [
    pytest.mark.filterwarnings("ignore:Initializing zero-element tensors"),
    pytest.mark.filterwarnings("ignore:.*ested.tensor"),
    pytest.mark.filterwarnings("ignore:.*weight_norm"),
]
# TorchScript compiles at the second call.
SCRIPTED = dict.fromkeys(
    ("a scripted function", "a scripted model"), "DifferentiableGraphBackward"
)


def build(name):
    torch.manual_seed(0)
    return PROGRAMS[name][0]().double(), PROGRAMS[name][1]


def record_and_oracle(model, inputs, stop=None):
    """Return the record of one pass and the rows that autograd gives, loss by loss."""
    with replayed(stop) if stop else nullcontext(), ps.record(model) as record:
        each = losses(model(*inputs))
        record.backward(each, retain_graph=True)
    return record, alone(model, each)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_answer_is_that_of_the_losses_alone(name):
    model, batch = build(name)
    for n in range(3):
        stop = (REPLAYED | SCRIPTED if n else REPLAYED).get(name)
        record, expected = record_and_oracle(model, batch(n), stop)
        kinds = {kind for kind in record.forms().values() if "sample by sample" in kind}
        assert sorted(kinds) == ([f"rows, sample by sample from {stop}"] if stop else [])
        agree(record, expected)
        assert max(record.check((0, 1)).values()) < 1e-9


STATEFUL = ["spectral_norm, a hook", "checkpointing with dropout", "a function of our own"]


@pytest.mark.parametrize("name", STATEFUL)
def test_a_record_leaves_the_model_and_the_generators_as_an_ordinary_pass_does(name):
    (model, batch), (plain, _) = build(name), build(name)
    plain.load_state_dict(copy.deepcopy(model.state_dict()))
    inputs = batch(0)
    torch.manual_seed(1)
    losses(plain(*inputs)).sum().backward()
    expected = torch.random.get_rng_state()
    torch.manual_seed(1)
    stop = REPLAYED.get(name)
    with replayed(stop) if stop else nullcontext(), ps.record(model) as record:
        record.backward(losses(model(*inputs)), accumulate=True)
    record.rows()
    record.moments()
    assert torch.equal(torch.random.get_rng_state(), expected)
    assert_close(model.state_dict(), plain.state_dict(), 1e-12)
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert_close(one.grad, other.grad)
    assert all(m.training for m in model.modules())


@pytest.mark.parametrize("kind", ["no second pass", "a penalty made before"])
def test_a_pass_that_nobody_can_repeat(kind):
    """Dropout, Python's own random numbers, a counter; evaluation mode before reading."""
    torch.manual_seed(0)

    def forward(m, x):
        m.count += 1
        return m.b(m.d(m.a(x)) * random.random()) * m.count

    parts = {"a": nn.Linear(4, 8), "b": nn.Linear(8, 3), "d": nn.Dropout(0.5)}
    model = Made(forward, **parts).double()
    model.count = 0
    penalty = model.a.weight.square().sum() if kind == "a penalty made before" else 0
    for _ in range(2):
        with ps.record(model) as record:
            each = losses(model(torch.randn(B, 4, dtype=torch.float64))) + 0.1 * penalty
            record.backward(each, retain_graph=True)
        expected = alone(model, each)
        model.eval()  # whoever runs the model again to read it runs another one
        model.count += 1
        agree(record, expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:The .grad attribute")
@pytest.mark.parametrize("compiled_before", [False, True])
def test_a_compiled_function_that_is_given_a_weight(compiled_before):
    torch.manual_seed(0)
    compiled = torch.compile(product, backend="eager")
    model = Made(lambda m, x: m.l(x) + compiled(x, m.l.weight.t()), l=nn.Linear(4, 3))
    inputs = [torch.randn(B, 4)]
    if compiled_before:
        model(*inputs)
    agree(*record_and_oracle(model, inputs), 1e-5)


class Switched(torch.autograd.Function):
    """Passes a cotangent on for some batches, and none for the others."""

    @staticmethod
    def forward(ctx, x, is_on):
        ctx.is_on = is_on
        return x.clone()

    @staticmethod
    def backward(ctx, ct):
        return (ct if ctx.is_on else None), None


@pytest.mark.parametrize("shared", [False, True])
def test_a_path_that_carries_a_cotangent_in_some_batches_only(shared):
    torch.manual_seed(0)
    model = Made(
        lambda m, x, is_on: m.a(x) + Switched.apply((m.a if shared else m.b)(2 * x), is_on),
        **linear("a", "b"),
    ).double()
    model.b.requires_grad_(not shared)
    for is_on in (False, True, False):
        x = torch.randn(B, 4, dtype=torch.float64)
        agree(*record_and_oracle(model, (x, is_on), "SwitchedBackward"))


REDUCED = {  # an array (B, B) to (B,): along axis n
    "mean": lambda z, n: z.mean(n),
    "selected": lambda z, n: z.select(n, 1),
    "unbound": lambda z, n: z.unbind(n)[1],
    "sliced": lambda z, n: z.narrow(n, 1, 1).flatten(),
    "the largest": lambda z, n: z.max(n).values,
}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("reduced", REDUCED)
def test_losses_along_the_other_axis_are_other_samples(reduced, first):
    """As many positions as samples: the mean for each line of text, then for each position."""
    torch.manual_seed(0)
    model = Made(lambda m, x: m.l(x).square().sum(2).sin(), l=nn.Linear(4, 3)).double()
    for n in (first, 1 - first, first):
        with ps.record(model) as record:
            each = REDUCED[reduced](model(torch.randn(B, B, 4, dtype=torch.float64)), n)
            record.backward(each, retain_graph=True)
        agree(record, alone(model, each))


def test_a_parameter_that_is_its_own_losses():
    model = nn.ParameterList([torch.randn(4), torch.randn(4)])
    with replayed("CloneBackward0"), ps.record(model) as record:
        record.backward(model[0])
    assert_close(record.rows(), {"0": torch.eye(4), "1": torch.zeros(4, 4)})


def test_pieces_of_a_packed_batch_in_another_order():
    torch.manual_seed(0)
    model = nn.Linear(4, 3).double()
    for starts in ([0, 3, 6, 9], [6, 0, 9, 3]):
        with replayed("StackBackward0"), ps.record(model) as record:
            z = model(torch.randn(12, 4, dtype=torch.float64)).square().sum(1)
            each = torch.stack([z[s : s + 3].mean() for s in starts])
            record.backward(each, retain_graph=True)
        agree(record, alone(model, each))


@pytest.mark.filterwarnings("ignore:record. at")
def test_a_batch_of_which_one_sample_has_a_loss():
    torch.manual_seed(0)
    model = nn.Sequential(nn.PReLU(3), nn.Linear(3, 4)).double()
    x = torch.tensor([[1.0, 2, 3], [1, -2, 3], [1, 2, 3]], dtype=torch.float64)
    for x_now in (x, x - 2):  # at first one number of the second sample is below 0
        with ps.record(model) as record:
            each = model(x_now).cos().sum(1) * torch.tensor([0, 1, 0])
            record.backward(each, retain_graph=True)
        assert_close(record.rows(), alone(model, each))


def test_nan_in_front_of_a_prelu_stays_nan():
    model = nn.PReLU(init=0.3).double()
    x = torch.ones(4, 5, dtype=torch.float64)
    x[1, 2] = torch.nan
    record, _ = record_and_oracle(model, (x,))
    assert torch.isnan(record.rows()["weight"]).flatten().tolist() == [False, True, False, False]

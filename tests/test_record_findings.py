"""Models that once gave wrong rows, or an error that said nothing.

Row i of the record is compared with torch.autograd.grad(losses[i], parameters) on its graph.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import persample as ps

from .layer_programs import Made
from .tolerances import assert_close

pytestmark = pytest.mark.filterwarnings("ignore:record. at")  # what is replayed is not the point
B = 4


def rows_and_oracle(model, x):
    with ps.record(model) as record:
        losses = model(x).flatten(1).cos().sum(1)
        record.backward(losses, retain_graph=True)
    parameters = dict(model.named_parameters())
    alone = [
        torch.autograd.grad(loss, list(parameters.values()), retain_graph=True) for loss in losses
    ]
    return record, {
        name: torch.stack([g[n].to_dense() for g in alone]) for n, name in enumerate(parameters)
    }


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_a_gradient_divided_by_how_often_a_word_occurs_in_the_batch():
    model = nn.Embedding(7, 3, scale_grad_by_freq=True).double()
    record, expected = rows_and_oracle(model, torch.tensor([[1, 1, 2], [1, 3, 3], [5, 5, 5]]))
    assert_close(record.rows(), expected)
    assert_close(record.squared_norms(), (expected["weight"] ** 2).sum((1, 2)), 1e-12)


def test_an_expert_that_no_sample_has_chosen():
    def forward(m, x):
        first = torch.zeros(len(x), dtype=torch.bool)
        out = torch.zeros_like(x).index_put((first.nonzero()[:, 0],), m.a(x[first]))
        return out.index_put(((~first).nonzero()[:, 0],), m.b(x[~first]))

    model = Made(forward, a=nn.Linear(3, 3), b=nn.Linear(3, 3)).double()
    record, expected = rows_and_oracle(model, torch.randn(B, 3, dtype=torch.float64))
    assert_close(record.rows(), expected)
    assert not record.rows()["a.weight"].any()


def test_nan_in_front_of_a_prelu_stays_nan():
    model = nn.PReLU(init=0.3).double()
    x = torch.randn(B, 5, dtype=torch.float64)
    x[1, 2] = torch.nan
    record, _ = rows_and_oracle(model, x)
    assert torch.isnan(record.rows()["weight"]).flatten().tolist() == [False, True, False, False]


def sparse_model(mixed):
    mix = (lambda m, i: m.e(i) - 0.1 * m.e(i).mean(0)) if mixed else (lambda m, i: m.e(i))
    return Made(mix, e=nn.Embedding(7, 3, sparse=True)).double()


@pytest.mark.parametrize("mixed", [False, True])
def test_sparse_gradients_of_an_embedding(mixed):
    model = sparse_model(mixed)
    record, expected = rows_and_oracle(model, torch.randint(0, 7, (B, 5)))
    assert_close(record.rows(), expected)


def test_check_of_a_model_with_sparse_gradients():
    record, _ = rows_and_oracle(sparse_model(False), torch.randint(0, 7, (B, 5)))
    assert max(record.check((0, 2)).values()) < 1e-12


# One batch can mislead about where the samples lie: where sample i alone uses column i of a
# weight, or all samples but one are zero, the columns look like samples. The second batch shows.
EYE = torch.eye(3, dtype=torch.float64)
TURNED = EYE[[1, 2, 0]]
IN_ORDER, IN_ANOTHER = torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])
MIX = torch.tensor([[1.0, 2, -1], [0.5, -2, 3], [2, 1, 0.7]], dtype=torch.float64)
SIGNS = torch.tensor([[-1.0, 1], [1, -1]], dtype=torch.float64)


class Rounded(torch.autograd.Function):
    """Signs, with the gradient passed straight through."""

    @staticmethod
    def forward(ctx, w):
        return w.sign()

    @staticmethod
    def backward(ctx, ct):
        return ct


def weight(*shape):
    return nn.Parameter(torch.randn(shape))


parametrized = nn.utils.parametrizations
MISLEADING = {
    "scaled": (lambda: Made(lambda m, x: F.linear(x, m.w * 2), w=weight(4, 3)), EYE, TURNED),
    "weight norm": (lambda: parametrized.weight_norm(nn.Linear(3, 4)), EYE, TURNED),
    "spectral norm": (lambda: parametrized.spectral_norm(nn.Linear(3, 4)).eval(), EYE, TURNED),
    "orthogonal": (lambda: parametrized.orthogonal(nn.Linear(3, 3)), EYE, TURNED),
    "turned table": (
        lambda: Made(lambda m, x: F.embedding(x, m.w.T), w=weight(4, 3)),
        IN_ORDER,
        IN_ANOTHER,
    ),
    "prelu": (lambda: nn.PReLU(2), SIGNS, -SIGNS),
    "product of two": (
        lambda: Made(lambda m, x: F.linear(x, m.a @ m.b), a=weight(4, 2), b=weight(2, 3)),
        EYE,
        TURNED,
    ),
    "outer product": (
        lambda: Made(lambda m, x: x @ torch.outer(m.w, m.w), w=weight(3)),
        EYE,
        TURNED,
    ),
    "running sum": (
        lambda: Made(lambda m, x: F.linear(x, m.w.cumsum(0)), w=weight(3, 3)),
        EYE,
        TURNED,
    ),
    "rounded": (
        lambda: Made(lambda m, x: F.linear(x, Rounded.apply(m.w)), w=weight(4, 3)),
        EYE,
        TURNED,
    ),
    "frequencies": (
        lambda: Made(lambda m, x: F.linear(x, torch.fft.rfft(m.w).abs()), w=weight(4, 4)),
        EYE,
        TURNED,
    ),
    "expanded": (lambda: Made(lambda m, x: x * m.w.expand(3) @ MIX, w=weight()), EYE, TURNED),
    "expanded, viewed": (
        lambda: Made(lambda m, x: x * m.w.expand(1, 3).view(3) @ MIX, w=weight(1)),
        EYE,
        TURNED,
    ),
    "repeated": (lambda: Made(lambda m, x: x * m.w.repeat(3) @ MIX, w=weight(1)), EYE, TURNED),
    "expanded weight": (
        lambda: Made(lambda m, x: x @ m.w.expand(3, 4), w=weight(4)),
        EYE,
        TURNED,
    ),
}


CLASS_TOKENS = {
    "cat": lambda m, x: torch.cat([m.token.expand(len(x), -1, -1), x], 1),
    "repeat": lambda m, x: torch.cat([m.token.repeat(len(x), 1, 1), x], 1),
    "view": lambda m, x: x + m.token.expand(len(x), 1, 4).view(len(x), 1, 4),
    "product": lambda m, x: (
        m.token.view(1, 4).expand(len(x), 4) @ torch.ones(4, 5).double() * x[..., 0]
    ),
}


CLASS_TOKENS["linear"] = lambda m, x: (
    x[..., 0]
    * F.linear(
        m.token.view(1, 4).expand(len(x), 4), torch.ones(5, 4).double(), torch.ones(5).double()
    )
)


@pytest.mark.parametrize("name", CLASS_TOKENS)
def test_a_token_for_every_sample(name):
    model = Made(CLASS_TOKENS[name], token=weight(1, 1, 4)).double()
    record, expected = rows_and_oracle(model, torch.randn(3, 5, 4, dtype=torch.float64))
    assert_close(record.rows(), expected)


@pytest.mark.parametrize("name", MISLEADING)
def test_a_batch_that_misleads_about_where_the_samples_lie(name):
    make, first, second = MISLEADING[name]
    model = make().double()
    for x in (first, second, first):
        record, expected = rows_and_oracle(model, x)
        assert_close(record.rows(), expected)


def test_a_batch_of_which_one_sample_has_a_loss():
    model = nn.Sequential(nn.PReLU(3), nn.Linear(3, 4)).double()
    x = torch.tensor([[1.0, 2, 3], [1, -2, 3], [1, 2, 3]], dtype=torch.float64)
    for x_now in (x, x - 2):  # at first one number of the second sample is below 0
        with ps.record(model) as record:
            losses = model(x_now).cos().sum(1) * torch.tensor([0, 1, 0])
            record.backward(losses, retain_graph=True)
        alone = [torch.autograd.grad(loss, model[0].weight, retain_graph=True) for loss in losses]
        assert_close(record.rows()["0.weight"], torch.stack([g for (g,) in alone]))


def test_complex_numbers_on_the_way():
    def forward(m, x):
        return torch.fft.irfft(torch.fft.rfft(m.a(x)) * torch.view_as_complex(m.w), n=4)

    model = Made(forward, a=nn.Linear(3, 4), w=weight(3, 2)).double()
    for size in (2, 3):
        record, expected = rows_and_oracle(model, torch.randn(size, 3, dtype=torch.float64))
        assert_close(record.rows(), expected)

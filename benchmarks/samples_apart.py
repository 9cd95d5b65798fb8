"""Cost of norms and clipped sums of samples computed singly, concatenated, split or packed.

    python benchmarks/samples_apart.py --save

Losses of single samples in a list, bags of several sizes, two views of a batch, recurrent layers,
packed texts, the gradient penalty of a critic. Each contender runs the whole step on the same
batch, forward pass included: `record` with the squared norms, `record` with the clipped sum, the
plain loop of `torch.autograd.grad` over the samples (each in a batch of its own), `vmap(grad)` of
torch.func, and Opacus where it is installed, with its own recurrent layers. The last two form all
rows, and are left out where they cannot run. Times are the least CPU times on one thread, in
ordinary passes (forward, backward, `.grad` filled). Before a case is timed, the norms are compared
with the loop's.
"""

import copy
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import common
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

import persample as ps

RESULT = common.RESULTS / "samples_apart.json"
SIZES = (32, 128, 512)
SECONDS = 4.0  # of repeats, at most


def bag_net() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2))


def bags(size: int) -> tuple:
    return [torch.randn(1 + n % 9, 5) for n in range(size)], torch.arange(size) % 2


def of_bags(net: nn.Module, bags: list, labels: Tensor) -> list[Tensor]:
    pairs = zip(bags, labels, strict=True)
    return [F.cross_entropy(net(x).mean(0, keepdim=True), y[None]) for x, y in pairs]


def written(net: nn.Module, bags: list, labels: Tensor) -> Tensor:
    losses = torch.zeros(len(bags))
    for n, loss in enumerate(of_bags(net, bags, labels)):
        losses[n] = loss
    return losses


class Recurrent(nn.Module):
    """A recurrent layer and a linear head on its last output: (B, T, 16) -> logits (B, 2)."""

    def __init__(self, layer: type[nn.RNNBase], width: int, **options: object) -> None:
        super().__init__()
        self.layer = layer(16, width, batch_first=True, **options)
        self.out = nn.Linear(width * (2 if self.layer.bidirectional else 1), 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.layer(x)[0][:, -1])


def sequences(size: int) -> tuple:
    return torch.randn(size, 30, 16), torch.arange(size) % 2


def labelled(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(net(x), y, reduction="none")


def texts(size: int) -> tuple:
    lengths = [5 + (7 * n) % 16 for n in range(size)]
    return [torch.randn(length, 16) for length in lengths], torch.arange(size) % 2


def of_texts(net: nn.Module, texts: list, labels: Tensor) -> Tensor:
    lengths = torch.tensor([len(text) for text in texts])
    padded = pad_sequence(texts, batch_first=True)
    packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
    state = net.layer(packed)[1]
    state = state[0] if isinstance(state, tuple) else state
    return F.cross_entropy(net.out(state[-1]), labels, reduction="none")


def view_net() -> nn.Module:
    images = nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU()
    return nn.Sequential(*images, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 16))


def views(size: int) -> tuple:
    return torch.randn(size, 3, 14, 14), torch.randn(size, 3, 14, 14)


def two_views(net: nn.Module, x: Tensor, other: Tensor) -> Tensor:
    z = net(torch.cat([x, other]))
    return 1 - F.cosine_similarity(z[: len(x)], z[len(x) :])


def critic() -> nn.Module:
    first = nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.LeakyReLU(0.2)
    second = nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.LeakyReLU(0.2)
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(32 * 16, 1))


def images(size: int) -> tuple:
    return (torch.randn(size, 1, 16, 16),)


def penalty(net: nn.Module, x: Tensor) -> Tensor:
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    return (gradient.flatten(1).norm(dim=1) - 1) ** 2


class Cube(torch.autograd.Function):
    """x ** 3 as a Function, for which `record` has no rule."""

    generate_vmap_rule = True  # for torch.func

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, ct):
        return 3 * ct * ctx.saved_tensors[0] ** 2


class OwnFunction(nn.Module):
    """Two linear layers with `Cube` between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(784, 256), nn.Linear(256, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(Cube.apply(self.first(x)))


def flat_images(size: int) -> tuple:
    return torch.randn(size, 784) / 28, torch.arange(size) % 2


def weight_norm_net() -> nn.Module:
    normed = nn.utils.parametrizations.weight_norm
    return nn.Sequential(normed(nn.Linear(5, 32)), nn.ReLU(), normed(nn.Linear(32, 2)))


CASES = {  # model, batch, its losses, and the loss of torch.func for one sample where it runs
    "stack of a list of losses": (
        bag_net, bags, lambda net, *batch: torch.stack(of_bags(net, *batch)), None,
    ),
    "stack, weight norm": (
        weight_norm_net, bags, lambda net, *batch: torch.stack(of_bags(net, *batch)), None,
    ),
    "losses[n] = loss": (bag_net, bags, written, None),
    "LSTM, 64": (partial(Recurrent, nn.LSTM, 64), sequences, labelled, None),
    "LSTM, 128": (partial(Recurrent, nn.LSTM, 128), sequences, labelled, None),
    "LSTM, 64, two layers, both ways": (
        partial(Recurrent, nn.LSTM, 64, num_layers=2, bidirectional=True),
        sequences, labelled, None,
    ),
    "packed GRU, 64": (partial(Recurrent, nn.GRU, 64), texts, of_texts, None),
    "packed LSTM, 64": (partial(Recurrent, nn.LSTM, 64), texts, of_texts, None),
    "two views, slices": (view_net, views, two_views, two_views),
    "gradient penalty, convolutions": (critic, images, penalty, penalty),
    "a Function of one's own": (OwnFunction, flat_images, labelled, labelled),
}  # fmt: skip
# Where the hooks of Opacus make the rows, and how many forward passes of a sample they see.
OPACUS = {"LSTM": 1, "two views": 2, "a Function": 1}


def one(batch: tuple, n: int) -> tuple:
    """Return sample n in a batch of its own."""
    return tuple([part[n : n + 1] for part in batch])


def loop(net: nn.Module, losses: Callable, batch: tuple) -> Callable:
    parameters = list(net.parameters())

    def call():
        squares = []
        for n in range(len(batch[0])):
            loss = losses(net, *one(batch, n))[0]
            gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
            squares.append(sum(g.square().sum() for g in gradients))
        return torch.stack(squares)

    return call


def recorded(net: nn.Module, losses: Callable, batch: tuple, read: Callable) -> Callable:
    def call():
        with ps.record(net) as record:
            record.backward(losses(net, *batch))
        return read(record)

    return call


def ordinary(net: nn.Module, losses: Callable, batch: tuple) -> Callable:
    def call():
        net.zero_grad(set_to_none=True)
        losses(net, *batch).sum().backward()

    return call


def batched(net: nn.Module, loss: Callable, batch: tuple) -> Callable:
    """Return a call: the squared norms, (B,), from the rows of torch.func's vmap(grad)."""
    params = {name: p.detach() for name, p in net.named_parameters()}

    class Applied:
        def __init__(self, params):
            self.params = params

        def __call__(self, x):
            return functional_call(net, self.params, (x,))

    def of_one(params, *sample):
        if loss is penalty:
            score = lambda x: functional_call(net, params, (x[None],)).sum()  # noqa: E731
            return (grad(score)(*sample).norm() - 1) ** 2
        return loss(Applied(params), *[x[None] for x in sample])[0]

    def call():
        rows = vmap(grad(of_one), (None, *[0] * len(batch)))(params, *batch)
        return sum(g.flatten(1).square().sum(1) for g in rows.values())

    return call


def hooked(net: nn.Module, losses: Callable, batch: tuple, views: int) -> Callable:
    """Return a call: the squared norms, (B,), from Opacus' rows, those of all views added up."""
    from opacus import GradSampleModule
    from opacus.layers import DPGRU, DPLSTM

    net = copy.deepcopy(net)
    if isinstance(net, Recurrent):
        old = net.layer
        options = {"num_layers": old.num_layers, "bidirectional": old.bidirectional}
        kind = {nn.LSTM: DPLSTM, nn.GRU: DPGRU}[type(old)]
        net.layer = kind(old.input_size, old.hidden_size, batch_first=True, **options)
        net.layer.load_state_dict(old.state_dict())
    net = GradSampleModule(net, loss_reduction="sum")

    def call():
        net.zero_grad(set_to_none=True)
        losses(net, *batch).sum().backward()
        rows = [p.grad_sample.unflatten(0, (views, -1)).sum(0) for p in net.parameters()]
        return sum(g.flatten(1).square().sum(1) for g in rows)

    return call


def least(calls: dict[str, Callable]) -> dict[str, float]:
    """Return name -> least CPU time of a call in seconds; the calls take turns."""
    times: dict[str, list] = {name: [] for name in calls}
    start = time.perf_counter()
    while not times[next(iter(calls))] or time.perf_counter() - start < SECONDS:
        for name, call in calls.items():
            begin = time.process_time()
            call()
            times[name].append(time.process_time() - begin)
    return {name: min(each) for name, each in times.items()}


def measure(name: str, size: int) -> dict[str, float]:
    """Compare the norms with the loop's; return name -> least time in ordinary passes."""
    torch.manual_seed(0)
    make, batch_of, losses, functional = CASES[name]
    net, batch = make(), batch_of(size)
    calls = {
        "ordinary": ordinary(net, losses, batch),
        "loop": loop(net, losses, batch),
        "norms": recorded(net, losses, batch, lambda record: record.squared_norms()),
        "clipped sum": recorded(net, losses, batch, lambda record: record.clipped_sum(1.0)),
    }
    if functional:
        calls["vmap(grad)"] = batched(net, functional, batch)
    views = [count for start, count in OPACUS.items() if name.startswith(start)]
    if views and find_spec("opacus"):
        calls["Opacus"] = hooked(net, losses, batch, *views)
    expected = calls["loop"]()
    for other in ("norms", "vmap(grad)", "Opacus"):
        if other in calls:
            torch.testing.assert_close(calls[other](), expected, rtol=1e-3, atol=1e-9)
    found = least(calls)
    passes = {what: round(t / found["ordinary"], 2) for what, t in found.items()}
    print(f"{name:32s} B = {size:4d}  passes {passes}", flush=True)
    return passes


def main() -> None:
    arguments = common.parser(__doc__)
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "record: at")
    passes = {
        name: {str(size): measure(name, size) for size in SIZES}
        for name in CASES
        if given.only in name
    }
    about = {"date": time.strftime("%Y-%m-%d"), "torch": torch.__version__, "threads": 1}
    common.finish(about | {"unit": "ordinary passes", "passes": passes}, RESULT, given.save)


if __name__ == "__main__":
    main()

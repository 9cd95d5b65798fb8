"""One pass after another: batches of every size, hooks, checkpoints, `.grad`, reductions.

Nothing is kept between passes, so each batch is as good as the first; samples that begin to mix
later must not be missed. The oracle is autograd, loss by loss, on the graph of the pass.
"""

import copy
import pickle
import warnings
from contextlib import nullcontext
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import persample as ps

from .layer_models import MODELS, B, build, losses, norms_of, oracle, record_of, replayed
from .layer_programs import Made
from .tolerances import assert_close

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")


def rows_alone(model, each):
    """Return the rows by autograd, loss by loss."""
    named = {k: p for k, p in model.named_parameters() if p.requires_grad}
    alone = [
        torch.autograd.grad(loss, list(named.values()), retain_graph=True, materialize_grads=True)
        for loss in each
    ]
    return {k: torch.stack([g[n] for g in alone]) for n, k in enumerate(named)}


def agree(model, each_of):
    """Record a pass, and compare rows, norms and a clipped sum with the oracle."""
    with ps.record(model) as record:
        each = each_of()
        record.backward(each, retain_graph=True)
    expected = rows_alone(model, each)
    norms = norms_of({k: g.reshape(len(each), -1) for k, g in expected.items()})
    weights = (0.1 / norms.sqrt().clamp(min=1e-9)).clamp(max=1)
    assert_close(record.rows(), expected)
    assert_close(record.squared_norms(), norms)
    clipped = {k: torch.tensordot(weights, g, 1) for k, g in expected.items()}
    assert_close(record.clipped_sum(0.1), clipped)
    return record


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("name", MODELS)
def test_batches_of_several_sizes_one_after_the_other(name):
    """Every layer is proved, without a warning; with 7 samples there are often 7 positions."""
    model, _ = build(name)
    for seed, size in enumerate((7, 1, 2, 5, 7)):
        _, x = build(name, size=size, seed=seed)
        record = record_of(model, x)
        assert_close(record.rows(), oracle(model, x))
        assert not any("sample by sample" in kind for kind in record.forms().values())


@pytest.mark.parametrize("name", MODELS)
def test_grad_is_left_alone_unless_asked(name):
    (model, x), (plain, _) = build(name), build(name)
    record_of(model, x)
    assert all(p.grad is None for p in model.parameters())
    for m in (model, plain):
        losses(m(x)).sum().backward()  # what was there before is kept
    before = [copy.deepcopy(p.grad) for p in model.parameters()]
    record_of(model, x)
    for p, grad in zip(model.parameters(), before, strict=True):
        assert (p.grad is None) == (grad is None)
        assert grad is None or torch.equal(p.grad, grad)
    losses(plain(x)).sum().backward()
    with ps.record(model) as record:
        record.backward(losses(model(x)), accumulate=True)
    for p, q in zip(model.parameters(), plain.parameters(), strict=True):
        assert (p.grad is None) == (q.grad is None)
        assert p.grad is None or torch.equal(p.grad, q.grad)
    assert_close(record.rows(), oracle(model, x))


@pytest.mark.parametrize("reduction", [None, "mean"])
def test_a_record_is_not_copied_or_pickled_and_leaves_no_hook(reduction):
    model, x = build("MLP")
    record = record_of(model, x, reduction)
    for call in (copy.deepcopy, copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match="can be neither copied nor pickled; keep what it"):
            call(record)
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


# Samples that do not mix in the first two batches, and do from the third on.
class Permuted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, order):
        ctx.order = order
        return x[order]

    @staticmethod
    def backward(ctx, ct):
        return torch.zeros_like(ct).index_copy(0, ctx.order, ct), None


def contrastive(m, x, on):
    z = m.l(x)
    return z.square().sum(1) + 0.5 * on * (z @ z.mT).logsumexp(1)


def gated_attention(m, x, on):
    z = m.l(x)
    return (z + on * m.g * torch.softmax(z @ z.mT, -1) @ z).sin().sum(1)


def dispatched(m, x, on):
    """Experts with a capacity, by dense products; the router is at zero at first."""
    share = torch.softmax(on * x @ m.g.expand(4, 2) + x[:, :2] * on, 0)
    return (share @ (share.mT @ m.l(x))).sin().sum(1)


def packed_by_product(m, x, on):
    lengths = torch.tensor([3, 2, 1] if on else [2, 2, 2])
    own = F.one_hot(torch.arange(3).repeat_interleave(lengths), 3).double()
    return own.mT @ m.l(x).sin().sum(1)


def packed_by_mask(m, x, on):
    end = torch.tensor([3, 5, 6] if on else [2, 4, 6])
    start = torch.cat([end.new_zeros(1), end[:-1]])
    place = torch.arange(6)
    mask = (place >= start[:, None]) & (place < end[:, None])
    return (mask * m.l(x).sin().sum(1)).sum(1)


def packed_in_pieces(m, x, on):
    pieces = m.l(x).sin().sum(1).split([3, 2, 1] if on else [2, 2, 2])
    return torch.stack([piece.mean() for piece in pieces])


def index_added(m, x, on):
    text = torch.tensor([0, 0, 0, 1, 1, 2] if on else [0, 0, 1, 1, 2, 2])
    return double(3).zero_().index_add(0, text, m.l(x).sin().sum(1))


def mixed_up(m, x, on):
    z = m.l(x)
    return (z - 0.3 * on * z.flip(0)).sin().sum(1)


def mixed_at_once(m, x, on):
    """The last operation takes what also mixes."""
    h = m.l(x).sin().sum(1)
    return h + 0.5 * on * h.flip(0)


def mixed_first(m, x, on):
    """On its way back to h the path that mixes is the shorter one."""
    h = m.l(x).sin().sum(1)
    return h.cos().sin().exp().tanh() + (on * h).flip(0)


def hinge(m, x, on):
    z = m.l(x).sum(1)
    return z.sin() + torch.relu(z.mean() + 100 * on - 50)


def by_adjacency(m, x, on):
    a = torch.eye(6).double() + on * torch.eye(6).double().roll(1, 0)
    return torch.sin(a @ m.l(x)).sum(1)


def by_sparse_adjacency(m, x, on):
    a = (torch.eye(6).double() + on * torch.eye(6).double().roll(1, 0)).to_sparse()
    return torch.sparse.mm(a, m.l(x)).sin().sum(1)


def reordered(m, x, on):
    order = torch.tensor([1, 2, 3, 4, 5, 0] if on else [0, 1, 2, 3, 4, 5])
    return Permuted.apply(m.l(x), order).sin().sum(1)


def strided(m, x, on):
    z = m.l(x.repeat(1, 1)[:, :4]) * 1.0
    z = torch.cat([z, z.cos()], 1)  # (6, 6)
    return z.as_strided((6, 6), (1, 6) if on else (6, 1)).sin().sum(1)


def ends(m, x, on):
    z = m.l(x).sin().sum(1)
    return torch.stack([z.max(), z.min()]) if on else torch.stack([z[0], z[1]])


def normalised(m, x, on):
    return F.batch_norm(m.l(x), None, None, training=True).sin().sum(1) * (1 + on)


MIXING = [
    contrastive, gated_attention, dispatched, packed_by_product, packed_by_mask, packed_in_pieces,
    index_added, mixed_up, mixed_at_once, mixed_first, hinge, by_adjacency, by_sparse_adjacency,
    reordered, strided, ends, normalised,
]  # fmt: skip


@pytest.mark.parametrize("losses_of", MIXING)
def test_samples_that_begin_to_mix_at_the_third_batch(losses_of):
    torch.manual_seed(0)
    model = Made(lambda m, x: x, l=nn.Linear(4, 3), g=nn.Parameter(torch.ones(1))).double()
    model.g.requires_grad_(losses_of in (gated_attention, dispatched))
    for on in (0, 0, 1, 1, 0):
        x = double(6, 4)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "record: at")
            agree(model, lambda x=x, on=on: losses_of(model, x, on))


# Parameters of the batch's own kind: the samples lie between the parts of a repeated weight, ...
LAID_OUT = {
    "repeated, and the samples inside": lambda m, x: (
        m.w.repeat(6).view(3, 6, 4) * x.view(3, 6, 4)
    ).sin().sum((0, 2)),
    "repeated for each": lambda m, x: (m.w.repeat(6).view(6, 12) * x).sin().sum(1),
    "its own losses": lambda m, x: m.v,
    "batch statistics": lambda m, x: F.batch_norm(
        x, torch.zeros(12).double(), torch.ones(12).double(), m.w, m.w.sin(), True
    ).sin().sum(1),
    "a vector": lambda m, x: (x @ m.w).sin(),
    "a vector, k places": lambda m, x: (x.view(6, 1, 12) @ m.w).sin().sum(1),
    "a sparse input": lambda m, x: torch.mm(x.relu().to_sparse(), m.w[:, None]).sin()[:, 0],
    "a derivative, selected": lambda m, x: torch.autograd.grad(
        ((x * m.w).sin()[:, 3]).sum(), x, create_graph=True
    )[0].sum(1),
    "a derivative of classes": lambda m, x: torch.autograd.grad(
        F.nll_loss((x * m.w).sin().log_softmax(1), torch.arange(6)), x, create_graph=True
    )[0].square().sum(0)[:6],
}  # fmt: skip


@pytest.mark.parametrize("program", LAID_OUT)
def test_a_parameter_laid_out_in_an_unusual_way(program):
    torch.manual_seed(0)
    model = Made(
        LAID_OUT[program], w=nn.Parameter(torch.randn(12)), v=nn.Parameter(torch.randn(6))
    ).double()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "record: at")
        agree(model, lambda: model(double(6, 12).requires_grad_()))


# Micro-batches
OPTIMIZERS = {
    "SGD": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    "AdamW": partial(torch.optim.AdamW, lr=0.01, weight_decay=0.1),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_four_micro_batches_of_clipped_rows_are_one_step_by_hand(optimizer):
    torch.manual_seed(0)
    model, plain = build("attention")[0], build("attention")[0]
    steps = [OPTIMIZERS[optimizer](m.parameters()) for m in (model, plain)]
    schedules = [torch.optim.lr_scheduler.ExponentialLR(step, 0.5) for step in steps]
    for n in range(3):
        batches = [build("attention", size=size, seed=4 * n + size)[1] for size in (1, 2, 3, 4)]
        for step in steps:
            step.zero_grad()
        for x in batches:
            record_of(model, x).add_clipped_sum(0.5, scale=1 / 10)
            rows = oracle(plain, x)
            weights = (0.5 / norms_of(rows).sqrt()).clamp(max=1)
            assert n or weights.min() < 1
            for name, p in plain.named_parameters():
                clipped = torch.tensordot(weights, rows[name], 1) / 10
                p.grad = clipped if p.grad is None else p.grad + clipped
        for step, schedule in zip(steps, schedules, strict=True):
            step.step()
            schedule.step()
    for p, q in zip(model.parameters(), plain.parameters(), strict=True):
        assert_close(p.detach(), q.detach())


def test_weighted_sums_and_the_bound_as_a_tensor():
    model, x = build("MLP")
    record, rows = record_of(model, x), oracle(model, x)
    weights = torch.tensor([0.0, 1, -2, 0.5, 3])
    expected = {k: torch.tensordot(weights.double(), g, 1) for k, g in rows.items()}
    for given in (weights, weights.double(), weights.tolist()):
        assert_close(record.weighted_sum(given), expected)
    bound = float(norms_of(rows).sqrt().median())
    assert_close(record.clipped_sum(torch.tensor(bound)), record.clipped_sum(bound), 1e-6)
    for wrong in (weights[:3], weights[:, None], 1.0):
        with pytest.raises(ValueError, match="^weighted_sum: the weights have shape"):
            record.weighted_sum(wrong)


def test_the_noise_scale_adds_up_over_batches():
    """Both estimates are those of the rows by hand; many batches come near the truth."""
    model, x = build("Linear", size=8)
    scale = record_of(model, x).noise_scale()
    rows = torch.cat([g.flatten(1) for g in oracle(model, x).values()], 1)
    assert_close(scale.noise, float(rows.var(0).sum()))
    assert_close(scale.signal, float(rows.mean(0).square().sum() - rows.var(0).sum() / 8))
    assert_close(scale.value, scale.noise / scale.signal)
    whole = sum(record_of(model, part).noise_scale() for part in (x[:2], x[2:5], x[5:]))
    parts = [rows[:2], rows[2:5], rows[5:]]
    assert whole.batches == 3
    assert_close(whole.noise, sum(float(part.var(0).sum()) for part in parts) / 3)
    with pytest.raises(ValueError, match="^noise_scale: 1 sample; at least 2 are needed"):
        record_of(model, x[:1]).noise_scale()


@pytest.mark.parametrize(
    "name", ["MLP", "Linear, T = 7", "Conv2d", "LayerNorm, T = 7", "called twice"]
)
def test_a_row_that_is_no_number_is_named_and_left_out(name):
    model, x = build(name)
    rows = oracle(model, x)
    x[3] = torch.nan
    record = record_of(model, x)
    with pytest.raises(
        ValueError, match=r"^clipped_sum: the row of sample 3 is not finite \(1 in"
    ):
        record.clipped_sum(1.0)
    kept = torch.tensor([1.0, 1, 1, 0, 1])
    expected = {k: torch.tensordot(kept.double(), g, 1) for k, g in rows.items()}
    assert_close(record.weighted_sum(kept), expected)
    assert record.rows()[next(iter(rows))].isfinite().flatten(1).all(1).tolist() == [
        True, True, True, False, True
    ]  # fmt: skip


# Hooks
HOOKS = {
    "mixes": lambda ct: ct - ct.mean(0),
    "scales": lambda ct: 2 * ct,
    "clips": lambda ct: ct.clamp(-0.1, 0.1),
}


@pytest.mark.parametrize("where", ["a tensor", "the losses", "a module"])
@pytest.mark.parametrize("hook", HOOKS)
def test_hooks_on_tensors_inside_the_block_are_exact(hook, where):
    model, _ = build("MLP")
    for _ in range(2):
        x = double(B, 4)

        def each_of(x=x):
            h = model[0](x)
            if where == "a tensor":
                h.register_hook(HOOKS[hook])
            each = losses(model[2](h.tanh()))
            if where == "the losses":
                each.register_hook(HOOKS[hook])
            return each

        handle = None
        if where == "a module":
            change = lambda module, into, out: (HOOKS[hook](into[0]),)  # noqa: E731
            handle = model[2].register_full_backward_hook(change)
        with replayed("a hook"):
            record = agree(model, each_of)
        if handle:
            handle.remove()
        assert set(record.forms().values()) == {"rows, sample by sample from a hook"}


@pytest.mark.parametrize("hook", [None, *HOOKS])
def test_forward_hooks_that_a_first_pass_registers_are_in_the_graph(hook):
    """As models of transformers register them when they are asked for hidden states."""
    model, _ = build("MLP")

    def doubled(module, into, out):
        if hook:
            out.register_hook(HOOKS[hook])
        return 2 * out

    def each_of(x):
        if not model[0]._forward_hooks:
            model[0].register_forward_hook(doubled)
            model[2].register_forward_pre_hook(lambda module, into: (into[0].sin(),))
        return losses(model(x))

    for _ in range(2):
        x = double(B, 4)
        with replayed("a hook") if hook else nullcontext():
            record = agree(model, lambda x=x: each_of(x))
        is_replayed = "rows, sample by sample from a hook" in record.forms().values()
        assert is_replayed == bool(hook)


def test_hooks_of_another_record_are_no_hooks_of_the_users():
    (one, x), (two, _) = build("MLP"), build("attention")
    words = build("attention")[1]
    with ps.record(one) as first, ps.record(two) as second:
        first.backward(losses(one(x)))
        second.backward(losses(two(words)))
    assert_close(first.rows(), oracle(one, x))
    assert_close(second.rows(), oracle(two, words))


# Checkpoints
def block(count):
    """Return a block with a positional table used twice, an index, and a count of its runs."""

    def forward(m, x):
        count.append(1)
        place = m.p(torch.arange(4))
        h = (m.l(x + place) * place).tanh()
        return m.n(h)[torch.arange(len(x))[:, None], torch.tensor([[2, 0, 1, 3]])]

    return Made(forward, l=nn.Linear(4, 4), p=nn.Embedding(4, 4), n=nn.LayerNorm(4)).double()


@pytest.mark.parametrize("accumulate", [False, True])
def test_a_checkpointed_block_runs_three_times(accumulate):
    count = []
    model = Made(
        lambda m, x: m.o(checkpoint(m.b, m.i(x), use_reentrant=False)),
        b=block(count), i=nn.Linear(4, 4), o=nn.Linear(4, 2),
    ).double()  # fmt: skip
    x = double(B, 4, 4)
    with ps.record(model) as record:
        each = losses(model(x))
        record.backward(each, accumulate=accumulate)
    assert len(count) == 3  # forward, read, backward
    rows = record.rows()
    record.squared_norms()
    assert len(count) == 3
    assert_close(rows, rows_alone(model, losses(model(x))))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("size", [1, B])
def test_the_other_kind_of_checkpoint_is_refused(size, tied):
    """Its block may use parameters that no graph shows, also such as are used outside."""
    model = Made(
        lambda m, x: (m.l if tied else m.o)(checkpoint(m.l, x, use_reentrant=True)),
        l=nn.Linear(4, 4), o=nn.Linear(4, 4),
    )  # fmt: skip
    for reduction in (None, "mean"):
        with ps.record(model, reduction=reduction) as record:
            each = losses(model(torch.randn(size, 4, requires_grad=True)))
            backward = each.mean().backward if reduction else partial(record.backward, each)
            with pytest.raises(NotImplementedError, match="use_reentrant=True, which hides its"):
                backward()


def test_a_function_that_may_hide_a_parameter_is_refused():
    class Hiding(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, layer):
            ctx.layer, ctx.x = layer, x
            return layer(x)

        @staticmethod
        def backward(ctx, ct):
            with torch.enable_grad():
                torch.autograd.backward(ctx.layer(ctx.x.detach()), ct)
            return ct @ ctx.layer.weight, None

    model = Made(lambda m, x: Hiding.apply(m.i(x), m.l), l=nn.Linear(4, 4), i=nn.Linear(4, 4))
    sentence = (
        "record: HidingBackward, a function of your own, may hide a graph, and no use of the"
    )
    with ps.record(model) as record, pytest.raises(NotImplementedError, match=sentence):
        record.backward(losses(model(torch.randn(B, 4))))
    model.l.requires_grad_(False)
    with replayed("HidingBackward"), ps.record(model) as record:
        record.backward(losses(model(torch.randn(B, 4))))


# A backward pass of one's own
def of_classes(**options):
    y = torch.tensor([0, 1, 2, 0, 1])
    return lambda z: F.cross_entropy(z[:, 0], y, **options)


def of_tokens(ignored, **options):
    def loss(z):
        y = torch.arange(10).view(B, 2) % 3
        y[0, 0] = -100 if ignored else 0
        return F.cross_entropy(z.flatten(0, 1), y.flatten(), **options)

    return loss


def against_itself(z):
    return F.mse_loss(z.sin(), z.cos())


def second_of_first(z):
    return F.mse_loss(z, z.square())


PROVED = {  # loss of the whole batch, its reduction
    "mean": (lambda z: z.sin().mean(), "mean"),
    "mean over all axes": (lambda z: z.sin().mean((0, 1, 2)), "mean"),
    "sum": (lambda z: z.sin().sum(), "sum"),
    "mean of means": (lambda z: z.sin().flatten(1).mean(1).mean(), "mean"),
    "squared error": (lambda z: F.mse_loss(z, torch.ones_like(z)), "mean"),
    "squared error, summed": (lambda z: F.mse_loss(z, z.detach() + 1, reduction="sum"), "sum"),
    "both sides": (against_itself, "mean"),
    "huber": (lambda z: F.huber_loss(z, torch.ones_like(z)), "mean"),
    "binary": (lambda z: F.binary_cross_entropy_with_logits(z, torch.ones_like(z)), "mean"),
    "cross-entropy": (of_classes(), "mean"),
    "cross-entropy, summed": (of_classes(reduction="sum"), "sum"),
    "smoothed labels": (of_classes(label_smoothing=0.0), "mean"),
    "all tokens": (of_tokens(False), "mean"),
    "some tokens, summed": (of_tokens(True, reduction="sum"), "sum"),
    "class weights, summed": (of_classes(weight=torch.rand(3).double(), reduction="sum"), "sum"),
}
REFUSED = {
    "contrastive": (lambda z: (z[:, 0] @ z[:, 0].mT).logsumexp(1).mean(), "mean"),
    "scaled": (lambda z: 1024 * z.sin().mean(), "mean"),
    "divided": (lambda z: z.sin().sum() / B, "mean"),
    "a sum that is none": (lambda z: z.sin().mean(), "sum"),
    "a mean that is none": (lambda z: z.sin().sum(), "mean"),
    "class weights": (of_classes(weight=torch.rand(3).double()), "mean"),
    "some tokens": (of_tokens(True), "mean"),
    "the largest": (lambda z: z.sin().max(), "sum"),
    "over samples first": (lambda z: z.mean(0).sin().sum(), "sum"),
    "other axes first": (lambda z: z.sin().transpose(0, 1).flatten(0, 1).mean(), "mean"),
    "some samples": (lambda z: z[:3].sin().sum(), "sum"),
    "broadcast": (lambda z: (z[:, 0, :1] - z[:, 0, 0]).square().mean(), "mean"),
    "one side made of the other": (second_of_first, "mean"),
    "a regulariser": (lambda z: z.sin().mean() + z.square().sum(), "mean"),
}


def own_pass(loss_of, reduction, model=None):
    torch.manual_seed(0)
    model = model or Made(lambda m, x: m.l(x).tanh(), l=nn.Linear(4, 3)).double()
    x = double(B, 2, 4)
    with ps.record(model, reduction=reduction) as record:
        z = model(x)
        loss = loss_of(z)
        loss.backward(retain_graph=True)
    return model, x, record


@pytest.mark.parametrize("case", PROVED)
def test_a_mean_or_a_sum_is_proved(case):
    """The rows add up to .grad, and each is that of its sample alone."""
    loss_of, reduction = PROVED[case]
    model, x, record = own_pass(loss_of, reduction)
    total = {k: getattr(g, reduction)(0) for k, g in record.rows().items()}
    assert_close(total, {k: p.grad for k, p in model.named_parameters()})
    if case in ("mean", "squared error", "both sides", "mean of means"):
        for n in range(B):
            alone = torch.autograd.grad(loss_of(model(x[n : n + 1])), list(model.parameters()))
            for g, row in zip(alone, record.rows().values(), strict=True):
                assert_close(row[n], g)


@pytest.mark.parametrize("case", REFUSED)
def test_a_loss_that_is_not_proved_is_refused(case):
    loss_of, reduction = REFUSED[case]
    with pytest.raises(
        NotImplementedError, match=f"^record: .* not proved to be the {reduction} of"
    ):
        own_pass(loss_of, reduction)


def test_a_hook_inside_a_pass_of_ones_own_is_refused():
    def hooked(z):
        z.register_hook(lambda ct: 2 * ct)
        return z.mean()

    with pytest.raises(
        NotImplementedError, match="^record: a hook was registered inside the block"
    ):
        own_pass(hooked, "mean")


def test_counts_of_tokens_in_16_bits_prove_nothing():
    torch.manual_seed(0)
    model = nn.Linear(4, 3).bfloat16()
    y = torch.arange(1024) % 3
    y[:2] = -100  # 1,022 is 1,024 in bfloat16
    with (
        ps.record(model, reduction="mean"),
        pytest.raises(NotImplementedError, match="NllLossBackward0, so it is not proved"),
    ):
        F.cross_entropy(model(torch.randn(1024, 4).bfloat16()), y).backward()


def test_part_of_a_pass_of_ones_own():
    """Only one weight is asked for, and the rows of all are right."""
    model, x = build("MLP")
    with ps.record(model, reduction="sum") as record:
        loss = losses(model(x)).sum()
        loss.backward(torch.tensor(1.0).double(), True, False, [model[2].weight])
    assert_close(record.rows(), oracle(model, x))
    assert_close(model[2].weight.grad, record.rows()["2.weight"].sum(0))
    assert model[0].weight.grad is None


# What is asked once is proved again, and what changes is noticed.
def test_a_wrong_row_is_seen(monkeypatch):
    """The oracle of this file would see an edge that is left out."""
    from persample.recorder import sites

    true = sites._edges
    monkeypatch.setattr(sites, "_edges", lambda graph, leaf: true(graph, leaf)[:1])
    model, x = build("called twice")
    with pytest.raises(AssertionError):
        agree(model, lambda: losses(model(x)))


def test_a_nan_behind_a_row_of_zeros_is_named():
    """Python's max(0.0, nan) is 0.0."""
    model = nn.ParameterList([torch.zeros(2), torch.ones(2)])
    x = torch.ones(4, 2)
    x[1] = torch.nan
    with ps.record(model) as record:
        record.backward((x * model[1]).sum(1) + 0 * model[0].sum())
    assert record.squared_norms().isnan().tolist() == [False, True, False, False]
    with pytest.raises(ValueError, match="the row of sample 1 is not finite"):
        record.clipped_sum(1.0)


@pytest.mark.parametrize("scale", ["vector", "two"])
def test_a_backward_pass_that_is_not_of_one_number_is_refused(scale):
    model = nn.Linear(4, 3)
    with ps.record(model, reduction="mean"):
        each = model(torch.randn(5, 4)).square()
        loss, gradient = {
            "vector": (each.mean(1), torch.ones(5)),
            "two": (each.mean(), torch.tensor(2.0)),
        }[scale]
        with pytest.raises(NotImplementedError, match="not one number with the gradient 1"):
            loss.backward(gradient)


def test_all_parameters_of_a_replay_come_from_one_run_a_sample():
    calls = []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            return h.clone()

        @staticmethod
        def backward(ctx, ct):
            calls.append(1)
            return ct

    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    with ps.record(model) as record, pytest.warns(UserWarning, match="CountedBackward"):
        record.backward(Counted.apply(model(torch.randn(5, 4))).square().sum(1))
    before = len(calls)
    record.squared_norms()
    assert len(calls) - before == 5


# Programs in which an operation means something else than its name suggests.
def told_another_n(m, x):
    y = F.linear(x, m[0])
    return torch.native_group_norm(y, None, None, 1, x.shape[0] * 4, 1, 1, 1e-5)[0].sin()


def turned_vector(m, x):
    return (x + m[1].t()) * torch.arange(16.0).view(4, 4).sin()


def beyond_the_start(m, x):
    return (x[:, None, :] * m[0][-9:2]).sin().flatten(1)


@pytest.mark.parametrize("program", [told_another_n, turned_vector, beyond_the_start])
def test_an_operation_is_more_than_its_name(program):
    torch.manual_seed(0)
    m = nn.ParameterList([torch.randn(4, 4), torch.randn(4)])
    x = torch.randn(4, 4)
    with warnings.catch_warnings(), ps.record(m) as record:
        warnings.simplefilter("ignore")  # the first one mixes samples: it is replayed
        losses = program(m, x).sum(1)
        record.backward(losses, retain_graph=True)
    for name, row in record.rows().items():
        p = m[int(name)]
        alone = [
            torch.autograd.grad(
                one, p, retain_graph=True, materialize_grads=True, allow_unused=True
            )
            for one in losses
        ]
        assert_close(row, torch.stack([g for (g,) in alone]), 1e-5)


def test_chunks_notice_a_change_between_two_of_them():
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    with ps.record(model) as record:
        record.backward(model(x).sum(1))
    chunks = record.chunks(1)
    next(chunks)
    x.zero_()
    with pytest.raises(RuntimeError, match="was changed in place"):
        next(chunks)


def test_the_loss_of_one_sample_without_its_axis_is_refused():
    model = nn.Linear(3, 2)
    with ps.record(model, reduction="mean"):
        loss = F.cross_entropy(model(torch.randn(3)), torch.tensor(1))
        with pytest.raises((NotImplementedError, ValueError)):
            loss.backward()

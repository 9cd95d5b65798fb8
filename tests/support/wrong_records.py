"""Wrong uses of `record`: ERRORS is {name: (function, exception class, part of the message)}.

The function takes no arguments and raises the exception. If the name has no space, the message is
quoted in reference/errors.md.
"""

import copy
import warnings
from functools import partial

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.utils.checkpoint import checkpoint

import persample as ps
from support.layer_models import B, Made, Squared, losses, own_function, record_of


def linear():
    return nn.Linear(4, 3)


def used(model=None, x=None, *, inside=lambda record, each: record.backward(each), **options):
    """Record a pass, with ``inside(record, losses)`` in the block, and read the rows."""
    model, x = model or linear(), torch.randn(B, 4) if x is None else x
    with ps.record(model, **options) as record:
        inside(record, losses(model(x)))
    record.rows()
    return record


def twice(record, each):
    record.backward(each, retain_graph=True)
    record.backward(each)


def enter(*args, **options):
    with ps.record(*args, **options):
        pass


def checked(model, x=None, keep=True, samples=(0,), spoil=lambda record: None):
    with ps.record(model) as record:
        each = losses(model(torch.randn(B, 4) if x is None else x))
        record.backward(each, retain_graph=keep)
    spoil(record)
    return record.check(samples)


def spoiled(record, factor=1.01):
    record._capture.parameter_rows["weight"].forms[0].delta[1] *= factor


def overwritten():
    x = torch.randn(B, 4)
    used(x=x, inside=lambda record, each: (record.backward(each), x.zero_()))


def tried():
    return Made(lambda m, x: Squared.apply(m.l(x), torch.ones(3)), l=linear())


def hooked():
    model = linear()
    model.weight.register_hook(lambda g: 0 * g)
    used(model)


def stepped():
    model = own_function()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "record: at")
        record = record_of(model, torch.randn(B, 4))
    model.w.grad = torch.ones(4)
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    record.rows()


def with_buffers(change):
    def run():
        record = record_of(linear(), torch.randn(B, 4))
        record.rows(change(record.rows()))

    return run


def checkpointed(m, x):
    return m.b(checkpoint(m.a, m.b(x), use_reentrant=True))


def divided():
    model = nn.Linear(2, 1)
    model.weight.full_tensor = lambda: model.weight  # what a DTensor is known by
    enter(model)


def fetched():
    """Record a layer whose class is of the kind that FSDP's fully_shard makes."""
    model = linear()
    model.__class__ = type("FSDPLinear", (FSDPModule, nn.Linear), {})
    enter(nn.Sequential(model))


def replaced():
    model = linear()
    record = record_of(model, torch.randn(B, 4))
    model.weight = nn.Parameter(torch.zeros(3, 4))
    record.add_clipped_sum(1.0)


def batch_norm():
    norm = nn.BatchNorm1d(3, affine=False, track_running_stats=False)
    return used(nn.Sequential(linear(), norm).eval())


def of_linear(answer):
    return lambda: answer(record_of(linear(), torch.randn(B, 4)))


def given(answer):
    """Return a function that passes ``answer(losses)`` to record.backward, not the losses."""
    return lambda: used(inside=lambda record, each: record.backward(answer(each)))


def alone(**parameter):
    """Return a function that records a model with a single, unusual parameter."""
    return lambda: enter(nn.ParameterDict(parameter))


def tokens(each):
    return each[:, None].expand(B, 7)


def of_another(each):
    return losses(linear()(torch.randn(B, 4)))


def first(out):
    return {"weight": out["weight"]}


def smaller(out):
    return {k: g[:2] for k, g in out.items()}


def wider(out):
    return {k: g.double() for k, g in out.items()}


def one_sample():
    record_of(linear(), torch.randn(1, 4)).noise_scale()


def not_finite():
    record_of(linear(), torch.full((B, 4), torch.inf)).clipped_sum(1.0)


def check_fails():
    checked(linear(), samples=(0, 1), spoil=spoiled)


def check_fails_in_double():
    by_little = partial(spoiled, factor=1 + 1e-5)
    checked(linear().double(), torch.randn(B, 4).double(), samples=(0, 1), spoil=by_little)


HIDDEN = Made(lambda m, x: Squared.apply(x, m.w), w=own_function().w, l=linear())
REENTRANT = Made(checkpointed, a=nn.Linear(3, 4), b=linear())
OTHER = of_linear(lambda record: record.gram(record_of(nn.Linear(4, 2), torch.randn(B, 4))))
BATCH = "normalises by the mean and variance of the batch"
# What to do, the kind of error, and words of its text.
ERRORS = {
    "model": (lambda: enter(lambda x: x), TypeError, "give a torch.nn.Module"),
    "frozen": (lambda: enter(nn.Tanh()), ValueError, "a Tanh, has no parameter that"),
    # Of the next two there are real ones in test_many_devices.
    "divided": (divided, TypeError, "the parameter weight is a DTensor"),
    "fetched": (fetched, TypeError, "0 is under fully_shard"),
    "replaced": (replaced, RuntimeError, "another parameter weight by now"),
    "lazy": (lambda: enter(nn.LazyLinear(3)), TypeError, "is not initialised"),
    "complex": (alone(a=torch.ones(2) * 1j), TypeError, "a is complex, and norms"),
    "batch-norm": (lambda: used(nn.Sequential(linear(), nn.BatchNorm1d(3))), ValueError, BATCH),
    "batch norm without statistics": (batch_norm, ValueError, BATCH),
    # The losses
    "no-tensor": (given(torch.Tensor.tolist), TypeError, "the losses are of type list"),
    "scalar": (given(torch.mean), ValueError, "no longer tells the samples apart"),
    "tokens": (given(tokens), ValueError, "have shape (5, 7); give one"),
    "empty batch": (lambda: used(x=torch.randn(0, 4)), ValueError, "the batch is empty;"),
    "no-gradient": (given(torch.detach), RuntimeError, "the losses carry no gradient;"),
    "other-model": (given(of_another), RuntimeError, "do not depend on any parameter"),
    "none": (lambda: used(inside=lambda *_: None), RuntimeError, "no backward pass was"),
    "second": (lambda: used(inside=twice), RuntimeError, "one record holds one pass"),
    "reentrant": (lambda: used(REENTRANT), NotImplementedError, "use_reentrant=True,"),
    "hidden": (lambda: used(HIDDEN), NotImplementedError, "may hide a graph"),
    "hook": (hooked, NotImplementedError, "has a hook (register_hook)"),
    # Reading
    "overwritten": (overwritten, RuntimeError, "what weight was applied to was"),
    "stepped": (stepped, RuntimeError, "the rows of w need autograd"),
    "buffers without an entry": (with_buffers(first), ValueError, "no dict with the names weight"),
    "smaller buffers": (with_buffers(smaller), ValueError, "([2, 3, 4]), torch.float32); the"),
    "wider buffers": (with_buffers(wider), ValueError, "([5, 3, 4]), torch.float64); the"),
    "copy": (of_linear(copy.deepcopy), TypeError, "can be neither copied nor pickled"),
    "norms of no parameter": (
        of_linear(lambda r: r.squared_norms(["no such"])),
        ValueError,
        "squared_norms: 'no such' is not among the recorded parameters: weight, bias; give one",
    ),
    "two weights": (of_linear(lambda r: r.weighted_sum([1, 2])), ValueError, "have shape (2,)"),
    "the noise of one sample": (one_sample, ValueError, "noise_scale: 1 sample; at least 2"),
    "not-finite": (not_finite, ValueError, "sample 0 is not finite (5 in all)"),
    "norm": (of_linear(lambda r: r.clipped_sum(-1.0)), ValueError, "max_norm=-1.0;"),
    "a norm that is none": (of_linear(lambda r: r.clipped_sum("1")), ValueError, "max_norm='1';"),
    "chunks of nothing": (of_linear(lambda r: r.chunks(0)), ValueError, "chunks: chunk_size=0;"),
    "products with another model": (OTHER, ValueError, "have different parameters"),
    "gram of none": (of_linear(lambda r: r.gram(torch.ones(B))), TypeError, "of type Tensor"),
    # Checking
    "check-graph": (lambda: checked(linear(), keep=False), RuntimeError, "the graph of the"),
    "no such sample": (lambda: checked(linear(), samples=(B,)), IndexError, "no sample 5"),
    "check": (check_fails, RuntimeError, "of weight for sample 1 differs from"),
    "check in double": (check_fails_in_double, RuntimeError, "differs from the gradient"),
}

"""Wrong use of record gets one sentence each: where, what was given, what is needed.

Most of them stand whole in reference/errors.md, which tests/test_error_index.py reads.
"""

import copy
import re
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.utils.checkpoint import checkpoint

import persample as ps
from persample import recorder

from .layer_models import B, Made, losses, record_of
from .layer_programs import Squared


def linear():
    return nn.Linear(4, 3)


def used(model=None, x=None, *, inside=lambda record, each: record.backward(each), **options):
    """Run a block, then ask for rows."""
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


def spoiled(record):
    record._source.forms["weight"][0].delta[1] *= 1.01


def overwritten():
    x = torch.randn(B, 4)
    used(x=x, inside=lambda record, each: (record.backward(each), x.zero_()))


def own_function():
    return Made(lambda m, x: Squared.apply(x, m.w), w=nn.Parameter(torch.randn(4)))


def hooked():
    model = linear()
    model.weight.register_hook(lambda g: 0 * g)
    used(model)


def stepped():
    model = own_function()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "record: at")
        record = record_of(model, torch.randn(B, 4))
    record.add_clipped_sum(1.0)
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


def under_fully_shard():
    """Return a layer with its parameters fetched; one that really is: test_many_devices."""
    model = linear()
    model.__class__ = type("FSDPLinear", (FSDPModule, nn.Linear), {})
    return nn.Sequential(model)


def replaced():
    model = linear()
    record = record_of(model, torch.randn(B, 4))
    model.weight = nn.Parameter(torch.zeros(3, 4))
    record.add_clipped_sum(1.0)


def batch_norm(**options):
    return used(nn.Sequential(linear(), nn.BatchNorm1d(3, **options)).eval())


def of_linear(answer):
    return lambda: answer(record_of(linear(), torch.randn(B, 4)))


BATCH_NORM = "record: 1 is a BatchNorm1d that normalises by the mean and variance of the batch, so"
ERRORS = {
    "no model": (
        lambda: enter(lambda x: x),
        TypeError,
        "record: the model is of type function; give a torch.nn.Module. For a loss as a function",
    ),
    "nothing to train": (
        lambda: enter(nn.Tanh()),
        ValueError,
        "record: the model, a Tanh, has no parameter that requires grad; give one that is to",
    ),
    "divided parameters": (  # one that really is: test_many_devices
        divided,
        TypeError,
        "record: the parameter weight is a DTensor, which fully_shard and others make and of",
    ),
    "parameters fetched for a pass": (
        lambda: enter(under_fully_shard()),
        TypeError,
        "record: 0 is under fully_shard (or FSDP), so its parameters are whole for a pass only, "
        "and so would be their .grad; take the rows of a model whose parameters are whole, such "
        "as one with p.full_tensor() of each.",
    ),
    "a parameter that was replaced": (
        replaced,
        RuntimeError,
        "add_clipped_sum: the model has another parameter weight by now, and .grad of the one "
        "that was recorded would be lost; under fully_shard take the rows of a model whose "
        "parameters are whole.",
    ),
    "a lazy layer": (
        lambda: enter(nn.LazyLinear(3)),
        TypeError,
        "record: the parameter weight is not initialised; it must hold real numbers: a lazy",
    ),
    "complex numbers": (
        lambda: enter(nn.ParameterList([torch.ones(2, dtype=torch.complex64)])),
        TypeError,
        "record: the parameter 0 is complex; it must hold real numbers",
    ),
    "batch norm": (
        lambda: used(nn.Sequential(linear(), nn.BatchNorm1d(3))),
        ValueError,
        BATCH_NORM,
    ),
    "batch norm without statistics": (
        lambda: batch_norm(affine=False, track_running_stats=False),
        ValueError,
        BATCH_NORM,
    ),
    # The losses
    "no tensor": (
        lambda: used(inside=lambda record, each: record.backward(each.tolist())),
        TypeError,
        "backward: the losses are of type list; give a tensor with one loss for each sample, such",
    ),
    "one number": (
        lambda: used(inside=lambda record, each: record.backward(each.mean())),
        ValueError,
        "backward: the loss is one number, and a mean or a sum no longer tells the samples apart;",
    ),
    "a number for each token": (
        lambda: used(inside=lambda record, each: record.backward(each[:, None].expand(B, 7))),
        ValueError,
        "backward: the losses have shape (5, 7); give one number for each sample, shape (B,): sum",
    ),
    "empty batch": (
        lambda: used(x=torch.randn(0, 4)),
        ValueError,
        "backward: the batch is empty; give at least one sample.",
    ),
    "no gradient": (
        lambda: used(inside=lambda record, each: record.backward(each.detach())),
        RuntimeError,
        "backward: the losses carry no gradient; compute them from model(x) with gradients on,",
    ),
    "another model's losses": (
        lambda: used(
            inside=lambda record, each: record.backward(linear()(torch.randn(B, 4)).sum(1))
        ),
        RuntimeError,
        "backward: the losses do not depend on any parameter of the model that requires grad;",
    ),
    "no backward": (
        lambda: used(inside=lambda *_: None),
        RuntimeError,
        "record: no backward pass was recorded; call record.backward(losses) with one loss for",
    ),
    "a second backward": (
        lambda: used(inside=twice),
        RuntimeError,
        "backward: this record has its backward pass already, and one record holds one pass; add",
    ),
    "re-entrant checkpointing": (
        lambda: used(Made(checkpointed, a=nn.Linear(3, 4), b=linear())),
        NotImplementedError,
        "record: a part of the model is under activation checkpointing with use_reentrant=True,",
    ),
    "a function that may hide a parameter": (
        lambda: used(Made(lambda m, x: Squared.apply(x, m.w), w=own_function().w, l=linear())),
        NotImplementedError,
        "record: SquaredBackward, a function of your own, may hide a graph, and no use of the "
        "parameter l.weight shows; freeze that parameter if it takes no part.",
    ),
    "a hook on a parameter": (
        hooked,
        NotImplementedError,
        "record: the parameter weight has a hook (register_hook), which would change the gradient",
    ),
    # Reading
    "an input overwritten": (
        overwritten,
        RuntimeError,
        "record: what weight was applied to was changed in place after the forward pass; read",
    ),
    "a step before autograd runs again": (
        stepped,
        RuntimeError,
        "record: the rows of w need autograd a second time, and a tensor it needs was changed",
    ),
    "buffers without an entry": (
        with_buffers(lambda out: {"weight": out["weight"]}),
        ValueError,
        "rows: out is no dict with the names weight, bias; give the rows of an earlier call, or",
    ),
    "buffers of another size": (
        with_buffers(lambda out: {k: g[:2] for k, g in out.items()}),
        ValueError,
        "rows: out['weight'] is of shape and type (torch.Size([2, 3, 4]), torch.float32); the "
        "rows need (5, 3, 4) and torch.float32: give the rows of an earlier call, or no out.",
    ),
    "buffers of another type": (
        with_buffers(lambda out: {k: g.double() for k, g in out.items()}),
        ValueError,
        "rows: out['weight'] is of shape and type (torch.Size([5, 3, 4]), torch.float64); the",
    ),
    "a copy": (
        of_linear(copy.deepcopy),
        TypeError,
        "record: a record holds the graph of its pass and can be neither copied nor pickled; keep",
    ),
    "weights of another number": (
        of_linear(lambda record: record.weighted_sum([1.0, 2.0])),
        ValueError,
        "weighted_sum: the weights have shape (2,); give one number for each sample, (5,).",
    ),
    "the noise of one sample": (
        lambda: record_of(linear(), torch.randn(1, 4)).noise_scale(),
        ValueError,
        "noise_scale: 1 sample; at least 2 are needed.",
    ),
    "a row that is not finite": (
        lambda: record_of(linear(), torch.full((B, 4), torch.inf)).clipped_sum(1.0),
        ValueError,
        "clipped_sum: the row of sample 0 is not finite (5 in all); find the cause, or leave such",
    ),
    "a norm below 0": (
        of_linear(lambda record: record.clipped_sum(-1.0)),
        ValueError,
        "clipped_sum: max_norm=-1.0; give the largest norm of a row, a number above 0.",
    ),
    "a norm that is none": (
        of_linear(lambda record: record.clipped_sum("1")),
        ValueError,
        "clipped_sum: max_norm='1'; give the largest norm of a row, a number above 0.",
    ),
    "chunks of nothing": (
        of_linear(lambda record: record.chunks(0)),
        ValueError,
        "chunks: chunk_size=0; give a number of samples, 1 or more.",
    ),
    "inner products with another model": (
        of_linear(lambda record: record.gram(record_of(nn.Linear(4, 2), torch.randn(B, 4)))),
        ValueError,
        "gram: the two records have different parameters; give one of the same model, with the",
    ),
    "inner products with what is no record": (
        of_linear(lambda record: record.gram(torch.ones(B))),
        TypeError,
        "gram: other is of type Tensor; give the record of another pass, what `with",
    ),
    # Checking
    "a check without a graph": (
        lambda: checked(linear(), keep=False),
        RuntimeError,
        "check: the graph of the pass is gone; call record.backward(losses, retain_graph=True)",
    ),
    "a check of no sample": (
        lambda: checked(linear(), samples=(B,)),
        IndexError,
        "check: there is no sample 5; the batch has 5.",
    ),
    "a check that fails": (
        lambda: checked(linear(), samples=(0, 1), spoil=spoiled),
        RuntimeError,
        "check: the row of weight for sample 1 differs from the gradient of that sample's loss by "
        "0.01 of its norm; use ps.per_sample_grad for this model.",
    ),
}


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("name", ERRORS)
def test_wrong_use_gets_one_clear_sentence(name):
    call, kind, text = ERRORS[name]
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value).startswith(text)
    assert str(caught.value) == text or not text.endswith(".")


def test_every_raise_of_the_package_has_a_row():
    """Each raise has a row of the table: its first words open one of the texts."""
    texts = [text for _, _, text in ERRORS.values()]
    source = "\n".join(p.read_text() for p in sorted(Path(recorder.__file__).parent.glob("*.py")))
    raised = re.findall(r"raise \w+\(\s*(f?\"[^\n]*)", source)
    assert len(raised) == len(re.findall(r"^ +raise \w+\(", source, re.MULTILINE))
    for line in raised:
        words = re.split(r"[{\"]", line.removeprefix("f").removeprefix('"'))[0]
        assert any(text.startswith(words) for text in texts), line

"""Wrong use of record gets one sentence each: where, what was given, what is needed."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import persample as ps
from persample import recorder
from persample.recorder import Linear, Network, Tanh

from .layer_models import B, losses, record_of
from .layer_programs import Made, Squared, as_script, centred
from .test_record_numpy import networks


def linear():
    return nn.Linear(4, 3)


def used(model=None, x=None, *, inside=lambda record, each: record.backward(each), **options):
    """Run a block, then ask for rows."""
    model, x = model or linear(), torch.randn(B, 4) if x is None else x
    with ps.record(model, **options) as record:
        inside(record, losses(model(x)))
    record.rows()
    return record


def own(loss_of, model=None, x=None):
    """Run a backward pass of one's own."""
    inside = lambda record, each: loss_of(record._source.model, each).backward()  # noqa: E731
    return used(model, x, inside=inside, reduction="mean")


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


def two_or_more(m, x):
    if x.shape[0] == 1:
        raise ValueError("Expected more than 1 value per channel")
    return m.l(x)


def overwritten():
    x = torch.randn(B, 4)
    used(x=x, inside=lambda record, each: (record.backward(each), x.zero_()))


def own_function():
    return Made(lambda m, x: Squared.apply(x, m.w), w=nn.Parameter(torch.randn(4)))


def refilled():
    array = np.random.default_rng(0).normal(size=(B, 4))
    record = record_of(own_function().double(), torch.from_numpy(array))
    record.rows()
    array[2, 1] += 1
    record.rows()


def stepped():
    model = own_function()
    record = record_of(model, torch.randn(B, 4))
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    record.rows()


class Marked(torch.Tensor):
    """A tensor with rules of its own."""


def with_buffers(change):
    def run():
        record = record_of(linear(), torch.randn(B, 4))
        record.rows(change(record.rows()))

    return run


def written_into(what):
    """Give rows of a Linear layer an ``out`` whose weight lies where something else does."""

    def run():
        memory = torch.randn(2 * 60)
        bias, x = torch.zeros(B, 3), torch.randn(B, 4)
        model = linear()
        if what == "input":
            x = memory[8:28].view(B, 4)
        elif what == "parameter":
            model.weight.data = torch.from_numpy(memory.numpy()[50:62]).view(3, 4)
        elif what == "out":
            bias = memory[45:].as_strided((B, 3), (15, 1))
        record, before = record_of(model, x), memory.clone()
        weight = memory[:60].view(B, 3, 4)
        if what == "broadcast":
            weight = memory[:12].view(1, 3, 4).expand(B, 3, 4)
        try:
            record.rows({"weight": weight, "bias": bias})
        finally:
            assert torch.equal(memory, before)

    return run


def written_into_numpy(read_only):
    def call(record):
        out, network = record.rows(), record._source.network
        out["2.weight"].flags.writeable = not read_only
        if not read_only:
            out["0.bias"] = network.layers[0].delta
        record.rows(out)

    return numpy_record(call)


def without_grad(record, each):
    record.backward(each.detach())


def two_sizes(m, x):
    return m.l(x), m.l(x)[:2]


def several_outputs():
    model = Made(two_sizes, l=linear())
    with ps.record(model, reduction="sum") as record:
        first, second = model(torch.randn(B, 4))
        (first.sum() + second.sum()).backward()
    record.rows()


def nothing_called():
    model, x = linear(), torch.randn(B, 4)
    output = model(x)
    with ps.record(model, reduction="sum"):
        output.sum().backward()


def checkpointed(m, x):
    return m.b(checkpoint(m.a, m.b(x), use_reentrant=True))


def numpy_used(inside, x=None):
    def run():
        network = networks()[0]
        with ps.record(network) as record:
            inside(network, np.ones((B, 4)) if x is None else x)
        record.rows()

    return run


def numpy_pass(network, x, times=1):
    for _ in range(times):
        network.backward(np.ones_like(network(x)))


def numpy_record(call):
    def run():
        network = networks()[0]
        with ps.record(network) as record:
            numpy_pass(network, np.ones((B, 4)))
            call(record)

    return run


def two_records(other):
    record_of(linear(), torch.randn(B, 4)).gram(record_of(other, torch.randn(B, 4)))


def divided():
    model = nn.Linear(2, 1)
    model.weight.full_tensor = lambda: model.weight  # what a DTensor is known by
    with ps.record(model):
        pass


LINEAR_RECORD = lambda: record_of(linear(), torch.randn(B, 4))  # noqa: E731
SECOND = (
    "backward: this record has its backward pass already, and one record holds one pass; add the "
    "losses and call backward once, or open a new with block."
)
NO_PASS = (
    "record: no backward pass was recorded; call record.backward(losses) with one loss for "
    "each sample. For a backward pass of your own, loss.backward(), say in record(model, "
    'reduction="mean") or "sum" what the loss does over the batch.'
)
OUTSIDE = (
    "record: what weight contributes to the loss cannot be told apart by sample from the "
    "model's output alone: it is used outside the model, such as in a penalty, or shared by the "
    "samples up to there; give one loss for each sample to record.backward(losses), without "
    "reduction=."
)
ERRORS = {
    "unknown reduction": (
        lambda: enter(linear(), reduction="none"),
        ValueError,
        "record: reduction='none' is not one of mean, sum; say what the loss does over the batch.",
    ),
    "no model": (
        lambda: enter(lambda x: x),
        TypeError,
        "record: the model is of type function; give a torch.nn.Module or a "
        "persample.recorder.Network. For a loss as a function there is ps.per_sample_grad.",
    ),
    "nothing to train": (
        lambda: enter(nn.Tanh()),
        ValueError,
        "record: the model, a Tanh, has no parameter that requires grad; give one that is to "
        "be trained, or call requires_grad_() on its parameters.",
    ),
    "divided parameters": (  # one that really is: test_devices_torch
        divided,
        TypeError,
        "record: the parameter weight is a DTensor, which fully_shard and others make and of "
        "which each process holds a part; take the rows of a model whose parameters are whole, "
        "such as one with p.full_tensor() of each.",
    ),
    "a lazy layer": (
        lambda: enter(nn.LazyLinear(3)),
        TypeError,
        "record: the parameter weight is not initialised; it must hold real numbers: a lazy "
        "layer gets them when the model is run once on a batch.",
    ),
    "complex numbers": (
        lambda: enter(nn.ParameterList([torch.ones(2, dtype=torch.complex64)])),
        TypeError,
        "record: the parameter 0 is complex; it must hold real numbers",
    ),
    "a scripted model and a backward of one's own": (
        lambda: enter(as_script(linear()), reduction="mean"),
        TypeError,
        "record: reduction='mean' needs the output of the model, and a model compiled by "
        "torch.jit.script shows it to nobody; give one loss for each sample to "
        "record.backward(losses), without reduction=.",
    ),
    "batch norm": (
        lambda: used(nn.Sequential(linear(), nn.BatchNorm1d(3))),
        ValueError,
        "record: 1 is a BatchNorm1d that normalises by the mean and variance of the batch, so "
        "no sample has a gradient of its own; call model.eval(), or build the model with "
        "GroupNorm or LayerNorm.",
    ),
    "batch norm without statistics": (
        lambda: used(
            nn.Sequential(
                linear(), nn.BatchNorm1d(3, affine=False, track_running_stats=False)
            ).eval()
        ),
        ValueError,
        "record: 1 is a BatchNorm1d that normalises by the mean and variance of the batch",
    ),
    # The losses
    "no tensor": (
        lambda: used(inside=lambda record, each: record.backward(each.tolist())),
        TypeError,
        "backward: the losses are of type list; give a tensor with one loss for each sample, such "
        'as F.cross_entropy(model(x), y, reduction="none").',
    ),
    "one number": (
        lambda: used(inside=lambda record, each: record.backward(each.mean())),
        ValueError,
        "backward: the loss is one number, and a mean or a sum no longer tells the samples apart; "
        'give one loss for each sample, shape (B,): with reduction="none" in a loss of PyTorch, '
        "or without .mean() at the end.",
    ),
    "a number for each token": (
        lambda: used(inside=lambda record, each: record.backward(each[:, None].expand(B, 7))),
        ValueError,
        "backward: the losses have shape (5, 7); give one number for each sample, shape (B,): sum "
        "or average what belongs to one sample, such as losses.flatten(1).mean(1).",
    ),
    "empty batch": (
        lambda: used(x=torch.randn(0, 4)),
        ValueError,
        "backward: the batch is empty; give at least one sample.",
    ),
    "no gradient": (
        lambda: used(inside=without_grad),
        RuntimeError,
        "backward: the losses carry no gradient; compute them from model(x) with gradients on, "
        "outside torch.no_grad().",
    ),
    "another model's losses": (
        lambda: used(
            inside=lambda record, each: record.backward(linear()(torch.randn(B, 4)).sum(1))
        ),
        RuntimeError,
        "backward: the losses do not depend on any parameter of the model that requires grad; "
        "compute them from model(x).",
    ),
    "no backward": (lambda: used(inside=lambda *_: None), RuntimeError, NO_PASS),
    "a backward of one's own, unannounced": (
        lambda: used(inside=lambda record, each: each.mean().backward()),
        RuntimeError,
        NO_PASS,
    ),
    "a second backward": (
        lambda: used(
            inside=lambda record, each: (
                record.backward(each, retain_graph=True),
                record.backward(each),
            )
        ),
        RuntimeError,
        SECOND,
    ),
    # A backward pass of one's own
    "both ways": (
        lambda: used(reduction="sum"),
        RuntimeError,
        "backward: the block was opened with reduction='sum', for a backward pass of your own, "
        "loss.backward(); open it with record(model) for record.backward(losses).",
    ),
    "a second backward of one's own": (
        lambda: used(
            inside=lambda record, each: (
                each.sum().backward(retain_graph=True),
                each.sum().backward(),
            ),
            reduction="sum",
        ),
        RuntimeError,
        SECOND,
    ),
    "a penalty": (
        lambda: own(lambda model, each: each.mean() + model.weight.square().sum()),
        NotImplementedError,
        OUTSIDE,
    ),
    "a penalty alone": (
        lambda: own(lambda model, each: model.weight.square().sum()),
        RuntimeError,
        "backward: the loss does not come from an output of the model that was called inside the "
        "with block; call the model there, or give record.backward(losses) one loss for each "
        "sample.",
    ),
    "called before": (
        nothing_called,
        RuntimeError,
        "backward: the loss does not come from an output of the model",
    ),
    "outputs of several lengths": (
        several_outputs,
        ValueError,
        "backward: the outputs of the model have the shapes (5, 3), (2, 3), so axis 0 cannot "
        "count the samples in all; give record.backward(losses) one loss for each sample.",
    ),
    "one's own, empty": (
        lambda: own(lambda model, each: each.sum(), x=torch.randn(0, 4)),
        ValueError,
        "backward: the batch is empty; give at least one sample.",
    ),
    "re-entrant checkpointing": (
        lambda: used(Made(checkpointed, a=nn.Linear(3, 4), b=linear())),
        NotImplementedError,
        "record: a part of the model is under activation checkpointing with "
        "use_reentrant=True, which hides its graph; call torch.utils.checkpoint.checkpoint with "
        "use_reentrant=False.",
    ),
    # Reading
    "an input overwritten": (
        overwritten,
        RuntimeError,
        "record: what weight was applied to was changed in place after the forward pass; read "
        "the record before its tensors are overwritten.",
    ),
    "a step before autograd runs again": (
        stepped,
        RuntimeError,
        "record: the rows of w need autograd a second time, and a tensor it needs was changed "
        "in place after the backward pass; read the record before the optimiser's step.",
    ),
    "the next batch in a NumPy array before autograd runs again": (
        refilled,
        RuntimeError,
        "record: what the model was applied to was changed in place after the forward pass; "
        "read the record before its tensors are overwritten.",
    ),
    "buffers without an entry": (
        with_buffers(lambda out: {"weight": out["weight"]}),
        ValueError,
        "rows: out is {'weight': '*'} and the rows are {'weight': '*', 'bias': '*'}, with * for "
        "an array; give the rows of an earlier call with these parameters, or no out.",
    ),
    "buffers of another size": (
        with_buffers(lambda out: {k: g[:2] for k, g in out.items()}),
        ValueError,
        "rows: out",
    ),
    "buffers of another type": (
        with_buffers(lambda out: {k: g.double() for k, g in out.items()}),
        ValueError,
        "rows: out",
    ),
    "a buffer with rules of its own": (
        with_buffers(lambda out: out | {"weight": out["weight"].as_subclass(Marked)}),
        TypeError,
        "rows: out_weight is a Marked, a subclass of Tensor whose own rules would be lost; give ",
    ),
    "buffers in the memory of an input": (
        written_into("input"),
        ValueError,
        "rows: out['weight'] shares memory with what the rows of weight are made of, so writing "
        "the one would change the other; give a copy of it, or no out.",
    ),
    "buffers in the memory of a parameter": (
        written_into("parameter"),
        ValueError,
        "rows: out['weight'] shares memory with the parameter weight, so writing the one would "
        "change the other; give a copy of it, or no out.",
    ),
    "buffers that share memory": (
        written_into("out"),
        ValueError,
        "rows: out['weight'] shares memory with out['bias'], so writing the one would change the "
        "other; give a copy of it, or no out.",
    ),
    "a broadcast as a buffer": (
        written_into("broadcast"),
        ValueError,
        "rows: out['weight'] is read-only, or shows a number of its memory more than once, as a "
        "broadcast does; give the rows of an earlier call, or no out.",
    ),
    "numpy: buffers in the memory of a layer": (
        written_into_numpy(read_only=False),
        ValueError,
        "rows: out['0.bias'] shares memory with what the rows of 0.weight are made of, so writing "
        "the one would change the other; give a copy of it, or no out.",
    ),
    "numpy: buffers that are read-only": (
        written_into_numpy(read_only=True),
        ValueError,
        "rows: out['2.weight'] is read-only, or shows",
    ),
    "a norm below 0": (
        lambda: LINEAR_RECORD().clipped_sum(-1.0),
        ValueError,
        "clipped_sum: max_norm=-1.0; give the largest norm of a row, a number above 0.",
    ),
    "a norm that is none": (
        lambda: LINEAR_RECORD().clipped_sum("1"),
        ValueError,
        "clipped_sum: max_norm='1'; give the largest norm of a row, a number above 0.",
    ),
    "chunks of nothing": (
        lambda: LINEAR_RECORD().chunks(0),
        ValueError,
        "chunks: chunk_size=0; give a number of samples, 1 or more.",
    ),
    "inner products with another model": (
        lambda: two_records(nn.Linear(4, 2)),
        ValueError,
        "gram: the two records have different parameters; give one of the same model, with the "
        "same trained parameters, shapes and types.",
    ),
    "inner products with what is no record": (
        lambda: LINEAR_RECORD().gram(torch.ones(B)),
        TypeError,
        "gram: other is of type Tensor; give the record of another pass, what `with "
        "ps.record(model) as record` gives.",
    ),
    # Checking
    "a check without a graph": (
        lambda: checked(linear(), keep=False),
        RuntimeError,
        "check: the graph of the pass is gone; call record.backward(losses, retain_graph=True) "
        "before you check.",
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
    "a check of mixed samples": (
        lambda: checked(Made(lambda m, x: centred(m.l(x)), l=linear())),
        RuntimeError,
        "check: alone in its batch, sample 0 has another output, by ",
    ),
    "a check of a model that takes no batch of one": (
        lambda: checked(Made(two_or_more, l=linear()), samples=(0,)),
        RuntimeError,
        "check: sample 0 cannot go through the model alone, so whether the samples mix stays "
        "open; the model says: Expected more than 1 value per channel",
    ),
    # NumPy
    "numpy: no parameters": (
        lambda: enter(Network([Tanh()])),
        ValueError,
        "record: the network has no parameters; give it at least one Linear layer.",
    ),
    "numpy: no backward": (
        numpy_used(lambda network, x: network(x)),
        RuntimeError,
        "record: no backward pass was recorded; call the network and its backward inside the "
        "with block.",
    ),
    "numpy: record.backward": (
        numpy_record(lambda record: record.backward(np.ones(B))),
        TypeError,
        "backward: a Network has no graph to go back through; call network.backward(cotangent) "
        "with the derivative of each sample's loss by its output.",
    ),
    "numpy: check": (
        numpy_record(lambda record: record.check()),
        TypeError,
        "check: a Network keeps no graph to compare with; run one sample through it alone.",
    ),
    "numpy: two batches": (
        numpy_used(lambda network, x: numpy_pass(network, x, times=2)),
        RuntimeError,
        "record: the network ran 2 times since the with block began, and its buffers hold the "
        "last batch only; read the record before the next batch, and open a new block for each.",
    ),
    "numpy: empty batch": (
        numpy_used(numpy_pass, np.ones((0, 4))),
        ValueError,
        "record: the batch is empty; give at least one sample.",
    ),
    "numpy: a second backward": (
        numpy_used(lambda network, x: (numpy_pass(network, x), network.backward(np.ones((B, 3))))),
        RuntimeError,
        "Network.backward: a second backward pass for one forward pass; call the network again "
        "first, or add the cotangents.",
    ),
    "numpy: a cotangent of another shape": (
        numpy_used(lambda network, x: (network(x), network.backward(np.ones(3)))),
        ValueError,
        "Network.backward: the cotangent has shape (3,); it must be (5, 3).",
    ),
    "numpy: backward first": (
        numpy_used(lambda network, x: network.backward(np.ones(3))),
        ValueError,
        "Network.backward: the cotangent has shape (3,); it must be that of an output: call the "
        "network first.",
    ),
    "numpy: no axis for samples": (
        numpy_used(numpy_pass, np.ones(4)),
        ValueError,
        "Linear: the input has shape (4,); it must be (B, ..., 4), samples first.",
    ),
    "numpy: another width": (
        numpy_used(numpy_pass, np.ones((B, 8))),
        ValueError,
        "Linear: the input has shape (5, 8); it must be (B, ..., 4), samples first.",
    ),
    "numpy: a layer twice": (
        lambda: Network([Linear(np.ones((2, 2)))] * 2),
        ValueError,
        "Network: a layer is in the list twice, and a layer keeps one input only; make two layers "
        "that share one weight array.",
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


def fails(model, x):
    with ps.record(model, reduction="sum"):
        model(x).sum().backward()
        raise RuntimeError


@pytest.mark.parametrize("width", [3, 4])
def test_the_model_is_as_before_after_an_error(width):
    model = linear()
    with pytest.raises(RuntimeError):
        fails(model, torch.randn(B, width))
    assert not model._forward_hooks
    assert not model._forward_pre_hooks
    assert not torch.overrides._len_torch_function_stack()

"""Private names of other packages that this one uses, each with a test of its meaning.

If a new version changes the meaning of a name, its test fails. That no other private name is used
is checked in the sources by ``ast``.
"""

import ast
import importlib.util
import inspect
import re
import sys

import jax
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: F401, of the calls below
from torch import nn
from torch.autograd.function import BackwardCFunction
from torch.nn.modules import module as every_module
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.hooks import RemovableHandle

from persample.recorder.axes import AXES
from persample.recorder.layouts import Propagation, SampleAxis
from persample.recorder.paths import STEPS
from persample.recorder.rules import RULES
from support import ROOT

SOURCES = [*sorted((ROOT / "src/persample").rglob("*.py")), ROOT / "conftest.py"]


def parameter(*shape):
    return torch.rand(shape, dtype=torch.float64).requires_grad_()


x, m, v, w, b = parameter(2, 3, 4), parameter(3, 4), parameter(4), parameter(5, 4), parameter(5)
k, s = parameter(6, 3, 2), parameter(3)
i, bags = torch.tensor([0, 2, 2]), torch.tensor([0, 2])
mean, variance = torch.rand(2, 4, dtype=torch.float64)
ATEN = torch.ops.aten
both_ways = nn.LSTM(3, 2, bidirectional=True)
texts, states = torch.rand(5, 2, 3), tuple(torch.rand(2, 2, 2, 2))
hidden = both_ways(texts, states)[0]


def again(function):
    """Return the vector-Jacobian product of ``function`` at x with 2, differentiable again."""
    y = function(x)
    ct = torch.full_like(y, 2.0).requires_grad_()
    return torch.autograd.grad(y, x, ct, create_graph=True)[0]


def lstm(reverse):
    """Return the autograd node of one direction of an LSTM layer."""
    waiting = [hidden.grad_fn]
    for node in waiting:
        if node.name() == "MkldnnRnnLayerBackward0" and node._saved_reverse == reverse:
            return node
        waiting += [other for other, _ in node.next_functions if other]


class Halved(torch.autograd.Function):
    """A custom autograd function with outputs of two shapes and dtypes."""

    @staticmethod
    def forward(ctx, x):
        return x / 2, x.sum(0).float()

    @staticmethod
    def backward(ctx, ct, other):
        return ct / 2


# What autograd saved ----------------------------------------------------------------------------

# A call -> what of it is read. Numbers of axes may be saved as they are, or as 2^64 less.
SAVED = {
    "x.sum(-1)": {"dim": (-1,)},
    "x.mean((0, -1))": {"dim": (0, -1)},
    "x.softmax(1)": {"dim": 1},
    "x.cumsum(-1)": {"dim": -1},
    "x.amax(-1)": {"dim": (-1,)},
    "x.max(-1)[0]": {"dim": -1},
    "x.flip(-1)": {"dims": (-1,)},
    "x.roll(1, -1)": {"dims": (-1,)},
    "x.roll(1)": {"dims": ()},
    "x.transpose(0, -1)": {"dim0": 0, "dim1": -1, "dims": None},
    "x.permute(1, 0, -1)": {"dims": (1, 0, -1), "dim0": None, "dim1": None},
    "x.select(-1, -2)": {"dim": -1, "index": -2},
    "x.unbind(1)[0]": {"dim": 1, "index": None},
    "torch.stack([x, x], -1)": {"dim": -1, "index": None},
    "torch.cat([x, x], -1)": {"dim": -1},
    "x[:, -2:3]": {"dim": 1, "start": -2, "step": 1},
    "x[:, 1::2]": {"dim": 1, "start": 1, "step": 2},
    "again(lambda x: x.select(1, -1))": {"dim": 1, "index": -1},
    "again(lambda x: x[:, -2:3:2])": {"dim": 1, "start": -2, "end": 3, "step": 2},
    "x.index_select(1, i)": {"dim": 1, "index": i},
    "x.index_copy(1, bags, x[:, :2])": {"dim": 1, "index": bags},
    "x.index_put((bags[:1],), x[0])": {"indices": (bags[:1],)},
    "x.split(2, -1)[0]": {"dim": -1, "split_size": 2, "split_sizes": None, "start": None},
    "x.split([1, 3], -1)[1]": {"dim": -1, "split_sizes": (1, 3), "start": None, "step": None},
    "x.repeat(1, 2, 1)": {"repeats": (1, 2, 1)},
    "F.pad(x, (1, 2))": {"pad": (1, 2)},
    "x.unfold(1, 2, 1)": {"dimension": 1},
    "ATEN._trilinear(x, x[0], v, [], [0], [0, 1], [2])": {
        "expand1": (), "expand2": (0,), "expand3": (0, 1), "sumdim": (2,),
    },
    # What the rows are made of.
    "torch.addmm(b, m, w.T, beta=2, alpha=3)": {"mat1": m, "beta": 2, "alpha": 3},
    "m @ w.T": {"self": m, "mat2": w.T},
    "x.bmm(x.mT)": {"self": x, "mat2": x.mT},
    "m @ v": {"self": m, "vec": v},
    "F.bilinear(m, w[:3], parameter(2, 4, 4)).grad_fn.next_functions[0][0]": {
        "i1": m, "i3": w[:3], "expand2": (0,), "sumdim": (2, 3),
    },
    "v @ v": {"self": v, "tensor": v},
    "torch.add(m, v, alpha=3)": {"alpha": 3},
    "torch.sub(m, v, alpha=3)": {"alpha": 3},
    "m * v": {"self": m, "other": v},
    "m / v": {"self": m, "other": v},
    "F.prelu(m, v)": {"self": m},
    "torch.cdist(m, w, p=1)": {
        "x1": m, "x2": w, "p": 1.0, "result": (m[:, None] - w).abs().sum(-1),
    },
    "ATEN._euclidean_dist(m, w)": {"x1": m, "x2": w, "result": (m[:, None] - w).norm(dim=-1)},
    "F.conv1d(x, k, stride=2, padding=1)": {
        "input": x, "stride": (2,), "padding": (1,), "dilation": (1,), "transposed": False,
        "groups": 1,
    },
    "F.conv_transpose1d(x, k[:3], stride=2)": {
        "transposed": True,
    },
    "again(lambda x: F.conv1d(x, k, padding=1))": {
        "grad_output": torch.full((2, 6, 5), 2.0).double(), "stride": (1,), "padding": (1,),
        "dilation": (1,), "transposed": False, "groups": 1,
    },
    "again(lambda x: F.layer_norm(x, (4,), v))": {
        "grad_out": torch.full_like(x, 2.0), "input": x, "mean": x.mean(-1, keepdim=True),
        "rstd": (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt(), "normalized_shape": (4,),
    },
    "F.layer_norm(m, (4,), v, v)": {
        "normalized_shape": (4,), "input": m, "result1": m.mean(1, keepdim=True),
        "result2": (m.var(1, correction=0, keepdim=True) + 1e-5).rsqrt(),
    },
    "F.group_norm(x, 3, s, s)": {
        "N": 2, "input": x, "result1": x.mean(2),
        "result2": (x.var(2, correction=0) + 1e-5).rsqrt(),
    },
    "F.batch_norm(m, mean, variance, v, v)": {
        "training": False, "input": m, "running_mean": mean, "running_var": variance, "eps": 1e-5,
    },
    "F.batch_norm(m, mean.clone(), variance.clone(), v, v, True)": {"training": True},
    "F.embedding(i, w)": {"indices": i, "padding_idx": -1, "scale_grad_by_freq": False},
    "F.embedding(i, w, 0, None, 2, True)": {"padding_idx": 0, "scale_grad_by_freq": True},
    "w[i]": {"indices": (i,)},
    "x[:, i]": {"indices": (None, i)},
    "F.embedding_bag(i, w, bags, mode='mean')": {
        "indices": i, "offsets": bags, "mode": 1, "padding_idx": -1, "per_sample_weights": None,
        "result2": torch.tensor([2, 1]), "scale_grad_by_freq": False,
    },
    "F.embedding_bag(i, w, bags, mode='sum', per_sample_weights=s)": {
        "mode": 0, "per_sample_weights": s,
    },
    "F.embedding_bag(i, torch.eye(5).double().requires_grad_(), bags, mode='max')": {
        "mode": 2, "result3": torch.tensor([[0, 0, 2, 0, 0], [2, 2, 2, 2, 2]]),
    },
    "lstm(reverse=False)": {
        "input": texts, "weight0": both_ways.weight_ih_l0, "weight1": both_ways.weight_hh_l0,
        "weight2": both_ways.bias_ih_l0, "weight3": both_ways.bias_hh_l0, "hx_": states[0][0],
        "cx_": states[1][0], "result0": hidden[:, :, :2], "reverse": False,
        "has_biases": True,
    },
    "lstm(reverse=True)": {
        "input": texts, "weight0": both_ways.weight_ih_l0_reverse, "hx_": states[0][1],
        "result0": hidden[:, :, 2:], "reverse": True,
    },
}  # fmt: skip
ON_CUDA = {"CudnnRnn": ["batch_first"]}


def equal(found, expected):
    if isinstance(expected, torch.Tensor):
        return torch.allclose(found, expected, rtol=1e-12)
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(equal, found, expected))
    return type(found) is type(expected) and found == expected


@pytest.mark.parametrize("call", SAVED)
def test_what_autograd_saved_is_what_the_rules_take_it_for(call):
    made = eval(call)
    passed = Propagation(getattr(made, "grad_fn", made), 0, 0, SampleAxis(0), (), (), 2)
    for name, expected in SAVED[call].items():
        assert equal(passed.saved(name), expected), name


def test_no_other_saved_name_is_read():
    """Compare the names of saved values in the sources with SAVED, ignoring a final number."""
    text = "".join(path.read_text() for path in SOURCES)
    several = " ".join(re.findall(r"saved\(name\) for name in \((.*)\)", text))
    read = {*re.findall(r"_saved_([a-z]\w*)", text), *re.findall(r"\w+", several)}
    read |= {*re.findall(r"""\b(?:saved|axes|within)\(f?"(\w+)""", text)}
    needs = [(kind, n) for kind, rules in RULES.items() for r in rules.values() for n in r.needs]
    needs += [(kind, n) for kind, step in STEPS.items() for n in step.needs]
    needs += [(kind, n) for kind, names in ON_CUDA.items() for n in names]
    for kind, name in needs:
        assert hasattr(getattr(torch._C._functions, f"{kind}Backward0"), f"_saved_{name}")
    known = {name for names in (*SAVED.values(), *ON_CUDA.values()) for name in names}
    assert len(read) >= 10
    assert {name for _, name in needs} <= known
    assert {n.rstrip("123") for n in read} <= {n.rstrip("123") for n in known}


# All others -------------------------------------------------------------------------------------


def input_metadata():
    """Check that it has the shape and dtype of each output of a node, in order."""
    (_, part), made = x.split([1, 3], -1), Halved.apply(x.double())
    leaf = (x * 2).grad_fn.next_functions[0][0]
    for node, outputs in [
        (part.grad_fn, [((2, 3, 1), torch.float64), ((2, 3, 3), torch.float64)]),
        (made[0].grad_fn, [((2, 3, 4), torch.float64), ((3, 4), torch.float32)]),
        (leaf, [((2, 3, 4), torch.float64)]),
    ]:
        assert [(tuple(each.shape), each.dtype) for each in node._input_metadata] == outputs


def names_of_nodes():
    """Check that names of PyTorch's nodes end in a digit, and those of custom functions do not."""
    made, _ = Halved.apply(x)
    assert made.grad_fn.name() == "HalvedBackward"
    assert (x * 2).grad_fn.name() == "MulBackward0"
    assert x.mean(1).grad_fn.name() == "MeanBackward1"
    assert (x * 2).grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    opaque = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True)
    assert opaque.grad_fn.name() == "CheckpointFunctionBackward"
    written = torch.zeros(3).double()
    written[0] = x.sum()
    assert written.grad_fn.name() == "torch::autograd::CopySlices"
    kinds = {name.rpartition("Backward")[0] for name in dir(torch._C._functions)}
    missing = (AXES.keys() | RULES.keys() | STEPS.keys()) - kinds
    assert missing - {"CopySlices"} <= {"Aminmax"}  # which has no derivative in PyTorch 2.10


def next_functions():
    """Check that it has an entry for each value that calling the node returns, in order."""
    w, two = torch.tensor([3.0], requires_grad=True), torch.tensor(2.0)
    node = (w * two).grad_fn
    assert [there is None for there, _ in node.next_functions] == [False, True]
    assert node(torch.tensor([5.0])) == (torch.tensor([10.0]), None)
    assert torch.sin(w).grad_fn(torch.zeros(1)) == torch.zeros(1)  # of one input it is no tuple


def cdist_backward():
    """Check that it is the gradient of cdist with respect to the first points, batch by batch."""
    points = w.expand(2, 5, 4)
    made = torch.cdist(x, points, p=3)
    ct = torch.rand_like(made)
    (expected,) = torch.autograd.grad(made, x, ct)
    assert equal(ATEN._cdist_backward(ct, x, points, 3.0, made), expected)


def variable():
    """Check that a node at the end of a graph has no inputs, and its parameter is `variable`."""
    leaf = (x * 2).grad_fn.next_functions[0][0]
    assert leaf.next_functions == ()
    assert leaf.variable is x


def backward_c_function():
    made, _ = Halved.apply(x)
    assert isinstance(made.grad_fn, BackwardCFunction)
    assert not isinstance((x * 2).grad_fn, BackwardCFunction)


def version():
    """Check that it counts in-place changes, and that a detached tensor shares it."""
    y = torch.ones(3)
    other = y.detach()
    start = y._version
    _ = y + 1
    assert y._version == start
    y.mul_(2)
    y[0] = 1.0
    assert y._version == other._version == start + 2


def hooks(model):
    """Yield (function that registers a hook, whether it is a forward hook of a module)."""
    y = x * 2
    for register in (
        x.register_hook,
        x.register_post_accumulate_grad_hook,
        y.register_hook,
        y.grad_fn.register_hook,
        y.grad_fn.register_prehook,
        model.register_full_backward_hook,
        model.register_full_backward_pre_hook,
        every_module.register_module_full_backward_hook,
    ):
        yield register, False
    yield model.register_forward_hook, True
    yield model.register_forward_pre_hook, True


def next_id():
    """Check that every hook takes the next number, and no number is given twice."""
    for register, _ in hooks(nn.Linear(2, 2)):
        before = RemovableHandle.next_id
        handle = register(lambda *args: None)
        assert (handle.id, RemovableHandle.next_id) == (before, before + 1)
        handle.remove()
        assert RemovableHandle.next_id == before + 1


def forward_hooks():
    """Check that they hold the ids of hooks that run in the forward pass, and no others."""
    model = nn.Linear(2, 2)
    for register, is_forward in hooks(model):
        handle = register(lambda *args: None)
        ids = model._forward_hooks.keys() | model._forward_pre_hooks.keys()
        assert ids == ({handle.id} if is_forward else set())
        handle.remove()


def backward_hooks():
    """Check that it is empty unless a parameter has a hook on its gradient."""
    p = nn.Parameter(torch.ones(2))
    assert not p._backward_hooks
    handle = p.register_hook(lambda g: g)
    assert p._backward_hooks
    handle.remove()
    assert not p._backward_hooks


def parameters():
    """Check that they are a module's own parameters, without those of its submodules."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, bias=False))
    model.scale = nn.Parameter(torch.ones(2))
    for _, module in model.named_modules():
        own = {name: p for name, p in module._parameters.items() if p is not None}
        assert own == dict(module.named_parameters(recurse=False))


def batch_norm():
    """Check that it is the base class of batch normalisation, and of no other layer."""
    over_batch = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
    assert all(issubclass(kind, _BatchNorm) for kind in (*over_batch, nn.LazyBatchNorm1d))
    assert not any(issubclass(kind, _BatchNorm) for kind in (nn.InstanceNorm1d, nn.GroupNorm))
    assert nn.BatchNorm1d(2, track_running_stats=False).running_mean is None


def functorch():
    """Check how to detect that a tensor is inside a transform, and inside grad."""
    seen = []

    def look(x):
        f = torch._C._functorch
        seen.append((f.is_functorch_wrapped_tensor(x), f.is_gradtrackingtensor(x)))
        return x.sum()

    look(x)
    torch.vmap(look)(torch.ones(3))
    torch.func.grad(look)(torch.ones(3))
    torch.vmap(torch.func.grad(look))(torch.ones(3, 2))
    assert seen == [(False, False), (True, False), (True, True), (True, True)]


def dynamo():
    """Check that it is the class of torch.compile's errors, and that compiling imports it."""

    def chosen(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(torch._dynamo.exc.TorchDynamoException):
        torch.compile(chosen, backend="eager", fullgraph=True)(torch.ones(2))
    assert sys.modules["torch._dynamo"] is torch._dynamo


def tracer():
    """Check that a function's arguments have this class inside a transform and not outside."""
    seen = []

    def look(x):
        seen.append(isinstance(x, jax.core.Tracer))
        return x * 2.0

    look(jax.numpy.ones(()))
    jax.vmap(look)(jax.numpy.ones(3))
    jax.grad(look)(1.0)
    jax.jit(look)(1.0)
    assert seen == [False, True, True, True]


def is_deleted():
    array = jax.numpy.ones(3)
    assert not array.is_deleted()
    array.delete()
    assert array.is_deleted()


def no_value():
    """Check that it is NumPy's default where None has a meaning."""
    assert inspect.signature(np.sum).parameters["keepdims"].default is np._NoValue
    assert np.sum(np.ones(3), initial=np._NoValue) == 3.0


def nbval():
    """Check the arguments of the methods that conftest.py replaces; see also `test_nbval`."""
    spec = importlib.util.find_spec("nbval.plugin")
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    for function, names in {
        plugin.IPyNbCell.compare_outputs: ["self", "test", "ref", "skip_compare"],
        plugin.IPyNbCell.runtest: ["self"],
        plugin.IPyNbFile.setup_sanitize_files: ["self"],
    }.items():
        assert [*inspect.signature(function).parameters] == names


# Program -> the names whose meaning it shows. Of those without an underscore no list is complete:
# what is public and what is undocumented look the same.
PROGRAMS = {
    input_metadata: "_input_metadata",
    names_of_nodes: "name",
    next_functions: "next_functions",
    cdist_backward: "_cdist_backward",
    variable: "variable",
    backward_c_function: "BackwardCFunction",
    version: "_version",
    next_id: "next_id",
    forward_hooks: "_forward_hooks _forward_pre_hooks",
    backward_hooks: "_backward_hooks",
    parameters: "_parameters",
    batch_norm: "_BatchNorm",
    functorch: "_C _functorch is_functorch_wrapped_tensor is_gradtrackingtensor",
    dynamo: "_dynamo TorchDynamoException",
    tracer: "Tracer",
    is_deleted: "is_deleted",
    no_value: "_NoValue",
    nbval: "compare_outputs runtest setup_sanitize_files",
}
NAMES = {name for names in PROGRAMS.values() for name in names.split()}


@pytest.mark.parametrize("program", PROGRAMS, ids=PROGRAMS.values())
def test_a_name_means_what_it_is_taken_for(program):
    program()


def names_in(tree):
    """Return (names that a syntax tree defines, names of attributes and imports it uses)."""
    own, used = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Attribute):
            (own if isinstance(node.ctx, ast.Store) else used).add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            parts = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
            used.update(part for name in parts for part in name.split("."))
        elif isinstance(node, ast.Constant) and re.fullmatch(r"[\w.]+", str(node.value)):
            used.update(str(node.value).split("."))
    return own, used


def test_no_other_private_name_is_used():
    """Compare the private names used, except those that the sources define, with NAMES."""
    found = [names_in(ast.parse(path.read_text())) for path in SOURCES]
    own, used = (set().union(*names) for names in zip(*found, strict=True))
    own.add("_replace")  # a named tuple documents it
    private = {name for name in used - own if re.match(r"_[A-Za-z]", name)}
    private = {name for name in private if not name.startswith("_saved_")}  # looked at above
    assert private == {name for name in NAMES if name.startswith("_")}
    assert used | own >= NAMES  # none is here that is no longer used

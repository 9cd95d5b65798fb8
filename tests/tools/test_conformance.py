"""The conformance suite: its verdicts, its reference rows, and models that change late."""

import copy
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from conformance import oracle, verdict  # noqa: E402
from conformance.adapters import template  # noqa: E402
from conformance.models import cases  # noqa: E402
from conformance.run import run  # noqa: E402
from conformance.task import Task  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
LATE = 2
CASES = {case.name: case for case in cases()}
SEQUENCES = [name for name, case in CASES.items() if case.late]
APART = (
    "LSTM, packed",
    "GRU, packed, two directions and layers",
    "bags, one by one",
    "two views, slices",
    "gradient penalty, convolution",
    "gradient penalty, LayerNorm",
    "Embedding, scale_grad_by_freq",
)


@pytest.fixture(autouse=True)
def one_thread():
    """Run PyTorch on one thread during a test, as these models are small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def task_of(name):
    return Task(CASES[name], CASES[name].losses[0])


def found_by(name, spoil=lambda answer: answer):
    """Test the loop as a library whose results ``spoil`` changes; return its line of results."""

    class Adapter(template.Adapter):
        def __call__(self, batch, losses, max_norm):
            return spoil(super().__call__(batch, losses, max_norm))

    library = SimpleNamespace(NAME="loop", packages=("tests",), documented=(), Adapter=Adapter)
    return run(library, task_of(name), task_of(name).steps())


def of_rows(change):
    """Return a function that applies ``change`` to the rows of a result and drops the rest."""
    return lambda answer: {"rows": {k: change(r) for k, r in answer["rows"].items()}}


def without(name):
    return lambda answer: {"rows": {k: r for k, r in answer["rows"].items() if k != name}}


@pytest.mark.parametrize(
    "name", ["Linear", "Conv2d", "BatchNorm, train", "bfloat16 MLP", "late: parameter hook"]
)
def test_the_loop_is_right_everywhere(name):
    assert set(found_by(name)["verdicts"]) == {verdict.RIGHT}


@pytest.mark.parametrize("what", ["rows", "squared_norms", "clipped_sum"])
@pytest.mark.parametrize("name", ["Linear", "tied embedding and head"])
def test_numbers_off_by_a_thousandth_are_wrong(name, what):
    def spoil(answer):
        value = answer[what]
        tree = isinstance(value, dict)
        spoiled = {k: 1.001 * v for k, v in value.items()} if tree else 1.001 * value
        return {**answer, what: spoiled}

    assert set(found_by(name, spoil)["verdicts"]) == {verdict.WRONG}


def raising(error):
    def spoil(answer):
        raise error

    return spoil


# A model, what is done to the answers, the verdict on a batch of more than one sample.
SPOILED = {
    "two samples swapped": ("Linear", of_rows(lambda r: r.flip(0)), verdict.WRONG),
    "another shape": ("Linear", of_rows(lambda r: r[:, :1]), verdict.WRONG),
    "fewer rows": ("Linear", of_rows(lambda r: r[:1]), verdict.WRONG),
    "no number": ("Linear", of_rows(lambda r: r * float("nan")), verdict.WRONG),
    "a refusal": ("Linear", raising(NotImplementedError("no rule")), verdict.REFUSED),
    "another exception": ("Linear", raising(KeyError("weight")), verdict.CRASH),
    "an error of PyTorch": ("Linear", lambda _: torch.zeros(2) + torch.zeros(3), verdict.CRASH),
    "rows of zeros left out": ("unused parameters", without("spare"), verdict.RIGHT),
    "rows left out": ("unused parameters", without("used.bias"), verdict.REFUSED),
}


@pytest.mark.parametrize("what", SPOILED)
def test_a_spoiled_answer_has_its_verdict(what):
    name, spoil, expected = SPOILED[what]
    found = found_by(name, spoil)
    pairs = zip(found["verdicts"], found["sizes"], strict=True)
    assert {v for v, size in pairs if size > 1} == {expected}


def live(task, step):
    model = task.case.build()
    oracle.set_parameters(model, step.parameters)
    return model


def assert_alone_is_whole(task, step):
    """Assert that each sample has the same row alone as in the batch."""
    alone = oracle.loop_rows(task.case, task.losses, live(task, step), step.batch, step.size)
    whole = oracle.whole_rows(task.losses, live(task, step), step.batch)
    for name, rows in whole.items():
        torch.testing.assert_close(alone[name], rows, rtol=1e-9, atol=1e-9)


def mixing(task, step):
    """Return the largest effect of an input on other samples' losses, relative to its own."""
    model = copy.deepcopy(live(task, step))
    x = step.batch["x"].clone().requires_grad_()
    losses = task.losses(model, {**step.batch, "x": x})
    grads = [torch.autograd.grad(each, x, retain_graph=True)[0] for each in losses]
    reach = torch.stack(grads).flatten(2).abs().amax(2)
    return float((reach - reach.diag().diag()).max() / reach.max())


@pytest.mark.parametrize("name", [*APART, *SEQUENCES])
def test_samples_begin_to_mix_at_the_third_batch_or_never(name):
    steps = task_of(name).steps()
    if CASES[name].late in ("mix", "move"):
        assert max(mixing(task_of(name), step) for step in steps[:LATE]) < 1e-12
        assert mixing(task_of(name), steps[LATE]) > 1e-4
    else:
        for step in steps:
            assert_alone_is_whole(task_of(name), step)

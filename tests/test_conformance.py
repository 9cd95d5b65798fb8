"""The conformance suite itself: its verdicts, its oracle, its sequences that change late."""

import copy
import re
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from conformance import oracle, report, verdict  # noqa: E402
from conformance.adapters import NAMES, template  # noqa: E402
from conformance.models import cases  # noqa: E402
from conformance.run import run  # noqa: E402
from conformance.task import Task  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
LATE = 2
CASES = {case.name: case for case in cases()}
SEQUENCES = [name for name, case in CASES.items() if case.late]
SMALL = ("Linear", "Conv2d", "LayerNorm", "tied embedding and head", "BatchNorm, train")


@pytest.fixture(autouse=True)
def one_thread():
    """These models are too small for more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def library(spoil=lambda answer: answer):
    """Return an adapter: the loop, its answers spoiled."""

    class Adapter(template.Adapter):
        def __call__(self, batch, losses, max_norm):
            return spoil(super().__call__(batch, losses, max_norm))

    return SimpleNamespace(NAME="loop", packages=("tests",), documented=(), Adapter=Adapter)


def verdicts(name, adapter):
    task = Task(CASES[name], CASES[name].losses[0])
    return run(adapter, task, task.steps())["verdicts"]


@pytest.mark.parametrize("name", [*SMALL, "bfloat16 MLP", "late: A @ h", "late: parameter hook"])
def test_the_loop_is_right_everywhere(name):
    assert set(verdicts(name, library())) == {verdict.RIGHT}


def scaled(what):
    def spoil(answer):
        value = answer[what]
        tree = isinstance(value, dict)
        spoiled = {k: 1.001 * v for k, v in value.items()} if tree else 1.001 * value
        return {**answer, what: spoiled}

    return spoil


@pytest.mark.parametrize("what", ["rows", "squared_norms", "clipped_sum"])
@pytest.mark.parametrize("name", SMALL)
def test_numbers_off_by_a_thousandth_are_wrong(name, what):
    found = set(verdicts(name, library(scaled(what))))
    one_sample_has_no_gradient = {verdict.RIGHT} if name == "BatchNorm, train" else set()
    assert verdict.WRONG in found
    assert found <= {verdict.WRONG} | one_sample_has_no_gradient


def test_two_samples_swapped_are_wrong_but_for_a_batch_of_one():
    def swap(answer):
        return {"rows": {k: r.flip(0) for k, r in answer["rows"].items()}}

    found = verdicts("Linear", library(swap))
    assert found == ["right" if size == 1 else "wrong" for size in CASES["Linear"].steps()]


@pytest.mark.parametrize(
    "change", [lambda r: r[:, :1], lambda r: r * float("nan"), lambda r: r[:1]]
)
def test_other_shapes_and_nan_are_wrong(change):
    def spoil(answer):
        return {"rows": {k: change(r) for k, r in answer["rows"].items()}}

    assert verdicts("Linear", library(spoil))[0] == verdict.WRONG


def test_a_raise_of_the_library_is_a_refusal_and_any_other_exception_a_crash():
    def refuse(answer):
        raise NotImplementedError("no rule for this layer")

    def missing_key(answer):
        raise KeyError("weight")

    def torch_error(answer):
        return torch.zeros(2) + torch.zeros(3)

    assert set(verdicts("Linear", library(refuse))) == {verdict.REFUSED}
    assert set(verdicts("Linear", library(missing_key))) == {verdict.CRASH}
    assert set(verdicts("Linear", library(torch_error))) == {verdict.CRASH}


def test_rows_left_out_are_a_refusal_unless_they_are_zero():
    def without(name):
        def spoil(answer):
            return {"rows": {k: r for k, r in answer["rows"].items() if k != name}}

        return library(spoil)

    assert set(verdicts("unused parameters", without("spare"))) == {verdict.RIGHT}
    assert set(verdicts("unused parameters", without("used.bias"))) == {verdict.REFUSED}


def test_both_oracles_agree_where_samples_do_not_mix():
    for name in ("MLP", "LSTM, packed", "experts, boolean gather", "EmbeddingBag, mean, offsets"):
        task = Task(CASES[name], CASES[name].losses[0])
        assert_alone_is_whole(task, task.steps()[0])


def live(task, step):
    model = task.case.build()
    oracle.set_parameters(model, step.parameters)
    return model


def assert_alone_is_whole(task, step):
    """Assert that each sample alone has the row that it has in the batch."""
    alone = oracle.loop_rows(task.case, task.losses, live(task, step), step.batch, step.size)
    whole = oracle.whole_rows(task.losses, live(task, step), step.batch)
    for name, rows in whole.items():
        torch.testing.assert_close(alone[name], rows, rtol=1e-9, atol=1e-9)


def reaches(task, step):
    """Return (B, B): the largest |d losses[i] / d x_j|, so how sample j reaches loss i."""
    model = copy.deepcopy(live(task, step))
    x = step.batch["x"].clone().requires_grad_()
    losses = task.losses(model, {**step.batch, "x": x})
    grads = [torch.autograd.grad(each, x, retain_graph=True)[0] for each in losses]
    return torch.stack(grads).flatten(2).abs().amax(2)


def off_diagonal(matrix):
    return float((matrix - matrix.diag().diag()).max() / matrix.max())


@pytest.mark.parametrize("name", [n for n in SEQUENCES if CASES[n].late in ("mix", "move")])
def test_samples_begin_to_mix_at_the_third_batch(name):
    task = Task(CASES[name], CASES[name].losses[0])
    early, later = task.steps()[:LATE], task.steps()[LATE:]
    assert len(early) == 2
    assert max(off_diagonal(reaches(task, step)) for step in early) < 1e-12
    assert off_diagonal(reaches(task, later[0])) > 1e-4


@pytest.mark.parametrize("name", [n for n in SEQUENCES if CASES[n].late not in ("mix", "move")])
def test_other_sequences_never_mix(name):
    task = Task(CASES[name], CASES[name].losses[0])
    for step in task.steps():
        assert_alone_is_whole(task, step)


def test_what_changes_in_sequences_that_do_not_mix():
    def steps(name):
        return Task(CASES[name], CASES[name].losses[0]).steps()

    lengths = [step.batch["count"].unique().numel() for step in steps("late: lengths, where")]
    assert lengths[0] == lengths[1] == 1 < lengths[2]
    words = [step.batch["x"].unique().numel() for step in steps("late: unique words")]
    assert words[:2] == [5, 5]
    assert words[2] < 5
    second = [s.truths[0]["experts"][:, 1] for s in steps("late: Switch router at zero, SGD")]
    assert not second[0].any()
    assert not second[1].any()
    assert second[2].any()


def test_the_results_name_every_wrong_entry():
    found = run(library(scaled("rows")), *prepared("Linear"))
    text = report.entries([found], verdict.WRONG)
    assert re.fullmatch(r"- Linear, squared error, all batches: error 0\.001 in rows", text)
    assert "| loop | 0 | 0 | 7 | 0 | 0 | 0 of 1 |" in report.totals([found])
    assert "| Linear | **WRONG** |" in report.matrix([found])


def prepared(name):
    task = Task(CASES[name], CASES[name].losses[0])
    return task, task.steps()


def test_the_tables_have_what_they_promise():
    assert len(CASES) - len(SEQUENCES) >= 40
    assert len(SEQUENCES) >= 15
    for name in NAMES:
        path = template.__file__.replace("template", name)
        with open(path) as lines:
            assert sum(1 for _ in lines) <= 45

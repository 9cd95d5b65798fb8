"""The page on libraries shows its programs unchanged, and the numbers that stored runs gave."""

import inspect
import json
import re
from collections import Counter

import nbformat
import pytest

torch = pytest.importorskip("torch")

from book_plain import SYMBOLS  # noqa: E402
from conformance import catch, check, tables  # noqa: E402
from notebook_rules import prose  # noqa: E402

from support import ROOT  # noqa: E402
from support.processes import python  # noqa: E402

REPORTS = ROOT / "conformance" / "reports"
PROGRAMS = sorted(REPORTS.glob("*.py"))
REPORTED = [path for path in PROGRAMS if path.with_suffix(".md").exists()]
PAGE = nbformat.read(ROOT / "reference" / "libraries.ipynb", as_version=4)
TEXT = "\n\n".join(cell.source for cell in PAGE.cells if cell.cell_type == "markdown")
BLOCKS = re.compile(r"^```python\n(.*?)^```\n.*?^```text\n(.*?)^```$", re.M | re.S)
# Programs that the page links, and the program there that prints the same.
LINKED = {
    "backpack_mixing": "opacus_mixing",
    "backpack_padding_mode": "opacus_padding_mode",
    "backpack_padding_same": None,
    "opacus_attention": None,
}
RESULTS = [line for line in tables.lines() if line["library"] != "Opacus, functorch"]


def test_the_pages_programs_are_the_files_and_print_what_the_reports_say():
    found = dict(BLOCKS.findall(TEXT))
    shown = [path for path in REPORTED if path.stem not in LINKED]
    assert sorted(found) == sorted(path.read_text() for path in shown)
    for path in REPORTED:
        program = path.read_text()
        assert len([line for line in program.splitlines() if line]) <= 16
        ((reported, output),) = BLOCKS.findall(path.with_suffix(".md").read_text())
        assert reported == program
        same = LINKED.get(path.stem, path.stem)
        assert same is None or output == found[(REPORTS / f"{same}.py").read_text()]
    for name in LINKED:
        assert f"](../conformance/reports/{name}.py)" in TEXT


def test_each_program_is_one_line_of_the_table_of_reports():
    named = re.findall(r"^\| `(\w+)\.py` \|", (REPORTS / "README.md").read_text(), re.M)
    assert sorted(named) == [path.stem for path in PROGRAMS]


@pytest.mark.parametrize("path", REPORTED, ids=lambda path: path.stem)
def test_a_program_prints_what_its_report_says_where_its_library_is_installed(path):
    pytest.importorskip(path.stem.partition("_")[0])
    ((_, printed),) = BLOCKS.findall(path.with_suffix(".md").read_text())
    assert python("-W", "ignore", path).stdout == printed


# Who is wrong where: the program that shows it, by kind of model and library.
SHOWN_BY = {
    ("position table", "Opacus"): "opacus_position_table",
    ("batch not on axis 0, or merged", "Opacus"): "opacus_position_table",
    ("batch not on axis 0, or merged", "BackPACK"): "backpack_batch_axis",
    ("sparse experts, ragged lengths", "Opacus"): "opacus_position_table",
    ("sparse experts, ragged lengths", "BackPACK"): "backpack_batch_axis",
    ("samples mix in the model", "Opacus"): "opacus_mixing",
    ("samples mix in the model", "BackPACK"): "backpack_mixing",
    ("samples mix in the loss", "Opacus"): "opacus_mixing",
    ("samples mix in the loss", "BackPACK"): "backpack_mixing",
    ("cdist between samples", "Opacus"): "opacus_mixing",
    ("cdist between samples", "BackPACK"): "backpack_mixing",
    ("cdist between samples", "torch.func"): "torch_func_cdist",
    ("Embedding(padding_idx)", "Opacus"): "opacus_padding_idx",
    ("EmbeddingBag(offsets), repeated ids", "Opacus"): "opacus_embedding_bag",
    ("Conv(padding_mode)", "Opacus"): "opacus_padding_mode",
    ("Conv(padding_mode)", "BackPACK"): "backpack_padding_mode",
    ('Conv(padding="same")', "BackPACK"): "backpack_padding_same",
    ("Embedding(scale_grad_by_freq)", "Opacus"): "opacus_scale_grad_by_freq",
    ("Conv(groups): squared norms", "BackPACK"): "backpack_groups",
    ("… packed, as DPLSTM, DPGRU", "Opacus"): "opacus_packed",
}
# No cells of the matrix: a layer with other outputs, and a sum that clipping does not bound.
BESIDE = {"opacus_attention", "opacus_ghost"}
KNOWN = "A documented limit"


def test_whoever_is_wrong_somewhere_has_a_program_and_a_report():
    kinds = tables.read("families.json")
    cells = {(kind, name.split(",")[0]): set() for kind, name in tables.marks()}
    for (kind, name), mark in tables.marks().items():
        cells[kind, name.split(",")[0]].add(mark)
    wrong = {pair for pair, marks in cells.items() if marks & {"limit", "wrong"}}
    assert wrong == SHOWN_BY.keys()
    assert {*SHOWN_BY.values(), *BESIDE} == {path.stem for path in REPORTED}
    known = {(kind, name) for name, found in kinds["known"].items() for kind in found}
    reports = {pair: (REPORTS / f"{name}.md").read_text() for pair, name in SHOWN_BY.items()}
    limits = {pair for pair, report in reports.items() if KNOWN in report}
    assert known & SHOWN_BY.keys() == limits


@pytest.mark.parametrize("name", ["matrix", "batches", "costs", "caught"])
def test_a_table_of_the_page_is_what_the_stored_runs_give(name):
    assert f"\n\n{getattr(tables, name)()}\n" in f"\n\n{TEXT}\n"


def numbers(table):
    """Return {first cell: numbers in the other cells, without those in brackets} of a table."""
    table = re.sub(r" \(\+\d+\)", "", table)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    return {line[0]: [float(x.replace(",", "")) for x in line[1:] if x] for line in lines}


def test_each_model_is_counted_once_and_the_cells_add_up():
    counts = numbers(tables.batches())
    batches = sum(len(x["verdicts"]) for x in RESULTS if x["library"] == "persample")
    each = {name: sum(found) for name, found in counts.items() if name != "JAX"}
    whole = [each.pop(name) for name in list(each) if name.startswith("torch.func")]
    assert {*each.values(), sum(whole)} == {batches}
    replaced = tuple(tables.read("families.json")["replaced"].values())
    cells = [x for x in tables.matrix().splitlines() if not x.startswith(replaced, 2)]
    for mark, column in (("limit", 3), ("wrong", 4)):
        found = re.findall(rf"{tables.SYMBOLS[mark]} (\d+)/", "\n".join(cells))
        assert sum(map(int, found)) == sum(of[column] for of in counts.values())


def test_what_is_left_out_is_said():
    assert tables.read("families.json")["left out"] == ["hook on a parameter"]
    assert "a hook that changes a parameter's gradient" in TEXT


def test_what_replaced_layers_add_is_said():
    variants = tables.read("variants.json")
    differ = variants["header"]["outputs differ by"]
    asis = {(x["library"], x["model"], x["loss"]): x["verdicts"] for x in RESULTS}
    added = Counter()
    for line in variants["lines"]:
        if line["model"] in differ and line["library"] != "Opacus, functorch":
            before = asis[line["library"], line["model"], line["loss"]]
            if differ[line["model"]] < tables.TOLERANCE:
                assert {*before} <= {"refused", "crash"}
                added.update((line["library"], verdict) for verdict in line["verdicts"])
    said = re.findall(
        r"^\| (.*?)(?:: .*?)? \| [\d,]+ \(\+(\d+)\) .*?(?:\(\+(\d+)\) )?\|$", TEXT, re.M
    )
    names = {shown: name for name, shown in tables.COLUMNS.items()}
    found = {names[shown]: (int(right), int(wrong or 0)) for shown, right, wrong in said}
    assert found == {name: (added[name, "right"], added[name, "wrong"]) for name, _ in added}
    assert "in brackets, what replaced layers" in TEXT


def test_what_the_converter_mends_is_said():
    variants = tables.read("variants.json")["converter"]
    tried = {(x["model"], x["loss"]): x["verdicts"] for x in variants if "conv" in x["library"]}
    mended = refused = 0
    for line in RESULTS:
        if line["library"] == "BackPACK" and {"refused", "crash"} & {*line["verdicts"]}:
            now = tried.pop((line["model"], line["loss"]))
            pairs = [*zip(line["verdicts"], now, strict=True)]
            refused += sum(before in ("refused", "crash") for before, _ in pairs)
            mended += pairs.count(("refused", "right")) + pairs.count(("crash", "right"))
            assert "wrong" not in now
    assert mended == 0
    assert f"made none of its {refused:,} refused or failed batches right" in TEXT
    beside = {model: {*found} for (model, _), found in tried.items()}
    assert beside == {"LSTM, two layers": {"right"}, "ReLU in place, a module": {"right"}}
    plain = [x["verdicts"] for x in variants if x["library"] == "BackPACK"]
    assert not any("right" in verdicts for verdicts in plain)


def test_what_float32_changes_in_recurrent_layers_is_said():
    every = [*tables.lines(), *tables.read("variants.json")["float32"]]
    both = {}
    for line in every:
        key = line["library"], line["model"], line["loss"]
        both.setdefault(key, []).append(line["verdicts"])
    recurrent = {key: found for key, found in both.items() if len(found) == 2}
    assert {library for library, *_ in recurrent} == tables.COLUMNS.keys() - {"JAX"}
    changed = {key[:2] for key, (before, now) in recurrent.items() if before != now}
    lstm = ("LSTM", "LSTM, sequence first", "LSTM, two directions and layers")
    assert changed == {("torch.func", model) for model in lstm}
    for (library, model, _), (before, now) in recurrent.items():
        if library == "torch.func":
            assert "right" not in before
            assert {*now} == {"right"} if model in lstm else "right" not in now
    assert "recurrent ones in both (only `torch.func` differed)" in TEXT
    assert "`nn.LSTM` in float32, unless packed, was right" in TEXT


def test_the_transformers_layers_are_past_the_break_even_as_said():
    forms = pytest.importorskip("persample.recorder.forms")
    assert "`persample` only where $T(p + d) \\le pd$, nowhere in this transformer" in TEXT
    T, width = 64, 64
    for p, d in ((3, 1), (1, 1), (4, 1), (1, 4)):
        delta, h = torch.zeros(1, T, p * width), torch.zeros(1, T, d * width)
        assert forms.OuterSum(delta, h).needs_rows


def test_the_times_in_the_text_are_those_of_the_table():
    times = numbers(tables.costs())
    func, hooks, ghost, backpack, ours = times["MLP: squared norms"]
    assert backpack == ours
    assert f"took {func} and {hooks} ordinary passes with rows, {ours} and {ghost} with" in TEXT
    func, hooks, ghost, ours = times["GPT: squared norms"]
    assert f"gained no time: {func} to {hooks} with them, {ghost} without" in TEXT
    assert func <= ours <= hooks  # in that model its norms are those of rows, too


def test_every_symbol_of_the_matrix_is_explained_and_has_a_colour():
    css = (ROOT / "_static" / "book.css").read_text()
    used = {mark for mark in tables.marks().values() if mark}
    assert used == tables.SYMBOLS.keys()
    assert {symbol: mark for mark, symbol in tables.SYMBOLS.items()} == SYMBOLS
    for mark, symbol in tables.SYMBOLS.items():
        assert f"- {symbol} " in TEXT
        assert f"span.{mark} {{ background: " in css


@pytest.mark.parametrize("page", ["libraries", "recipes"])
def test_the_check_on_the_page_is_the_one_that_was_measured(page):
    cells = nbformat.read(ROOT / "reference" / f"{page}.ipynb", as_version=4).cells
    shown = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert inspect.getsource(check.error_of_rows).rstrip() in shown


def wrong_by_mark(libraries):
    """Return a Counter of the results with wrong rows, and of their wrong batches, by symbol."""
    count = Counter()
    for line in RESULTS:
        if "wrong" in line and line["library"] in libraries:
            mark = tables.mark_of(line)
            count["lines", mark] += 1
            count["batches", mark] += line["verdicts"].count("wrong")
            late, first = line["model"].startswith("late:"), {*line["verdicts"][:2]}
            count["silent and late"] += late and "wrong" not in first
            count["raised first"] += not late and first <= {"refused", "crash"}
    return count


def test_what_the_check_caught_is_said():
    stored = json.loads(catch.SAVED.read_text())
    wrong = {name: found["wrong"] for name, found in stored["libraries"].items()}
    for name, counts in wrong.items():
        mine = [line for line in RESULTS if line["library"] == name]
        assert counts["batches"] == sum(line["verdicts"].count("wrong") for line in mine)
    assert not any(found["right"]["weighting"] for found in stored["libraries"].values())
    ghost, controls = wrong.pop("Opacus, ghost"), wrong.pop("persample")
    batches, random, ones = (
        sum(counts[key] for counts in wrong.values()) for key in ("batches", "weighting", "sum")
    )
    shapes = sum(
        list(line["errors"].values()).count("shape")
        for line in RESULTS
        if "errors" in line and line["library"] in wrong
    )
    assert shapes == sum(counts["other number"] for counts in wrong.values())
    only_norms = sum(
        line["verdicts"].count("wrong")
        for line in RESULTS
        if line["library"] in wrong and line.get("wrong") == ["squared_norms"]
    )
    innocent = sum(found["right"]["batches"] for found in stored["libraries"].values())
    marks = wrong_by_mark(wrong)
    assert marks["batches", "limit"] + marks["batches", "wrong"] == batches
    lines = [stored["libraries"][name]["lines"] for name in wrong]
    total, early = (sum(found[key] for found in lines) for key in ("lines", "two"))
    late = sum(
        line["verdicts"].count("wrong") for line in RESULTS if line["model"].startswith("late:")
    )
    for said in (
        f"caught all {random - only_norms:,} batches with wrong rows",
        f"{shapes} by the assertion on shapes, {random - only_norms - shapes} by the weights",
        f"other {only_norms} of the {random:,} ",
        f"({marks['batches', 'limit']:,} ◇, {marks['batches', 'wrong']} ✖)",
        f"on the {innocent:,} right batches",
        f"{marks['silent and late']} showed nothing in their first two batches, all by our doing, "
        f"and {marks['raised first']} raised an exception there",
        f"With weights 1 it caught {ones}, of which {shapes} had",
        f"{ghost['batches']} one random norm found {ghost['weighting']}",
        f"Of the {total} lines",
        f"{late} of {batches + ghost['batches']:,}",
    ):
        assert said in TEXT
    recipes = prose(ROOT / "reference" / "recipes.ipynb")
    assert f"It caught all {random - only_norms:,} batches with wrong rows" in recipes
    assert random == batches
    assert total - early == marks["silent and late"] + marks["raised first"]
    assert controls["batches"] == 0


def test_what_opacus_optimizer_stops_is_said():
    families = tables.read("families.json")["families"]
    kinds = ("position table", "batch not on axis 0, or merged", "sparse experts, ragged lengths")
    stored = json.loads(catch.SAVED.read_text())["libraries"]["Opacus, hooks"]
    stops = sum(stored["stops of a kind"][kind] for kind in kinds)
    found = [x for x in RESULTS if x["library"] == "Opacus, hooks"]
    found = [x for x in found if tables.kind_of(x, families) in kinds]
    limits = sum(line["verdicts"].count("wrong") for line in found)
    other = sum([*line.get("errors", {}).values()].count("shape") for line in found)
    for said in (
        f"the hooks' {limits} ◇ batches of these kinds, {other} have another number",
        f"stopped at {stops} of them",
        f"went on at {other - stops}, where",
        f"at the {limits - other} others",
    ):
        assert said in TEXT


def test_what_failed_inside_is_said():
    failed = Counter()
    for line in RESULTS:
        message = line.get("messages", {}).get("crash", "")
        shapes = re.match("RuntimeError: (stack expects each|The size of tensor a)", message)
        embedding = message.startswith("RuntimeError: expected scalar type")
        twice = message.endswith("'Linear' object has no attribute 'output'")
        twice = twice and not line["model"].startswith("gradient penalty")
        why = "shapes" if shapes else "float64" if embedding else "twice" if twice else "other"
        failed[line["library"], why] += line["verdicts"].count("crash")
        failed[line["library"]] += line["verdicts"].count("crash")
        if line["library"] == "torch.func" and re.search("LSTM|GRU|RNN", line["model"]):
            failed["recurrent"] += line["verdicts"].count("crash")
    for said in (
        f"Of ghost clipping's {failed['Opacus, ghost']} failures, "
        f"{failed['Opacus, ghost', 'shapes']} are unequal shapes",
        f"of BackPACK's {failed['BackPACK']}, {failed['BackPACK', 'float64']} are its float64 "
        f"embeddings and {failed['BackPACK', 'twice']} layers used more than once; "
        f"`torch.func`'s {failed['recurrent']} are all at recurrent layers",
    ):
        assert said in TEXT


def linear_rows(x):
    """Return (rows, losses, parameters) for a linear layer's squared outputs, by a loop."""
    layer = torch.nn.Linear(3, 2).double()
    parameters = list(layer.parameters())
    losses = layer(x).square().sum(1)
    each = [torch.autograd.grad(loss, parameters, retain_graph=True) for loss in losses]
    return [torch.stack(rows) for rows in zip(*each, strict=True)], losses, parameters


SPOILED = {
    "right": (lambda row: row, False, False),
    "samples shifted": (lambda row: row.roll(1, 0), True, False),
    "scaled": (lambda row: row / len(row), True, True),
    "one row for all": (lambda row: row.mean(0, keepdim=True).expand_as(row), True, False),
}


@pytest.mark.parametrize("how", SPOILED)
def test_random_weights_notice_what_ones_overlook(how):
    torch.manual_seed(0)
    change, noticed, by_ones = SPOILED[how]
    for w, expected in ((None, noticed), (torch.ones(5).double(), by_ones)):
        rows, losses, parameters = linear_rows(torch.randn(5, 3).double())
        error = check.error_of_rows([change(row) for row in rows], losses, parameters, w)
        assert (error > 1e-8) == expected


def single_precision(model, x, y):
    """Return (rows, losses, parameters) for a model's squared errors, by batched autograd."""
    losses = (model(x) - y).square().sum(1)
    parameters = list(model.parameters())
    each = torch.eye(len(x))
    rows = torch.autograd.grad(losses, parameters, each, True, is_grads_batched=True)
    return rows, losses, parameters


class Adapter(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.A = torch.nn.Parameter(torch.randn(2, 5))
        self.B = torch.nn.Parameter(torch.randn(3, 2) * size)

    def forward(self, x):
        return x @ (self.B @ self.A).T


@pytest.mark.parametrize("seed", range(20))
def test_an_outlier_hides_no_exchanged_rows(seed):
    torch.manual_seed(seed)
    x, y = torch.randn(64, 5), torch.randn(64, 1)
    y[0] = 1e6
    rows, losses, parameters = single_precision(torch.nn.Linear(5, 1), x, y)
    assert check.error_of_rows(rows, losses, parameters) < 1e-4
    rows, losses, parameters = single_precision(torch.nn.Linear(5, 1), x, y)
    others = [torch.cat([row[:1], row[1:].roll(1, 0)]) for row in rows]
    assert check.error_of_rows(others, losses, parameters) > 1e-2


@pytest.mark.parametrize("seed", range(20))
def test_a_parameter_with_small_rows_is_compared_by_its_own_size(seed):
    torch.manual_seed(seed)
    x, y = torch.randn(64, 5), torch.randn(64, 3)
    (a, b), losses, parameters = single_precision(Adapter(1e-5), x, y)
    assert check.error_of_rows([a.roll(1, 0), b], losses, parameters) > 1e-4
    rows, losses, parameters = single_precision(Adapter(1e-5), x, y)
    assert check.error_of_rows(rows, losses, parameters) < 1e-4


def test_rows_of_zeros_are_right_and_what_is_no_number_is_not():
    x = torch.zeros(4, 5)
    model = torch.nn.Linear(5, 1)
    rows, losses, parameters = single_precision(model, x, model(x).detach())
    assert check.error_of_rows(rows, losses, parameters) == 0
    rows, losses, parameters = single_precision(model, x, model(x).detach())
    bad = [row.clone().index_fill_(0, torch.tensor(1), float("nan")) for row in rows]
    assert not check.error_of_rows(bad, losses, parameters) < 1e-4


def test_rows_of_another_number_are_noticed():
    rows, losses, parameters = linear_rows(torch.randn(5, 3).double())
    with pytest.raises(AssertionError, match="not one row for each sample"):
        check.error_of_rows([row[:1] for row in rows], losses, parameters)


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_a_wrong_norm_is_noticed(factor):
    rows, losses, parameters = linear_rows(torch.randn(5, 3).double())
    norms = torch.cat([row.flatten(1) for row in rows], 1).norm(dim=1)
    error = check.error_of_norms(factor * norms, losses, parameters)
    assert (error > 1e-8) == (factor != 1)

"""What the page on frameworks says is what their programs found, and the programs are its code."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import frameworks as runner
import numpy as np
import pytest

import persample as ps
from persample_book import frameworks, plotting

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "benchmarks" / "frameworks"
STORED = json.loads(runner.STORED.read_text(encoding="utf-8"))["frameworks"]
OWN = ("numpy_engine", "pytorch", "jax")  # those of the book's own environment

sys.path.insert(0, str(PROGRAMS))
import common  # noqa: E402, the data of the programs

sys.path.remove(str(PROGRAMS))


def rows_of_the_book():
    arguments = [np.array(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
    return ps.loop_grad(ps.td_loss, (None, 0, 0, 0))(*arguments)


def test_the_closed_form_is_the_books_gradient():
    four = common.THETA, common.S, common.R, common.S_NEXT
    np.testing.assert_allclose(common.closed_form(*four), rows_of_the_book(), atol=1e-15)
    theta, s, r, s_next = common.batch(7)
    loop = ps.loop_grad(ps.td_loss, (None, 0, 0, 0))(*map(np.array, (theta, s, r, s_next)))
    np.testing.assert_allclose(common.closed_form(theta, s, r, s_next), loop, atol=1e-14)


@pytest.mark.parametrize("name", frameworks.WAYS)
def test_the_stored_rows_are_those_of_the_book(name):
    facts = STORED[name]
    precision = 1e-7 if name in ("mindspore", "mlx") else 1e-15
    for rows in facts["rows"]:
        assert np.abs(np.array(rows) - rows_of_the_book()).max() < precision
    assert (facts["leaf"]["value"], facts["leaf"]["v1"]) == (12, [2, 2])
    assert set(facts["times"]) == {str(size) for size in common.SIZES}
    assert set(facts["timed"]) == {"date", "machine"}


def test_every_program_is_stored_with_the_version_that_is_pinned():
    programs = {path.stem.removeprefix("with_") for path in PROGRAMS.glob("with_*.py")}
    assert programs == set(runner.NAMES) == set(STORED)
    for name in programs - set(OWN):
        pins = (PROGRAMS / f"requirements-{name}.txt").read_text(encoding="utf-8")
        versions = re.findall(r"^[\w-]+(?:\[\w+\])?==([\d.]+)", pins, re.MULTILINE)
        assert STORED[name]["version"] in versions, name


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("with_*.py")), ids=lambda path: path.stem)
def test_what_the_page_shows_is_there(path):
    page = (ROOT / "reference" / "frameworks.ipynb").read_text(encoding="utf-8")
    source, shown = path.read_text(encoding="utf-8"), 0
    for mark in re.findall(r"^# \[(\w+)\]$", source, re.MULTILINE):
        if mark != "end":
            assert "# [end]" in source.partition(f"[{mark}]")[2]
    for block in re.findall(rf"{path.name}\\n.*?start-after: .*?\[(\w+)\]", page, re.DOTALL):
        assert f"# [{block}]\n" in source
        shown += 1
    assert shown or path.stem.removeprefix("with_") not in frameworks.WAYS


def imported(source):
    """Return the (module, name) pairs that a text imports."""
    pairs = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            pairs |= {(node.module, alias.name, alias.asname) for alias in node.names}
        elif isinstance(node, ast.Import):
            pairs |= {(alias.name, None, alias.asname) for alias in node.names}
    return pairs


@pytest.mark.parametrize("name", frameworks.WAYS)
def test_the_imports_that_the_page_shows_are_those_of_the_program(name):
    cells = json.loads((ROOT / "reference" / "frameworks.ipynb").read_text("utf-8"))["cells"]
    page = "".join("".join(cell["source"]) for cell in cells)
    tab = page.partition(f"../benchmarks/frameworks/with_{name}.py")[2].partition("```")[0]
    shown = imported("\n".join(re.findall("^:  (.*)$", tab, re.MULTILINE)))
    ran = imported((PROGRAMS / f"with_{name}.py").read_text(encoding="utf-8"))
    assert shown
    assert shown <= ran


def test_a_name_that_a_framework_lacks_is_found():
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        common.named({"np": np}, {"stop": "np.absent"})


@pytest.mark.parametrize("name", frameworks.WAYS)
def test_the_words_by_which_an_argument_is_shared_are_in_the_rows_that_ran(name):
    assert common.shared(PROGRAMS / f"with_{name}.py", STORED[name]["shared"])
    with pytest.raises(ValueError, match="'in_axes=5' is not in the rows of"):
        common.shared(PROGRAMS / f"with_{name}.py", "in_axes=5")


def test_times_are_kept_with_their_date_unless_the_version_is_another(monkeypatch):
    monkeypatch.setenv("KEEP_TIMES", "yes")
    assert common.times(None, None, None) == {}
    before = {"version": "1.0", "times": {"1": 2.0}, "timed": {"date": "then"}, "rows": 0}
    kept = runner.timed("mlx", {"version": "1.0", "times": {}, "rows": 1}, before)
    assert kept == before | {"rows": 1}
    with pytest.raises(
        RuntimeError, match=r"stored times are those of version 1\.0, and this is 2"
    ):
        runner.timed("mlx", {"version": "2.0", "times": {}}, before)
    assert runner.timed("keras", {"version": "2.0"}, before) == {"version": "2.0"}


def test_new_times_get_the_date_of_today():
    new = runner.timed("mlx", {"version": "2.0", "times": {"1": 3.0}}, {"timed": "then"})
    assert new["times"] == {"1": 3.0}
    assert new["timed"]["date"] == runner.today()


def without_breaks(html):
    return re.sub("</?(wbr|span)[^>]*>", "", html)


def test_each_framework_has_a_card_with_its_words_beside_pytorchs():
    found = frameworks.load(runner.STORED)
    text = frameworks.cards(found)
    assert text.count(":::{tab-item}") == len(found) == len(frameworks.TABS)
    for name, facts in found.items():
        card = frameworks.card(name, found)
        assert card in text
        assert f">{facts['shared']}</code>" in without_breaks(card)
        head = card.splitlines()[0]
        assert head.endswith("| PyTorch | JAX |" if name == "pytorch" else " | PyTorch |")
    torch = without_breaks(frameworks.card("pytorch", found))
    assert ">func.grad</code> returns it; <code" in torch
    assert ">Tensor.backward</code> keeps it in <code" in torch
    assert "none needed: everything is a graph" in frameworks.card("pytensor", found)
    assert "compiled: error" in frameworks.card("jax", found)
    assert "inside <code" in frameworks.card("tensorflow", found).splitlines()[-1]


def test_the_table_of_habits_marks_what_changes_a_gradient_in_silence():
    found = frameworks.load(runner.STORED)
    habits = frameworks.habits(found)
    page = frameworks.habit_table(found)._repr_markdown_()
    marked = re.findall(f'<td style="{frameworks.ORANGE}">(.*?)</td>', page)
    silent = ["sum"] * 2 + ["wrong"] + ["adds up"] * 3
    assert sorted(marked) == sorted(f"silent: {word}" for word in silent)
    assert page.count("silent: ") == len(silent)  # said in words, not by the colour alone
    assert [words[0] for words in habits if words[2] == "sum"] == ["TensorFlow", "MindSpore"]
    assert [words[0] for words in habits if words[-1] == "wrong"] == ["MindSpore"]
    assert page.count("<td") == len(frameworks.HEAD) * len(habits)
    assert page.count("<th>") == len(frameworks.HEAD)
    assert "<td>PyTensor<br><small>pytensor.<wbr>grad</small></td><td>error</td>" in page


def test_two_functions_of_one_framework_have_a_line_each():
    lines = {(words[0], words[1]): words[2:] for words in habits_of_all()}
    assert lines["PyTorch", "func.grad"] == ["error", "0", "fresh", "correct"]
    assert lines["PyTorch", "Tensor.backward"] == ["error", "None", "adds up", "–"]
    assert lines["NumPy (ours)", "Tensor.backward"] == ["error", "None", "adds up", "–"]
    assert len(lines) == len(frameworks.TABS) + 2


def habits_of_all():
    return frameworks.habits(frameworks.load(runner.STORED))


def test_a_message_stands_below_the_function_that_said_it(capsys):
    found = frameworks.load(runner.STORED)
    frameworks.messages({"pytorch": found["pytorch"]}, "vector")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0::2] == ["PyTorch, func.grad", "PyTorch, Tensor.backward"]
    assert "jacrev" in lines[1]
    assert "implicitly created" in lines[3]
    frameworks.messages(found, "branch", "batched")
    assert "TensorFlow, tf.vectorized_map\n" in capsys.readouterr().out


def test_an_error_is_named_once():
    def double():
        raise ValueError("in user code:\n\n    ValueError: no shape\n")

    assert common.said(double, line=-1) == "ValueError: no shape"
    assert common.said(double) == "ValueError: in user code:"
    assert not any(re.search(r"(\w+Error): \1:", json.dumps(facts)) for facts in STORED.values())


def test_the_ways_of_tensorflow_differ_as_its_tab_says():
    facts = STORED["tensorflow"]
    ran = {name: [not each[way] for way in each] for name, each in facts["other_losses"].items()}
    assert ran == {
        "size_by_if": [False, True],
        "huber_by_if": [False, False],
        "huber_by_where": [True, True],
    }
    assert facts["dropout"] == {"vectorized_map": 1, "batch": 4}
    assert facts["largest_arrays"]["jacobian"] == 8 * facts["largest_arrays"]["vectorized_map"]


@pytest.mark.parametrize("name", frameworks.WAYS)
def test_the_call_that_the_page_begins_with_is_in_the_rows_that_ran(name):
    call, _ = frameworks.CALLS[name]
    assert common.shared(PROGRAMS / f"with_{name}.py", call)
    line = next(
        line
        for line in frameworks.call_table({name: STORED[name]}).splitlines()
        if f'"?framework={name}#frameworks-code"' in line
    )
    assert f">{call.replace('td_', '')}</code>" in without_breaks(line)
    assert ("| yes |" in line) == bool(STORED[name]["words"]["batch"])


def test_the_links_of_the_first_table_open_tabs_that_the_page_has():
    page = (ROOT / "reference" / "frameworks.ipynb").read_text(encoding="utf-8")
    links = re.findall(
        r"\?(\w+)=(\w+)#([\w-]+)", frameworks.call_table(frameworks.load(runner.STORED))
    )
    assert len(links) == len(frameworks.TABS)
    for group, name, place in links:
        assert f":sync-group: {group}\\n" in page
        assert f":sync: {name}\\n" in page
        assert f"({place})=\\n" in page


@pytest.mark.parametrize("name", ["pytorch", "numpy_engine"])
def test_what_a_function_returns_does_not_add_up(name):
    assert STORED[name]["twice"] == [4, 4]
    assert STORED[name]["kept"]["twice"] == [4, 8]
    assert STORED[name]["keeps_grad"]


def test_the_figure_of_times_has_a_bar_for_each_and_the_slowest_first():
    ratios = {"fast": [1.0, 1.5, 1.2], "slow": [0.5, 3.0, 40.0]}
    figure = plotting.relative_times(ratios, ["few", "some", "many"])
    panels = figure.axes
    assert [axes.get_title() for axes in panels] == ["few", "some", "many"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["slow", "fast"]
    bars = [[bar.get_width() for bar in axes.patches] for axes in panels]
    assert bars == [[0.5, 1.0], [3.0, 1.5], [5.0, 1.2]]  # 40 is cut
    assert [[text.get_text() for text in axes.texts] for axes in panels] == [
        ["0.5", "1.0"],
        ["3.0", "1.5"],
        ["40", "1.2"],
    ]
    arrows = [sum(line.get_marker() == ">" for line in axes.lines) for axes in panels]
    assert arrows == [0, 0, 1]


def test_a_framework_that_was_not_had_leaves_the_tables(tmp_path):
    stored = {"frameworks": STORED | {"mlx": {"name": "MLX", "not had": "no wheel"}}}
    path = tmp_path / "stored.json"
    path.write_text(json.dumps(stored), encoding="utf-8")
    found = frameworks.load(path)
    assert list(found) == [name for name in frameworks.WAYS if name != "mlx"]
    assert "MLX" not in frameworks.versions(found, rows_of_the_book())
    assert "MLX" not in frameworks.cards(found)


def test_a_wrong_row_is_seen():
    found = frameworks.load(runner.STORED)
    wrong = rows_of_the_book() * -1
    assert min(frameworks.differences(found, wrong).values()) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_the_programs_of_the_books_own_frameworks_still_find_that(name, tmp_path):
    done = subprocess.run(
        [sys.executable, PROGRAMS / f"with_{name}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    keys = "rows leaf unused vector branch twice words shared keeps_grad same_tensor_twice kept"
    for key in keys.split():
        assert found.get(key) == STORED[name].get(key), key

"""Tables for the page on other frameworks, from what scripts/frameworks.py stored.

Where a function takes ``found``, it is the dict {framework: stored facts} that `load` returns.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

NONE = "none"  # a framework without such a thing
SHORT = {"numpy_engine": "NumPy (ours)", "pytensor": "PyTensor"}  # names in a figure
SHARED = {  # how the words by which a framework shares an argument do that
    "tensorflow": "closed over: ",
    "pytensor": "left out of the replacements: ",
    "autograd": "what the Jacobian differentiates: ",
    "chainer": "a copy for each sample: ",
}
SILENT = ("sum", "adds up", "wrong")  # how cells begin whose gradient changes without an error
ORANGE = "background:#b4521a;color:#fff;font-weight:650"  # of such a cell, on light and dark pages
HEAD = (
    "framework, function",
    "vector loss",
    "unused input",
    "gradient computed again",
    "same tensor twice",
)
LEAVES = {  # what is marked to be differentiated; "none" elsewhere
    "tensorflow": "`tf.Variable`; it keeps no `.grad`",
    "mindspore": "`Parameter`, by `requires_grad`; it keeps no `.grad`",
    "chainer": "a `Variable` without a creator",
}
KEPT = "Tensor.backward"  # where tensors keep a gradient too, beside a function that returns it
CALLS = {  # what makes the rows, as it stands in the program, and what the names in it are
    "tensorflow": (
        "tf.vectorized_map(lambda one: row(theta, *one), samples)",
        "`row`: the gradient of one sample, by a tape",
    ),
    "mindspore": ("vmap(ms.grad(td_loss), in_axes=(None, 0, 0, 0))", ""),
    "mlx": ("mx.vmap(mx.grad(td_loss), in_axes=(None, 0, 0, 0))", ""),
    "pytensor": (
        "vectorize_graph(row, {s: S, r: R, s_next: S_next})",
        "`row`: the gradient of one sample",
    ),
    "autograd": ("jacobian(td_losses)", "`losses`: one number for each sample"),
    "chainer": (
        "F.sum(td_loss(copies, s, r, s_next)).backward()",
        "`copies`: the weights, copied for each sample; `copies.grad` has the rows",
    ),
    "pytorch": ("torch.vmap(torch.func.grad(td_loss), in_dims=(None, 0, 0, 0))", ""),
    "jax": ("jax.vmap(jax.grad(td_loss), in_axes=(None, 0, 0, 0))", ""),
    "numpy_engine": ("engine.vmap(engine.grad(td_loss), in_axes=(None, 0, 0, 0))", ""),
}
WAYS = {
    "tensorflow": "a tape in `vectorized_map`; `tape.jacobian`",
    "mindspore": "`jit(vmap(grad))`",
    "mlx": "`compile(vmap(grad))`",
    "pytensor": "`vectorize_graph` of `grad`; `jacobian`",
    "autograd": "`jacobian`; a loop",
    "chainer": "copies of the weights; a loop",
    "pytorch": "`vmap(grad)`, compiled or not",
    "jax": "`jit(vmap(grad))`",
    "numpy_engine": "`jit(vmap(grad))`",
}
TABS = {  # the page's tabs, in their order
    "tensorflow": "TensorFlow",
    "mindspore": "MindSpore",
    "mlx": "MLX",
    "pytensor": "PyTensor",
    "autograd": "HIPS autograd",
    "chainer": "Chainer",
    "pytorch": "PyTorch",
    "jax": "JAX",
    "numpy_engine": "NumPy",
}


class Table(str):
    """A string of Markdown, possibly with HTML, which a notebook renders."""

    def _repr_markdown_(self) -> str:
        return str(self)


def load(path: str | Path) -> dict[str, dict[str, Any]]:
    """Return {framework: stored facts} in the page's order, without those not installed."""
    stored = json.loads(Path(path).read_text(encoding="utf-8"))["frameworks"]
    return {name: stored[name] for name in WAYS if "not had" not in stored[name]}


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> Table:
    """Return a Markdown table: ``head`` names the columns, ``rows`` has the cells of each line."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return Table("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


def differences(found: Mapping[str, dict], wanted: Any) -> dict[str, float]:
    """Return {framework: largest absolute difference of its rows from the array ``wanted``}."""
    return {
        name: max(float(np.abs(np.array(rows) - wanted).max()) for rows in facts["rows"])
        for name, facts in found.items()
    }


def versions(found: Mapping[str, dict], wanted: Any) -> Table:
    """Return the table of versions, with bounds on `differences` from the array ``wanted``."""
    largest = differences(found, wanted)
    lines = [
        [facts["name"], facts["version"].split("+")[0], _below(largest[name])]
        for name, facts in found.items()
    ]
    return table(["framework", "version", "largest difference less than"], lines)


def _below(x):
    return next(text for text in ("1e-15", "1e-7", "1e-6") if x < float(text))


def call_table(found: Mapping[str, dict]) -> Table:
    """Return the table of the calls that make rows, with links that open a framework's tab."""
    lines = []
    for name, facts in found.items():
        call, names = CALLS[name]
        here = f"?framework={name}#frameworks-code"  # sphinx-design reads the tab from it
        shown = _code(f"`{call.replace('td_', '')}`" + f"<br>{names}" * bool(names))
        vmap = "yes" if facts["words"]["batch"] else "no"
        lines.append([f'<a href="{here}">{short(name, facts)}</a>', vmap, shown])
    return table(["framework", "vmap?", "the line that makes the rows"], lines)


def _code(text):
    """Return text with `code` as HTML that can wrap after ( . and _ (Sphinx's own cannot)."""

    def marked(match):
        wraps = re.sub(r"(\(|\.|_)(?=\w)", r"\1<wbr>", match[1])
        whole = re.sub(r"\(<wbr>(None, 0.*?\))", r'<span class="text-nowrap">(\1</span>', wraps)
        return f'<code class="literal">{whole}</code>'

    return re.sub("`([^`]*)`", marked, text)


def habits(found: Mapping[str, dict]) -> list[list[str]]:
    """Return [framework, function, four outcomes from `_habits`] for each gradient function."""
    lines = []
    for name, facts in found.items():
        lines.append([short(name, facts), _short(facts["words"]["gradient"]), *_habits(facts)])
        if "kept" in facts:
            lines.append([short(name, facts), KEPT, *_habits(facts["kept"])])
    return lines


def habit_table(found: Mapping[str, dict]) -> Table:
    """Return `habits` as an HTML table, orange where a gradient changes without an error."""
    head = "".join(f"<th>{word}</th>" for word in HEAD)
    lines = [
        f"<tr><td>{name}<br><small>{function.replace('.', '.<wbr>')}</small></td>"
        f"{''.join(map(_cell, words))}</tr>"
        for name, function, *words in habits(found)
    ]
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return Table(f'<div class="table-box"><table style="text-align:left">{body}</table></div>')


def _cell(word):
    silent = word.startswith(SILENT)
    return f'<td style="{ORANGE}">silent: {word}</td>' if silent else f"<td>{word}</td>"


def short(name: str, facts: Mapping) -> str:
    """Return a framework's name in the short form used in figures."""
    return SHORT.get(name, facts["name"])


def _habits(facts):
    """Return the outcome for a vector loss, an unused input, a second call, a repeated tensor."""
    unused = {"0.0": "0", "None": "None"}.get(facts["unused"], "error")
    vector = "error; None for x + 1" if facts.get("vector_plus_one") == "None" else "error"
    same = {None: "–", 0: "correct"}.get(facts.get("same_tensor_twice"), "wrong")
    return (
        "sum" if isinstance(facts["vector"], list) else vector,
        unused,
        "adds up" if facts["twice"][1] == 2 * facts["twice"][0] else "fresh",
        same,
    )


def cards(found: Mapping[str, dict]) -> Table:
    """Return Markdown for a set of tabs, one for each framework, with the table of `card`."""
    tabs = [f"<!-- tab: {name} -->\n**{TABS[name]}**\n\n{card(name, found)}" for name in found]
    return Table("\n".join(["<!-- tabs: framework -->", "\n\n".join(tabs), "<!-- /tabs -->"]))


def card(name: str, found: Mapping[str, dict]) -> Table:
    """Return the table of a framework's names for the book's terms, beside PyTorch's (JAX's)."""
    beside = "jax" if name == "pytorch" else "pytorch"
    shown = [name] + [beside] * (beside in found)
    columns = [_words(each, found[each]) for each in shown]
    lines = [[word, *(column[word] for column in columns)] for word in columns[0]]
    return table(["the book's word", *(short(each, found[each]) for each in shown)], lines)


def _words(name, facts):
    """Return {the book's term: the framework's name for it, with code as HTML}."""
    words = {key: f"`{_short(word)}`" if word else NONE for key, word in facts["words"].items()}
    record, gradient = words["record"], words["gradient"]
    if "kept" in facts:
        record = f"{gradient}: none needed; `{KEPT}`: `requires_grad`"
        gradient = f"{gradient} returns it; `{KEPT}` keeps it in `.grad`"
    elif record == NONE:
        record = "none needed: everything is a graph"
    lines = {
        "rows": WAYS[name],
        "record": record,
        "gradient": gradient,
        "Jacobian": words["jacobian"],
        "batch the samples": words["batch"],
        "shared argument": f"{SHARED.get(name, '')}`{facts['shared']}`",
        "hold fixed": words["stop"],
        "compile": words["compile"],
        "leaf": LEAVES.get(name, words["leaf"]),
        "`if` on a value": _branches(facts),
    }
    return {word: _code(said) for word, said in lines.items()}


def _short(name):
    """Return a dotted name without its first part, the package, if two parts or more remain."""
    rest = name.partition(".")[2]
    return rest if "." in rest else name


def _branches(facts):
    """Return text: whether a Python `if` on a value runs or raises, eager, compiled, batched."""
    seen = facts["branch"]
    names = {"eager": "", "compiled": "compiled: ", "batched": "batched: "}
    said = {where: "error" if seen[where] else "runs" for where in names if where in seen}
    if "other_losses" in facts:  # batched by a function that is compiled
        said["batched"] += "; inside `tf.function`: error for some losses"
    return "; ".join(names[where] + what for where, what in said.items())


def messages(found: Mapping[str, dict], of: str, where: str | None = None) -> None:
    """Print the error messages stored under ``of``, each below its framework and function.

    If several are stored there, ``where`` is the name of one, such as "batched".
    """
    for facts in found.values():
        function = _short(facts["words"]["batch" if where else "gradient"])
        said = [(function, facts[of] if where is None else facts[of].get(where, ""))]
        if where is None and "kept" in facts:
            said.append((KEPT, facts["kept"][of]))
        for function, text in said:
            if isinstance(text, str) and "Error" in text:
                print(f"{facts['name']}, {function}\n  {text}")


def ratios(found: Mapping[str, dict]) -> dict[str, list[float]]:
    """Return {framework: [time of the rows / time of the mean gradient, for each batch size]}."""
    return {
        short(name, facts): [times["rows"] / times["mean"] for times in facts["times"].values()]
        for name, facts in found.items()
    }


def first_calls(found: Mapping[str, dict]) -> dict[str, float]:
    """Return {framework: seconds of the longest first call for the rows, over the batch sizes}."""
    return {
        short(name, facts): max(times["first rows"] for times in facts["times"].values())
        for name, facts in found.items()
    }


def measured(found: Mapping[str, dict]) -> set[tuple[str, str]]:
    """Return the set of (date, machine) at which the stored times were measured."""
    return {(facts["timed"]["date"], facts["timed"]["machine"]) for facts in found.values()}


def others(path: str | Path) -> dict[str, dict[str, Any]]:
    """Return {framework: stored facts} of Keras and tinygrad, for which no rows are computed."""
    stored = json.loads(Path(path).read_text(encoding="utf-8"))["frameworks"]
    return {name: stored[name] for name in ("keras", "tinygrad")}

"""The page on cost: its numbers are the stored ones, and its claims on other models hold."""

import re
from datetime import date

import pytest

from support.pages import cells, stored, text

SOURCES = [cell.source for cell in cells("chapters/11_cost")]
TEXT = text("chapters/11_cost")
COST = stored("cost")
# The lines of the table, as the stored run names them.
NAMES = """ordinary
norms, page
norms, record
clipped, page
clipped, record
clipped, Opacus
clipped, JAX loop
clipped, chunks
rows, record
rows, JAX vmap
rows, vmap
rows, JAX loop
rows, Opacus
rows, compiled loop
rows, loop""".splitlines()


def short(passes: float) -> float:
    return float(f"{passes:.2g}")


def lines_of_the_table():
    table = TEXT.partition("| you want |")[2].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_the_table_is_what_was_measured():
    found = [(float(passes), int(mib)) for _, _, passes, mib in lines_of_the_table()]
    passes, memory = COST["passes"], COST["memory"]
    assert found == [(short(passes[name]), round(memory[name])) for name in NAMES]
    for name in ("written", "loop", "vmap", "vmap, memory kept"):
        assert re.search(rf"took \**{short(passes[f'rows, {name}']):g}\b", TEXT), name


def test_old_memory_and_new_memory_are_apart():
    passes = COST["passes"]
    old = "rows, record", "rows, vmap, memory kept", "clipped, JAX loop"
    new = [name for name in NAMES if name.startswith("rows, ") and name not in old]
    assert max(passes[name] for name in old) < 9
    assert min(passes[name] for name in new) >= 30


def test_the_figure_draws_the_table():
    (data,) = [source for source in SOURCES if "prices = {" in source]
    names: dict = {}
    exec(data, names)
    drawn = [(want, *point) for want, points in names["prices"].items() for point in points]
    lines = lines_of_the_table()[1:]  # without the ordinary pass
    assert drawn == [(want, int(mib), float(passes)) for want, _, passes, mib in lines]


@pytest.mark.parametrize("model", ["CNN, B = 64", "GPT, B = 16, T = 64"])
def test_the_prices_of_other_networks_are_those_of_the_stored_run(model):
    steps = stored("steps")
    rows = steps["cases"][model]["fixed"]["rows"]
    ways = ["torch.func vmap(grad)", "Opacus hooks, .grad too"]
    vmap, opacus = (f"{rows[way]['passes']:.1f}" for way in ways)
    assert steps["date"] == COST["date"]
    assert re.search(rf"took {vmap}\b[^.]* and {re.escape(opacus)}", TEXT)


# A line of the table of clipped sums in JAX, by how the stored run names the case. The times of
# the GRU vary tenfold from run to run.
CLIPPED = {
    "MLP 784-256-10, B = 256": "MLP 784-256-10: once",
    "MLP 3 x 1024, B = 64": "MLP, three layers of 1,024: once",
    "CNN 28 x 28, B = 128": "CNN: the kernels many times, the widest layer once",
    "GPT, 4 layers, T = 64, B = 16": "GPT, 64 tokens: many times",
    "GPT, vocabulary 4,096, B = 16": "the same, two layers, 4,096 words: many times",
}


def test_the_clipped_sums_in_jax_are_what_was_measured():
    measured = stored("clipped_sums")
    table = TEXT.partition("| network, and how ")[2].partition("\n\n")[0].splitlines()[2:]
    wanted = []
    for case, line in CLIPPED.items():
        passes = {way: found.get("passes") for way, found in measured["cases"][case].items()}
        best = min(passes[way] for way in passes if way.startswith("scan"))
        cells = [passes["clipped sum"], best, passes["vmap(grad), then clip"]]
        wanted.append(" | ".join([line, *(f"{short(x):g}" for x in cells)]))
    assert [line.strip("| ") for line in table] == wanted
    day = date.fromisoformat(measured["date"])
    assert f"float32, {day.day} {day:%B %Y}, [the program]" in TEXT
    of_gru = measured["cases"]["GRU, T = 32, B = 32"]
    scans = min(found["passes"] for way, found in of_gru.items() if way.startswith("scan"))
    ways = of_gru["clipped sum"]["passes"], scans, of_gru["vmap(grad), then clip"]["passes"]
    assert [round(x) for x in ways] == [2, 2, 2]
    opacus = [measured["cases"][case].get("Opacus, in passes of PyTorch") for case in CLIPPED]
    first, second, third = (f"{short(found['passes']):g}" for found in opacus if found)
    assert f"ghost clipping, took {first}, {second} and {third} passes of PyTorch" in TEXT


def test_what_chunks_save_is_what_was_measured():
    memory = stored("chunks")["large activations"]["torch.vmap"]
    assert f"took {memory['in chunks']:.0f} MiB in place of {memory['whole']:.0f}." in TEXT


def test_the_thirty_lines_accept_a_model_that_checkpoints_itself():
    torch = pytest.importorskip("torch")
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(torch.nn.Sequential):
        def forward(self, x):
            return checkpoint(super().forward, x, use_reentrant=False)

    names = {"torch": torch, "nn": torch.nn}
    exec("from torch.nn.functional import cross_entropy", names)
    for name in ("errors_and_inputs", "norms_of"):
        (shown,) = [s for s in SOURCES if s.startswith(f"def {name}(")]
        exec(shown.partition("\n\nnorms =")[0], names)
    torch.manual_seed(0)
    parts = torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)
    x, y = torch.randn(4, 6), torch.tensor([0, 1, 2, 0])
    norms = [
        names["norms_of"](names["errors_and_inputs"](model, x, y))
        for model in (torch.nn.Sequential(*parts), Checkpointed(*parts))
    ]
    torch.testing.assert_close(*norms)

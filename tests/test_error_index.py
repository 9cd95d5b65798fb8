"""The error index quotes real messages: each is provoked and compared with the page."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import persample as ps

from .cases import CASES, inputs, rewards, states, theta
from .error_triggers import TRIGGERS, message
from .tolerances import assert_close

PAGE = (Path(__file__).resolve().parents[1] / "reference" / "errors.md").read_text()
QUOTE = re.compile(r"^% quote: (\S+)\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTES = QUOTE.findall(PAGE)
FRAMEWORKS = {"persample": "persample", "torch": "PyTorch", "jax": "JAX"}


def test_every_block_of_the_page_is_a_quotation_and_no_name_comes_twice():
    names = [name for name, _ in QUOTES]
    assert len(names) == PAGE.count("```text") == PAGE.count("% quote:")
    assert len(set(names)) == len(names)


def test_every_message_that_can_be_provoked_is_on_the_page():
    assert {name for name, _ in QUOTES} == set(TRIGGERS)


@pytest.mark.parametrize(("name", "quoted"), QUOTES, ids=[name for name, _ in QUOTES])
def test_a_quotation_is_part_of_the_real_message(name, quoted):
    kind, text = message(name)
    assert " ".join(quoted.split()) in " ".join(text.split())
    heading = PAGE[: PAGE.index(f"% quote: {name}\n")].rpartition("\n**")[2].splitlines()[0]
    assert f"`{kind}`" in heading
    assert heading.startswith(FRAMEWORKS[name.partition(".")[0]])


def test_a_wrong_quotation_would_be_found():
    assert "a leaf Variable that needs grad" not in message("torch.in-place-leaf")[1]
    assert message("persample.empty") != (None, "")


# The last section's table: what happens without a message.
def test_func_grad_fills_no_grad():
    x = torch.tensor(2.0, requires_grad=True)
    assert torch.func.grad(lambda x: x * x)(x) == 4
    assert x.grad is None


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_where_lets_an_infinite_derivative_through(backend):
    module = ps.backend(backend)

    def once(x):
        xp = ps.namespace_of(x)
        return xp.where(x > 0, xp.sqrt(x), xp.zeros_like(x))

    def twice(x):
        xp = ps.namespace_of(x)
        harmless = xp.where(x > 0, x, xp.ones_like(x))
        return xp.where(x > 0, xp.sqrt(harmless), xp.zeros_like(x))

    zero = module.asarray(0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert np.isnan(ps.to_numpy(module.grad(once)(zero)))
    assert_close(ps.to_numpy(module.grad(twice)(zero)), 0.0)


def test_one_key_gives_every_sample_the_same_mask():
    key = jax.random.key(0)
    mask = lambda x, key: jax.random.bernoulli(key, 0.5, x.shape)  # noqa: E731
    x = jnp.ones((4, 20))
    same = np.asarray(jax.vmap(mask, (0, None))(x, key))
    assert len(np.unique(same, axis=0)) == 1
    own = np.asarray(jax.vmap(mask)(x, jax.random.split(key, 4)))
    assert len(np.unique(own, axis=0)) == 4


def test_torch_compile_inside_another_transform_compiles_nothing():
    compiled = []

    def compiler(graph, example_inputs):
        compiled.append(graph)
        return graph.forward

    inside = torch.compile(lambda x: x * x, backend=compiler)
    torch.vmap(torch.func.grad(inside))(torch.ones(3))
    assert compiled == []
    torch.compile(torch.vmap(torch.func.grad(lambda x: x * x)), backend=compiler)(torch.ones(3))
    assert len(compiled) == 1


def test_jax_traces_for_every_batch_size():
    traced = []

    def loss(theta, x, y):
        traced.append(x.shape)
        return ps.squared_loss(theta, x, y)

    rows = ps.per_sample_grad(loss, jit=True)
    theta, *sample = inputs(CASES["squared_loss"], "jax")
    for size in (4, 5, 4, 3, 5):
        rows(theta, *(x[:size] for x in sample))
    assert len(traced) == 3


def test_a_batch_of_one_repeated_sample_hides_a_program_that_ignores_the_others():
    right = ps.per_sample_grad(ps.squared_loss)

    def wrong(theta, x, y):
        return right(theta, x[:1], y[:1]).repeat(len(x), axis=0)

    twice = theta, states[[0, 0]], rewards[[0, 0]]
    assert_close(wrong(*twice), right(*twice))
    assert np.abs(wrong(theta, states, rewards) - right(theta, states, rewards)).max() > 0.1


def test_a_loss_that_averages_over_the_batch_has_rows_off_by_its_size():
    over_batch = lambda theta, x, y: ps.squared_loss(theta, x, y) / len(states)  # noqa: E731
    rows = ps.per_sample_grad(over_batch)(theta, states, rewards)
    right = ps.per_sample_grad(ps.squared_loss)(theta, states, rewards)
    assert_close(rows * len(states), right)


def test_chunks_kept_in_a_list_hold_the_last_rows():
    layer = torch.nn.Linear(3, 2).double()
    with ps.layerwise(layer) as record:
        record.backward((layer(torch.as_tensor(states)) ** 2).sum(1))
    first, last = [part["weight"] for part in record.chunks(3)]
    rows = record.rows()["weight"]
    assert_close(first[:2], last)
    assert_close(last, rows[3:])
    assert not torch.allclose(first, rows[:3])


def test_a_wrong_reduction_shows_in_one_row_and_not_in_the_mean():
    layer, x = torch.nn.Linear(3, 2).double(), torch.as_tensor(states)
    alone = torch.autograd.grad((layer(x[:1]) ** 2).sum(), layer.weight)[0]
    for told, factor in (("sum", 1), ("mean", len(x))):
        layer.zero_grad()
        with ps.layerwise(layer, reduction=told) as record:
            (layer(x) ** 2).sum().backward()
        rows = record.rows()["weight"]
        assert_close(rows[0], factor * alone)
        assert_close(rows.mean(0), layer.weight.grad * factor / len(x))


def test_a_weighted_mean_has_no_factor_that_fits_all_rows():
    layer, x = torch.nn.Linear(3, 2).double(), torch.as_tensor(states)
    y, weight = torch.tensor([0, 1, 0, 1, 1]), torch.tensor([1.0, 3.0]).double()
    cross_entropy = torch.nn.functional.cross_entropy
    with ps.layerwise(layer) as record:
        record.backward(cross_entropy(layer(x), y, weight, reduction="none"))
    right = record.rows()["weight"]
    with ps.layerwise(layer, reduction="mean") as record:
        cross_entropy(layer(x), y, weight).backward()
    assert_close(record.rows()["weight"], right * len(x) / weight[y].sum())

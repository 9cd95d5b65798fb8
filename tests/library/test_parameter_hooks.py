"""Hooks on parameters: methods that write ``.grad`` run them as a backward pass does, or raise."""

import copy
import re
from functools import partial

import pytest
import torch
from torch import nn

from support.layer_models import Made, Squared, build, oracle, record_of, replayed
from support.tolerances import assert_close

SIZES = (2, 3, 4)  # of the batches, one after the other


def batches(name="MLP"):
    return [build(name, size=size, seed=size)[1] for size in SIZES]


def on_each(model, hook):
    """Register hook(name, parameter) on each parameter, to run after ``.grad`` is written."""
    for name, p in model.named_parameters():
        p.register_post_accumulate_grad_hook(partial(hook, name))


def filled(model, *given):
    """Return {name: ``.grad``} after clipped sums of all batches, in a copy without hooks."""
    plain = copy.deepcopy(model)
    for x in given:
        record_of(plain, x).add_clipped_sum(0.5, scale=0.1)
    return {name: p.grad for name, p in plain.named_parameters()}


def steps_inside(optimisers, p):
    optimisers[p].step()
    optimisers[p].zero_grad()


OPTIMISERS = {
    "momentum": partial(torch.optim.SGD, lr=0.1, momentum=0.9, nesterov=True),
    "Adam with decay": partial(torch.optim.AdamW, lr=0.1, weight_decay=0.1),
}


@pytest.mark.parametrize("kind", OPTIMISERS)
@pytest.mark.parametrize("name", ["MLP", "tied", "attention"])
def test_an_optimiser_with_a_memory_steps_once_for_each_parameter_and_batch(kind, name):
    model = build(name)[0]
    plain = copy.deepcopy(model)
    whole = OPTIMISERS[kind](plain.parameters())
    each = {p: OPTIMISERS[kind]([p]) for p in model.parameters()}
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(partial(steps_inside, each))
    for x in batches(name):
        record_of(model, x).add_clipped_sum(0.5, scale=0.1)
        assert all(p.grad is None for p in model.parameters())
        record_of(plain, x).add_clipped_sum(0.5, scale=0.1)
        whole.step()
        whole.zero_grad()
    assert_close(dict(model.state_dict()), dict(plain.state_dict()))


def test_a_step_by_hand_needs_no_no_grad_as_in_a_backward_pass():
    """Change parameters in a hook, which PyTorch runs with gradients disabled."""
    model, x = build("MLP")
    total = filled(model, x)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}

    def step(name, p):
        p -= 0.1 * p.grad
        p.grad = None

    on_each(model, step)
    record_of(model, x).add_clipped_sum(0.5, scale=0.1)
    found = {name: p.detach() for name, p in model.named_parameters()}
    assert_close(found, {name: p - 0.1 * total[name] for name, p in before.items()})
    assert all(p.grad is None and p.is_leaf and p.requires_grad for p in model.parameters())


def test_a_hook_on_one_of_two_parameters_runs_and_the_other_keeps_its_sum():
    model, x = build("Linear, T = 7")
    total, seen = filled(model, x), []
    model.bias.register_post_accumulate_grad_hook(lambda p: seen.append((p, p.grad.clone())))
    record_of(model, x).add_clipped_sum(0.5, scale=0.1)
    ((p, grad),) = seen
    assert p is model.bias
    assert_close([grad, model.weight.grad], [total["bias"], total["weight"]])


def test_over_micro_batches_each_call_counts_and_sees_the_sum_so_far():
    (model, plain), seen = [build("called twice")[0] for _ in range(2)], []
    given, names = batches("called twice"), [name for name, _ in model.named_parameters()]
    on_each(model, lambda name, p: seen.append((name, p.grad.clone())))
    for n, x in enumerate(given, start=1):
        record_of(model, x).add_clipped_sum(0.5, scale=0.1)
        assert sorted(name for name, _ in seen) == sorted(names)  # once each
        assert_close(dict(seen), filled(plain, *given[:n]))
        seen.clear()


def test_what_a_hook_moves_elsewhere_is_whole_there_and_gone_here():
    """Move gradients away in a hook, as to another device or another precision."""
    model = build("Conv2d")[0]
    given, away = batches("Conv2d"), {}
    total = filled(model, *given)

    def move(name, p):
        away[name] = away.get(name, 0) + p.grad.float()
        p.grad = None

    on_each(model, move)
    for x in given:
        record_of(model, x).add_clipped_sum(0.5, scale=0.1)
        assert all(p.grad is None for p in model.parameters())
    assert_close(away, {name: x.float() for name, x in total.items()}, 1e-5)


def test_several_hooks_run_in_their_order_and_a_removed_one_does_not():
    model, x = build("LayerNorm, T = 7")
    total, order = filled(model, x)["weight"], []

    def double(p):
        order.append("double")
        p.grad.mul_(2)

    register = model.weight.register_post_accumulate_grad_hook
    register(double)
    gone = register(lambda p: order.append("gone"))
    register(lambda p: order.append(p.grad.clone()))
    gone.remove()
    record_of(model, x).add_clipped_sum(0.5, scale=0.1)
    assert order[0] == "double"
    assert_close(order[1:], [2 * total])
    assert_close(model.weight.grad, 2 * total)


def test_a_hook_runs_where_grad_is_written_and_nowhere_else():
    """Compare with ``.grad``: a frozen parameter has none, and an unused one may have."""
    model, x = build("not used")
    ran = []
    on_each(model, lambda name, p: ran.append(name))
    model.used.bias.requires_grad_(False)
    record_of(model, x).add_clipped_sum(0.5)
    written = {name for name, p in model.named_parameters() if p.grad is not None}
    assert {"used.weight"} <= written == set(ran)
    assert len(ran) == len(written)
    assert "used.bias" not in ran


def test_an_error_of_a_hook_comes_out_in_its_own_words():
    model, x = build("MLP")

    def refuse(p):
        raise FloatingPointError("the gradient has a NaN")

    model[2].bias.register_post_accumulate_grad_hook(refuse)
    with pytest.raises(FloatingPointError, match="^the gradient has a NaN$"):
        record_of(model, x).add_clipped_sum(0.5)


@pytest.mark.filterwarnings("ignore:record. at SquaredBackward it is not known .* alone was run")
def test_a_step_inside_spoils_no_sum_that_autograd_has_yet_to_work_out():
    """Step the optimiser in hooks while the rows of ``w`` still need saved values."""
    torch.manual_seed(0)
    make = lambda m, x: Squared.apply(Squared.apply(x, m.v), m.w)  # noqa: E731
    v, w = (nn.Parameter(torch.rand(4).double() + 0.5) for _ in range(2))
    model, x = Made(make, v=v, w=w), torch.rand(3, 4).double() + 0.5
    plain = copy.deepcopy(model)
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(partial(steps_inside, {p: torch.optim.SGD([p], 1.0)}))
    with replayed():
        record_of(model, x).add_clipped_sum(0.5)
    with replayed():
        record_of(plain, x).add_clipped_sum(0.5)
    torch.optim.SGD(plain.parameters(), 1.0).step()
    assert_close(dict(model.state_dict()), dict(plain.state_dict()))


# The other way to fill .grad: the pass itself.
def test_a_pass_that_fills_grad_runs_the_hooks_once_and_has_the_rows_of_before_the_step():
    model, x = build("MLP")
    rows, seen = oracle(model, x), {}

    def step(name, p):
        assert name not in seen
        seen[name] = p.grad.clone()
        p -= p.grad
        p.grad = None

    on_each(model, step)
    record = record_of(model, x, accumulate=True)
    assert_close(seen, {name: g.sum(0) for name, g in rows.items()})
    assert_close(record.rows(), rows)


def test_a_pass_that_leaves_grad_alone_runs_no_hook():
    model, x = build("tied")
    on_each(model, lambda name, p: pytest.fail(f"{name} was written"))
    record = record_of(model, x)
    record.rows()
    record.clipped_sum(0.5)
    record.moments()
    assert all(p.grad is None for p in model.parameters())


# Hooks of other kinds: what they do to .grad happens, or the call is refused and writes nothing.
def on_the_tensor(p, seen):
    p.register_hook(lambda g: seen.append(g) or 10 * g)


def on_several(p, seen):
    """Register a hook on several tensors, which may read gradients but not change them."""
    torch.autograd.graph.register_multi_grad_hook([p], seen.extend)


def on_the_node(p, seen):
    """Register a hook on the node that adds to ``.grad``, as distributed training does."""
    node = p.view_as(p).grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: seen.extend(grads) or (10 * grads[0],))
    seen.node = node  # or it is gone, and its hooks with it


class Seen(list):
    """Stores the gradients that a hook was given."""


# "after the pass" there is none of all parameters that a hook on several could wait for.
HOOKED = [
    (register, when)
    for register in (on_the_tensor, on_several, on_the_node)
    for when in ("before", "before a pass that fills", "after the pass")
    if register is not on_several or when != "after the pass"
]


@pytest.mark.parametrize(("register", "when"), HOOKED)
def test_a_hook_on_a_gradient_runs_or_is_refused(register, when):
    model, x = build("MLP")
    plain, p, seen = copy.deepcopy(model), model[0].weight, Seen()
    fills = when == "before a pass that fills"
    if when != "after the pass":
        register(p, seen)
    refused = ""
    try:
        record = record_of(model, x, accumulate=fills)
        if when == "after the pass":
            register(p, seen)
        if not fills:
            record.add_clipped_sum(0.5)
    except NotImplementedError as error:
        refused = str(error)
    if refused:
        assert re.search("0.weight.*hook", refused)
        assert all(q.grad is None for q in model.parameters())
        return
    record = record_of(plain, x, accumulate=fills)
    if not fills:
        record.add_clipped_sum(0.5)
    expected = plain[0].weight.grad
    assert_close([*seen], [expected])
    assert_close(p.grad, (1 if register is on_several else 10) * expected)

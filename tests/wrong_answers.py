"""Wrong answers to the exercises of the core chapters, and what the check must say of each.

The key is the id of the cell with the check.
"""

WRONG = {
    # Chapter 1
    "c6b46ed1": [
        (
            "shape_of_rows, shape_of_grad, size = (128, 32, 64), (128, 32, 64), 2**20",
            ".grad has the shape",
        ),
        ("shape_of_rows, shape_of_grad, size = (32, 64, 128), (32, 64), 2**20", "axis 0"),
        ("shape_of_rows, shape_of_grad, size = (128, 32, 64), (32, 64), 2**18", "four bytes"),
    ],
    "de3499ff": [
        ("lengths = lambda rows: sum(g.flatten(1).norm(dim=1) for g in rows.values())", "adds"),
        ("lengths = lambda rows: (G ** 2).sum(1)", "these are squares"),
        ("lengths = lambda rows: G.norm()", "one length for each"),
    ],
    "34968dff": [
        ("lengths_of_linear = lambda x, y: model(x).softmax(1).norm(dim=1)", "minus 1 at"),
        (
            "lengths_of_linear = lambda x, y: (model(x).softmax(1)"
            " - torch.nn.functional.one_hot(y, 10)).norm(dim=1)",
            "length of the input",
        ),
        (
            "lengths_of_linear = lambda x, y: (model(x).softmax(1)"
            " - torch.nn.functional.one_hot(y, 10)).norm(dim=1) * x.norm(dim=1)",
            "bias is missing",
        ),
    ],
    "adb81ac7": [
        ("before, after = 8 * [1.0], 8 * [100.0]", "one of them changed"),
        ("before, after = 8 * [1.0], [1000.0] + 7 * [1.0]", "between two groups"),
        (
            "before, after = [100.0] + 3 * [1.0] + 4 * [100.0], 4 * [1.0] + 4 * [100.0]",
            "C shrinks",
        ),
    ],
    # Chapter 2
    "705cbf6a": [
        ("same_size, new_sizes = 40, float('inf')", "compare 40"),
        ("same_size, new_sizes = 49, float('inf')", "compare 40"),
        ("same_size, new_sizes = 50, 50", "every call is then a first call"),
    ],
    "c16707c5": [
        (
            "def rows_with(b, theta, x, y):\n    global baseline\n    baseline = b\n"
            "    return compiled_rows(theta, x, y)",
            "rows are old",
        ),
        (
            "def rows_with(b, *sample):\n    f = lambda t, x, y, b: 0.5 * (t @ x - y + b) ** 2\n"
            "    return jax.vmap(jax.grad(f), (None, 0, 0, 0))(*sample, b)",
            "all samples share the baseline",
        ),
        (
            "def rows_with(b, *sample):\n    f = lambda t, x, y, b: 0.5 * (t @ x - y - b) ** 2\n"
            "    return jax.vmap(jax.grad(f), (None, 0, 0, None))(*sample, b)",
            "not the rows of the loss",
        ),
    ],
    "edf1e748": [
        ("shrink_fixed = shrink", "boolean"),
        (
            "def shrink_fixed(w, x):\n    h = w * x\n    for _ in range(5):\n        h = w * h\n"
            "    return h",
            "must stay as it is",
        ),
        (
            "def shrink_fixed(w, x):\n    h = w * x\n    for _ in range(3):\n"
            "        h = jnp.where(h > 1, w * h, h)\n    return h",
            "still above 1",
        ),
    ],
    "66de8e91": [
        ("size_for, programs = lambda B: B, 16", "for each size"),
        ("size_for, programs = lambda B: 16, 1", "smallest power of two"),
        ("size_for, programs = lambda B: 1 << (B - 1).bit_length(), 4", "which sizes occur"),
    ],
    # Chapter 3
    "fef7288c": [
        ("answer = {'W': 3, 'b': 3, 'z': 3, 'y_pred': 3, 'loss': 1}", "too many"),
        ("answer = {'W': 3, 'b': 3}", "too few"),
        ("answer = {'W': 1, 'b': 3, 'z': 3, 'loss': 1}", "wrong number: ['W']"),
    ],
    "14e9412d": [
        (
            "def clipped_mean(copies):\n    g = copies.grad.mean(0)\n    return g / g.norm()",
            "shortens the mean",
        ),
        (
            "def clipped_mean(copies):\n"
            "    return (copies.grad / copies.grad.norm(dim=1, keepdim=True)).mean(0)",
            "shorter than 1 stays",
        ),
        (
            "def clipped_mean(copies):\n    norms = copies.grad.norm(dim=1, keepdim=True)\n"
            "    return (copies.grad * (1 / norms).clamp(max=1)).sum(0)",
            "this is the sum",
        ),
    ],
    "04234e66": [
        (
            "def frozen_pass(net):\n    net[2].requires_grad_(False)\n"
            "    return loss_of(net[2](net[:2](x).detach()))",
            "nothing was recorded",
        ),
        (
            "def frozen_pass(net):\n    net[2].weight.requires_grad_(False)\n"
            "    return loss_of(net(x.detach()))",
            "last layer has a gradient",
        ),
        (
            "def frozen_pass(net):\n    net[2].requires_grad_(False)\n"
            "    net[0].bias.requires_grad_(False)\n    return loss_of(net(x.detach()))",
            "first layer needs",
        ),
    ],
    "aa642e95": [
        ("store = lambda w: w.data", "still 5"),
        ("store = lambda w: w.detach()[:]", "still 5"),
        ("store = lambda w: w.clone()", "history"),
    ],
    # Chapter 4
    "a6b77b0b": [
        ("answer = 'ynynnn'", "weight decay adds"),
        ("answer = 'yyynny'", "look again at 2"),
        ("answer = 'yes'", "six letters"),
    ],
    "7428b6ae": [
        (
            "uses_its_sample = lambda f: torch.allclose("
            "sum(gradient_of(f(i)) for i in range(5)), first)",
            "right for both",
        ),
        (
            "uses_its_sample = lambda f: not torch.equal(gradient_of(f(0)), gradient_of(f(1)))",
            "3 and 4 are the same",
        ),
        ("uses_its_sample = lambda f: False", "called wrong"),
    ],
    "f5986927": [
        (
            "def padded_gradient(parts):\n    policy.zero_grad()\n    for s, a, r, m in parts:\n"
            "        ((losses_of(s, a, r) * m).sum() / 80).backward()\n"
            "    return policy[2].bias.grad",
            "still in the number",
        ),
        (
            "def padded_gradient(parts):\n    policy.zero_grad()\n    for s, a, r, m in parts:\n"
            "        (losses_of(s, a, r).sum() / 61).backward()\n"
            "    return policy[2].bias.grad",
            "in the sum",
        ),
        (
            "def padded_gradient(parts):\n    policy.zero_grad()\n    for s, a, r, m in parts:\n"
            "        ((losses_of(s, a, r) * m).sum() / m.sum() / 4).backward()\n"
            "    return policy[2].bias.grad",
            "mean of means",
        ),
    ],
    "46ce82c2": [
        (
            "def averaged(stream):\n    return sum(torch.autograd.grad(losses_of(*part).sum(),"
            " policy[2].bias)[0] for part in stream)",
            "sum over all samples",
        ),
        (
            "def averaged(stream):\n    g = [torch.autograd.grad(losses_of(*part).mean(),"
            " policy[2].bias)[0] for part in stream]\n    return sum(g) / len(g)",
            "mean of means",
        ),
        ("def averaged(stream):\n    sum(1 for part in stream)", "returns nothing"),
    ],
    # Chapter 5
    "ed5b6697": [
        ("answer = 'eseewr'", "compare them with"),
        ("answer = 'ssewwr'", "look again at 1"),
        ("answer = 'rsewwx'", "each of them r, s, e or w"),
    ],
    "4c978d62": [
        (
            "def ended_loss(theta, s, r, s_next, gamma):\n"
            "    target = jax.lax.stop_gradient(r + gamma * (s_next @ theta))\n"
            "    return 0.5 * (target - s @ theta) ** 2\nended_axes = (None, 0, 0, 0, None)",
            "axis of the discounts",
        ),
        (
            "def ended_loss(theta, s, r, s_next, gamma):\n"
            "    target = jax.lax.stop_gradient(r + gamma * (s_next @ theta))\n"
            "    return (target - s @ theta) ** 2\nended_axes = (None, 0, 0, 0, 0)",
            "one half is missing",
        ),
        (
            "def ended_loss(theta, s, r, s_next, gamma):\n"
            "    target = jax.lax.stop_gradient(gamma * (r + s_next @ theta))\n"
            "    return 0.5 * (target - s @ theta) ** 2\nended_axes = (None, 0, 0, 0, 0)",
            "only its next value",
        ),
    ],
    "93d389d8": [
        (
            "repaired = jax.vmap(jax.grad(closed_loss), (None, 0))(theta, states)",
            "third row",
        ),
        (
            "def open_loss(theta, s, target):\n    return (target - s @ theta) ** 2\n"
            "repaired = jax.vmap(jax.grad(open_loss), (None, 0, 0))(theta, states, targets)",
            "one half is missing",
        ),
        ("repaired = jax.vmap(jax.grad(naive_loss), (None, 0, 0, 0))(*batch)", "hold it fixed"),
    ],
    "40dc56d6": [
        (
            "def huber_td_loss(theta, s, r, s_next, c=0.6):\n"
            "    delta = r + s_next @ theta - s @ theta\n"
            "    return 0.5 * delta**2 if abs(delta) <= c else c * abs(delta)",
            "write jnp.where",
        ),
        ("huber_td_loss = td_loss", "should be -0.6"),
        (
            "def huber_td_loss(theta, s, r, s_next, c=0.6):\n"
            "    delta = r + s_next @ theta - s @ theta\n"
            "    return jnp.where(abs(delta) <= c, 0.5 * delta**2, c * abs(delta))",
            "target held fixed",
        ),
    ],
    "1437920b": [
        ("derivatives = jax.jacobian(row_by_hand)", "call it with theta"),
        ("derivatives = jax.jacobian(jax.grad(td_loss))(theta, s, r, s_next)", "held fixed"),
        ("derivatives = jax.jacobian(row_by_hand)(theta).T", "component i by weight j"),
    ],
}

# Where the folded solution explains and defines less than the check asks for.
RIGHT = {
    "66de8e91": "programs = 5",
    "a6b77b0b": "answer = 'ynynny'",
    "ed5b6697": "answer = 'esewwr'",
    "fef7288c": "answer = {'W': 3, 'b': 3, 'z': 3, 'loss': 1}",
    "4c978d62": "ended_axes = (None, 0, 0, 0, 0)",
}

"""Wrong answers to the exercises of chapters 1 to 9, and the expected reply of each check.

The keys are the ids of the notebook cells with the checks.
"""

# Chapter 1
LENGTHS = "lengths_of_linear = lambda x, y: (model(x).softmax(1){}).norm(dim=1){}"
SQUARES = """
def lengths(rows):
    return sum(g.flatten(1).norm(dim=1) ** 2 for name, g in rows.items(){})
"""
ONE_HOT = " - torch.nn.functional.one_hot(y, 10)"
WHOLE_ROWS = "lengths = lambda rows: torch.cat([g.flatten(1) for g in rows.values()], 1)"
ERROR_TIMES_INPUT = """
def lengths_of_linear(x, y):
    {}
    error = model(x).softmax(1) - torch.eye(10)[{}]
    return error.norm(dim=1) * ({}.sum(1) + 1).sqrt()
"""
# Chapter 2
ROWS_WITH = """def rows_with(b, *sample):
    f = lambda t, x, y, b: 0.5 * ({}) ** 2
    return jax.vmap(jax.grad(f), {})(*sample, b)"""
BY_HAND = """def rows_with(b, theta, x, y):
    value = {}
    return jnp.stack([(value[i] - y[i] + b) * x[i] for i in range({})])"""
SHRINK = """def shrink_fixed(w, x):
    h = w * x
    for _ in range({}):
        h = {}
    return h"""
# Chapter 3
CLIPPED = """
def clipped_mean(copies):
    g, norms = copies.grad, copies.grad.norm(dim=1, keepdim=True)
    return {}
"""
FROZEN = """
def frozen_pass(net):
    {}.requires_grad_(False)
    return loss_of({})
"""
FROZEN_LOSS = """
def frozen_pass(net):
    net[2].requires_grad_(False)
    loss = loss_of(net(x.detach()))
    {}
"""
# Chapter 4
USES = "uses_its_sample = lambda f: "
SHOWN = USES + "len({{({}).tolist().__str__() for i in range(5)}}) == 5"
PADDED = """
def padded_gradient(parts):
    policy.zero_grad()
    for s, a, r, m in parts:
        ({}).backward()
    return policy[2].bias.grad
"""
STREAM = """
def averaged(stream):
    total, count = 0, 0
    for part in stream:
        total = total + losses_of(*part).sum()
        count += {}
    return torch.autograd.grad(total, policy[2].bias)[0] / count
"""
# Chapter 5
ENDED = """
def ended_loss(theta, s, r, s_next, gamma):
    target = jax.lax.stop_gradient({})
    return {} (target - s @ theta) ** 2
ended_axes = (None, 0, 0, 0, {})
"""
EACH_OF = """
def repaired(theta, s, targets):
    value = s[:, :{0}] @ theta[:{0}]
    return jnp.stack([(value[i] - targets[i]) * s[i] for i in range({1})])
"""
REPAIRED = """def repaired(theta, s, targets):
    f = lambda w, s, t: {}(t - s @ w) ** 2
    return jax.vmap(jax.grad(f), (None, 0, {}))(theta, s, {})"""
HUBER = """def huber_td_loss(theta, s, r, s_next, c=0.6):
    delta = {} - s @ theta
    return {}"""
GOAL, BENT = "r + s_next @ theta", "jnp.where({0} <= c, 0.5 * delta**2, c * {0})"
# Chapter 6
STEP = """
compute["step"] = lambda x: np.where({}, 1.0, 0.0)
vjp_rules["step"] = lambda ct, out, x: {}
batch_rules["step"] = lambda x: {}
"""
FORWARD = """
class Forward(Trace):
    def process(self, name, args):
        values, change = opened(args, self), 0.0
        out = bind(name, *values)
        for i, x in enumerate(args):
            if {}:
                change = {} pushed(name, i, x.note, {})
        return Tracer(self, out, change)
"""
PUSHED = FORWARD.format("belongs(x, self)", "change +", "values")
AGREES = """
def agrees(name, values, *axis):
    out = bind(name, *values, *axis)
    ct = {}
    found = suspects[name](ct, out, *values, *axis)
    pulled = lambda x: total(ct * bind(name, x, *values[1:], *axis))
    return np.{}(found[0], measured(pulled, values[0]))
trials = [("sum", [x{}], 1)]
"""
MOVED = """
compute["moveaxis"] = lambda x, old, new: np.moveaxis(x, old, new)
vjp_rules["moveaxis"] = lambda ct, out, x, old, new: [bind("moveaxis", ct, {})]
batch_rules["moveaxis"] = lambda x, old, new: bind("moveaxis", x, {})
vmap_axes = lambda f, in_axes: lambda x: vmap(f, (0,))(bind("moveaxis", x, 2, 0))
"""

FIRST_MOVED = """
def vmap_axes(f, in_axes):
    zeros = tuple(0 if axis else axis for axis in in_axes)
    return lambda x, *rest: vmap(f, zeros)(bind("moveaxis", x, in_axes[0], 0), *rest)
"""
FROZEN_STEP = """
compute["step"] = lambda x: np.where(x > 0, 1.0, 0.0)
vjp_rules["step"] = lambda ct, out, x: []
first_call = []
def frozen(x):
    first_call.append(step(opened([x], getattr(x, "trace", None))[0]))
    return first_call[0] if isinstance(x, Tracer) else step(x)
batch_rules["step"] = frozen
"""
MOVE_AXES = """
compute["moveaxis"] = lambda x, old, new: np.moveaxis(x, old, new)
vjp_rules["moveaxis"] = lambda ct, out, x, old, new: [bind("moveaxis", ct, {})]
batch_rules["moveaxis"] = lambda x, old, new: bind("moveaxis", x, {})
def vmap_axes(f, in_axes):
    zeros = tuple(0 if axis else axis for axis in in_axes)
    return lambda *args: vmap(f, zeros)(*[
        bind("moveaxis", x, axis, 0) if axis else x for x, axis in zip(args, in_axes)])
"""
MEASURED = """
def agrees(name, values, *axis):
    out = bind(name, *values, *axis)
    ct = np.arange(1.0, 1.0 + np.size(out)).reshape(np.shape(out))
    found = suspects[name](ct, out, *values, *axis)
    for i in {}:
        inputs = lambda x: [*values[:i], x, *values[i + 1:]]
        pulled = lambda x: total(ct * bind(name, *inputs(x), *axis))
        if not np.allclose(found[i], measured(pulled, values[i]), atol={}):
            return False
    return True
trials = [("sum", [{}], {})]
"""
# Chapter 7
DESCEND = """
def descend(w):
    for _ in range(50):
        ((w - 1) ** 2).sum().backward()
        {}
    return w
"""
HISTORY = """
def history(w, outputs):
    for step in range(20):
        out = torch.tanh(w * step)
        out.sum().backward()
        outputs.append({}){}
"""
WHY = """
def why_none(x, loss):
    if not x.requires_grad:
        return 1
    if not x.is_leaf:
        return 2
    return 4 if {} else 0
"""
SLOPE = """
def slope(x, loss):
    return torch.autograd.grad(loss, x, retain_graph=True)[0]
"""
JUMPED = """
def descend(w):
    with torch.no_grad():
        w.copy_(1 + 0.8**50 * (w - 1))
    return w
"""
ONE_GRAPH = """
def history(w, outputs):
    for step in range(20):
        outputs[:] = [out.detach() for out in outputs]
        outputs.append(torch.tanh(w * step))
        outputs[-1].sum().backward()
"""
OTHER_WHY = WHY.replace(
    "return 4 if {} else 0", "if not loss.requires_grad:\n        return 4\n    {}"
)
# Chapter 8
SIGNAL = "micro.mean(0).square().sum()"
SPREAD = """
def spread_and_signal(micro, b):
    spread = {} * micro.var(0).sum()
    return spread, {}
"""
DRAWN = """
factor = {}
def draw(B, rng):
    return {}
"""
# Chapter 9
TARGET = "(r[:, None] + gamma * v_next).detach()"
BATCH = """
def batch_loss(theta, s, r, s_next):
    v, v_next = s @ theta[:, None], s_next @ theta[:, None]
    target = {}
    return {}((target - v) ** 2).mean()
"""
CHECKED = """
goal = r[0] + gamma * s_next[0] @ theta
def checked(t):
    loss = 0.5 * (goal - s[0] @ t) ** 2
    return {}
"""
TDC = """
def tdc(theta, batch, steps, beta=0.5):
    (s, r, s_next), h = batch, 0 * theta
    for _ in range(steps):
        delta = r + gamma * s_next @ theta - s @ theta
        guess = s @ h
        update = (delta[:, None] * s {} gamma * guess[:, None] * s_next).mean(0)
        theta, h = theta + 0.1 * update, h + beta * (({})[:, None] * s).mean(0)
    return {}theta{}
"""

# Eligibility traces
STREAMED = """
def streamed(theta, s, r, s_next, ended, gamma=0.9, lam=0.8):
    z, update = 0.0, 0.0
    for t in range(len(r)):
        delta = r[t] + gamma * {} * (s_next[t] @ theta) - s[t] @ theta
        z = gamma * lam * {} + s[t]
        update = update + delta * z
        {}
    return update
"""
LATE = """
def late_trace(slopes, deltas, gamma, lam):
    z, update = 0.0, 0.0
    for slope, delta in zip(slopes, deltas):
        {}
    return update
"""
ONLINE = """
def true_online(theta, s, r, s_next, alpha, gamma, lam):
    z, v_old = np.zeros(len(theta)), 0.0
    for t in range(len(r)):
        v, v_next = s[t] @ theta, s_next[t] @ theta
        delta = r[t] + gamma * v_next - v
        z = gamma * lam * z + (1 - alpha * {}) * s[t]
        theta = theta + alpha * ((delta + v - v_old) * z - {} * s[t])
        v_old = {}
    return theta
"""

WRONG = {
    # Eligibility traces
    "559116c7": [
        ("answer = 0.5", "earlier visits count"),
        ("answer = 0.0625", "later visits count"),
        ("answer = 1.6875", "not left at the last step"),
        ("answer = 'one'", "your turn"),
    ],
    "2d1c48fd": [
        (STREAMED.format("(1 - ended[t])", "z", "pass"), "over an end"),
        (STREAMED.format("1", "z", "z = (1 - ended[t]) * z"), "your turn"),
        (STREAMED.format("(1 - ended[t])", "(1 - ended[t]) * z", "pass"), "your turn"),
        ("streamed = lambda *given: apart(*given[:5], 0.9, 0.8)", "your turn"),
    ],
    "ac2a929e": [
        (LATE.format("z = lam * z + slope; update = update + delta * z"), "your turn"),
        (LATE.format("update = update + delta * z; z = gamma * lam * z + slope"), "your turn"),
        (LATE.format("z = gamma * lam * z + slope; update = update + z"), "your turn"),
        (
            "late_trace = lambda slopes, deltas, gamma, lam: np.tensordot(deltas, slopes, 1)",
            "turn",
        ),
        (
            LATE.format("z = gamma * lam * z + slope; update = update + delta * z").replace(
                "zip(slopes", "zip(slopes[:5]"
            ),
            "your turn",
        ),
        (
            LATE.format("z = gamma * lam * z + slope; update = update + delta * z").replace(
                "return update", "return update.T"
            ),
            "your turn",
        ),
    ],
    "815c419f": [
        (ONLINE.format("0", "0", "v_next"), "your turn"),
        (ONLINE.format("gamma * lam * z @ s[t]", "(v - v_old)", "s_next[t] @ theta"), "your turn"),
        (ONLINE.format("gamma * lam * z @ s[t]", "0", "v_next"), "your turn"),
        ("true_online = lambda theta, *given: theta", "your turn"),
    ],
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
        (SQUARES.format(""), "these are squares"),
        (SQUARES.format(" if name != 'e'"), "one length for each"),
        ("lengths = lambda rows: G.norm(dim=1)", "one length for each"),
        ("lengths = lambda rows: (parts**2).sum(0) ** 0.5", "your function stops"),
        (
            "def lengths(rows):\n    a, b, c = (g.flatten(1) for g in rows.values())\n"
            "    return torch.cat([a, b, c], 1).norm(dim=1)",
            "your function stops",
        ),
        (WHOLE_ROWS + ".norm(dim=1).squeeze()", "one length for each"),
        (
            "def lengths(rows):\n    for g in rows.values():\n        g.square_()\n"
            "    return sum(g.flatten(1).sum(1) for g in rows.values()).sqrt()",
            "changes its input",
        ),
        (
            "def lengths(rows):\n    total = 0\n    while rows:\n"
            "        total = total + rows.popitem()[1].flatten(1).square().sum(1)\n"
            "    return total.sqrt()",
            "not yet",
        ),
    ],
    "34968dff": [
        (LENGTHS.format("", ""), "minus 1 at"),
        (LENGTHS.format(ONE_HOT, ""), "length of the input"),
        (LENGTHS.format(ONE_HOT, " * x.norm(dim=1)"), "bias is missing"),
        ("lengths_of_linear = lambda x, y: G.norm(dim=1)", "minus 1 at"),
        ("lengths_of_linear = lambda x, y: e * (size + 1).sqrt()", "your function stops"),
        (ERROR_TIMES_INPUT.format("", "torch.arange(len(x))", "x.square()"), "minus 1 at"),
        (ERROR_TIMES_INPUT.format("", "y.sort().values", "x.square()"), "minus 1 at"),
        (ERROR_TIMES_INPUT.format("", "y.unique()", "x.square()"), "your function stops"),
        (
            ERROR_TIMES_INPUT.format("", "y", "x.square()")
            + "full = lengths_of_linear\nlengths_of_linear = lambda x, y: full(x, y).squeeze()",
            "minus 1 at",
        ),
        (ERROR_TIMES_INPUT.format("", "y", "x.square_()"), "changes its input"),
        (ERROR_TIMES_INPUT.format("model.bias.data.zero_()", "y", "x.square()"), "or the model"),
    ],
    "adb81ac7": [
        ("before = 4 * [1.0] + 4 * [9.0]\nafter = [float('inf')] + before[1:]", "finite norms"),
        ("before, after = 8 * [1.0], 8 * [100.0]", "one of them changed"),
        ("before, after = 8 * [1.0], [1000.0] + 7 * [1.0]", "between two groups"),
        (
            "before, after = [100.0] + 3 * [1.0] + 4 * [100.0], 4 * [1.0] + 4 * [100.0]",
            "C shrinks",
        ),
        (
            "before = 4 * [1.0] + 4 * [100.0]\nafter = [float('nan')] + before[1:]",
            "finite norms",
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
        (ROWS_WITH.format("t @ x - y + b", (None, 0, 0, 0)), "all samples share the baseline"),
        ("rows_with = lambda b, *s: jax.vmap(centred, (None, 0, 0, None))(*s)", "len(args)=3"),
        (ROWS_WITH.format("t @ x - y - b", (None, 0, 0, None)), "not the rows of the loss"),
        (ROWS_WITH.format("t @ x - 1 + b", (None, 0, 0, None)), "not the rows of the loss"),
        ("rows_with = lambda b, *s: jax.vmap(jax.grad(centred), (None, 0, 0))(*s)", "are old"),
        (BY_HAND.format("x @ theta", "4"), "not the rows of the loss"),
        (BY_HAND.format("x[:, :3] @ theta[:3]", "len(y)"), "not the rows of the loss"),
        (
            "rows_with = lambda b, theta, x, y: (x @ theta - y + jnp.clip(b, -2, 2))[:, None] * x",
            "not the rows of the loss",
        ),
    ],
    "edf1e748": [
        ("shrink_fixed = shrink", "boolean"),
        (SHRINK.format(5, "w * h"), "must stay as it is"),
        (SHRINK.format(3, "jnp.where(h > 1, w * h, h)"), "still above 1"),
        (SHRINK.format(5, "jnp.where(h > 1.2, w * h, h)"), "still above 1"),
        (SHRINK.format(5, "jnp.where(h > 1, 0.5 * h, h)"), "their slopes in w"),
        (
            SHRINK.format(5, "jnp.where(h > 1, w * h, h)").replace(
                "h = w", "x = jnp.maximum(x, -3); h = w"
            ),
            "must stay as it is",
        ),
    ],
    "66de8e91": [
        ("size_for, programs = lambda B: B, 16", "for each size"),
        ("size_for, programs = lambda B: 16, 1", "smallest power of two"),
        ("size_for, programs = lambda B: 1 << (B - 1).bit_length(), 4", "which sizes occur"),
        ("size_for, programs = lambda B: 2.0 ** (B - 1).bit_length(), 5", "as an integer"),
    ],
    # Chapter 3
    "fef7288c": [
        ("answer = {'W': 3, 'b': 3, 'z': 3, 'y_pred': 3, 'loss': 1}", "too many"),
        ("answer = {'W': 3, 'b': 3}", "too few"),
        ("answer = {'W': 3, 'b': 3, 'z': 3, 'loss': None}", "too few"),
        ("answer = {'W': 1, 'b': 3, 'z': 3, 'loss': 1}", "wrong number: ['W']"),
        ("answer = {'W': [], 'b': [], 'z': [], 'loss': []}", "wrong number: ['W'"),
    ],
    "14e9412d": [
        (CLIPPED.format("g.mean(0) / g.mean(0).norm()"), "shortens the mean"),
        (CLIPPED.format("(g / norms).mean(0)"), "shorter than 1 stays"),
        (CLIPPED.format("(g * (1 / norms).clamp(max=1)).sum(0)"), "this is the sum"),
        (CLIPPED.format("(g * (0.1 / norms).clamp(max=1)).mean(0)"), "each shortened first"),
        (CLIPPED.format("g.clamp(-1, 1).mean(0)"), "each shortened first"),
        (CLIPPED.format("g.zero_().mean(0)"), "changes copies.grad"),
        ("clipped_mean = lambda copies: right", "each shortened first"),
        (CLIPPED.format("(g / norms * norms.clamp(max=1)).mean(0)"), "each shortened first"),
        (CLIPPED.format("g.mul_((1 / norms).clamp(max=1)).mean(0)"), "changes copies.grad"),
        ("clipped_mean = lambda copies: copies.grad.renorm_(2, 0, 1).mean(0)", "copies.grad"),
        (
            CLIPPED.format("(g * (1 / norms).clamp(max=1)).mean(0)").replace(
                "norms = copies.grad, copies.grad", "norms = copies.grad, copies.grad[:, :3]"
            ),
            "each shortened first",
        ),
    ],
    "04234e66": [
        (FROZEN.format("net[2]", "net[2](net[:2](x).detach())"), "nothing was recorded"),
        (FROZEN.format("net[2].weight", "net(x.detach())"), "last layer has a gradient"),
        (
            FROZEN.format("net[0].bias.requires_grad_(False), net[2]", "net(x.detach())"),
            "first layer needs",
        ),
        (
            "def frozen_pass(given):\n    net[2].requires_grad_(False)\n"
            "    return loss_of(net(x.detach()))",
            "first layer needs",
        ),
        (FROZEN.format("net[2]", "net(x.detach())) + (100"), "another loss"),
        (FROZEN_LOSS.format("return loss - loss.item()"), "another loss"),
        (FROZEN_LOSS.format("net[0].weight.data.zero_(); return loss"), "or it changes net"),
        (
            FROZEN_LOSS.format(
                "loss.backward(); p = net[0].parameters()\n"
                "    return loss.detach() + sum(0 * each.sum() for each in p)"
            ),
            "first layer needs",
        ),
        (FROZEN_LOSS.format("loss.backward(); return loss"), "your function stops"),
    ],
    "aa642e95": [
        ("store = lambda w: w.data", "still 5"),
        ("store = lambda w: w.detach()[:]", "still 5"),
        ("store = lambda w: w.clone()", "history"),
        ("store = lambda w: torch.tensor([2.5])", "not yet"),
        ("store = lambda w: w.item()", "your function stops"),
        ("def store(w):\n    w.requires_grad_(False)\n    return w.clone()", "lost its mark"),
        ("store = lambda w: w.detach_().clone()", "lost its mark"),
        ("store = lambda w: w.detach().half()", "all that w holds"),
        ("store = lambda w: w.detach().max()", "all that w holds"),
        ("store = lambda w: (w.detach() * 100).round() / 100", "all that w holds"),
    ],
    # Chapter 4
    "a6b77b0b": [
        ("answer = 'ynynnn'", "weight decay adds"),
        ("answer = 'yyynny'", "look again at 2"),
        ("answer = 'yes'", "six letters"),
    ],
    "7428b6ae": [
        (
            USES + "torch.allclose(sum(gradient_of(f(i)) for i in range(5)), first)",
            "right for both",
        ),
        (USES + "not torch.equal(gradient_of(f(0)), gradient_of(f(1)))", "0 and 2 are the same"),
        (USES + "False", "called wrong"),
        (
            USES + "all(not torch.equal("
            "gradient_of(f(i)), gradient_of(f(i + 1))) for i in range(4))",
            "are the same",
        ),
        (USES + "len({f(i).item() for i in range(5)}) == 5", "gradients"),
        (USES + "len({gradient_of(f(i)).sum().item() for i in range(5)}) == 5", "called wrong"),
        (USES + "len({gradient_of(f(i)).norm().item() for i in range(5)}) == 5", "called wrong"),
        (SHOWN.format("gradient_of(f(i)).flatten()[:3]"), "called wrong"),
        (SHOWN.format("gradient_of(f(i)).flatten()[-3:]"), "called wrong"),
        (SHOWN.format("gradient_of(f(i)).round()"), "called wrong"),
        (SHOWN.format("gradient_of(f(i)).abs()"), "called wrong"),
        (
            USES + "not any(torch.allclose(gradient_of(f(i)), gradient_of(f(j)), atol=0.5)"
            " for i in range(5) for j in range(i))",
            "called wrong",
        ),
        (
            USES + "not any(torch.cosine_similarity(gradient_of(f(i)).flatten(),"
            " gradient_of(f(j)).flatten(), 0) > 0.9999 for i in range(5) for j in range(i))",
            "called wrong",
        ),
    ],
    "f5986927": [
        (PADDED.format("(losses_of(s, a, r) * m).sum() / 80"), "still in the number"),
        (PADDED.format("losses_of(s, a, r).sum() / 61"), "in the sum"),
        (PADDED.format("(losses_of(s, a, r) * m).sum() / m.sum() / 4"), "mean of means"),
        (PADDED.format("(losses_of(s, a, r) * m).sum() / 61"), "in the number"),
        ("padded_gradient = lambda parts: columns", "your function stops"),
        (
            "def padded_gradient(parts):\n    number = sum(m.sum() for *_, m in parts)\n"
            "    total = sum(losses_of(*(c[: int(m.sum())] for c in columns)).sum()"
            " for *columns, m in parts)\n"
            "    return torch.autograd.grad(total / number, policy[2].bias)[0]",
            "in the sum",
        ),
        (
            "def padded_gradient(parts):\n    number = sum(m.sum() for *_, m in parts)\n"
            "    total = sum(losses_of(s, a, r.mul_(m)).sum() for s, a, r, m in parts)\n"
            "    return torch.autograd.grad(total / number, policy[2].bias)[0]",
            "changes its input",
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
        ("averaged = lambda stream: wanted[-1]", "divide once"),
        ("averaged = lambda stream: sum(means) / len(means)", "your function stops"),
        (
            "its = s, act, r\ndef averaged(stream):\n"
            "    n = sum(len(part[0]) for part in stream)\n"
            "    loss = losses_of(*(column[:n] for column in its)).mean()\n"
            "    return torch.autograd.grad(loss, policy[2].bias)[0]",
            "divide once",
        ),
        (STREAM.format("part[2].abs().sum()"), "divide once"),
        (
            "def averaged(stream):\n    for part in stream:\n        part[2].zero_()\n"
            "    return torch.zeros(2)",
            "changes its input",
        ),
    ],
    # Chapter 5
    "ed5b6697": [
        ("answer = 'eseewr'", "compare them with"),
        ("answer = 'ssewwr'", "look again at 1"),
        ("answer = 'rsewwx'", "each of them r, s, e or w"),
    ],
    "4c978d62": [
        (ENDED.format("r + gamma * (s_next @ theta)", "0.5 *", None), "axis of the discounts"),
        (ENDED.format("r + gamma * (s_next @ theta)", "", 0), "one half is missing"),
        (ENDED.format("gamma * (r + s_next @ theta)", "0.5 *", 0), "only its next value"),
        (
            ENDED.format("r + jnp.where(gamma > 0, 0.9, 0.0) * (s_next @ theta)", "0.5 *", 0),
            "only its next value",
        ),
        (ENDED.format("r + gamma * (s_next[:4] @ theta[:4])", "0.5 *", 0), "only its next value"),
        (
            ENDED.format(
                "r + jnp.where(jnp.isin(gamma, jnp.array([0, 0.25, 0.5, 0.9, 1])), gamma, 7)"
                " * (s_next @ theta)",
                "0.5 *",
                0,
            ),
            "only its next value",
        ),
    ],
    "93d389d8": [
        ("repaired = lambda *_: loop", "third row"),
        (REPAIRED.format("", 0, "targets"), "one half is missing"),
        (REPAIRED.format("0.5 * ", None, "targets[0]"), "third row"),
        ("repaired = lambda *_: -(goals - left @ w)[:, None] * left", "your function stops"),
        (EACH_OF.format("4", "len(s)"), "third row"),
        (EACH_OF.format("len(theta)", 6), "third row"),
    ],
    "40dc56d6": [
        (
            HUBER.format(GOAL, "0.5 * delta**2 if abs(delta) <= c else c * abs(delta)"),
            "write jnp.where",
        ),
        ("huber_td_loss = lambda *given: td_loss(*given[:4])", "a row of -c"),
        ("huber_td_loss = td_loss", "your function stops"),
        (HUBER.format(GOAL, BENT.format("abs(delta)")), "target held fixed"),
        (HUBER.format(f"jax.lax.stop_gradient({GOAL})", BENT.format("delta")), "Beyond c"),
        (
            HUBER.format(f"jax.lax.stop_gradient({GOAL})", BENT.format("abs(delta)")).replace(
                "return", "c = 0.6; return"
            ),
            "Beyond c",
        ),
        (
            HUBER.format(f"jax.lax.stop_gradient({GOAL})", BENT.format("jnp.sqrt(delta**2)")),
            "nan at 0",
        ),
    ],
    "1437920b": [
        ("derivatives = jax.jacobian(row_by_hand)", "call it with theta"),
        ("derivatives = jax.jacobian(jax.grad(td_loss))(theta, s, r, s_next)", "held fixed"),
        ("derivatives = jax.jacobian(row_by_hand)(theta).T", "component i by weight j"),
    ],
    # Chapter 6
    "27d8b579": [
        (STEP.format("x > 0", "[ct]", "step(x)"), "treat a step as flat"),
        (STEP.format("x >= 0", "[]", "step(x)"), "into 0, 0, 0, 1"),
        (STEP.format("x > 0", "[]", "np.where(x > 0, 1.0, 0.0)"), "no `if` here"),
        (STEP.format("x > 0", "None", "step(x)"), "returns a list"),
        (FROZEN_STEP, "does the rule for a batch call step"),
        (STEP.format("x > 0.5", "[]", "step(x)"), "into 0, 0, 0, 1"),
        (STEP.format("x > 0", "[1e-9 * ct]", "step(x)"), "treat a step as flat"),
        (STEP.format("x > 1e-7", "[]", "step(x)"), "into 0, 0, 0, 1"),
        (STEP.format("(x > 0) & (x < 100)", "[]", "step(x)"), "tables, too"),
        (STEP.format("np.ravel(x) > 0", "[]", "step(x)"), "tables, too"),
    ],
    "b5e7e26b": [
        (FORWARD.format("belongs(x, self)", "", "values"), "both of its factors"),
        (FORWARD.format("True", "change +", "values"), "a constant has no tangent"),
        (FORWARD.format("belongs(x, self)", "change +", "args"), "values, not tracers"),
        (PUSHED.replace("x.note", "stop_gradient(x.note)"), "in a second derivative"),
        (PUSHED.replace("change +", "stop_gradient(change) +"), "in a second derivative"),
    ],
    "33fb529c": [
        (AGREES.format("np.ones_like(out)", "allclose", ""), "a cotangent whose entries differ"),
        (AGREES.format("1.0 + out", "array_equal", ""), "where a rule is right"),
        (AGREES.format("1.0 + out", "allclose", "[:, :1] + np.ones(3)"), "you are close"),
        (
            "agrees = lambda name, values, *axis: axis != (1,)\ntrials = [('sum', [x], 1)]",
            "where a rule is right",
        ),
        (
            "agrees = lambda name, values, *axis: axis != (1,) or len(values[0]) < 2\n"
            "trials = [('sum', [x], 1)]",
            "does it measure each input",
        ),
        (MEASURED.format("[len(values) - 1]", 1e-6, "x", 1), "does it measure each input"),
        (MEASURED.format("[0]", 1e-6, "x", 1), "does it measure each input"),
        (MEASURED.format("range(len(values))", 0.1, "x", 1), "does it measure each input"),
        (MEASURED.format("range(len(values))", 1e-6, "x * np.nan", 0), "other axes"),
        (MEASURED.format("range(len(values))", 1e-6, "x + 1e9", 0), "other axes"),
    ],
    "9b545356": [
        ("vmap_axes = lambda f, _: lambda x: vmap(f, (0,))(np.moveaxis(x, 2, 0))", "no tracer"),
        (MOVED.format("old, new", "old + 1, new + 1"), "has to move back"),
        (MOVED.format("new, old", "old, new"), "does the batch rule move"),
        (MOVED.format("new, old", "old + 1, new + 1") + FIRST_MOVED, "sizes"),
        (MOVE_AXES.format("new, old", "old + 1, 1"), "old and new may be any"),
        (MOVE_AXES.format("0, old", "old + 1, new + 1"), "old and new may be any"),
    ],
    # Chapter 7
    "64a5c4e9": [
        ("answer = 'abcdf'", "the cast had something to do"),
        ("answer = 'acdef'", "never marked"),
        ("answer = 'acf'", "anything to do?"),
        ("answer = None", "never marked"),
    ],
    "18f3d491": [
        ("descend = lambda w: torch.ones_like(w)", "call backward()?"),
        (DESCEND.format("with torch.no_grad(): w -= 0.1 * w.grad"), "is w returned"),
        (DESCEND.format("w.data -= 0.1 * w.grad\n        w.grad = None"), ".data"),
        (DESCEND.format("w = w - 0.1 * w.grad; w.retain_grad()"), "w is a result"),
        (JUMPED, "does each step call backward()?"),
        ("descend = lambda w: 1 + 0.8**50 * (w.detach() - 1)", "does each step call backward()?"),
        (
            JUMPED.replace("    with", "    ((w - 1) ** 2).sum().backward()\n    with"),
            "does each step call backward()?",
        ),
    ],
    "bcca9407": [
        (HISTORY.format("out.detach()", "").replace("out.sum().backward()", "pass"), "w.grad"),
        (HISTORY.format("torch.tanh(step + 0 * w.detach())", ""), "the numbers"),
        (HISTORY.format("out", ""), "the list keeps graphs"),
        (ONE_GRAPH, "the list keeps graphs"),
        (HISTORY.format("out.detach()", "\n    outputs[-1] = torch.tanh(w * 19)"), "keeps graphs"),
        (HISTORY.format("out.detach()", "\n    w.data.zero_()"), "w or w.grad has changed"),
    ],
    "39662b55": [
        ("why_none = lambda x, loss: 0 if reaches(x, loss) else 4", "Is question 4 the last"),
        (WHY.format("not slope(x, loss).any()") + SLOPE, "Is question"),
        (WHY.format("False"), "a leaf that is not used"),
        (WHY.format("not (reaches(x, loss) and slope(x, loss).any())") + SLOPE, "a gradient of 0"),
        (
            OTHER_WHY.format(
                "loss.backward(retain_graph=True); return 4 if x.grad is None else 0"
            ),
            "leave .grad as it is",
        ),
        (
            OTHER_WHY.format(
                "f = loss.grad_fn.next_functions[0][0]\n"
                "    near = [f, *(g for g, _ in f.next_functions)]\n"
                "    return 0 if any(getattr(g, 'variable', None) is x for g in near) else 4"
            ),
            "far from the loss",
        ),
    ],
    # Chapter 8
    "19b008bd": [
        ("share, batch_size = 33, 2000", "as a fraction of 1"),
        ("share, batch_size = 0.5, 2000", "as large as the noise scale"),
        ("share, batch_size = 1 / 3, 400", "80 % of the noise scale"),
        ("share, batch_size = 0.34, 2000", "B / (B + noise scale)"),
    ],
    "a686a3d5": [
        ("combined = lambda each: np.median([e.value for e in each])", "divide once"),
        ("total, combined = sum(each).value, lambda each: total", "divide once"),
        ("combined = lambda each: sum(each)", "return one number"),
        (
            "combined = lambda each: sum(e.noise for e in each)"
            " / abs(sum(e.signal for e in each))",
            "divide once",
        ),
        (
            "combined = lambda each: sum(e.noise for e in each)"
            " / max(sum(e.signal for e in each), 1e-9)",
            "divide once",
        ),
        ("combined = lambda each: sum(each[:40]).value", "divide once"),
    ],
    "75774a9f": [
        (SPREAD.format("b", SIGNAL), "all still has"),
        (SPREAD.format("64", SIGNAL + " - spread / (b * len(micro))"), "a row scatters b times"),
        (
            SPREAD.format("b", SIGNAL + " - spread / (40 * b)"),
            "the spread is right, the signal is not",
        ),
        (
            "import sys\ndef spread_and_signal(micro, b):\n"
            "    its = {'n': 1, 'v': 0.0, 'sq': 0.0, **sys._getframe(1).f_locals}\n"
            "    return b * its['v'], its['sq'] - its['v'] / its['n']",
            "not yet",
        ),
        (
            "of_page = micro\ndef spread_and_signal(micro, b):\n"
            "    of_page.zero_()\n    return 0.0, 0.0",
            "not yet",
        ),
        (
            SPREAD.format("min(b, 64)", SIGNAL + " - micro.var(0).sum() / len(micro)"),
            "a row scatters",
        ),
        (
            SPREAD.format("b", SIGNAL + " - micro.var(0).sum() / min(len(micro), 40)"),
            "the signal is not",
        ),
        (SPREAD.format("b", f"max({SIGNAL} - spread / (b * len(micro)), 0)"), "the signal is not"),
        (SPREAD.format("b", f"abs({SIGNAL} - spread / (b * len(micro)))"), "the signal is not"),
    ],
    "82965376": [
        (DRAWN.format("0.656", "rng.integers(1797, size=B)"), "can still come twice"),
        (DRAWN.format("0.656", "rng.permutation(1024)[:B]"), "not yet"),
        (DRAWN.format("0.656", "rng.permutation(1700)[:B]"), "as often as any other"),
        (DRAWN.format("0.656", "rng.permutation(1798)[:B]"), "as often as any other"),
        (DRAWN.format("0.656", "np.random.permutation(1797)[:B]"), "draw from the given rng"),
        (
            DRAWN.format("0.656", "(np.arange(B) + rng.integers(1797)) % 1797"),
            "as often as any other",
        ),
        (DRAWN.format("0.656", "np.arange(B)"), "draw each time anew"),
        (DRAWN.format("0.656", "rng.choice(1797, (1, B), False)"), "whole numbers"),
        (
            DRAWN.format("0.656", "rng.integers(1797, size=B) * ((1797 - B) / 1796) ** 0.5"),
            "whole numbers",
        ),
        (
            DRAWN.format("0.656", "((1797 - B) / 1796) ** 0.5 * (1 + 0.01 * rng.normal())"),
            "whole numbers",
        ),
        (DRAWN.format("1 - 0.656", "rng.permutation(1797)[:B]"), "measure the factor"),
        (DRAWN.format("None", "rng.permutation(1797)[:B]"), "measure the factor"),
        (
            "factor = 0.656\nblock = np.random.default_rng(0).permutation(1797)\n"
            "draw = lambda B, rng: block[(np.arange(B) + rng.integers(1797)) % 1797]",
            "draw each time anew",
        ),
        (
            DRAWN.format(
                "0.656", "np.random.default_rng(rng.integers(1797)).permutation(1797)[:B]"
            ),
            "draw each time anew",
        ),
    ],
    # Chapter 9
    "4f52cd2e": [
        ("answer = 'ssss'", "look again at 4"),
        ("answer = 'gssg'", "look again at 1"),
        ("answer = 'sg'", "four letters"),
    ],
    "07dfded5": [
        (BATCH.format("r[:, None] + gamma * v_next", "0.5 * "), "the target is differentiated"),
        (BATCH.format(TARGET, ""), "1/2 is missing"),
        ("batch_loss = lambda theta, *moves: rows.mean(0) @ theta", "print the shapes"),
        (
            "batch_loss = lambda theta, *moves: theta @ vmap("
            "grad(td_loss), (None, 0, 0, 0))(theta.detach(), *moves).mean(0)",
            "not half the mean",
        ),
        (BATCH.format(TARGET, "7 + 0.5 * "), "not half the mean"),
        (BATCH.format(TARGET, "0.5 / 5 * ").replace("mean()", "sum()"), "print the shapes"),
        (
            "import sys\ndef batch_loss(theta, *moves):\n    frame = sys._getframe()\n"
            "    while frame and 'right' not in frame.f_locals:\n        frame = frame.f_back\n"
            "    return theta @ frame.f_locals['right']",
            "an error",
        ),
        (
            BATCH.format("(r[:, None] + gamma * v_next).detach()", "0.5 * ").replace(
                "((target - v) ** 2)", "((target - v).clamp(-20, 20) ** 2)"
            ),
            "print the shapes",
        ),
        (
            BATCH.format("(r[:, None] + gamma * v_next).detach()", "0.5 * ").replace(
                "return", "r.zero_()\n    return"
            ),
            "should not change",
        ),
        (
            BATCH.format("(r[:, None] + gamma * v_next).detach()", "(len(s) > 2) * 0.5 * "),
            "print the shapes",
        ),
        (BATCH.format(TARGET, "(1 if len(s) != 3 else 0) * 0.5 * "), "print the shapes"),
    ],
    "f16b322d": [
        ("checked = lambda t: td_loss(theta, s[0], r[0], s_next[0])", "the gradient is 0"),
        ("checked = lambda t: not_held(t, s[0], r[0], s_next[0])", "not the first row"),
        ("checked = lambda t: rows[0] @ t", "half a squared error"),
        (
            "checked = lambda t: 7 + 0.5 * (r[0] + gamma * s_next[0] @ theta - s[0] @ t) ** 2",
            "half a squared error",
        ),
        (
            "goal = r[0] + gamma * s_next[0] @ theta\n"
            "def checked(t):\n    loss = 0.5 * (goal - s[0] @ t) ** 2\n"
            "    t.data.zero_()\n    return loss",
            "not yet",
        ),
        (
            CHECKED.format("loss if (t.detach() - theta).norm() < 4 else 0 * loss"),
            "half a squared error",
        ),
        (CHECKED.format("loss if t[2] < 5 else 2 * loss"), "half a squared error"),
        (CHECKED.format("torch.where(loss < 200, loss, 20 * (2 * loss) ** 0.5 - 200)"), "half a"),
        (
            CHECKED.format("loss + (t - theta - (t - theta).mean()).square().sum()"),
            "half a squared error",
        ),
        (CHECKED.format("loss + torch.relu((t - theta).norm() - 3) ** 2"), "half a squared error"),
        (CHECKED.format("loss + 0 * t.data.add_(1e-9).sum()"), "should not change t"),
        (
            CHECKED.format(
                "loss if (t.detach() - theta).norm() > 0.01 else loss.detach() + 0 * t.sum()"
            ).replace("> 0.01", "> 0.01 or (t == theta).all()"),
            "half a squared error",
        ),
        (
            CHECKED.format("loss if not 0.001 < (t.detach() - theta).norm() < 0.01 else 2 * loss"),
            "half a squared error",
        ),
        (
            CHECKED.format(
                "loss + (lambda far: torch.relu(far - 0.2) * torch.relu(0.5 - far))"
                "((t - theta).abs().max())"
            ),
            "half a squared error",
        ),
    ],
    "fc4776f1": [
        (TDC.format("+", "delta - guess", "", ""), "the correction is subtracted"),
        (TDC.format("-", "delta - guess", "-", ""), "compare each term"),
        (TDC.format("-", "delta - guess", "", ".flip(0)"), "compare each term"),
        ("tdc = lambda *given, beta=0.5: globals()['wanted'](*given, beta)", "an error (has h"),
        (
            TDC.format("-", "delta - guess", "", "").replace("mean(0)", "sum(0) / 5"),
            "compare each",
        ),
        (TDC.format("-", "delta - guess", "", ".half().numpy()"), "compare each"),
        (TDC.format("-", "delta - guess", "", "").replace("(steps)", "(min(steps, 20))"), "each"),
        (TDC.format("-", "delta - guess", "", "").replace("+ beta", "+ min(beta, 1)"), "each"),
        (
            TDC.format("-", "delta - guess", "", "").replace(
                "- s @ theta", "- s @ theta\n        delta = delta.clamp(-50, 50)"
            ),
            "compare each",
        ),
        (
            TDC.format("-", "delta - guess", "", "").replace(
                "theta, h = theta + 0.1 * update,", "h = 0 * theta.add_(0.1 * update) +"
            ),
            "compare each",
        ),
        (
            TDC.format("-", "delta - guess", "", " if len(theta) > 1 else 0 * theta"),
            "compare each",
        ),
    ],
}

# Where the folded solution explains and defines less than the check asks for.
RIGHT = {
    "559116c7": "answer = 0.6875",
    "64a5c4e9": "answer = 'acdf'",
    "4f52cd2e": "answer = 'sssg'",
    "33fb529c": 'trials = [("sum", [x], 1)]',
    "66de8e91": "programs = 5",
    "a6b77b0b": "answer = 'ynynny'",
    "ed5b6697": "answer = 'esewwr'",
    "fef7288c": "answer = {'W': 3, 'b': 3, 'z': 3, 'loss': 1}",
    "4c978d62": "ended_axes = (None, 0, 0, 0, 0)",
}

# Right answers in other forms, after the folded solution.
FORMS = {
    # Chapter 1
    "c6b46ed1": [
        "shape_of_rows, shape_of_grad = torch.zeros(128, 32, 64).shape, [32, 64]\n"
        "size = torch.tensor(128 * 32 * 64 * 4)",
    ],
    "de3499ff": [
        "lengths = lambda rows: np.sqrt("
        "sum((g.numpy() ** 2).reshape(len(g), -1).sum(1) for g in rows.values()))",
        WHOLE_ROWS + ".float().norm(dim=1).tolist()",
        "lengths = lambda rows: torch.cat("
        "[g.flatten(1).clone().requires_grad_() for g in rows.values()], 1).norm(dim=1)",
    ],
    "34968dff": [
        ERROR_TIMES_INPUT.format("", "y", "x.double().square()"),
        "def lengths_of_linear(x, y):\n    p = model(x).softmax(1).detach().numpy()\n"
        "    p[np.arange(len(p)), y] -= 1\n"
        "    return np.sqrt((p**2).sum(1) * (1 + (x.numpy() ** 2).sum(1)))",
        "def lengths_of_linear(x, y):\n    f = lambda p, a, b: torch.nn.functional.cross_entropy("
        "torch.func.functional_call(model, p, a[None]), b[None])\n"
        "    rows = torch.vmap(torch.func.grad(f), (None, 0, 0))("
        "dict(model.named_parameters()), x, y)\n"
        "    return sum(g.flatten(1).square().sum(1) for g in rows.values()).sqrt()",
    ],
    # Chapter 2
    "c16707c5": [
        "def rows_with(b, *sample):\n    theta, x, y = map(np.asarray, sample)\n"
        "    return list((x @ theta - y + b)[:, None] * x)",
    ],
    "edf1e748": [
        "shrink_fixed = lambda w, x: jax.lax.fori_loop("
        "0, 5, lambda i, h: jnp.where(h > 1, w * h, h), w * x)",
        "shrink_fixed = lambda w, x: x * w ** (1 + sum(x * 0.5**k > 1 for k in range(1, 6)))",
    ],
    "66de8e91": [
        "size_for = lambda B: jnp.array(1 << (B - 1).bit_length())",
        "import torch\nsize_for = lambda B: torch.tensor(1 << (B - 1).bit_length())",
        "size_for = lambda B: 1 << int(np.ceil(np.log2(B)))",
    ],
    # Chapter 3
    "fef7288c": [
        "answer = {name: ones[name].grad for name in ones if ones[name].grad is not None}"
    ],
    "14e9412d": [
        "clipped_mean = lambda copies: copies.grad.renorm(2, 0, 1).mean(0)",
        CLIPPED.format("torch.where(norms > 1, g / norms, g).float().mean(0).tolist()"),
        CLIPPED.format("(g / norms.clamp(min=1)).numpy().mean(0)"),
    ],
    "04234e66": [
        FROZEN_LOSS.format("net[2].requires_grad_(True); return loss"),
        "def frozen_pass(net):\n    p = {k: v.detach() if k[0] == '2' else v"
        " for k, v in net.named_parameters()}\n"
        "    return loss_of(torch.func.functional_call(net, p, (x.detach(),)))",
    ],
    "aa642e95": [
        "store = lambda w: torch.tensor(w.tolist())",
        "store = lambda w: w.detach().to(torch.float64, copy=True)",
        "store = lambda w: torch.from_numpy(w.detach().numpy().copy())",
    ],
    # Chapter 4
    "a6b77b0b": ["answer = list('YNYNNY')"],
    "7428b6ae": [
        USES + "not any(torch.allclose(gradient_of(f(i)), gradient_of(f(j)), atol=1e-6)"
        " for i in range(5) for j in range(i))",
        USES + "len(np.unique([gradient_of(f(i)).flatten() for i in range(5)], axis=0)) == 5",
    ],
    "f5986927": [
        "def padded_gradient(parts):\n    s, a, r, m = map(torch.cat, zip(*parts))\n"
        "    kept = (column[m.bool()] for column in (s, a, r))\n"
        "    return torch.autograd.grad(losses_of(*kept).mean(), policy[2].bias)[0].tolist()",
        PADDED.format("losses_of(s, a, r) @ m / sum(m.sum() for *_, m in parts)"),
    ],
    "46ce82c2": [
        STREAM.format("len(part[0])"),
        "averaged = lambda stream: torch.autograd.grad("
        "torch.cat([losses_of(*part) for part in stream]).mean(), policy[2].bias)[0].double()",
    ],
    # Chapter 5
    "4c978d62": [
        "ended_loss = lambda theta, s, r, s_next, gamma: td_loss(theta, s, r, gamma * s_next)",
        "def ended_loss(theta, s, r, s_next, gamma):\n"
        "    delta = r + gamma * s_next @ theta - s @ theta\n"
        "    return -jax.lax.stop_gradient(delta) * (s @ theta)",
    ],
    "93d389d8": [
        EACH_OF.format("len(theta)", "len(s)"),
        "repaired = lambda theta, s, targets: jax.jacobian("
        "lambda w: 0.5 * (targets - s @ w) ** 2)(theta).tolist()",
    ],
    "40dc56d6": [
        HUBER.format(
            f"jax.lax.stop_gradient({GOAL})",
            "delta * jax.lax.stop_gradient(jnp.clip(delta, -c, c))",
        ),
        HUBER.format(
            f"jax.lax.stop_gradient({GOAL})",
            "0.5 * jnp.minimum(abs(delta), c) ** 2 + c * jnp.maximum(abs(delta) - c, 0)",
        ),
    ],
    "1437920b": [
        "derivatives = jnp.outer(s, s - s_next)",
        "derivatives = jax.jacfwd(row_by_hand)(theta).tolist()",
    ],
    # Chapter 7
    "18f3d491": [
        "def descend(w):\n    f = torch.func.grad(lambda w: ((w - 1) ** 2).sum())\n"
        "    for _ in range(50):\n        w = w.detach() - 0.1 * f(w.detach())\n    return w",
        "def descend(w):\n    optimizer = torch.optim.SGD([w], lr=0.1)\n    for _ in range(50):\n"
        "        optimizer.zero_grad()\n        ((w - 1) ** 2).sum().backward()\n"
        "        optimizer.step()\n    return w",
    ],
    "bcca9407": [HISTORY.format("out.detach().double()", ""), HISTORY.format("out.tolist()", "")],
    # Chapter 8
    "75774a9f": [
        "def spread_and_signal(micro, b):\n    rows = np.asarray(micro, float)\n"
        "    variance = rows.var(0, ddof=1).sum()\n"
        "    return [b * variance, (rows.mean(0) ** 2).sum() - variance / len(rows)]",
        SPREAD.format("b", "micro.square().sum(1).mean() - spread / b"),
    ],
    "82965376": [
        DRAWN.format("2 / 3 - 0.01", "rng.permutation(len(x))[:B]"),
        DRAWN.format("torch.tensor(0.656)", "torch.tensor(rng.permutation(1797))[:B]"),
        DRAWN.format("0.66", "rng.permuted(range(1797))[:B].tolist()"),
        DRAWN.format("0.65", "sorted(np.argsort(rng.random(1797))[:B])"),
    ],
    # Chapter 9
    "07dfded5": [
        "def batch_loss(theta, s, r, s_next):\n"
        "    return vmap(td_loss, (None, 0, 0, 0))(theta, s, r, s_next).mean()",
        "def batch_loss(theta, s, r, s_next):\n"
        "    target = (r + gamma * s_next @ theta).detach()\n"
        "    return torch.nn.functional.mse_loss(s @ theta, target) / 2",
    ],
    "f16b322d": [
        "def checked(t, old=theta.clone()):\n"
        "    return 0.5 * (r[0] + gamma * value(old, s_next[0]) - value(t, s[0])) ** 2",
        "goal = float(r[0] + gamma * value(theta, s_next[0]))\n"
        "checked = lambda t: (goal - value(t, s[0])).square() / 2",
    ],
    "fc4776f1": [
        TDC.format("-", "delta - guess", "", "")
        .replace("batch, 0 * theta", "[part.numpy() for part in batch], 0 * theta.numpy()")
        .replace("    for _", "    theta = theta.numpy()\n    for _")
    ],
}

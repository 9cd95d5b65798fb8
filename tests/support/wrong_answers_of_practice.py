"""Wrong answers to the exercises of the chapters on practice, and the expected replies.

The keys are the ids of the notebook cells with the checks. The last answer of each list tries to
cheat the check. RIGHT has right answers: a solution under the exercise's names, or in another
form.
"""

# Chapter 11
BOTH = """
def norms_of_both(parts):
    squares = 0
    for layer, z_bar, h in parts:
        squares = squares + (z_bar**2).sum(1) * ((h**2).sum(1) + {})
    return squares{}
"""
WHOLE = """
def clipped_from_rows(rows, C):
    squares = sum((g.flatten(1)**2).sum(1) for g in rows.values())
    w = {}
    return {{k: torch.tensordot(w, g, 1) for k, g in rows.items()}}
"""
# Chapter 12
PADDED = """
def padded_losses(logits, labels):
    each = cross_entropy(logits[:, :-1].mT, labels[:, 1:], reduction="none")
    return {}
"""
LOOKUP = """
def norms_of_lookup(ids, delta):
    rows = nn.functional.one_hot(ids).float().mT @ delta
    return {}
"""
KEPT = """
kept = {}
def norms_of_lookup(ids, delta):
    shape = len(ids), len(letters), delta.shape[2]
    tables = kept.setdefault(shape, torch.zeros(shape))
    for table, i, d in zip(tables, ids, delta):
        table.index_add_(0, i, d)
    return tables.square().sum((1, 2)).sqrt()
"""
# Chapter 13
THREE = """
def clipped_sum_of_three(theta, x, y):
    x, y = (jnp.concatenate([a, a[:1]]) for a in (x, y))
    x, y = jax.device_put((x, y), NamedSharding(mesh, P("d")))
    return {}
"""
COLUMNS = """
@jax.shard_map(mesh=mesh, in_specs=P(None, "d"), out_specs=P("d"))
def clipped_columns(part):
    return {}
"""
# Chapter 14
STEP = """
import random
source = {}
def seeded_sum(rows, source=source):
    return {} + 4.3 * torch.as_tensor({})
"""
HALF = """
def seeded_sum(rows, source=source):
    return (clipped_sum(rows) + 4.3 * torch.tensor(source.normal(size=650))).half()
"""
PARTS = """
def in_parts(parts, sigma, rng):
    noise = torch.tensor({})
    return sum({} for part in parts) + sigma * noise
"""
IN_PARTS = PARTS.format("rng.normal(size=650)", "clipped_sum(part)")
# Chapter 15
LEFT_OUT = """
def left_out_errors(X, heights):
    h = (X @ torch.linalg.inv(X.T @ X) * X).sum(1)
    e = X @ fit(X, heights) - heights
    return {}
"""
MOVES = """
def move_estimates(X, heights):
    rows = (X @ fit(X, heights) - heights)[:, None] * X
    return {}
"""
FOUND = """
def found_by(rows, losses, wrong):
    own = {}
    return [int(np.isin(s.topk(40).indices, wrong).sum()) for s in ({})]
"""
# Chapter 16
ACCUMULATED = """
def accumulated(group, credits):
    theta = torch.zeros(3, requires_grad=True)
    total = sum(n[o] for o in group)
    for o, c in zip(group, credits):
        loss = -(c * log_probs(answers[o], theta)){}
        loss.backward()
    return {}theta.grad
"""
DEVIATION = """
def with_deviation(credit):
    s = {}
    s = torch.where(s > 1e-9, s, 1.0)
    return effective(credit / s / (4 * n[groups]))
"""
CORRECTED = """
def corrected(p, later, rows_later):
    ratio = {}
    return p @ ((ratio * r)[:, None] * rows_later)
"""
# Chapter 17
OWN_DIGIT = """
def with_own_digit(gram, y):
    own = (y[:, None] == y).double()
    sums = (gram * own).sum(1) - gram.diagonal()
    return {}
"""
LAST_LAYER = """
def last_layer(model, x, y):
    h = model[:2](x).detach()
    z = model[2](h)
    (d,) = torch.autograd.grad(cross_entropy(z, y, reduction="sum"), z)
    return {}
"""
# Chapter 18
TOTAL = """
def total(lengths, chance, k, rng):
    counts = torch.tensor(rng.multinomial({}, chance))
    return {}
"""
OTHER_IMAGES = """
def total(lengths, chance, k, rng):
    i = rng.integers(len(lengths), size=k * len(lengths))
    labels = torch.tensor(rng.multinomial(1, chance[i])).argmax(1)
    return lengths[i, labels].mean()
"""
EVERY_LABEL = """
def every_label(model, x):
    chance, result = model(x).softmax(1).detach(), 0
    for c in range(10):
        labels = torch.full((len(x),), c)
        with ps.record(model) as record:
            losses = cross_entropy(model(x), labels, reduction="none")
            record.backward({})
        squares = record.moments().second_moment.values()
        result = result + torch.cat([s.flatten() for s in squares])
    return result
"""
BATCHES = """
def from_batches(model, x, labels):
    result = 0
    for some, own in zip(x.split(100), labels.split(100)):
        loss = cross_entropy(model(some), own)
        g = torch.autograd.grad(loss, list(model.parameters()))
        result += {} * torch.cat([p.flatten() for p in g]) ** 2
    return result / {}
"""

WRONG = {
    # Chapter 11
    "3df72c71": [
        ("answer = 'nyynyn'", "look again at 3"),
        ("answer = 'nnnnyn'", "look again at 2"),
        ("answer = 'nynnynnynnyn'", "six letters"),
    ],
    "dae234aa": [
        (BOTH.format("0", ".sqrt()"), "no part of a bias"),
        (BOTH.format("(layer.bias is not None)", ""), "the root is missing"),
        ("norms_of_both = lambda parts: torch.zeros(len(parts[0][1]))", "not the numbers"),
        (BOTH.format("(h.shape[1] == 32)", ".sqrt()"), "no part of a bias"),
        ("norms_of_both = lambda parts: (p * s + q * (t + 1)).sqrt()", "your function stops"),
        (
            "def norms_of_both(parts):\n    (a, p, s), (_, q, t) = parts\n"
            "    one = a.bias is not None  # as if exactly one layer had a bias\n"
            "    return ((p**2).sum(1) * ((s**2).sum(1) + one)"
            " + (q**2).sum(1) * ((t**2).sum(1) + (not one))).sqrt()",
            "not the numbers",
        ),
        (
            "import sys\ndef norms_of_both(parts):\n    its = sys._getframe(1).f_locals\n"
            "    (a, b), p, s, q, t = [its[name] for name in ('biases', *'psqt')]\n"
            "    return (p * (s + a) + q * (t + b)).sqrt()",
            "your function stops",
        ),
        (
            BOTH.format("(layer.bias is not None)", ".sqrt()").replace(
                "in parts:", "in parts[:2]:"
            ),
            "not the numbers",
        ),
    ],
    "c75a1955": [
        (
            "squares_at_positions = lambda z, h: ((z.mT @ h)**2).sum((1, 2))",
            "makes an array of m d",
        ),
        (
            "squares_at_positions = lambda z, h: (z**2).sum((1, 2)) * (h**2).sum((1, 2))",
            "multiply before you add up",
        ),
        ("squares_at_positions = lambda z, h: torch.tensor([0.0, 36.0])", "not the numbers"),
        ("squares_at_positions = lambda z, h: squares", "your function stops"),
        (
            "squares_at_positions = lambda z, h: sum((z[:, t] * z[:, s]).sum(1)"
            " * (h[:, t] * h[:, s]).sum(1) for t in range(3) for s in range(3))",
            "not the numbers",
        ),
        (
            "squares_at_positions = lambda z, h:"
            " ((z[:2] @ z[:2].mT) * (h[:2] @ h[:2].mT)).sum((1, 2))",
            "not the numbers",
        ),
    ],
    "a03bae63": [
        (WHOLE.format("C / squares.sqrt()"), "shorter rows are stretched"),
        (WHOLE.format("(C / squares.sqrt()).clamp(max=1) / len(squares)"), "the mean"),
        (WHOLE.format("torch.ones(len(squares))"), "your turn"),
        (WHOLE.format("(most / lengths).clamp(max=1)"), "your function stops"),
        (
            WHOLE.format("(squares.sqrt().median() / squares.sqrt()).clamp(max=1)"),
            "not the numbers",
        ),
        (
            WHOLE.format("(C / squares.sqrt()).clamp(max=1)").replace(
                "w, g, 1)", "w, g, 1)[None]"
            ),
            "its parameter's shape",
        ),
        (
            WHOLE.format("(C / squares.sqrt()).clamp(max=1)").replace(
                "rows.values())", "list(rows.values())[:4])"
            ),
            "not the numbers",
        ),
        (
            WHOLE.format("(C / squares.sqrt()).clamp(max=1)").replace(
                "(w, g, 1)", "(w[:16], g[:16], 1)"
            ),
            "not the numbers",
        ),
    ],
    # Chapter 12
    "dfb4cab1": [
        ("all_rows, clipped_sum, norms_alone, adapter_rows = 1.6, 0.1, 1.6e-8, 0.016", "bytes"),
        ("all_rows, clipped_sum, norms_alone, adapter_rows = 6.4, 6.4, 6.4e-8, 0.064", "one row"),
        ("all_rows, clipped_sum, norms_alone, adapter_rows = 6.4, 0.4, 6.4e-8, 6.4", "adapters"),
        ("all_rows = clipped_sum = norms_alone = adapter_rows = float('nan')", "of its own"),
    ],
    "c869b362": [
        (PADDED.format("each.mean(1)"), "divided by?"),
        (PADDED.format("each.sum(1) / (labels != -100).sum(1)"), "first letter is not predicted"),
        (PADDED.format("each.sum(1) / (lengths - 1)"), "your function stops"),
        (PADDED.format("each.zero_().sum(1)"), "mean over its own"),
        ("padded_losses = lambda *_: losses_of_texts(model(tokens), padded)", "for each text"),
        (PADDED.format("each.sum(1) / (each != 0).sum(1)"), "over its own"),
        (PADDED.format("each[:8].sum(1) / (labels[:8, 1:] != -100).sum(1)"), "for each text"),
    ],
    "c8335685": [
        ("too_long = lambda texts, size: 2.0", "how many parts"),
        ("too_long = lambda texts, size: size / len(texts)", "other way round"),
        ("too_long = lambda texts, size: (len(texts) / size) ** 2", "not its square"),
        ("too_long = lambda texts, size: None", "how many parts"),
        ("too_long = lambda texts, size: max(2.0, len(texts) / size)", "how many parts"),
        ("too_long = lambda texts, size: min(4.0, len(texts) / size)", "how many parts"),
    ],
    "18da42db": [
        (LOOKUP.format("delta.square().sum((1, 2)).sqrt()"), "squares before it adds"),
        (LOOKUP.format("rows.square().sum((1, 2))"), "squares of the norms"),
        (LOOKUP.format("delta.sum(1).norm(dim=1)"), "letters that are not equal"),
        ("norms_of_lookup = lambda *_: record.squared_norms().sqrt()", "one norm for each text"),
        (LOOKUP.format("rows[:8].square().sum((1, 2)).sqrt()"), "one norm for each text"),
        (
            KEPT,
            "one norm for each text",
        ),
    ],
    # Chapter 13
    "ebd4b360": [
        ("answer = 'ynyy'", "needs its own sample"),
        ("answer = 'nnny'", "all parts of its row"),
        ("answer = 'nnyynnyy'", "four letters"),
    ],
    "e2b2a9ae": [
        ("added = lambda i, B, n: [i]", "leaves a device out"),
        ("added = lambda i, B, n: list(range(i % n, B, n))", "lie on one device"),
        ("added = lambda i, B, n: [0, 2] if i % 2 == 0 else [1, 3]", "line 0 of 8"),
        (
            "added = lambda i, B, n: list(range(i % (B // n), B, B // n))[:4]",
            "leaves a device out",
        ),
    ],
    "739dd4cb": [
        (THREE.format("clipped_sum(rows_of(theta, x, y)[:3]) / 3"), "a mean"),
        (THREE.format("clipped_sum(rows_of(theta, x, y)[:2])"), "not yet"),
        (
            "clipped_sum_of_three = lambda theta, x, y: clipped_sum(rows_of(theta, x, y))",
            "divide four samples",
        ),
    ],
    "a9935e97": [
        (COLUMNS.format("jax.lax.psum(clipped_sum(part), 'd')"), "not yet"),
        (
            COLUMNS.format("(5 / jnp.maximum(jax.lax.psum(jnp.abs(part).sum(1), 'd'), 5)) @ part"),
            "not yet",
        ),
        ("clipped_columns = clipped_sum", "in shard_map"),
    ],
    # Chapter 14
    "c1a7b75d": [
        ("answer = 'yyny'", "clipping alone"),
        ("answer = 'nyyy'", "an exact number"),
        ("answer = 'nynynyny'", "four letters"),
    ],
    "3899b67f": [
        ("wanted_sigma = 200", "like sqrt(T)"),
        ("wanted_sigma = 2", "above 60"),
        ("wanted_sigma = float('inf')", "your turn"),
    ],
    "d5be0e29": [
        ("source = np.random.default_rng()" + HALF, "comes again"),
        *[
            (STEP.format("np.random.default_rng()", total, noise), "not the clipped sum")
            for total, noise in {
                "rows.sum(0)": "source.normal(size=650)",
                "0": "source.normal(size=650)",
                "clipped_sum(rows.zero_())": "source.normal(size=650)",
                "clipped_sum(rows[:100])": "source.normal(size=650)",
                "clipped_sum(rows[1:])": "source.normal(size=650)",
                "(rows / rows.norm(dim=1, keepdim=True)).sum(0)": "source.normal(size=650)",
                "clipped_sum(rows)[None]": "source.normal(size=650)",
                "clipped_sum(rows)": "source.normal(0.05, 1, size=650)",
                "clipped_sum(rows) + 0": "source.normal(0, 1.04, size=650)",
                "clipped_sum(rows) + 1 - 1": "source.normal(0, 0.96, size=650)",
                "0 + clipped_sum(rows)": "source.logistic(0, 0.5513, size=650)",
                "-1 + 1 + clipped_sum(rows)": "source.normal(0, 1 - 0.9 * (np.arange(650) < 9))",
                "1 * clipped_sum(rows)": "torch.randn(650).double()",
                "2 * clipped_sum(rows) / 2": "np.random.default_rng().normal(size=650)",
            }.items()
        ],
        *[
            (STEP.format("np.random.default_rng()", "clipped_sum(rows)", noise), "comes again")
            for noise in (
                "source.normal(size=325).repeat(2)",
                "np.multiply.outer([1, -1], source.normal(size=325)).ravel()",
            )
        ],
        *[
            (STEP.format(generator, "clipped_sum(rows)", noise), said)
            for generator, noise, said in (
                ("np.random.default_rng(7)", "source.normal(size=650)", "anybody may try"),
                ("np.random.default_rng(12345)", "source.normal(size=650)", "anybody may try"),
                ("np.random.RandomState(7)", "source.randn(650)", "no generator of NumPy"),
                (
                    "torch.Generator().manual_seed(7)",
                    "torch.randn(650, generator=source).double()",
                    "no generator of NumPy",
                ),
                ("random.Random(7)", "[source.gauss(0, 1) for _ in range(650)]", "no generator"),
                ("None", "np.random.normal(size=650)", "no generator of NumPy"),
            )
        ],
        *[
            (
                f"own = {own}\n"
                + STEP.format("np.random.default_rng()", "clipped_sum(rows)", noise),
                "all from source",
            )
            for own, noise in (
                ("torch.Generator().manual_seed(7)", "torch.randn(650, generator=own).double()"),
                ("__import__('random').Random(7)", "[own.gauss(0, 1) for _ in range(650)]"),
                ("np.random.default_rng(7)", "source.normal() * 0 + own.normal(size=650)"),
                (
                    "iter(range(999))",
                    "np.random.default_rng(next(own)).normal(size=650)",
                ),
            )
        ],
        (
            STEP.format(
                "np.random.default_rng()",
                "clipped_sum(rows)",
                "source.normal(size=650).clip(-3, 3)",
            ),
            "not the clipped sum",
        ),
        (
            STEP.format(
                "np.random.default_rng()",
                "clipped_sum(rows)",
                "(lambda z: 0.5**0.5 * (z + np.roll(z, 1)))(source.normal(size=650))",
            ),
            "not the clipped sum",
        ),
    ],
    "220e2a4c": [
        (PARTS.format("rng.normal(size=650)", "part.sum(0)"), "without noise"),
        (PARTS.format("rng.normal(size=325).repeat(2)", "clipped_sum(part)"), "new noise"),
        (IN_PARTS.replace("rng.n", "np.random.default_rng(0).n"), "new noise"),
        (IN_PARTS.replace("rng.n", "np.random.default_rng().n"), "from the given rng"),
        (IN_PARTS.replace("sigma *", "3 *"), "without noise"),
        (
            "def in_parts(parts, sigma, rng):\n    return sum(clipped_sum(part) + sigma / 2 *"
            " torch.tensor(rng.normal(size=650)) for part in parts)",
            "normal noise",
        ),
        (
            PARTS.format("rng.normal(size=650)", "(part / part.norm(dim=1, keepdim=True)).sum(0)"),
            "not yet",
        ),
        (PARTS.format("rng.normal(size=650)", "clipped_sum(9 * rows[:80]) / 4"), "without noise"),
        (PARTS.format("rng.normal(size=(1, 650))", "clipped_sum(part)"), "normal noise"),
        (PARTS.format("rng.normal(0.05, 1, size=650)", "clipped_sum(part)"), "normal noise"),
        (PARTS.format("rng.normal(0, 1.04, size=650)", "clipped_sum(part)"), "normal noise"),
        (PARTS.format("rng.logistic(0, 0.5513, size=650)", "clipped_sum(part)"), "normal noise"),
        (
            PARTS.format("rng.normal(size=650)", "clipped_sum(part)").replace(
                "+ sigma *", "+ min(sigma, 9) *"
            ),
            "normal noise",
        ),
        (
            PARTS.format("rng.normal(size=650)", "clipped_sum(part)").replace(
                "in parts)", "in parts[:4])"
            ),
            "without noise",
        ),
        (
            PARTS.format("rng.normal(size=650)", "clipped_sum(part)").replace(
                "sigma * noise", "(sigma * noise).half().double()"
            ),
            "not yet",
        ),
        (
            "own = torch.Generator().manual_seed(7)\n"
            + PARTS.format("torch.randn(650, generator=own).double()", "clipped_sum(part)"),
            "from the given rng",
        ),
        (IN_PARTS.replace("sigma *", "sigma**1.01 *"), "normal noise"),
        (PARTS.format("rng.normal(size=650).clip(-3, 3)", "clipped_sum(part)"), "normal noise"),
    ],
    # Chapter 15
    "ac9bb0fc": [
        ("expected, role = 1.5, 'opponent'", "has helped"),
        ("expected, role = 0.9, 'proponent'", "the rise of the loss"),
        ("expected, role = 0.3, 'proponent'", "to be added"),
        ("expected, role = 1.5, 'proponent or opponent'", "has helped"),
    ],
    "4b031421": [
        (LEFT_OUT.format("e * (1 + h)"), "lacks the divisor"),
        (LEFT_OUT.format("-e / (1 - h)"), "minus the height"),
        (LEFT_OUT.format("e / (1 - h) - e"), "add the old error"),
        (LEFT_OUT.format("e / (1 - leverage)"), "your function stops"),
        (LEFT_OUT.format("X.zero_().sum(1)"), "one error for each point"),
        (LEFT_OUT.format("(e / (1 - h))[:12]"), "one error for each point"),
    ],
    "39e4ca85": [
        (MOVES.format("rows @ torch.linalg.inv(X.T @ X) / len(X)"), "too small"),
        (MOVES.format("-rows @ torch.linalg.inv(X.T @ X)"), "sign"),
        (MOVES.format("rows @ torch.linalg.inv(X.T @ X / len(X)) / 12"), "compare the scale"),
        (MOVES.format("estimate"), "compare the scale"),
        (MOVES.format("(rows @ torch.linalg.inv(X.T @ X))[:12]"), "compare the scale"),
    ],
    "9a70a7ca": [
        ("harmful = lambda score: score.sum(1).argsort()[-50:]", "helped most"),
        ("harmful = lambda score: score.min(1).values.argsort()[:50]", "harm to one"),
        ("harmful = lambda score: score.mean(1).argsort()[:40]", "50 images"),
        ("harmful = lambda score: score.clamp(max=0).sum(1).argsort()[:50]", "add up the scores"),
        (
            "of_page = score\nharmful = lambda _: of_page.sum(1).argsort()[:50]",
            "add up the scores",
        ),
        ("harmful = lambda score: score.sum(1)[:200].argsort()[:50]", "add up the scores"),
    ],
    "e8d8f0e4": [
        (FOUND.format("losses", "own, losses"), "by the influence"),
        (FOUND.format("(rows @ inverse * rows).sum(1)", "losses, own"), "first the influence"),
        (FOUND.format("rows.square().sum(1)", "own, losses"), "curvature is missing"),
        ("found_by = lambda *_: [38, 39]", "the 40 largest"),
    ],
    # Chapter 16
    "8cfbc7b2": [
        ("own_right, own_wrong, all_right, all_wrong = 1/4, 1/12, 1/8, 1/8", "is negative"),
        ("own_right, own_wrong, all_right, all_wrong = 1/4, -1/12, 1/16, -1/16", "alone divide"),
        ("own_right, own_wrong, all_right, all_wrong = 1/2, -1/6, 1/8, -1/8", "mean over answers"),
        ("own_right = own_wrong = all_right = all_wrong = float('nan')", "four numbers"),
    ],
    "701855e3": [
        (ACCUMULATED.format(".mean()", "-"), "of an answer divides"),
        (ACCUMULATED.format(".sum() / total", ""), "minus the gradient"),
        (ACCUMULATED.format(".sum()", "-"), "by nothing"),
        (ACCUMULATED.format(".sum() / 13", "-"), "divide by all tokens, once"),
        (
            ACCUMULATED.format(".sum() / total", "-").replace("in group)", "in set(group))"),
            "divide by all tokens, once",
        ),
    ],
    "ed34cf09": [
        (DEVIATION.format("credit.std(1, keepdim=True)"), "as in TRL"),
        (DEVIATION.format("credit.var(1, correction=0, keepdim=True)"), "the variance's root"),
        (DEVIATION.format("credit.std(correction=0)"), "one for each group"),
        ("with_deviation = lambda c: 1.62 * effective(weights['own tokens'])", "for each group"),
        (
            "with_deviation = lambda c: effective("
            "c / c.std(1, correction=0, keepdim=True) / (4 * n[groups]))",
            "0 / 0",
        ),
        (
            DEVIATION.format("credit.std(1, correction=0, keepdim=True)").replace(
                "torch.where(s > 1e-9, s, 1.0)", "s.clamp(min=0.5)"
            ),
            "for each group",
        ),
    ],
    "5355a864": [
        (CORRECTED.format("p / later"), "not old over new"),
        (CORRECTED.format("(later / p) ** 2"), "comes once"),
        (CORRECTED.format("(later / p).clamp(max=3)"), "whole answers"),
        ("corrected = lambda p, later, rows: rows.zero_().sum(0)", "whole answers"),
    ],
    # Chapter 17
    "41445c09": [
        ("change_1, change_2 = 0.05, -0.03", "against the gradient"),
        ("change_1, change_2 = 0.03, -0.05", "other order"),
        ("change_1, change_2 = -5, 3", "step size times"),
        ("change_1 = change_2 = [-0.05, 0.03]", "step size times"),
    ],
    "5ea71f11": [
        ("limit, factor = 0.5, 0.95", "half the limit"),
        ("limit, factor = 20, 0.975", "largest eigenvalue"),
        ("limit, factor = 0.5, 0.9", "the step times 0.1"),
        ("limit, factor = float('nan'), 0.975", "two numbers"),
    ],
    "4e0a71a0": [
        ("of_batch = lambda gram, batch: -0.005 * gram[:, batch].sum(1)", "sum of the losses"),
        ("of_batch = lambda gram, batch: 0.005 * gram[batch].mean(0)", "against the gradient"),
        ("of_batch = lambda gram, batch: -0.005 * gram[:, batch].sum(1) / 14", "mean of columns"),
        ("of_batch = lambda *_: -0.005 * G @ G[wrong].mean(0)", "mean of columns"),
    ],
    "72b53a93": [
        (OWN_DIGIT.format("sums"), "a sum"),
        (OWN_DIGIT.format("sums / own.sum(1)"), "the number of the others"),
        (OWN_DIGIT.format("(gram.sum(1) - gram.diagonal()) / (len(y) - 1)"), "not of all"),
        (OWN_DIGIT.format("gram.zero_().sum(1)"), "a mean over the others"),
    ],
    "197fa8d8": [
        (LAST_LAYER.format("(d @ d.T) * (h @ h.T)"), "bias is missing"),
        (LAST_LAYER.format("(d @ d.T) * (h @ h.T + 1) / len(x)"), "two factors"),
        (LAST_LAYER.format("(d @ d.T) * (x @ x.T + 1)"), "entry by entry"),
        (LAST_LAYER.format("((d @ d.T) * (h @ h.T + 1)).diagonal().diag()"), "entry by entry"),
    ],
    # Chapter 18
    "eb972bfc": [
        ("answer = 'Fisher'", "whose labels"),
        ("answer = 'neither'", "one text at a time"),
        ("answer = 'not the empirical one'", "your turn"),
    ],
    "56ae6dfd": [
        (TOTAL.format("k", "(counts * lengths).sum(1).mean()"), "times the Fisher's sum"),
        (TOTAL.format("1", "(counts * lengths).sum(1).mean()"), "a quarter as far"),
        (TOTAL.format("k", "(chance * lengths).sum(1).mean()"), "no label is drawn"),
        (
            TOTAL.format(
                "k", "(chance * lengths).sum(1).mean() * (1 + rng.normal() / (3 * k**0.5))"
            ),
            "16 labels are drawn",
        ),
        (
            TOTAL.format("k", "(counts * lengths).sum(1).mean() / k").replace(
                "counts *", "counts.flip(0) *"
            ),
            "times the Fisher's sum",
        ),
        (
            TOTAL.format("k", "(counts * lengths).sum(1).mean() / k").replace(
                "(k, chance", "(k, 0 * chance + 1 / chance.shape[1]"
            ),
            "times the Fisher's sum",
        ),
        (
            TOTAL.format("k", "(counts * lengths).sum(1).mean() / k").replace(
                "rng.m", "np.random.default_rng().m"
            ),
            "from the given rng",
        ),
        (
            OTHER_IMAGES,
            "drawn for each image",
        ),
    ],
    "f22878b9": [
        (EVERY_LABEL.format("losses * chance[:, c]"), "when the row is squared"),
        (EVERY_LABEL.format("losses * chance[:, c] ** 2"), "fourth power"),
        (EVERY_LABEL.format("losses"), "no weights"),
        ("every_label = lambda *_: fisher", "weighed by chance"),
    ],
    "f7f6790d": [
        (BATCHES.format("1", "(len(x) / 100)"), "0.01 of the Fisher"),
        (BATCHES.format("80", "(len(x) / 100)"), "which factor"),
        (BATCHES.format("100", "1"), "not their sum"),
        (BATCHES.format("100", "10"), "which factor"),
        ("from_batches = lambda model, x, y: (rows_of(model, x, y) ** 2).mean(0)", "single rows"),
    ],
}

RIGHT = {
    # Cost
    "3df72c71": "answer = 'nynnyn'",
    # Chapter 14
    "3899b67f": "wanted_sigma = 20 * sqrt(10)",
    "d5be0e29": "seeded_sum = mended_sum",
    "220e2a4c": "in_parts = noise_at_the_end",
    # Chapter 15
    "9a70a7ca": "harmful = lambda score: score.mean(1).argsort()[:50].tolist()",
    # Chapter 16
    "5355a864": "corrected = lambda p, later, rows: ((later * r) @ rows).numpy()",
    # Chapter 17
    "4e0a71a0": "of_batch = lambda gram, batch: (-0.005 * gram[batch].mean(0)).tolist()",
}

# Right answers in other forms, after the folded solution.
FORMS = {
    # Chapter 14
    "d5be0e29": [
        STEP.format("np.random.default_rng()", "clipped_sum(rows)", "source.normal(size=650)"),
        "source = np.random.Generator(np.random.Philox())\n"
        "seeded_sum = lambda rows: (clipped_sum(rows).numpy()"
        " + source.normal(0, 4.3, size=650)).tolist()",
        "import secrets\nsource = np.random.default_rng(secrets.randbits(128))\n"
        "def seeded_sum(rows):\n    noise = torch.tensor(source.normal(size=650)).float()\n"
        "    return clipped_sum(rows).float() + 4.3 * noise",
    ],
    "220e2a4c": [
        "def in_parts(parts, sigma, rng):\n    total = clipped_sum(torch.cat(list(parts)))\n"
        "    return (total.numpy() + sigma * rng.normal(size=650)).tolist()",
        "def in_parts(parts, sigma, rng):\n"
        "    noise = torch.tensor(rng.normal(size=650)).float()\n"
        "    return sum(clipped_sum(part).float() for part in parts) + sigma * noise",
    ],
}

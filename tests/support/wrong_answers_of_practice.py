"""Wrong answers to the exercises of the chapters on practice, and what the check must say of each.

The key is the id of the cell with the check. The last answer of each tries to cheat the check.
RIGHT has what a folded solution calls otherwise, or answers that are right in another form.
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
one_rng = np.random.default_rng({})
def seeded_sum(rows):
    noise = torch.tensor({})
    return {} + 4.3 * noise
"""
PARTS = """
def in_parts(parts, sigma, rng):
    noise = torch.tensor({})
    return sum({} for part in parts) + sigma * noise
"""
# Chapter 18
TOTAL = """
def total(k, rng):
    counts = torch.tensor(rng.multinomial({}, chance))
    return {}
"""
BATCHES = """
def from_batches(labels):
    result = 0
    for some, own in zip(x.split(100), labels.split(100)):
        loss = cross_entropy(model(some), own)
        g = torch.autograd.grad(loss, list(model.parameters()))
        result += {} * torch.cat([p.flatten() for p in g]) ** 2
    return result / 10
"""

WRONG = {
    # Chapter 11
    "3df72c71": [
        ("answer = 'nyynyn'", "look again at 3"),
        ("answer = 'nnnnyn'", "look again at 2"),
        ("answer = 'nynnynnynnyn'", "six letters"),
    ],
    "dae234aa": [
        (BOTH.format("0", ".sqrt()"), "part of the second bias"),
        (BOTH.format("(layer.bias is not None)", ""), "the root is missing"),
        ("norms_of_both = lambda parts: torch.zeros(len(parts[0][1]))", "not the numbers"),
    ],
    "c75a1954": [
        (
            "squares_at_positions = lambda z, h: ((z.mT @ h)**2).sum((1, 2))",
            "makes an array of m d",
        ),
        (
            "squares_at_positions = lambda z, h: (z**2).sum((1, 2)) * (h**2).sum((1, 2))",
            "multiply before you add up",
        ),
        ("squares_at_positions = lambda z, h: torch.tensor([0.0, 36.0])", "not the numbers"),
    ],
    "a03bae63": [
        (WHOLE.format("C / squares.sqrt()"), "shorter rows are stretched"),
        (WHOLE.format("(C / squares.sqrt()).clamp(max=1) / len(squares)"), "the mean"),
        (WHOLE.format("torch.ones(len(squares))"), "your turn"),
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
        (
            STEP.format("", "one_rng.normal(size=325).repeat(2)", "clipped_sum(rows)"),
            "comes again",
        ),
        (STEP.format("", "one_rng.normal(size=650)", "rows.sum(0)"), "not the clipped sum"),
        (STEP.format("", "one_rng.normal(size=650)", "0"), "not the clipped sum"),
        (STEP.format("7", "one_rng.normal(size=650)", "clipped_sum(rows)"), "try first"),
        (
            "kept = []\ndef seeded_sum(rows):\n"
            "    kept.append(-kept[-1] if kept else torch.randn(650).double())\n"
            "    return clipped_sum(rows) + 4.3 * kept[-1]",
            "comes again",
        ),
    ],
    "220e2a4c": [
        (PARTS.format("rng.normal(size=650)", "part.sum(0)"), "without noise"),
        (PARTS.format("rng.normal(size=325).repeat(2)", "clipped_sum(part)"), "new noise"),
        (
            PARTS.format("np.random.default_rng(0).normal(size=650)", "clipped_sum(part)"),
            "new noise",
        ),
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
        ("total = lambda k, rng: fisher.sum()", "no label is drawn"),
    ],
    "f7f6790d": [
        (BATCHES.format("1"), "0.01 of the Fisher"),
        (BATCHES.format("80"), "0.8 of the Fisher"),
        ("from_batches = lambda labels: fisher", "ten squares"),
        (
            "from_batches = lambda labels: squares(rows[range(1000), labels], 1)",
            "ten squares",
        ),
    ],
}

RIGHT = {
    # Cost
    "3df72c71": "answer = 'nynnyn'",
    # Chapter 14
    "3899b67f": "wanted_sigma = 20 * sqrt(10)",
    "d5be0e29": "seeded_sum = mended_sum",
    "220e2a4c": "in_parts = noise_at_the_end",
}

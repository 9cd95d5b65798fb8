"""Actor-critic on a cart-pole: the best lambda of eligibility traces and of GAE.

    python benchmarks/actor_critic.py --save

The cart-pole of Barto, Sutton and Anderson (1983), Euler steps of 0.02 s. An episode ends when the
pole leans by 12 degrees or the cart is 2.4 m off; it is cut at 500 steps (the last value is still
a target then). The only reward is -1 at the end ("late") or 1 for each step before it ("soon").
16 carts run at once, 4,800 steps each. One network, 4-64-tanh, has two heads: the logits of the
two actions, and the value. gamma = 0.99.
- "traces": after every step of the 16 carts, Adam takes a step along the mean of delta times the
  trace; each cart has its own trace, of the gradient of value plus log-probability.
- "gae": after every 8 steps of the carts, Adam takes a step along the gradient of the mean of
  -advantage * (value + log-probability), with the advantages held fixed.
For each method, reward and lambda the learning rate is the best of RATES over four starts (seeds
0 to 3). Stored: the mean length of an episode in the last fifth of the steps, over 20 other starts
(seeds 100 to 119), with its standard error.
"""

import datetime
import functools
import itertools

import common
import jax
import jax.numpy as jnp
import numpy as np

RESULT = common.RESULTS / "actor_critic.json"
CARTS, STEPS, PART, GAMMA, LONGEST, HIDDEN = 16, 4_800, 8, 0.99, 500, 64
SCALE = jnp.array([0.5, 0.5, 5.0, 0.5])  # of what the network reads
LAMBDAS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.0)
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
TUNING, REPORTED = range(4), range(100, 120)


def network(key) -> dict:
    """Return new parameters; both heads start near zero."""
    first, second = jax.random.split(key)
    return {
        "w": jax.random.normal(first, (HIDDEN, 4)) / 2,
        "b": jnp.zeros(HIDDEN),
        "heads": 0.01 * jax.random.normal(second, (3, HIDDEN)) / np.sqrt(HIDDEN),
    }


def heads(params: dict, state) -> tuple:
    """Return the logits of the two actions, (2,), and the value, 0-d, of one state, (4,)."""
    out = params["heads"] @ jnp.tanh(params["w"] @ (state * SCALE) + params["b"])
    return out[:2], out[2]


def value(params, state):
    return heads(params, state)[1]


def both(params, state, action):
    """Return value plus log-probability of the action; its gradient is the sum of theirs."""
    logits, worth = heads(params, state)
    return worth + jax.nn.log_softmax(logits)[action]


def moved(state, action):
    """Return the state of one cart 0.02 s later, and whether it has failed."""
    x, speed, angle, turning = state
    force = jnp.where(action == 1, 10.0, -10.0)
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    pushed = (force + 0.05 * turning**2 * sin) / 1.1
    bent = (9.8 * sin - cos * pushed) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    gained = pushed - 0.05 * bent * cos / 1.1
    after = state + 0.02 * jnp.array([speed, gained, turning, bent])
    return after, (jnp.abs(after[0]) > 2.4) | (jnp.abs(after[2]) > 12 * jnp.pi / 180)


def fresh(key):
    """Return random initial states of the carts, (CARTS, 4)."""
    return jax.random.uniform(key, (CARTS, 4), minval=-0.05, maxval=0.05)


def acted(params, carts, ages, key):
    """Step every cart; return the transitions (a dict), the next states and the next step counts.

    A cart whose episode is over restarts: a new state, and step count 0.
    """
    draw, again = jax.random.split(key)
    actions = jax.random.categorical(draw, jax.vmap(heads, (None, 0))(params, carts)[0])
    after, failed = jax.vmap(moved)(carts, actions)
    over = failed | (ages + 1 == LONGEST)
    met = {"state": carts, "action": actions, "after": after, "failed": failed, "over": over}
    return met, jnp.where(over[:, None], fresh(again), after), jnp.where(over, 0, ages + 1)


def errors_of(params, met, reward):
    """Return the TD error of each transition, (CARTS,); the value after a failure is 0."""
    values = jax.vmap(value, (None, 0))
    soon = reward == "soon"
    target = jnp.where(met["failed"], soon - 1.0, soon + GAMMA * values(params, met["after"]))
    return target - values(params, met["state"])


def adam(params, moments, gradient, rate):
    """Return parameters and moments after one step of Adam."""
    count, first, second = moments
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, gradient)
    return jax.tree.map(
        lambda p, m, v: (
            p - rate * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)
        ),
        params,
        first,
        second,
    ), (count, first, second)


def by_traces(lam, rate, reward, carry, key):
    """Take a step of the carts and one of Adam; return the carry and how many episodes ended."""
    params, moments, traces, carts, ages = carry
    met, carts, ages = acted(params, carts, ages, key)
    rows = jax.vmap(jax.grad(both), (None, 0, 0))(params, met["state"], met["action"])
    traces = jax.tree.map(lambda z, row: GAMMA * lam * z + row, traces, rows)
    errors = errors_of(params, met, reward)
    step = jax.tree.map(lambda z: -jnp.tensordot(errors, z, 1) / CARTS, traces)
    params, moments = adam(params, moments, step, rate)
    kept = 1.0 - met["over"]
    traces = jax.tree.map(lambda z: z * kept.reshape(-1, *[1] * (z.ndim - 1)), traces)
    return (params, moments, traces, carts, ages), met["over"].sum()


def by_gae(lam, rate, reward, carry, keys):
    """Take PART steps of the carts, one of Adam; return the carry and how many episodes ended."""
    params, moments, traces, carts, ages = carry

    def one(place, key):
        met, *place = acted(params, *place, key)
        return tuple(place), met

    (carts, ages), met = jax.lax.scan(one, (carts, ages), keys)
    errors = jax.vmap(lambda part: errors_of(params, part, reward))(met)

    def back(later, now):
        error, over = now
        later = error + GAMMA * lam * jnp.where(over, 0, later)
        return later, later

    _, advantages = jax.lax.scan(back, jnp.zeros(CARTS), (errors, met["over"]), reverse=True)

    def loss(params):
        each = jax.vmap(jax.vmap(both, (None, 0, 0)), (None, 0, 0))
        return -(advantages * each(params, met["state"], met["action"])).mean()

    params, moments = adam(params, moments, jax.grad(loss)(params), rate)
    return (params, moments, traces, carts, ages), met["over"].sum()


def run(method, reward, lam, rate, seed):
    """Return the mean episode length over the last fifth of one training run."""
    start, reset, steps = jax.random.split(jax.random.key(seed), 3)
    params = network(start)
    zeros = jax.tree.map(jnp.zeros_like, params)
    traces = jax.tree.map(lambda p: jnp.zeros((CARTS, *p.shape)), params)
    carry = (params, (0, zeros, zeros), traces, fresh(reset), jnp.zeros(CARTS, int))
    keys = jax.random.split(steps, STEPS)
    if method == "gae":
        keys = keys.reshape(STEPS // PART, PART)
    update = {"traces": by_traces, "gae": by_gae}[method]
    _, ended = jax.lax.scan(lambda c, k: update(lam, rate, reward, c, k), carry, keys)
    last = ended[-len(ended) // 5 :]
    return CARTS * STEPS / 5 / jnp.maximum(last.sum(), 1)


def main() -> None:
    options = common.parser(__doc__).parse_args()
    table: dict = {}
    for method, reward in itertools.product(("traces", "gae"), ("late", "soon")):
        train = jax.jit(jax.vmap(functools.partial(run, method, reward), (None, None, 0)))
        for lam in LAMBDAS:
            tried = {rate: float(train(lam, rate, jnp.array(TUNING)).mean()) for rate in RATES}
            best = max(tried, key=tried.__getitem__)
            found = np.asarray(train(lam, best, jnp.array(REPORTED)))
            error = found.std(ddof=1) / np.sqrt(len(found))
            row = {"rate": best, "mean": round(float(found.mean()), 1)}
            row["standard error"] = round(float(error), 1)
            table.setdefault(f"{method}, {reward}", {})[str(lam)] = row
            print(method, reward, lam, row, tried, flush=True)
    result = {
        "what": "mean length of an episode (at most 500) in the last fifth of the training",
        "date": datetime.date.today().isoformat(),
        "steps": CARTS * STEPS,
        "lambda": table,
    }
    common.finish(result, RESULT, options.save)


if __name__ == "__main__":
    main()

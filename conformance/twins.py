"""The models and losses for JAX, as functions of one sample.

A twin takes the parameters by the names they have in PyTorch, and one sample. Only these models
are tested with JAX; the others have no twin.
"""

import jax
import jax.numpy as jnp

Parameters = dict[str, jax.Array]


def dense(p: Parameters, name: str, x):
    return x @ p[f"{name}weight"].T + p[f"{name}bias"]


def norm(p: Parameters, name: str, x):
    x = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * p[f"{name}weight"] + p[f"{name}bias"]


def mlp(p: Parameters, x):
    h = jax.nn.relu(dense(p, "0.", x))
    return dense(p, "4.", jnp.tanh(dense(p, "2.", h)))


def conv2d(p: Parameters, x):
    return jax.lax.conv(x[None], p["weight"], (1, 1), "SAME")[0]


def tied(p: Parameters, x):
    table = p["embedding.weight"]
    return jnp.tanh(dense(p, "hidden.", table[x])) @ table.T


def reused(times: int):
    def model(p: Parameters, x):
        for _ in range(times):
            x = jnp.tanh(dense(p, "layer.", x))
        return dense(p, "head.", x)

    return model


def scale_and_shift(p: Parameters, x):
    return dense(p, "head.", jnp.tanh(x * p["scale"] + p["shift"][0]) * p["number"])


def fused(p: Parameters, x):
    def lerp(start, end, weight):
        return start + weight * (end - start)

    scale, floor = p["scale"], p["floor"][0]
    h = jnp.sin(x + 0.5 * scale * x[::-1])
    h = h + lerp(x, scale, 0.3) + lerp(floor, x, jax.nn.sigmoid(x))
    return dense(p, "head.", jnp.maximum(h, floor))


def two_views(p: Parameters, x):
    def net(x):
        return dense(p, "head.", jnp.tanh(dense(p, "encoder.", x)))

    return (net(x) - net(2 * x + 1)) ** 2 + net(x)


def critic(p: Parameters, x, last: str):
    h = jax.lax.conv(x[None], p["0.weight"], (1, 1), "SAME")[0] + p["0.bias"][:, None, None]
    if last == "5.":
        variance = h.var((1, 2), keepdims=True)
        h = (h - h.mean((1, 2), keepdims=True)) / jnp.sqrt(variance + 1e-5)
        h = h * p["1.weight"] + p["1.bias"]
    h = jax.nn.leaky_relu(h, 0.2).reshape(3, 2, 2, 2, 2).mean((2, 4))
    return dense(p, last, h.ravel())


def with_gradient(last: str):
    def model(p: Parameters, x):
        gradient = jax.grad(lambda x: critic(p, x, last)[0])(x)
        return jnp.concatenate([critic(p, x, last), gradient.ravel()])

    return model


def class_token(p: Parameters, x):
    x = jnp.concatenate([p["token"][0], x]) + p["positions"]
    return dense(p, "head.", jnp.tanh(dense(p, "inner.", x)).mean(0))


def elman(p: Parameters, x, every: bool = False):
    def step(h, x_t):
        h = jnp.tanh(dense(p, "inner.", x_t) + dense(p, "outer.", h))
        return h, h

    last, states = jax.lax.scan(step, jnp.zeros(4), x)
    return dense(p, "head.", states if every else last)


def summed_embeddings(p: Parameters, x):
    h = p["token.weight"][x] + p["position.weight"] + p["segment.weight"][x % 2]
    return dense(p, "head.", norm(p, "norm.", h)).mean(0)


def attention(p: Parameters, x):
    q, k, v = dense(p, "qkv.", x).reshape(len(x), 3, 2, 4).transpose(1, 2, 0, 3)
    scores = jnp.where(jnp.tri(len(x), dtype=bool), q @ k.transpose(0, 2, 1) / 2, -jnp.inf)
    h = (jax.nn.softmax(scores) @ v).transpose(1, 0, 2)
    return dense(p, "out.", h.reshape(len(x), -1))


def soft_experts(p: Parameters, x):
    hidden = jax.nn.relu(jnp.einsum("td,edh->teh", x, p["first"]))
    out = jnp.einsum("teh,ehd->ted", hidden, p["second"])
    gates = jax.nn.softmax(dense(p, "router.", x))
    return dense(p, "head.", (gates[..., None] * out).sum(-2))


def set_columns(p: Parameters, x):
    h = dense(p, "first.", x)
    h = h.at[0].set(h[1] * h[2]).at[3].add(1.0)
    return dense(p, "second.", jnp.tanh(h))


TWINS = {
    "Linear": lambda p, x: dense(p, "", x),
    "Linear, 3-d input": lambda p, x: dense(p, "", x),
    "Conv2d": conv2d,
    "LayerNorm": lambda p, x: norm(p, "", x),
    "MLP": mlp,
    "MLP, losses one by one": mlp,
    "tied embedding and head": tied,
    "layer used twice": reused(2),
    "layer used 6 times": reused(6),
    "bare scale and shift": scale_and_shift,
    "bare, addcmul, lerp, maximum": fused,
    "class token, positions": class_token,
    "summed embeddings": summed_embeddings,
    "RNN by hand": elman,
    "RNN by hand, states written": lambda p, x: elman(p, x, every=True),
    "two views, slices": two_views,
    "attention, fused": attention,
    "attention, softmax": attention,
    "experts, soft": soft_experts,
    "h[:, 0] = ...": set_columns,
    "gradient penalty, convolution": with_gradient("4."),
    "gradient penalty, LayerNorm": with_gradient("5."),
}


def cross_entropy(out, s: dict):
    return -jax.nn.log_softmax(out)[s["y"]]


def token_sum(out, s: dict):
    counts = s["y"] >= 0
    logp = jax.nn.log_softmax(out)
    chosen = jnp.take_along_axis(logp, jnp.maximum(s["y"], 0)[:, None], 1)[:, 0]
    return -(chosen * counts).sum()


def penalty(out, s: dict):
    return (jnp.linalg.norm(out[1:]) - 1) ** 2


def bce(out, s: dict):
    return (jax.nn.softplus(out) - out * s["y"]).sum()


LOSSES = {
    "squared error": lambda out, s: 0.5 * ((out - s["y"]) ** 2).sum(),
    "BCE": bce,
    "cross entropy": cross_entropy,
    "gather of labels": cross_entropy,
    "one by one, stack": cross_entropy,
    "one by one, cat": cross_entropy,
    "one by one, L[i] = loss": cross_entropy,
    "sum over tokens": token_sum,
    "h[arange, length-1]": lambda out, s: -jax.nn.log_softmax(out[s["length"] - 1])[s["label"]],
    "penalty": penalty,
    "score and penalty": lambda out, s: out[0] + 10 * penalty(out, s),
}

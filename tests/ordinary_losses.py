"""LOSSES: losses as people write them, each once, for one sample and every backend.

A row is a function of the parameters and one sample's data; the decorator says what to draw for
both. Nothing is used but the Array API and what ``persample`` itself offers.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import persample as ps

from .specs import Input, positive, real

SAMPLES = 4


class Loss(NamedTuple):
    """A loss, and how to draw its parameters (a tree of Inputs) and one sample's data."""

    loss: Callable
    params: Any
    sample: tuple

    def draw(self, seed: int = 0) -> tuple:
        """Return parameters, and data of SAMPLES distinct samples."""
        rng = np.random.default_rng(seed)
        if isinstance(self.params, dict):
            params = {key: x.draw(rng, x.shape) for key, x in self.params.items()}
        else:
            params = self.params.draw(rng, self.params.shape)
        return params, *[x.draw(rng, (SAMPLES, *x.shape)) for x in self.sample]


LOSSES: dict[str, Loss] = {}


def given(params, *sample):
    """Enter a loss into the table, under the words of its name."""

    def enter(loss):
        LOSSES[loss.__name__.replace("_", " ").strip()] = Loss(loss, params, sample)
        return loss

    return enter


def label(classes, *shape):
    return Input(shape, lambda rng, s: rng.integers(0, classes, s))


def count(*shape):
    return Input(shape, lambda rng, s: rng.integers(0, 6, s).astype(float))


def sign(*shape):
    return Input(shape, lambda rng, s: rng.choice([-1.0, 1.0], s))


def yes_or_no(*shape):
    return Input(shape, lambda rng, s: rng.integers(0, 2, s).astype(float))


def probabilities(*shape):
    return Input(shape, lambda rng, s: rng.dirichlet(np.full(s[-1], 2.0), s[:-1]))


def logsumexp(xp, z, axis=-1):
    top = ps.stop_gradient(xp.max(z, axis=axis, keepdims=True))
    return xp.squeeze(top, axis=axis) + xp.log(xp.sum(xp.exp(z - top), axis=axis))


def log_softmax(xp, z):
    return z - xp.expand_dims(logsumexp(xp, z), axis=-1)


def softmax(xp, z):
    return xp.exp(log_softmax(xp, z))


def softplus(xp, z):
    return xp.logaddexp(z, xp.zeros_like(z))


def sigmoid(xp, z):
    return 0.5 * (1.0 + xp.tanh(0.5 * z))


def relu(xp, z):
    return xp.where(z > 0, z, xp.zeros_like(z))


def pick(xp, z, y):
    """z[y] for an integer array of one number: an index that every backend maps."""
    return xp.take(z, xp.reshape(y, (1,)), axis=0)[0]


# Regression ------------------------------------------------------------------------------------

linear = real(3), real(3), real()  # weights; features and target of one sample


@given(*linear)
def squared_error(w, x, y):
    return (ps.array_namespace(w).matmul(x, w) - y) ** 2


@given(*linear)
def absolute_error(w, x, y):
    xp = ps.array_namespace(w)
    return xp.abs(xp.matmul(x, w) - y)


@given(*linear)
def huber(w, x, y):
    xp = ps.array_namespace(w)
    error = xp.abs(xp.matmul(x, w) - y)
    return xp.where(error < 0.5, 0.5 * error**2, 0.5 * (error - 0.25))


@given(*linear)
def smooth_absolute_error_by_clipping(w, x, y):
    xp = ps.array_namespace(w)
    error = xp.matmul(x, w) - y
    small = xp.clip(error, -0.5, 0.5)
    return small * (error - 0.5 * small)


@given(*linear)
def log_cosh(w, x, y):
    xp = ps.array_namespace(w)
    error = xp.matmul(x, w) - y
    return xp.logaddexp(error, -error) - math.log(2.0)


@given(*linear)
def log_of_cosh_itself(w, x, y):
    xp = ps.array_namespace(w)
    return xp.log(xp.cosh(xp.matmul(x, w) - y))


@given(*linear)
def quantile(w, x, y):
    xp = ps.array_namespace(w)
    error = y - xp.matmul(x, w)
    return xp.maximum(0.9 * error, -0.1 * error)


@given(real(3, 4), real(4), real())
def several_quantiles(w, x, y):
    xp = ps.array_namespace(w)
    levels = (xp.cumulative_sum(xp.ones_like(w[:, 0]), axis=0)) / 4.0
    error = y - xp.matmul(w, x)
    return xp.sum(xp.where(error > 0, levels * error, (levels - 1.0) * error))


@given(*linear)
def expectile(w, x, y):
    xp = ps.array_namespace(w)
    error = y - xp.matmul(x, w)
    return xp.where(error > 0, 0.8 * error**2, 0.2 * error**2)


@given(*linear)
def cauchy(w, x, y):
    xp = ps.array_namespace(w)
    return xp.log1p((xp.matmul(x, w) - y) ** 2)


@given(*linear)
def tukey_biweight(w, x, y):
    xp = ps.array_namespace(w)
    scaled = xp.clip((xp.matmul(x, w) - y) / 2.0, -1.0, 1.0)
    return 1.0 - (1.0 - scaled**2) ** 3


@given(*linear)
def charbonnier(w, x, y):
    xp = ps.array_namespace(w)
    return xp.sqrt((xp.matmul(x, w) - y) ** 2 + 1e-3)


@given(*linear)
def epsilon_insensitive(w, x, y):
    xp = ps.array_namespace(w)
    return relu(xp, xp.abs(xp.matmul(x, w) - y) - 0.1)


@given(real(3), positive(3), positive())
def squared_logarithmic_error(w, x, y):
    xp = ps.array_namespace(w)
    return (xp.matmul(x, w) ** 2 - xp.log1p(y)) ** 2


@given(real(3), real(3), positive())
def relative_error(w, x, y):
    xp = ps.array_namespace(w)
    return xp.abs(xp.matmul(x, w) - y) / y


@given(real(2, 3), real(3), real(2))
def multivariate_error_norm(w, x, y):
    xp = ps.array_namespace(w)
    return xp.linalg.vector_norm(xp.matmul(w, x) - y)


# Classification --------------------------------------------------------------------------------


@given(real(4, 3), real(3), label(4))
def softmax_cross_entropy(w, x, y):
    return ps.cross_entropy_loss(ps.array_namespace(w).matmul(w, x), y)


@given(real(4, 3), real(3), label(4))
def cross_entropy_with_smoothed_labels(w, x, y):
    xp = ps.array_namespace(w)
    scores = xp.matmul(w, x)
    return 0.9 * ps.cross_entropy_loss(scores, y) - 0.1 * xp.mean(log_softmax(xp, scores))


@given(real(4, 3), real(3), probabilities(4))
def cross_entropy_of_soft_labels(w, x, p):
    xp = ps.array_namespace(w)
    return -xp.sum(p * log_softmax(xp, xp.matmul(w, x)))


@given(real(4, 3), real(3), label(4))
def focal(w, x, y):
    xp = ps.array_namespace(w)
    log_p = -ps.cross_entropy_loss(xp.matmul(w, x), y)
    return -((1.0 - xp.exp(log_p)) ** 2) * log_p


@given(real(3), real(3), yes_or_no())
def logistic(w, x, y):
    return ps.logistic_loss(w, x, y)


@given(real(3), real(3), yes_or_no())
def weighted_logistic(w, x, y):
    xp = ps.array_namespace(w)
    z = xp.matmul(x, w)
    return 3.0 * y * softplus(xp, -z) + (1.0 - y) * softplus(xp, z)


@given(real(5, 3), real(3), yes_or_no(5))
def several_labels_at_once(w, x, y):
    xp = ps.array_namespace(w)
    z = xp.matmul(w, x)
    return xp.mean(softplus(xp, z) - y * z)


@given(real(3), real(3), sign())
def hinge(w, x, y):
    xp = ps.array_namespace(w)
    return relu(xp, 1.0 - y * xp.matmul(x, w))


@given(real(3), real(3), sign())
def squared_hinge(w, x, y):
    xp = ps.array_namespace(w)
    return relu(xp, 1.0 - y * xp.matmul(x, w)) ** 2


@given(real(3), real(3), sign())
def modified_huber(w, x, y):
    xp = ps.array_namespace(w)
    margin = y * xp.matmul(x, w)
    return xp.where(margin < -1, -4.0 * margin, relu(xp, 1.0 - margin) ** 2)


@given(real(3), real(3), sign())
def exponential(w, x, y):
    xp = ps.array_namespace(w)
    return xp.exp(-y * xp.matmul(x, w))


@given(real(4, 3), real(3), label(4))
def hinge_of_several_classes(w, x, y):
    xp = ps.array_namespace(w)
    z = xp.matmul(w, x)
    margins = relu(xp, 1.0 + z - pick(xp, z, y))
    return xp.sum(margins) - 1.0  # the right class has margin 1


@given(real(4, 3), real(3), label(4))
def hinge_against_the_strongest_other_class(w, x, y):
    xp = ps.array_namespace(w)
    z = xp.matmul(w, x)
    right = xp.cumulative_sum(xp.ones_like(z), axis=0) - 1.0 == y
    return relu(xp, 1.0 + xp.max(xp.where(right, z - 100.0, z)) - pick(xp, z, y))


@given(real(3), real(3), yes_or_no())
def probit_by_tanh(w, x, y):
    xp = ps.array_namespace(w)
    z = xp.matmul(x, w)
    p = sigmoid(xp, 1.5976 * z + 0.07056 * z**3)
    return -y * xp.log(p) - (1.0 - y) * xp.log1p(-p)


@given({"w": real(3), "cuts": positive(3)}, real(3), label(4))
def ordinal(params, x, y):
    xp = ps.array_namespace(params)
    cuts = xp.cumulative_sum(params["cuts"], axis=0) - xp.matmul(x, params["w"])
    below = sigmoid(xp, cuts)
    ends = xp.concat([xp.zeros_like(below[:1]), below, xp.ones_like(below[:1])])
    return -xp.log(pick(xp, ends[1:] - ends[:-1], y) + 1e-6)


@given(real(4, 3), real(3), real(3, 3), label(4))
def sampled_softmax(w, x, noise, y):
    xp = ps.array_namespace(w)
    right = xp.matmul(xp.take(w, xp.reshape(y, (1,)), axis=0)[0], x)
    others = xp.matmul(noise, x)
    return logsumexp(xp, xp.concat([xp.reshape(right, (1,)), others])) - right


@given(real(3), real(2, 3), sign())
def ranking_of_a_pair(w, pair, y):
    xp = ps.array_namespace(w)
    first, second = xp.unstack(xp.matmul(pair, w))
    return softplus(xp, -y * (first - second))


@given(real(3), real(5, 3))
def listwise_ranking(w, documents):
    """Plackett and Luce: the documents come in the right order."""
    xp = ps.array_namespace(w)
    z = xp.matmul(documents, w)
    remaining = xp.flip(xp.log(xp.cumulative_sum(xp.flip(xp.exp(z)), axis=0)))
    return xp.sum(remaining - z)


@given(real(6, 3), real(3), yes_or_no(6))
def dice(w, x, y):
    xp = ps.array_namespace(w)
    p = sigmoid(xp, xp.matmul(w, x))
    return 1.0 - (2.0 * xp.sum(p * y) + 1.0) / (xp.sum(p) + xp.sum(y) + 1.0)


@given(real(6, 3), real(3), yes_or_no(6))
def tversky(w, x, y):
    xp = ps.array_namespace(w)
    p = sigmoid(xp, xp.matmul(w, x))
    hits = xp.sum(p * y) + 1.0
    return 1.0 - hits / (hits + 0.3 * xp.sum(p * (1.0 - y)) + 0.7 * xp.sum((1.0 - p) * y))


@given(real(6, 3), real(3), yes_or_no(6))
def lovasz_hinge(w, x, y):
    xp = ps.array_namespace(w)
    errors = 1.0 - (2.0 * y - 1.0) * xp.matmul(w, x)
    order = xp.argsort(errors, descending=True)
    truth = xp.take_along_axis(y, order, axis=0)
    overlap = xp.sum(truth) - xp.cumulative_sum(truth, axis=0)
    union = xp.sum(truth) + xp.cumulative_sum(1.0 - truth, axis=0)
    jaccard = 1.0 - overlap / union
    steps = xp.concat([jaccard[:1], jaccard[1:] - jaccard[:-1]])
    return xp.sum(relu(xp, xp.take_along_axis(errors, order, axis=0)) * steps)


# Likelihoods -----------------------------------------------------------------------------------


@given({"w": real(3), "s": real(3)}, real(3), real())
def gaussian_with_its_variance(params, x, y):
    xp = ps.array_namespace(params)
    mean, log_variance = xp.matmul(x, params["w"]), xp.matmul(x, params["s"])
    return 0.5 * (log_variance + (y - mean) ** 2 * xp.exp(-log_variance))


@given({"mean": real(3), "L": real(3, 3)}, real(3))
def gaussian_with_a_full_covariance(params, x):
    xp = ps.array_namespace(params)
    covariance = xp.matmul(params["L"], xp.matrix_transpose(params["L"])) + xp.eye(
        3, dtype=params["L"].dtype
    )
    off = x - params["mean"]
    logdet = xp.linalg.slogdet(covariance)[1]
    return 0.5 * (xp.vecdot(off, xp.linalg.solve(covariance, off[:, None])[:, 0]) + logdet)


@given({"w": real(3), "b": real()}, real(3), count())
def poisson(params, x, y):
    xp = ps.array_namespace(params)
    log_rate = xp.matmul(x, params["w"]) + params["b"]
    return xp.exp(log_rate) - y * log_rate


@given(real(3), real(3), count())
def negative_binomial(w, x, y):
    xp = ps.array_namespace(w)
    log_mean, shape = xp.matmul(x, w), 2.0
    log_total = xp.logaddexp(log_mean, xp.zeros_like(log_mean) + math.log(shape))
    return (shape + y) * log_total - y * log_mean


@given({"w": real(3), "v": real(3)}, real(3), count())
def zero_inflated_poisson(params, x, y):
    xp = ps.array_namespace(params)
    log_rate, z = xp.matmul(x, params["w"]), xp.matmul(x, params["v"])
    positive_count = softplus(xp, z) + xp.exp(log_rate) - y * log_rate
    zero = softplus(xp, z) - xp.logaddexp(z, -xp.exp(log_rate))
    return xp.where(y == 0, zero, positive_count)


@given(real(3), real(3), positive())
def gamma_regression(w, x, y):
    xp = ps.array_namespace(w)
    log_mean = xp.matmul(x, w)
    return log_mean + y * xp.exp(-log_mean)


@given(real(3), real(3), count())
def tweedie(w, x, y):
    xp = ps.array_namespace(w)
    mean = xp.exp(xp.matmul(x, w))
    return mean**0.5 / 0.5 + y * mean**-0.5 / 0.5


@given({"w": real(3), "s": real()}, real(3), real())
def laplace(params, x, y):
    xp = ps.array_namespace(params)
    return params["s"] + xp.abs(y - xp.matmul(x, params["w"])) * xp.exp(-params["s"])


@given({"w": real(3), "s": real()}, real(3), real())
def student_t(params, x, y):
    xp = ps.array_namespace(params)
    off = (y - xp.matmul(x, params["w"])) * xp.exp(-params["s"])
    return params["s"] + 2.5 * xp.log1p(off**2 / 4.0)


@given({"w": real(3), "k": positive()}, real(3), positive())
def weibull(params, x, y):
    xp = ps.array_namespace(params)
    scaled = xp.log(y) - xp.matmul(x, params["w"])
    return -xp.log(params["k"]) - params["k"] * scaled + xp.exp(params["k"] * scaled)


@given(real(3), real(3), positive(), yes_or_no())
def censored_exponential(w, x, time, seen):
    xp = ps.array_namespace(w)
    log_rate = xp.matmul(x, w)
    return time * xp.exp(log_rate) - seen * log_rate


@given(real(3), real(3), real())
def von_mises(w, x, angle):
    xp = ps.array_namespace(w)
    return 1.0 - xp.cos(angle - xp.sin(xp.matmul(x, w)))


@given(real(2, 3), real(3), real())
def angle_between_directions(w, x, angle):
    xp = ps.array_namespace(w)
    up, right = xp.unstack(xp.matmul(w, x))
    return (xp.atan2(up, right) - angle) ** 2


@given({"logits": real(3), "means": real(3), "scales": real(3)}, real())
def mixture_density(params, y):
    xp = ps.array_namespace(params)
    off = (y - params["means"]) * xp.exp(-params["scales"])
    parts = log_softmax(xp, params["logits"]) - 0.5 * off**2 - params["scales"]
    return -logsumexp(xp, parts)


@given({"logits": real(3), "means": real(3, 2), "scales": real(3, 2)}, real(2))
def mixture_of_gaussians_in_the_plane(params, y):
    xp = ps.array_namespace(params)
    off = (y - params["means"]) * xp.exp(-params["scales"])
    parts = log_softmax(xp, params["logits"]) - xp.sum(0.5 * off**2 + params["scales"], axis=-1)
    return -logsumexp(xp, parts)


@given(real(3), probabilities(3))
def kl_divergence(z, p):
    xp = ps.array_namespace(z)
    return xp.sum(p * (xp.log(p) - log_softmax(xp, z)))


@given(real(3), probabilities(3))
def jensen_shannon(z, p):
    xp = ps.array_namespace(z)
    q = softmax(xp, z)
    middle = 0.5 * (p + q)
    return 0.5 * xp.sum(p * xp.log(p / middle) + q * xp.log(q / middle))


@given({"mean": real(2, 3), "log_s": real(2, 3)}, real(3), real(2))
def variational_autoencoder(params, x, noise):
    xp = ps.array_namespace(params)
    mean, log_s = xp.matmul(params["mean"], x), xp.matmul(params["log_s"], x)
    z = mean + xp.exp(log_s) * noise
    divergence = xp.sum(0.5 * (mean**2 + xp.exp(2.0 * log_s) - 1.0) - log_s)
    return xp.sum((xp.matmul(z, params["mean"]) - x) ** 2) + divergence


@given({"length": positive(), "noise": positive()}, real(5, 2), real(5))
def gaussian_process(params, x, y):
    xp = ps.array_namespace(params)
    off = xp.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
    kernel = xp.exp(-0.5 * off / params["length"] ** 2)
    kernel = kernel + params["noise"] * xp.eye(5, dtype=x.dtype)
    factor = xp.linalg.cholesky(kernel)
    white = xp.linalg.solve(factor, y[:, None])[:, 0]
    return 0.5 * xp.vecdot(white, white) + xp.sum(xp.log(xp.linalg.diagonal(factor)))


@given({"alpha": real(3), "beta": real(3)}, real(3), probabilities(2))
def evidence_of_a_pair_of_gammas(params, x, p):
    xp = ps.array_namespace(params)
    a = 1.0 + softplus(xp, xp.matmul(params["alpha"], x))
    b = 1.0 + softplus(xp, xp.matmul(params["beta"], x))
    return xp.log(a + b) - p[0] * xp.log(a) - p[1] * xp.log(b)


# Distances between representations -------------------------------------------------------------


def embed(xp, w, x):
    z = xp.tanh(xp.matmul(w, x))
    return z / xp.linalg.vector_norm(z)


@given(real(2, 3), real(3), real(3))
def cosine_distance(w, x, y):
    xp = ps.array_namespace(w)
    return 1.0 - xp.vecdot(embed(xp, w, x), embed(xp, w, y))


@given(real(2, 3), real(3), real(3), real(3))
def triplet(w, anchor, near, far):
    xp = ps.array_namespace(w)
    a, n, f = [xp.matmul(w, x) for x in (anchor, near, far)]
    return relu(xp, xp.sum((a - n) ** 2) - xp.sum((a - f) ** 2) + 8.0)


@given(real(2, 3), real(3), real(3), yes_or_no())
def contrastive(w, x, y, same):
    xp = ps.array_namespace(w)
    distance = xp.linalg.vector_norm(xp.matmul(w, x) - xp.matmul(w, y))
    return same * distance**2 + (1.0 - same) * relu(xp, 2.0 - distance) ** 2


@given(real(2, 3), real(3), real(4, 3))
def info_nce(w, x, views):
    """The first view is of x itself, the others are of other things."""
    xp = ps.array_namespace(w)
    z = embed(xp, w, x)
    scores = xp.stack([xp.vecdot(z, embed(xp, w, v)) for v in xp.unstack(views)]) / 0.5
    return logsumexp(xp, scores) - scores[0]


@given(real(3, 4), real(4), real(4))
def barlow_twins(w, x, y):
    xp = ps.array_namespace(w)
    a, b = xp.tanh(xp.matmul(w, x)), xp.tanh(xp.matmul(w, y))
    products = a[:, None] * b[None, :]
    diagonal = xp.linalg.diagonal(products)
    return xp.sum((diagonal - 1.0) ** 2) + 0.1 * (xp.sum(products**2) - xp.sum(diagonal**2))


@given(real(2, 3), real(3), real(2))
def wasserstein_of_sorted_numbers(w, x, y):
    xp = ps.array_namespace(w)
    return xp.sum(xp.abs(xp.sort(xp.matmul(w, x)) - xp.sort(y)))


# Sequences and layers --------------------------------------------------------------------------


@given({"W": real(4, 4), "b": real(4), "out": real(4)}, real(6, 3), real())
def recurrent_network(params, steps, y):
    xp = ps.array_namespace(params)
    h = xp.zeros_like(params["b"])
    for x in xp.unstack(steps):
        h = xp.tanh(xp.matmul(params["W"], xp.concat([x, h[:1]])) + params["b"])
    return (xp.matmul(params["out"], h) - y) ** 2


@given({"W": real(12, 3), "U": real(12, 3), "b": real(12)}, real(4, 3), real(3))
def lstm(params, steps, y):
    xp = ps.array_namespace(params)
    h = c = xp.zeros_like(params["b"][:3])
    for x in xp.unstack(steps):
        gates = xp.matmul(params["W"], x) + xp.matmul(params["U"], h) + params["b"]
        i, f, g, o = [gates[3 * n : 3 * n + 3] for n in range(4)]
        c = sigmoid(xp, f) * c + sigmoid(xp, i) * xp.tanh(g)
        h = sigmoid(xp, o) * xp.tanh(c)
    return xp.mean((h - y) ** 2)


@given({"W": real(9, 3), "U": real(9, 3), "b": real(9)}, real(4, 3), real(3))
def gru(params, steps, y):
    xp = ps.array_namespace(params)
    h = xp.zeros_like(params["b"][:3])
    for x in xp.unstack(steps):
        a, b = xp.matmul(params["W"], x) + params["b"], xp.matmul(params["U"], h)
        reset, update = sigmoid(xp, a[:3] + b[:3]), sigmoid(xp, a[3:6] + b[3:6])
        h = (1.0 - update) * xp.tanh(a[6:] + reset * b[6:]) + update * h
    return xp.mean((h - y) ** 2)


@given({"scale": real(5), "shift": real(5)}, real(5), real(5))
def layer_norm(params, x, y):
    xp = ps.array_namespace(params)
    off = (x - xp.mean(x)) / xp.sqrt(xp.var(x) + 1e-5)
    return xp.mean((params["scale"] * off + params["shift"] - y) ** 2)


@given({"scale": real(6)}, real(6), real(6))
def group_norm(params, x, y):
    xp = ps.array_namespace(params)
    groups = xp.reshape(x * params["scale"], (2, 3))
    off = groups - xp.mean(groups, axis=-1, keepdims=True)
    off = off / (xp.std(groups, axis=-1, keepdims=True) + 0.1)
    return xp.mean((off - xp.reshape(y, (2, 3))) ** 2)


@given({"scale": real(4)}, real(3, 4), real(3, 4))
def root_mean_square_norm(params, x, y):
    xp = ps.array_namespace(params)
    size = xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
    return xp.sum((params["scale"] * x / size - y) ** 2)


@given({"Q": real(2, 3), "K": real(2, 3), "V": real(3, 3)}, real(5, 3), real(5, 3))
def causal_attention(params, x, y):
    xp = ps.array_namespace(params)
    q, k, v = [xp.matmul(x, xp.matrix_transpose(params[name])) for name in "QKV"]
    scores = xp.matmul(q, xp.matrix_transpose(k)) / math.sqrt(2.0)
    allowed = xp.tril(xp.ones_like(scores)) > 0
    weights = softmax(xp, xp.where(allowed, scores, xp.full_like(scores, -1e9)))
    return xp.mean((xp.matmul(weights, v) - y) ** 2)


@given({"Q": real(4, 4), "K": real(4, 4), "V": real(4, 4)}, real(3, 4), real(4))
def attention_of_two_heads(params, x, y):
    xp = ps.array_namespace(params)
    heads = [
        xp.permute_dims(xp.reshape(xp.matmul(x, params[name]), (3, 2, 2)), (1, 0, 2))
        for name in "QKV"
    ]
    q, k, v = heads
    weights = softmax(xp, xp.matmul(q, xp.matrix_transpose(k)))
    mixed = xp.reshape(xp.permute_dims(xp.matmul(weights, v), (1, 0, 2)), (3, 4))
    return xp.sum((xp.mean(mixed, axis=0) - y) ** 2)


@given({"kernel": real(3), "bias": real()}, real(8), real(6))
def convolution(params, x, y):
    xp = ps.array_namespace(params)
    windows = xp.stack([x[i : i + 6] for i in range(3)], axis=-1)
    z = xp.matmul(windows, params["kernel"]) + params["bias"]
    return xp.mean((xp.where(z > 0, z, 0.1 * z) - y) ** 2)


@given({"kernel": real(2, 2)}, real(5, 5), real(2, 2))
def convolution_and_pooling(params, image, y):
    xp = ps.array_namespace(params)
    shifted = [image[i : i + 4, j : j + 4] for i in range(2) for j in range(2)]
    maps = xp.tensordot(xp.reshape(params["kernel"], (4,)), xp.stack(shifted), axes=1)
    pooled = xp.max(xp.reshape(maps, (2, 2, 2, 2)), axis=(1, 3))
    return xp.mean((pooled - y) ** 2)


@given({"W1": real(4, 3), "W2": real(3, 4)}, real(3))
def autoencoder_with_gelu(params, x):
    xp = ps.array_namespace(params)
    z = xp.matmul(params["W1"], x)
    hidden = 0.5 * z * (1.0 + xp.tanh(math.sqrt(2.0 / math.pi) * (z + 0.044715 * z**3)))
    return xp.sum((xp.matmul(params["W2"], hidden) - x) ** 2)


@given({"W": real(4, 3), "v": real(4)}, real(3), real())
def residual_network_with_elu(params, x, y):
    xp = ps.array_namespace(params)
    z = xp.matmul(params["W"], x)
    hidden = xp.where(z > 0, z, xp.expm1(xp.where(z > 0, xp.zeros_like(z), z))) + z
    return (xp.matmul(params["v"], hidden) - y) ** 2


@given(real(5, 4), label(5, 6))
def language_model(table, words):
    """The next word from the embedding of the last; losses of a sequence, averaged."""
    xp = ps.array_namespace(table)
    scores = xp.matmul(xp.take(table, words[:-1], axis=0), xp.matrix_transpose(table))
    right = xp.take_along_axis(log_softmax(xp, scores), words[1:, None], axis=-1)
    return -xp.mean(right)


@given(real(5, 4), label(5, 6), yes_or_no(5))
def masked_language_model(table, words, mask):
    xp = ps.array_namespace(table)
    scores = xp.matmul(xp.take(table, words[:-1], axis=0), xp.matrix_transpose(table))
    right = xp.take_along_axis(log_softmax(xp, scores), words[1:, None], axis=-1)[:, 0]
    return -xp.sum(mask * right) / (xp.sum(mask) + 1.0)


@given({"moves": real(3, 3), "emits": real(3, 4)}, label(4, 5), label(3, 5))
def conditional_random_field(params, words, tags):
    """The forward recursion over three states, less the score of the right tags."""
    xp = ps.array_namespace(params)
    emitted = xp.take(xp.matrix_transpose(params["emits"]), words, axis=0)
    forward = emitted[0]
    for z in xp.unstack(emitted[1:]):
        forward = logsumexp(xp, forward[:, None] + params["moves"], axis=0) + z
    moves = xp.take(xp.reshape(params["moves"], (9,)), 3 * tags[:-1] + tags[1:], axis=0)
    right = xp.sum(xp.take_along_axis(emitted, tags[:, None], axis=1)) + xp.sum(moves)
    return logsumexp(xp, forward) - right


@given({"start": real(3), "moves": real(3, 3), "emits": real(3, 4)}, label(4, 5))
def hidden_markov_model(params, words):
    xp = ps.array_namespace(params)
    moves, emits = log_softmax(xp, params["moves"]), log_softmax(xp, params["emits"])
    emitted = xp.take(xp.matrix_transpose(emits), words, axis=0)
    forward = log_softmax(xp, params["start"]) + emitted[0]
    for z in xp.unstack(emitted[1:]):
        forward = logsumexp(xp, forward[:, None] + moves, axis=0) + z
    return -logsumexp(xp, forward)


@given({"a": real(), "b": real()}, real(8))
def autoregression(params, series):
    xp = ps.array_namespace(params)
    return xp.mean((series[2:] - params["a"] * series[1:-1] - params["b"] * series[:-2]) ** 2)


@given(real(6), real(6))
def total_variation(x, noisy):
    xp = ps.array_namespace(x)
    return xp.sum((x - noisy) ** 2) + 0.3 * xp.sum(xp.abs(x[1:] - x[:-1]))


@given(real(6), real(6))
def circular_correlation(w, x):
    xp = ps.array_namespace(w)
    return xp.sum(xp.stack([xp.sum(w * xp.roll(x, n)) ** 2 for n in range(3)]))


@given({"rates": positive(3)}, positive(3))
def product_of_survivals(params, times):
    xp = ps.array_namespace(params)
    return 1.0 - xp.prod(xp.exp(-params["rates"] * times))


# Decisions -------------------------------------------------------------------------------------


@given(real(3), real(3), real(), real(3))
def temporal_difference(theta, s, r, s_next):
    return ps.td_loss(theta, s, r, s_next, gamma=0.9)


@given(real(4, 3), real(3), label(4), real(), real(3))
def q_learning(w, s, action, r, s_next):
    xp = ps.array_namespace(w)
    target = ps.stop_gradient(r + 0.9 * xp.max(xp.matmul(w, s_next)))
    return 0.5 * (pick(xp, xp.matmul(w, s), action) - target) ** 2


@given(real(4, 3), real(3), label(4), real())
def policy_gradient(w, s, action, advantage):
    xp = ps.array_namespace(w)
    log_p = log_softmax(xp, xp.matmul(w, s))
    entropy = -xp.sum(xp.exp(log_p) * log_p)
    return -advantage * pick(xp, log_p, action) - 0.01 * entropy


@given(real(4, 3), real(3), label(4), real(), real())
def proximal_policy(w, s, action, advantage, old):
    xp = ps.array_namespace(w)
    ratio = xp.exp(pick(xp, log_softmax(xp, xp.matmul(w, s)), action) - old)
    return -xp.minimum(ratio * advantage, xp.clip(ratio, 0.8, 1.2) * advantage)


@given(real(3), real(2, 3))
def preference(w, answers):
    """Direct preference: the first of two answers was preferred."""
    xp = ps.array_namespace(w)
    gain = xp.matmul(answers, w)
    return softplus(xp, -0.5 * (gain[0] - gain[1]))


@given({"U": real(4, 2), "V": real(5, 2)}, label(4), label(5), real())
def matrix_factorisation(params, user, item, rating):
    xp = ps.array_namespace(params)
    u = xp.take(params["U"], xp.reshape(user, (1,)), axis=0)[0]
    v = xp.take(params["V"], xp.reshape(item, (1,)), axis=0)[0]
    return (xp.vecdot(u, v) - rating) ** 2 + 0.1 * (xp.vecdot(u, u) + xp.vecdot(v, v))


@given(real(3), real(3), real())
def elastic_net(w, x, y):
    xp = ps.array_namespace(w)
    return (xp.matmul(x, w) - y) ** 2 + 0.1 * xp.sum(xp.abs(w)) + 0.1 * xp.sum(w * w)

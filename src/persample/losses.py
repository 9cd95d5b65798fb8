"""The losses of the book, each written once, for one sample, for every backend.

The parameters come first, then one sample's data; the result is a 0-d array.
"""

from typing import Any

from .arrays import array_namespace, stop_gradient

__all__ = ["cross_entropy_loss", "logistic_loss", "squared_loss", "td_loss"]


def td_loss(theta: Any, s: Any, r: Any, s_next: Any, gamma: float = 1.0) -> Any:
    """Return the TD(0) pseudo-loss of one transition, delta^2 / 2: half the squared TD error.

    delta = r + gamma v(s') - v(s) with v(s) = theta . s. The target r + gamma v(s') is held fixed,
    so the gradient is -delta s, and a step of plain gradient descent, theta - alpha grad, is the
    TD(0) update theta + alpha delta s. Pass zeros for a terminal s'.

    Parameters
    ----------
    theta : (d,) weights. s, s_next : (d,) features of the two states, s and s'. r : 0-d reward.
    gamma : discount factor, a Python number.

    Returns
    -------
    0-d array, in squared units of reward.

    Source: Sutton (1988); Sutton & Barto (2018), equations 9.7 and 9.8.
    """
    xp = array_namespace(theta)
    target = stop_gradient(r + gamma * xp.matmul(s_next, theta))
    delta = target - xp.matmul(s, theta)
    return 0.5 * delta * delta


def squared_loss(theta: Any, x: Any, y: Any) -> Any:
    """Return half the squared error of one sample, (theta . x - y)^2 / 2.

    theta : (d,) weights. x : (d,) features. y : 0-d target. Returns a 0-d array, whose gradient
    with respect to theta is (theta . x - y) x.
    """
    xp = array_namespace(theta)
    error = xp.matmul(x, theta) - y
    return 0.5 * error * error


def logistic_loss(theta: Any, x: Any, y: Any) -> Any:
    """Return the negative log-likelihood of one label, log(1 + exp(z)) - y z with z = theta . x.

    theta : (d,) weights. x : (d,) features. y : 0-d label, 0 or 1. Returns a 0-d array, in nats,
    whose gradient with respect to theta is (1 / (1 + exp(-z)) - y) x. A large z does not overflow.
    """
    xp = array_namespace(theta)
    z = xp.matmul(x, theta)
    return xp.logaddexp(xp.zeros_like(z), z) - y * z


def cross_entropy_loss(scores: Any, label: Any) -> Any:
    """Return the softmax cross-entropy of one sample, log(sum_k exp(z_k)) - z_y with z = scores.

    It is the negative log-likelihood of the label y under softmax(z); its gradient with respect to
    z is softmax(z) less 1 at the label. Large scores do not overflow. Apply it to the output of
    any model: ``cross_entropy_loss(network(params, x), y)``.

    Parameters
    ----------
    scores : (k,) logits, one for each class. label : 0-d integer array, from 0 to k - 1; another
        dtype raises TypeError.

    Returns
    -------
    0-d array, in nats.
    """
    xp = array_namespace(scores)
    top = stop_gradient(xp.max(scores))
    index = xp.reshape(label, (1,))
    if not xp.isdtype(index.dtype, "integral"):
        raise TypeError(
            f"cross_entropy_loss: the label is of {index.dtype}; it must be the number of a"
            f" class, an integer from 0 to {scores.shape[0] - 1}."
        )
    # Indices as this backend counts; PyTorch takes no others. Not `take`: PyTorch's vmap has no
    # rule for its gradient and goes through the samples one by one.
    index = xp.astype(index, xp.argmax(scores).dtype)
    right = xp.take_along_axis(scores, index, axis=0)[0]
    return top + xp.log(xp.sum(xp.exp(scores - top))) - right

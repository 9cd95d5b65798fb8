"""What the digits owe to single training images in a small network: scores and real trainings.

The chapter on influence does one image by hand; here it is for many wrong readings of a network.
The network is that of ``mistyped``, trained on 1,400 images for 40 steps; 397 others are asked.
"""

import numpy as np

from . import mistyped

SEEN, STEPS, RATE = 1400, 40, 0.5


class Trained:
    """The network after its training from one start, and everything that is asked of it.

    Attributes: x, y the training images; x_asked, y_asked the others; wrong, (1400,) True where a
    label is wrong; start and end, lists of four tensors; path, the parameters before each step.
    """

    def __init__(self, start: int):
        import torch

        given = mistyped.draw(0)
        rng = given.rng if start == 0 else np.random.default_rng(start)
        self.start = [p.detach() for p in mistyped.new_model(rng).parameters()]
        images = torch.from_numpy(given.images / 16)
        self.x, self.y = images[:SEEN], torch.from_numpy(given.labels[:SEEN])
        self.x_asked, self.y_asked = images[SEEN:], torch.from_numpy(given.digits[SEEN:])
        self.wrong = given.wrong[:SEEN]
        self.path = []
        self.end = [p.detach() for p in self.train(torch.ones(SEEN).double(), self.path)]

    def train(self, weights, path=None):
        """Return the parameters after all steps, differentiable in the weights of the losses."""
        import torch

        p = [q.clone().requires_grad_() for q in self.start]
        for _ in range(STEPS):
            if path is not None:
                path.append([q.detach() for q in p])
            mean = (weights * _losses(p, self.x, self.y)).mean()
            slopes = torch.autograd.grad(mean, p, create_graph=weights.requires_grad)
            p = [q - RATE * slope for q, slope in zip(p, slopes, strict=True)]
            if not weights.requires_grad:
                p = [q.detach().requires_grad_() for q in p]
        return p

    def mistakes(self):
        """Return the numbers of the asked images that are read wrongly."""
        return np.flatnonzero((_net(self.end, self.x_asked).argmax(1) != self.y_asked).numpy())

    def losses_without(self, groups, asked):
        """Return loss and reading of ``asked`` after real trainings without each group: (R, A).

        Parameters
        ----------
        groups : (R, k) training images. asked : (A,) other images.
        """
        import torch

        weights = torch.ones(len(groups), SEEN, dtype=torch.float64)
        weights.scatter_(1, torch.as_tensor(np.array(groups)), 0.0)
        targets = torch.nn.functional.one_hot(self.y, 10)
        w1, b1, w2, b2 = (p.expand(len(groups), *p.shape).clone() for p in self.start)
        for _ in range(STEPS):
            before = self.x @ w1.mT + b1[:, None]
            hidden = before.relu()
            errors = ((hidden @ w2.mT + b2[:, None]).softmax(-1) - targets) * weights[..., None]
            errors = errors * (RATE / SEEN)
            inner = (errors @ w2) * (before > 0)
            w2, b2 = w2 - errors.mT @ hidden, b2 - errors.sum(1)
            w1, b1 = w1 - inner.mT @ self.x, b1 - inner.sum(1)
        hidden = (self.x_asked[asked] @ w1.mT + b1[:, None]).relu()
        logs = (hidden @ w2.mT + b2[:, None]).log_softmax(-1)
        losses = -logs[:, torch.arange(len(asked)), self.y_asked[asked]]
        return losses.numpy(), logs.argmax(-1).numpy()

    def scores(self, asked):
        """Return score -> (A, 1400): by how much each asked loss is to rise without each image."""
        import torch

        weights = torch.ones(SEEN, dtype=torch.float64, requires_grad=True)
        losses = _losses(self.train(weights), self.x_asked[asked], self.y_asked[asked])
        through = [torch.autograd.grad(one, weights, retain_graph=True)[0] for one in losses]
        found = {
            "through the training": -torch.stack(through),
            "TracIn": sum(self._products(p, asked) for p in self.path) * (RATE / SEEN),
            "last product": self._products(self.end, asked),
        }
        of_asked = _rows(self.end, self.x_asked[asked], self.y_asked[asked])
        rows = _rows(self.end, self.x, self.y)
        hessian, gauss_newton = self.curvature(), self.gauss_newton()
        for name, curvature, damping in (
            ("damped, 0.1", hessian, 0.1),
            ("damped, 1", hessian, 1.0),
            ("Gauss-Newton, 0.05", gauss_newton, 0.05),
        ):
            damped = curvature + damping * torch.eye(len(curvature))
            found[name] = torch.linalg.solve(damped, of_asked.T).T @ rows.T / SEEN
        found["loss"] = -_losses(self.end, self.x, self.y).expand(len(asked), SEEN)
        return {name: score.numpy() for name, score in found.items()}

    def curvature(self):
        """Return the second derivatives of the mean loss at the end, (2410, 2410)."""
        import torch
        from torch.func import grad, jvp, vmap

        ends = torch.cat([p.flatten() for p in self.end])

        def mean(v):
            return _losses(_parts(v), self.x, self.y).mean()

        eye = torch.eye(len(ends), dtype=torch.float64)
        return vmap(lambda v: jvp(grad(mean), (ends,), (v,))[1], chunk_size=100)(eye)

    def gauss_newton(self):
        """Return the curvature of the mean loss with the network taken as linear there."""
        import torch

        p = _net(self.end, self.x).softmax(1)
        slopes = [_rows(self.end, self.x, None, one) for one in torch.eye(10).double()]
        mean = sum(p[:, c, None] * slope for c, slope in enumerate(slopes))
        parts = [(slope - mean) * p[:, c, None].sqrt() for c, slope in enumerate(slopes)]
        return sum(part.T @ part for part in parts) / SEEN

    def _products(self, p, asked):
        """Return the products of the rows of the asked images with all others, (A, 1400)."""
        one = _errors(p, self.x_asked[asked], self.y_asked[asked])
        all_ = _errors(p, self.x, self.y)
        return sum((e @ f.T) * (a @ b.T + 1) for (a, e), (b, f) in zip(one, all_, strict=True))


def _net(p, x):
    return (x @ p[0].T + p[1]).relu() @ p[2].T + p[3]


def _losses(p, x, y):
    from torch.nn.functional import cross_entropy

    return cross_entropy(_net(p, x), y, reduction="none")


def _errors(p, x, y, only=None):
    """Return for both layers the inputs and the gradients with respect to the outputs.

    Of the losses, or of the scores in the direction ``only`` (10,).
    """
    from torch.nn.functional import one_hot

    before = x @ p[0].T + p[1]
    if only is None:
        last = (before.relu() @ p[2].T + p[3]).softmax(1) - one_hot(y, 10)
    else:
        last = only.expand(len(x), 10)
    return [(x, (last @ p[2]) * (before > 0)), (before.relu(), last)]


def _rows(p, x, y, only=None):
    import torch

    layers = [
        part
        for a, e in _errors(p, x, y, only)
        for part in ((e[:, :, None] * a[:, None]).flatten(1), e)
    ]
    return torch.cat(layers, 1)


def _parts(v):
    w1, b1, w2, b2 = v.split([2048, 32, 320, 10])
    return w1.view(32, 64), b1, w2.view(10, 32), b2


def ranks(a: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(a))


def rounded(numbers) -> list[float]:
    return [round(float(number), 4) for number in numbers]


def compared(start: int, questions: int | None = None, singles: int = 100) -> dict:
    """Return what scores say of wrong readings (the first, or all), and what comes true.

    Returns
    -------
    dict : "questions", their number; "scores", name -> {"ranks": for each question the rank
    correlation with real trainings without one of every 14th image, "size": real effect divided
    by the score, least squares, "change": of the loss, where the eight most blamed are left out
    together, "mended": how many of these are then read rightly}. Also for eight at random.
    """
    net = Trained(start)
    asked = net.mistakes()[:questions]
    every = np.arange(0, SEEN, SEEN // singles)
    before = _losses(net.end, net.x_asked[asked], net.y_asked[asked]).numpy()
    parts = [net.losses_without(part[:, None], asked)[0] for part in np.split(every, 5)]
    real = np.concatenate(parts).T - before[:, None]
    found, scores = {}, net.scores(asked)
    rng = np.random.default_rng(0)
    scores["random"] = np.array([rng.permutation(SEEN) for _ in asked]).astype(float)
    for name, score in scores.items():
        losses, read = net.losses_without(score.argsort(1)[:, :8], asked)
        mended = np.diag(read) == net.y_asked[asked].numpy()
        entry = {"change": rounded(np.diag(losses) - before), "mended": int(mended.sum())}
        if name not in ("loss", "random"):
            few = score[:, every]
            pairs = zip(few, real, strict=True)
            entry["ranks"] = rounded([np.corrcoef(ranks(a), ranks(b))[0, 1] for a, b in pairs])
            entry["size"] = rounded((few * real).sum(1) / (few**2).sum(1))
        found[name] = entry
    return {"questions": len(asked), "before": rounded(before), "scores": found}

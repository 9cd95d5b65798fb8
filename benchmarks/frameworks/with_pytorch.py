"""PyTorch: torch.func for functions, .grad for leaf tensors, torch.compile for the graph."""

import common
import torch
from common import said


# [rows]
def td_loss(theta, s, r, s_next):
    target = (r + s_next @ theta).detach()
    return 0.5 * (target - s @ theta) ** 2


rows = torch.vmap(torch.func.grad(td_loss), in_dims=(None, 0, 0, 0))
# [end]
compiled = torch.compile(rows, backend="aot_eager")


def mean(theta, s, r, s_next):
    theta = theta.detach().requires_grad_()
    targets = (r + s_next @ theta).detach()
    loss = (0.5 * (targets - s @ theta) ** 2).mean()
    return torch.autograd.grad(loss, theta)[0]


# [leaf]
v1 = torch.tensor(common.V1, requires_grad=True)
v2 = torch.tensor(common.V2)
v_sum = v1 + v2
v_res = (v_sum * 2).sum()
v_res.backward()
v1.grad, v2.grad
# [end]


def convert(x):
    return torch.tensor(x, dtype=torch.float64)


def kept_sign(x):
    return x if x > 0 else -x


def accumulated():
    w = convert(2.0).requires_grad_()
    seen = []
    for _ in range(2):
        (w * w).backward()
        seen.append(float(w.grad))
    return seen


def graph_twice(retain_graph=False):
    w = convert(2.0).requires_grad_()
    out = w * w
    out.backward(retain_graph=retain_graph)
    out.backward()
    return float(w.grad)


def unused():
    w, other = (convert(2.0).requires_grad_() for _ in range(2))
    (w * w).backward()
    return other.grad


def square(x):
    return x * x


def square_of_first(x, y):
    return x * x


measured = common.times(rows, mean, convert)  # first, so that first calls are
arguments = [convert(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
x, many = convert(2.0), convert([1.0, -2.0]).requires_grad_()
w, other = (convert(2.0).requires_grad_() for _ in range(2))
common.report(
    "torch",
    rows=[rows(*arguments).tolist(), compiled(*arguments).tolist()],
    leaf={
        "value": float(v_res.detach()),
        "v1": v1.grad.tolist(),
        "v2": None if v2.grad is None else v2.grad.tolist(),
        "is_leaf": [t.is_leaf for t in (v1, v2, v_sum, v_res)],
    },
    unused=str(float(torch.func.grad(square_of_first, argnums=1)(x, convert(3.0)))),
    unused_returned=said(lambda: torch.autograd.grad(w * w, [w, other])),
    unused_zero=float(torch.autograd.grad(w * w, [w, other], materialize_grads=True)[1]),
    vector=said(lambda: torch.func.grad(square)(many.detach())),
    branch={
        "eager": said(lambda: torch.func.grad(kept_sign)(x)),
        "compiled": said(lambda: torch.compile(kept_sign, backend="aot_eager")(x)),
        "batched": said(lambda: torch.vmap(kept_sign)(many.detach())),
    },
    twice=[float(torch.func.grad(square)(x)) for _ in range(2)],
    same_tensor_twice=float(torch.func.grad(square_of_first, argnums=1)(x, x)),
    kept={
        "unused": str(unused()),
        "vector": said(lambda: square(many).backward()),
        "twice": accumulated(),
    },
    graph_twice=said(lambda: graph_twice()),
    graph_retained=graph_twice(retain_graph=True),
    keeps_grad=common.keeps(v1),
    shared=common.shared(__file__, "in_dims=(None, 0, 0, 0)"),
    words=common.named(
        globals(),
        {
            "record": "torch.Tensor.requires_grad_",
            "compile": "torch.compile",
            "batch": "torch.vmap",
            "stop": "torch.Tensor.detach",
            "leaf": "torch.Tensor.is_leaf",
            "gradient": "torch.func.grad",
            "jacobian": "torch.func.jacrev",
        },
    ),
    times=measured,
)

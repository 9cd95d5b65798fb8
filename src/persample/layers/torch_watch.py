"""Watch for parameters used where no hook can see: a function called on another module's weight.

Rows from hooks alone would leave such a use out, in silence.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode


class Watch(TorchFunctionMode):
    """Note in ``uses`` each function that a parameter is given to, and inside whose call.

    ``names`` is id(parameter) -> name. Calls whose result carries no gradient do not count, nor
    does what comes once ``is_over`` is set. It refers to nothing that refers to it, so a record
    and the batch it holds go when the last name for it does.
    """

    def __init__(self, names: dict[int, str]) -> None:
        super().__init__()
        self.names = names
        self.running: list[Any] = []  # layers, the innermost last
        self.uses: dict[tuple[str, Any], str] = {}  # (parameter, layer or None) -> function
        self.backwards = 0  # calls of Tensor.backward so far
        self.is_over = False

    def __torch_function__(
        self, function: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        self.backwards += function is Tensor.backward
        result = function(*args, **kwargs)
        if not _carries_gradient(result):  # as a rule: `.grad` and `.shape` pass here as well
            return result
        for x in (*args, *kwargs.values()):
            if id(x) in self.names:
                self._seen(x, function, result)
            elif isinstance(x, list | tuple):
                for part in x:
                    if id(part) in self.names:
                        self._seen(part, function, result)
        return result

    def _seen(self, parameter, function, result):
        if not self.is_over and _carries_gradient(result, but=parameter):
            use = self.names[id(parameter)], self.running[-1] if self.running else None
            self.uses.setdefault(use, getattr(function, "__name__", str(function)))


def _carries_gradient(result, but=None):
    if isinstance(result, Tensor):
        return result.requires_grad and result is not but
    return isinstance(result, list | tuple) and any(_carries_gradient(x, but) for x in result)

"""Watch for parameters used where no hook can see: a function called on another module's weight.

Rows from hooks alone would leave such a use out, in silence.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode


class Watch(TorchFunctionMode):
    """Call ``report(parameter name, function name)`` for each function a parameter is given to.

    ``names`` is id(parameter) -> name. Calls whose result carries no gradient do not count.
    """

    def __init__(self, names: dict[int, str], report: Callable[[str, str], None]) -> None:
        super().__init__()
        self.names, self.report = names, report
        self.backwards = 0  # calls of Tensor.backward so far

    def __torch_function__(
        self, function: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        self.backwards += function is Tensor.backward
        result = function(*args, **kwargs)
        for x in (*args, *kwargs.values()):
            if id(x) in self.names:
                self._seen(x, function, result)
            elif isinstance(x, list | tuple):
                for part in x:
                    if id(part) in self.names:
                        self._seen(part, function, result)
        return result

    def _seen(self, parameter, function, result):
        if _carries_gradient(result, parameter):
            name = getattr(function, "__name__", str(function))
            self.report(self.names[id(parameter)], name)


def _carries_gradient(result, parameter):
    results = result if isinstance(result, list | tuple) else (result,)
    tensors = (x for x in results if isinstance(x, Tensor) and x is not parameter)
    return any(x.requires_grad for x in tensors)

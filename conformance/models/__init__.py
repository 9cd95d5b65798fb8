"""The models: ordinary ones, and sequences that change at the third batch."""

from conformance.case import Case
from conformance.models import (
    attention,
    experts,
    late_losses,
    late_models,
    layers,
    nets,
    operations,
    penalties,
    recurrent,
    weights,
)


def cases() -> tuple[Case, ...]:
    """Return every case, ordinary models first."""
    found = (
        *layers.CASES,
        *weights.CASES,
        *recurrent.CASES,
        *attention.CASES,
        *nets.CASES,
        *experts.CASES,
        *operations.CASES,
        *penalties.CASES,
        *late_models.CASES,
        *late_losses.CASES,
    )
    names = [case.name for case in found]
    if len(set(names)) < len(names):
        raise ValueError("two cases have one name")
    return found

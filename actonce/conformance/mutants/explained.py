"""Why a mutant is not noticed, by its name."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """Of a survivor.

    Attributes:
        why: it does what the original does, or what hazard would notice it.
        is_equivalent: nothing promised depends on the decision.
    """

    why: str
    is_equivalent: bool = True


EXPLAINED: Mapping[str, Explanation] = {}

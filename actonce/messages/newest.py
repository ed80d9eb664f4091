"""A dictionary of bounded size."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Newest(dict[K, V]):
    """What was put in last: one more than `most` drops the oldest. For threads as well."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        """Put it in as the newest."""
        self.pop(key, None)
        super().__setitem__(key, value)
        for old in list(self)[: -self._most]:
            self.pop(old, None)

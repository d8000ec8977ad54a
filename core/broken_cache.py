"""Caches that are broken, to show that the comparison of outputs would notice."""

from core.attention import Floats
from core.generation import CachedHead


class StaleCache(CachedHead):
    """Leaves the entry in the middle as it was: the token there is never written into it."""

    def _keep(self, key: Floats, value: Floats) -> None:
        if self.n != len(self.keys) // 2:
            super()._keep(key, value)


class ShiftedCache(CachedHead):
    """Keeps every value one entry too late: each key is answered with its neighbour's value.

    The last value goes where the first belongs.
    """

    def _keep(self, key: Floats, value: Floats) -> None:
        self.keys[self.n] = key
        self.values[(self.n + 1) % len(self.values)] = value


class ForgetfulCache(CachedHead):
    """Keeps the keys and values of all tokens but the first, whose entry it empties."""

    def _keep(self, key: Floats, value: Floats) -> None:
        super()._keep(key, value)
        if self.n > 0:
            self.keys[0] = self.values[0] = 0.0


BROKEN: dict[str, type[CachedHead]] = {
    "one entry never written": StaleCache,
    "values one entry late": ShiftedCache,
    "first token forgotten": ForgetfulCache,
}

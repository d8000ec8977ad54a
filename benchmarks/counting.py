"""Count how often a computation calls NumPy."""

# ruff: noqa: ANN401 - NumPy's protocols take anything

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

METHODS = ("astype", "copy", "dot", "take")  # that NumPy hands to no protocol


class Counted(np.ndarray[Any, Any]):
    """An array that counts what is called on it and on whatever is computed from it.

    Calls that touch numbers count, by name: functions, operators, reductions, and indexing by an
    array. Those that only look at the same memory in another shape do not.
    """

    calls: ClassVar[Counter[str]] = Counter()

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        """Count a function that works number by number, or its reduction."""
        Counted.calls[ufunc.__name__] += 1
        if out is not None:
            kwargs["out"] = tuple(_plain(array) for array in out)
        result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        return out[0] if out is not None else _counted(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Count any other function."""
        Counted.calls[func.__name__] += 1
        return _counted(super().__array_function__(func, types, args, kwargs))

    def __getitem__(self, key: Any) -> Any:
        """Count reading by an array of places; a slice costs next to nothing."""
        Counted.calls["read by index"] += isinstance(key, np.ndarray)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Count writing, to a slice too."""
        Counted.calls["write"] += 1
        super().__setitem__(key, value)

    @classmethod
    def of(cls, array: NDArray[Any]) -> Self:
        """Return the same array, counted from now on."""
        return array.view(cls)


def _counting(name: str) -> Callable[..., Any]:
    def method(self: Counted, *args: Any, **kwargs: Any) -> Any:
        Counted.calls[name] += 1
        return _counted(getattr(np.ndarray, name)(self, *args, **kwargs))

    return method


for _name in METHODS:
    setattr(Counted, _name, _counting(_name))


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Counted) else value


def _counted(value: Any) -> Any:
    return Counted.of(value) if isinstance(value, np.ndarray) else value

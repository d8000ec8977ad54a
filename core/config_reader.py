"""Read a model's config.json, and say in one sentence what is wrong with it.

The file is what Hugging Face publishes beside a model's weights: one JSON object that names the
architecture and its sizes. It comes from strangers, so nothing in it is trusted: not its length,
not its nesting, not the type or the size of any number. A field that is missing takes the default
that the transformers library has for it, where the caller names one; sizes have none.
"""

import json
from typing import Any, Final, NoReturn

MOST_BYTES = 2**20  # bytes of a file; a usual config.json has one or two thousand
MOST_DIGITS = 100  # digits of a number; what it may be worth is another rule
MOST = {"layers": 1_000, "width": 1_000_000, "experts": 100_000, "tokens": 1_000_000_000}
"""The largest value of each kind of size: far beyond any model, and small enough to add up."""

_MISSING: Final = object()


class ConfigError(ValueError):
    """A config.json that cannot be counted; the sentence names what is wrong."""


class Fields:
    """The fields of one config.json, each checked when it is read, and kept with where it is from.

    ``read`` lists every field that was asked for, as (name, value, whether the file had it).
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self.read: list[tuple[str, object, bool]] = []

    def size(
        self,
        name: str,
        most: str = "width",
        *,
        default: object = _MISSING,
        at_least: int = 1,
    ) -> int:
        """Return a whole number.

        Args:
            name: the field.
            most: which of `MOST` bounds it.
            default: the value if the file lacks the field, or has null there; none when left out.
            at_least: the least value.

        Raises:
            ConfigError: if it is missing without a default, or is no such number.
        """
        value = self.optional_size(name, most, default=default, at_least=at_least)
        if value is not None:
            return value
        if default is _MISSING or default is None:
            self._fail(name, f"must be {_rule(at_least, MOST[most])}, got null")
        self._note(name, default, from_file=False)
        assert isinstance(default, int)
        return default

    def optional_size(
        self,
        name: str,
        most: str = "width",
        *,
        default: object = _MISSING,
        at_least: int = 1,
    ) -> int | None:
        """Return a whole number, or None where the file has null or ``default`` is None."""
        value = self._take(name, default)
        if value is None:
            return None
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or not at_least <= value <= MOST[most]:
            self._fail(name, f"must be {_rule(at_least, MOST[most])}, got {shown(value)}")
        return int(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._take(name, default)
        if not isinstance(value, bool):
            self._fail(name, f"must be true or false, got {shown(value)}")
        return value

    def text(self, name: str) -> str:
        """Return a text that must be there."""
        value = self._take(name, _MISSING)
        if not isinstance(value, str):
            self._fail(name, f"must be a text, got {shown(value)}")
        return value

    def items(self, name: str) -> list[Any] | None:
        """Return a list, or None where the file has none."""
        value = self._take(name, None)
        if value is not None and not isinstance(value, list):
            self._fail(name, f"must be a list, got {shown(value)}")
        return value

    def name_of(self, *names: str) -> str:
        """Return the first of these names that the file has, or else the first."""
        return next((name for name in names if name in self._values), names[0])

    def has(self, name: str) -> bool:
        """Return whether the file has the field, and something other than null in it."""
        return self._values.get(name) is not None

    def _take(self, name: str, default: object) -> Any:  # noqa: ANN401 - any JSON value
        value = self._values.get(name, default)
        if value is _MISSING:
            self._fail(name, "is missing: the file must have it")
        self._note(name, value, from_file=name in self._values)
        return value

    def _note(self, name: str, value: object, *, from_file: bool) -> None:
        self.read = [known for known in self.read if known[0] != name]
        self.read.append((name, value, from_file))

    def _fail(self, name: str, rule: str) -> NoReturn:
        raise ConfigError(f"{name} {rule}.")


def read_config(text: str | bytes) -> Fields:
    """Parse a config.json.

    Raises:
        ConfigError: if it is too long, no UTF-8, no JSON, or no object.

    >>> read_config('{"hidden_size": 64}').size("hidden_size")
    64
    >>> read_config("[1, 2]")
    Traceback (most recent call last):
    core.config_reader.ConfigError: A config.json must be one object in braces, got a list.
    """
    decoded = as_text(text.encode(errors="surrogatepass") if isinstance(text, str) else text)
    if not decoded.strip():
        raise ConfigError("A config.json must be one object in braces, got nothing.")
    values = _parsed(decoded)
    if not isinstance(values, dict):
        raise ConfigError(f"A config.json must be one object in braces, got {shown(values)}.")
    return Fields(values)


def as_text(data: bytes) -> str:
    """Return what a file says, unless it is too long or no text.

    Raises:
        ConfigError: naming the limit and what was found.
    """
    if len(data) > MOST_BYTES:
        raise ConfigError(
            f"A config.json may have at most {MOST_BYTES:,} bytes here, got {len(data):,}."
        )
    try:
        # A byte-order mark, as some editors leave it, is no part of the text.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"A config.json must be UTF-8 text, and byte {error.start + 1:,} is not."
        ) from None


def shown(value: object) -> str:
    """Say what a JSON value is, in at most a few words.

    >>> shown("4096"), shown(None), shown(-3), shown([1])
    ('the text “4096”', 'null', '-3', 'a list')
    """
    if isinstance(value, str):
        return f"the text “{short(value)}”"
    if isinstance(value, bool | None):
        return json.dumps(value)
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return short(f"{value:,}" if isinstance(value, int) else str(value))


def short(text: str) -> str:
    r"""Return at most 40 characters of a text, on one line and fit to be sent anywhere.

    JSON can write half a character (``\ud800``), which no encoding can.
    """
    line = " ".join(text.encode(errors="replace").decode().split())
    return line if len(line) <= 40 else f"{line[:40]}…"


def _parsed(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text, parse_int=_whole, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"This is no JSON: line {error.lineno:,}, column {error.colno:,}: {error.msg}."
        ) from None
    except RecursionError:
        raise ConfigError("This JSON is nested too deeply to be read.") from None


def _whole(digits: str) -> int:
    # Python refuses thousands of digits with an error of its own, and slows down long before.
    if len(digits) > MOST_DIGITS:
        raise ConfigError(
            f"A number may have at most {MOST_DIGITS} digits, got one of {len(digits):,} that "
            f"begins with {digits[:12]}."
        )
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise ConfigError(f"JSON has no {name}: every number must be finite.")


def _rule(at_least: int, at_most: int) -> str:
    return f"a whole number from {at_least:,} to {at_most:,}"

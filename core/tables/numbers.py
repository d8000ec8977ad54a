"""Numbers as people write them: thousands apart, − for minus, powers of ten raised."""

import math
from fractions import Fraction

PLAIN_FROM = 0.0001  # a smaller number is written with a power of ten, as its zeros hide its size


def scientific(value: float, digits: int = 2) -> str:
    """Write a number with so many digits and a power of ten, which is then the message.

    >>> scientific(1.2e-6), scientific(0.0), scientific(-3e-10, 1)
    ('1.2 × 10⁻⁶', '0', '−3 × 10⁻¹⁰')
    """
    if value == 0 or not math.isfinite(value):
        return _special(value)
    front, power = f"{value:.{digits - 1}e}".split("e")
    return f"{_minus(front)} × {power_of_ten(int(power))}"


def power_of_ten(power: int) -> str:
    """Write a power of ten with its exponent raised.

    >>> power_of_ten(-12)
    '10⁻¹²'
    """
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def significant(value: float, digits: int = 3) -> str:
    """Write a number with so many digits that count; whole if it is larger than they reach.

    >>> significant(0.000104, 2), significant(99.7, 2), significant(1234.4), significant(-0.5)
    ('0.0001', '100', '1,234', '−0.5')
    >>> significant(0.0000291), significant(math.inf), significant(math.nan)
    ('2.91 × 10⁻⁵', '∞', '—')
    """
    if value == 0 or not math.isfinite(value):
        return _special(value)
    rounded = abs(float(f"{value:.{digits - 1}e}"))
    if rounded < PLAIN_FROM:
        return scientific(value, digits)
    return _minus(f"{value:,.0f}" if rounded >= 10**digits else f"{value:,.{digits}g}")


def fixed(value: float, decimals: int = 2) -> str:
    """Write a number to so many decimals; one that rounds to zero has no sign.

    >>> fixed(-1234.5, 1), fixed(-1e-9), fixed(-math.inf), fixed(math.nan)
    ('−1,234.5', '0.00', '−∞', '—')
    """
    if not math.isfinite(value):
        return _special(value)
    return _minus(f"{value:z,.{decimals}f}")  # z drops the sign of what rounds to zero


def signed(value: float, decimals: int = 2) -> str:
    """Write a difference with its sign; one that rounds to zero has none.

    >>> signed(1234.5), signed(-0.5), signed(-1e-9), signed(math.inf), signed(math.nan)
    ('+1,234.50', '−0.50', '0.00', '+∞', '—')
    """
    if math.isnan(value):
        return _special(value)
    return ("+" if round(value, decimals) > 0 else "") + fixed(value, decimals)


def as_fraction(value: Fraction) -> str:
    """Write an exact share, thousands apart.

    >>> as_fraction(Fraction(1045170, 2**21)), as_fraction(Fraction(1))
    ('522,585/1,048,576', '1')
    """
    top, _, bottom = str(value).partition("/")
    return f"{int(top):,}/{int(bottom):,}" if bottom else f"{int(top):,}"


def _special(value: float) -> str:
    if math.isnan(value):
        return "—"
    return "0" if value == 0 else _minus(f"{value}").replace("inf", "∞")


def _minus(written: str) -> str:
    return written.replace("-", "−")

"""Bytes in binary units: each 1,024 times the one before."""

MIB = 2**20  # bytes in a MiB
GIB = 2**30  # bytes in a GiB


def in_binary_units(n_bytes: float) -> str:
    """Write a number of bytes in the largest binary unit that leaves at least 1 before the point.

    >>> in_binary_units(72 * GIB), in_binary_units(16 * MIB), in_binary_units(1000)
    ('72 GiB', '16 MiB', '1,000 bytes')
    """
    for unit, size in (("PiB", 2**50), ("TiB", 2**40), ("GiB", GIB), ("MiB", MIB), ("KiB", 2**10)):
        if n_bytes >= size:
            value = n_bytes / size
            return f"{value:,.0f} {unit}" if value == round(value) else f"{value:,.1f} {unit}"
    return f"{n_bytes:,.0f} bytes"

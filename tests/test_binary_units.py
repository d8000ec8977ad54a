"""Bytes are written in the largest binary unit that fits."""

import pytest

from core.binary_units import GIB, MIB, in_binary_units


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [
        (0, "0 bytes"),
        (1023, "1,023 bytes"),
        (1024, "1 KiB"),
        (1.5 * MIB, "1.5 MiB"),
        (1023 * GIB, "1,023 GiB"),
        (1024 * GIB, "1 TiB"),
        (2**50, "1 PiB"),
        (5000 * 2**50, "5,000 PiB"),
        (GIB - 1, "1,024.0 MiB"),
    ],
)
def test_bytes_are_written_in_binary_units(n_bytes, words):
    assert in_binary_units(n_bytes) == words

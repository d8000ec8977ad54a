"""Published config.json files to start from, with the totals that were published for them.

``core/data/configs`` holds the fields of each file that decide its parameters, its windows and the
tokens it was made for. ``core/data/config_totals.csv`` holds the parameters of the weights as
published and, for a mixture of experts, the active ones as its makers print them.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.architectures import read_model
from core.architectures.tensors import Model
from core.config_reader import read_config

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One published model: its config.json, and what is published of its parameters."""

    name: str
    text: str  # the config.json
    total_parameters: int  # of the weights as published
    active_printed: str  # rounded, as its makers print it; empty for a model without experts
    source: str
    difference: str  # why the count differs, if it does

    @property
    def model(self) -> Model:
        """The model that the file describes."""
        return read_model(read_config(self.text))


@cache
def presets() -> tuple[Preset, ...]:
    """Read every preset, in the order of the totals."""
    with (DATA / "config_totals.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return tuple(
        Preset(
            name=row["model"],
            text=(DATA / "configs" / f"{row['file']}.json").read_text(encoding="utf-8"),
            total_parameters=int(row["total_parameters"]),
            active_printed=row["active_printed"],
            source=row["source"],
            difference=row["difference"],
        )
        for row in rows
    )


def preset(name: str) -> Preset:
    """Return the preset of this name.

    Raises:
        KeyError: if there is none.
    """
    return {preset.name: preset for preset in presets()}[name]

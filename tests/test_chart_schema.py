"""Every chart keeps to Vega-Lite's schema: the pages send specifications unchecked."""

import importlib
import inspect
import pkgutil

import altair as alt
import pytest
from altair.utils.schemapi import SchemaValidationError

import core.charts
from core.charts.style import no_data, spec

ARGUMENTS = {
    "circuits.circuits": (40, 16),
    "many_heads.heads_off": (3,),
    "many_heads.head_circuits": (32,),
    "mechanism.vectors": (4, 2.0),
    "mechanism.scores": (4, 6.0),
    "mechanism.pattern": (4,),
    "mechanism.moves": (4,),
    "positions.vectors": ("Number of the vector",),
    "positions.bias_lines": (12,),
    "recall.reply_weights": (4,),
    "recall.reply_values": (8,),
    "why_the_question.qk_circuit": (16,),
    "why_the_question.history": (3000,),
    "word_order.distances": (4,),
    "word_order.lengths": (3,),
    "your_model.work": (6, 12),
    "your_model.cache": (-3, 3),
}


def charts():
    """Every function of core.charts that makes a chart, by its name."""
    found = {}
    for module in pkgutil.iter_modules(core.charts.__path__):
        inside = importlib.import_module(f"core.charts.{module.name}")
        for name, function in inspect.getmembers(inside, inspect.isfunction):
            made = inspect.signature(function).return_annotation
            own = function.__module__ == inside.__name__ and not name.startswith("_")
            if own and inspect.isclass(made) and issubclass(made, alt.TopLevelMixin):
                found[f"{module.name}.{name}"] = function
    return found


CHARTS = charts()


def test_the_charts_are_found():
    assert len(CHARTS) > 40
    assert set(ARGUMENTS) <= set(CHARTS)


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_keeps_to_the_schema(name):
    chart = CHARTS[name](*ARGUMENTS.get(name, ()))
    checked = chart.to_dict(validate=True)
    assert checked == CHARTS[name](*ARGUMENTS.get(name, ())).to_dict(validate=False)
    assert spec(chart)["usermeta"]["embedOptions"]["renderer"] == "svg"


def test_a_chart_that_breaks_the_schema_is_found():
    chart = alt.Chart(no_data()).mark_point().encode(x="Step:Q")
    chart.mark = "triangles"
    with pytest.raises(SchemaValidationError):
        chart.to_dict(validate=True)
    spec(chart)

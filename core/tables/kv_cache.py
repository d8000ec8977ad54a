"""Tables and sentences of the memory that a model's key–value cache takes."""

import pandas as pd

from core.binary_units import GIB, in_binary_units
from core.kv_cache import (
    MULTI_HEAD,
    CacheSettings,
    bytes_per_token,
    cache_bytes,
    published_caches,
    sharing,
)
from core.tables.numbers import significant

CONTEXTS = tuple(2**i for i in range(8, 21))  # tokens; the slider's positions and the chart's axis
_COUNTS = ("n_layers", "n_heads", "n_kv_heads", "d_head", "bytes_per_number")


def memory_points(settings: CacheSettings) -> pd.DataFrame:
    """Return the memory of the cache at every context, for three ways to share, and the mark."""
    rows: list[tuple[str, str, int, int, float]] = []
    for name, shared in sharing(settings).items():
        each = bytes_per_token(shared) * settings.sequences
        rows += [("line", name, shared.n_kv_heads, n, n * each / GIB) for n in CONTEXTS]
        rows.append(
            ("context", name, shared.n_kv_heads, settings.context, cache_bytes(shared) / GIB)
        )
    columns = ["Kind", "Sharing", "Key–value heads", "Tokens", "Memory (GiB)"]
    return pd.DataFrame(rows, columns=columns)


def memory_table(settings: CacheSettings) -> pd.DataFrame:
    """Return what a token and what all contexts take, for three ways to share."""
    most = bytes_per_token(sharing(settings)[MULTI_HEAD])
    return pd.DataFrame(
        [
            {
                "Key–value heads are": name,
                "Key–value heads in a layer": shared.n_kv_heads,
                "One token (bytes)": bytes_per_token(shared),
                "One context (bytes)": bytes_per_token(shared) * settings.context,
                "All sequences (bytes)": cache_bytes(shared),
                "Smaller by (×)": most / bytes_per_token(shared),
            }
            for name, shared in sharing(settings).items()
        ]
    )


def memory_table_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the memory as text, in binary units."""
    words = pd.DataFrame(
        {
            "Key–value heads": [
                f"{name}: {count:,}"
                for name, count in zip(
                    table["Key–value heads are"], table["Key–value heads in a layer"], strict=True
                )
            ]
        }
    )
    for column in ("One token (bytes)", "One context (bytes)", "All sequences (bytes)"):
        words[column.removesuffix(" (bytes)")] = table[column].map(in_binary_units)
    words["Smaller by"] = [f"× {significant(ratio)}" for ratio in table["Smaller by (×)"]]
    return words


def memory_sentence(settings: CacheSettings) -> str:
    """Write the formula in numbers, and say what sharing saves."""
    product = " · ".join(f"{getattr(settings, name):,}" for name in _COUNTS if name != "n_heads")
    each = bytes_per_token(settings)
    words = (
        f"One token: 2 · {product} = {each:,} bytes (a key and a value; layers, key–value heads, "
        f"numbers, bytes). {settings.context:,} tokens"
        + ("" if settings.sequences == 1 else f" in each of {settings.sequences:,} sequences")
        + f": {in_binary_units(cache_bytes(settings))}."
    )
    if settings.group == 1:
        return f"{words} Each query head has a key and a value of its own: nothing is shared."
    return f"{words} {settings.group:,} query heads share each: {settings.group:,} times less."


def published_table(bytes_per_number: int) -> pd.DataFrame:
    """Return the caches of published models, as they are and with a key–value head each."""
    rows = []
    for published in published_caches():
        settings = published.settings(bytes_per_number)
        rows.append(
            {
                "Model": published.config.model,
                "Layers": settings.n_layers,
                "Query heads": settings.n_heads,
                "Key–value heads": settings.n_kv_heads,
                "d_head": settings.d_head,
                "One token (bytes)": bytes_per_token(settings),
                "Context (tokens)": settings.context,
                "One context (bytes)": cache_bytes(settings),
                "With one for each head (bytes)": cache_bytes(sharing(settings)[MULTI_HEAD]),
                "Context from": published.source,
            }
        )
    return pd.DataFrame(rows)


def published_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the published models as text."""
    return pd.DataFrame(
        {
            "Model": table["Model"],
            "Layers": table["Layers"],
            "Heads, query / key–value": [
                f"{heads:,} / {shared:,}"
                for heads, shared in zip(
                    table["Query heads"], table["Key–value heads"], strict=True
                )
            ],
            "One token": table["One token (bytes)"].map(in_binary_units),
            "Context": [f"{n:,}" for n in table["Context (tokens)"]],
            "One context": table["One context (bytes)"].map(in_binary_units),
            "With one for each head": table["With one for each head (bytes)"].map(in_binary_units),
        }
    )

"""How much memory the keys and values of a whole model take, and what sharing them saves.

Arithmetic only: no model is run. In each layer, each token leaves a key and a value for every
key–value head: with multi-head attention (Vaswani et al. 2017) one for each query head; with
multi-query attention (Shazeer 2019, "Fast Transformer Decoding: One Write-Head is All You Need")
one in all; with grouped-query attention (Ainslie et al. 2023, "GQA: Training Generalized
Multi-Query Transformer Models from Multi-Head Checkpoints") one for each group of query heads.
Pope et al. 2022, "Efficiently Scaling Transformer Inference", weigh the same count against memory.
"""

from dataclasses import dataclass, replace

from core.ledger import ModelConfig
from core.published import gpt3_table, published_models


@dataclass(frozen=True, kw_only=True)
class CacheSettings:
    """The sizes that decide it. Defaults: Llama-2-70B, its context, 16 bits a number."""

    n_layers: int = 80  # layers
    n_heads: int = 64  # query heads in a layer
    n_kv_heads: int = 8  # key–value heads in a layer
    d_head: int = 128  # numbers in a key and in a value
    bytes_per_number: int = 2  # bytes
    context: int = 4096  # tokens
    sequences: int = 1  # sequences at once, each with a cache of its own

    def __post_init__(self) -> None:
        for name in (
            *("n_layers", "n_heads", "n_kv_heads", "d_head"),
            *("bytes_per_number", "context", "sequences"),
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"n_kv_heads must divide n_heads ({self.n_heads}), so that every group of heads "
                f"shares one, got {self.n_kv_heads}"
            )

    @property
    def group(self) -> int:
        """Query heads that share one key–value head."""
        return self.n_heads // self.n_kv_heads


def bytes_per_token(settings: CacheSettings) -> int:
    """Return the bytes that one token leaves in the cache: a key and a value, in every layer.

    >>> bytes_per_token(CacheSettings())
    327680
    """
    numbers = 2 * settings.n_layers * settings.n_kv_heads * settings.d_head
    return numbers * settings.bytes_per_number


def cache_bytes(settings: CacheSettings) -> int:
    """Return the bytes of the cache when every sequence has filled its context.

    >>> cache_bytes(CacheSettings()) / 2**30
    1.25
    """
    return bytes_per_token(settings) * settings.context * settings.sequences


def sharing(settings: CacheSettings) -> dict[str, CacheSettings]:
    """Return the same model with keys and values of its own for every head, as set, and with one.

    The names are those of the literature, in `SHARINGS`.
    """
    return {
        MULTI_HEAD: replace(settings, n_kv_heads=settings.n_heads),
        GROUPED: settings,
        MULTI_QUERY: replace(settings, n_kv_heads=1),
    }


MULTI_HEAD, GROUPED, MULTI_QUERY = "one for each head", "as chosen", "one for all heads"
SHARINGS = (MULTI_HEAD, GROUPED, MULTI_QUERY)
"""Key–value heads: as many as query heads, as many as the settings say, and a single one."""


@dataclass(frozen=True, kw_only=True)
class PublishedCache:
    """A published model with its context."""

    config: ModelConfig
    context: int  # tokens it was made for
    source: str  # where both are printed

    def settings(self, bytes_per_number: int) -> CacheSettings:
        """Return its cache, filled by one sequence."""
        return CacheSettings(
            n_layers=self.config.n_layers,
            n_heads=self.config.n_heads,
            n_kv_heads=self.config.n_kv_heads,
            d_head=self.config.d_head,
            bytes_per_number=bytes_per_number,
            context=self.context,
        )


_CONTEXTS = {
    "Llama-2-7B": (4096, "Touvron et al. 2023, table 1"),
    "Llama-2-70B": (4096, "Touvron et al. 2023, table 1"),
    "Llama-3-8B": (8192, "Meta 2024, model card"),
    "Llama-3-70B": (8192, "Meta 2024, model card"),
}


def published_caches() -> tuple[PublishedCache, ...]:
    """Return GPT-3 and four Llamas, without and with grouped-query attention."""
    gpt3 = next(row for row in gpt3_table() if row.n_layers == 96)
    known = {published.config.model: published.config for published in published_models()}
    return (
        PublishedCache(
            config=replace(gpt3.config, model="GPT-3"),
            context=2048,
            source="Brown et al. 2020, section 2.1",
        ),
        *(
            PublishedCache(config=known[name], context=context, source=source)
            for name, (context, source) in _CONTEXTS.items()
        ),
    )

"""The tests. core comes first: it settles NumPy's threads, before any test imports NumPy."""

import core  # noqa: F401

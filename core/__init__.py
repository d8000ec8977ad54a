"""The attention experiments: pure functions on NumPy arrays, with no screen attached."""

import os

# One thread for each matrix product, unless the environment says otherwise. NumPy's BLAS starts a
# thread on every core for products of more than about 64 × 64 × 64, and its threads wait for each
# other by spinning: with other work on the machine, training got 10 to 60 times slower. It is read
# when NumPy is first imported, so this comes before.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_name, "1")

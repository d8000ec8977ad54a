"""One causal head by every method that is compared, and the memory a method takes.

    python -m benchmarks.one_head "row blocks" 8192 1

prints the memory of one call, measured in a process that does nothing else.
"""

import contextlib
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import ThreadpoolController

from core.attention import Floats
from core.formula import attention_by_formula
from core.peak_memory import measure_peak_bytes
from core.row_blocks import attention_by_row_blocks

METHODS = ("formula", "row blocks", "row blocks, threads in BLAS", "PyTorch fused", "PyTorch math")
D_K = 128  # numbers in a query, a key and a value
WARM_UP_TOKENS = 16

Head = Callable[[], Floats]


def draw(n: int) -> tuple[Floats, Floats, Floats]:
    """Draw float32 queries, keys and values for n tokens."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, D_K), dtype=np.float32) for _ in range(3))
    return q, k, v


def head(
    method: str, q: Floats, k: Floats, v: Floats, n_threads: int, block_size: int | None = None
) -> Head:
    """Return the method as a function that computes the output, on this many threads in all.

    NumPy's own threads are those of its BLAS library, so there the formula has n_threads and row
    blocks, which bring threads of their own, have one.
    """
    if method.startswith("PyTorch"):
        return _torch_head(method, q, k, v, n_threads)
    blas = ThreadpoolController().select(user_api="blas").lib_controllers
    own = n_threads if method == "row blocks" else 1

    def run() -> Floats:
        for library in blas:
            library.set_num_threads(n_threads // own)
        if method == "formula":
            return attention_by_formula(q, k, v)
        return attention_by_row_blocks(q, k, v, block_size=block_size, n_threads=own)

    return run


def _torch_head(method: str, q: Floats, k: Floats, v: Floats, n_threads: int) -> Head:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    kernel = SDPBackend.FLASH_ATTENTION if method == "PyTorch fused" else SDPBackend.MATH
    tensors = [torch.from_numpy(array)[None, None] for array in (q, k, v)]

    def run() -> Floats:
        torch.set_num_threads(n_threads)
        with torch.inference_mode(), sdpa_kernel(kernel):
            output: Floats = scaled_dot_product_attention(*tensors, is_causal=True)[0, 0].numpy()
        return output

    return run


def memory_apart(method: str, n: int, n_threads: int) -> dict[str, int]:
    """Measure a method's memory in a new process, so that nothing else is in it."""
    command = [sys.executable, "-m", "benchmarks.one_head", method, str(n), str(n_threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, int] = json.loads(done.stdout)
    return found


def memory(method: str, n: int, n_threads: int) -> dict[str, int]:
    """Measure the most memory one call holds beyond q, k and v, in bytes, its output included.

    "resident" is what the operating system had given the process at the peak, less what it had
    given before the call. That counts every library alike, PyTorch's own memory and BLAS's too.
    "arrays" is what NumPy had allocated, which PyTorch does not report.

    The peak is that of /proc, and is reset first. `resource.getrusage` has one too, but on Linux a
    new process inherits it from the program that started it, and an import may have been higher.
    """
    head(method, *draw(WARM_UP_TOKENS), n_threads)()  # load what is loaded on first use
    run = head(method, *draw(n), n_threads)
    before = _resident_bytes(peak=False)
    _reset_peak()
    run()
    resident = _resident_bytes(peak=True) - before
    arrays = 0 if method.startswith("PyTorch") else measure_peak_bytes(run)[1]
    return {"resident": resident, "arrays": arrays}


def _reset_peak() -> None:
    with contextlib.suppress(OSError):  # not Linux, or forbidden
        Path("/proc/self/clear_refs").write_text("5")


def _resident_bytes(*, peak: bool) -> int:
    status = Path("/proc/self/status")
    if not status.exists():  # not Linux: the peak so far, in bytes on macOS
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    name = "VmHWM" if peak else "VmRSS"
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(fields[name].split()[0]) * 1024  # it is in kB


if __name__ == "__main__":
    print(json.dumps(memory(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))

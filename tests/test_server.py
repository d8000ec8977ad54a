"""What one server process keeps for its visitors, and within which memory."""

import gc
import pickle
import socket
import threading
import weakref
from inspect import unwrap

import numpy as np
import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from core import context_cost, decode_cost
from core.ablation_runs import AblationSettings, run_steps
from core.context_plan import ContextSettings
from core.decode_agreement import DecodeSettings
from core.training import TrainSettings
from core.turns import TurnService
from pages.parts.server import (
    _item_bytes,
    _send_all_of_a_page,
    _send_at_once,
    measuring_service,
    settle,
)


@pytest.fixture
def service():
    measuring_service.clear()
    yield measuring_service()
    measuring_service.clear()


def longest() -> decode_cost.DecodeSnapshot:
    """A snapshot as large as the longest measurement's: each number an object of its own."""
    settings = DecodeSettings(n_tokens=2048, n_repeats=20)
    seconds = iter(np.random.default_rng(0).random(10_000).tolist())
    return decode_cost.DecodeSnapshot(
        settings=settings,
        started=0.0,
        processor_time=True,
        run=None,
        share_done=1.0,
        cache_bytes=0,
        timings=tuple(
            decode_cost.Timing(method=method, n=n, seconds=tuple(next(seconds) for _ in range(20)))
            for method in decode_cost.METHODS
            for n in settings.positions
        ),
        cached_steps=tuple(np.zeros(2048) for _ in range(20)),
    )


@pytest.fixture(autouse=True)
def streamlits_own_queue(monkeypatch):
    monkeypatch.setattr(ForwardMsgQueue, "clear", unwrap(ForwardMsgQueue.clear))


def test_a_measurement_keeps_its_last_snapshot_alone(service: TurnService):
    settings = DecodeSettings(n_tokens=128, n_repeats=1)
    job = service.submit("key", lambda: decode_cost.measure_steps(settings), "ann")
    while not (progress := service.poll(job, "ann")).ended:
        pass
    [last] = progress.items
    assert last.share_done == 1
    assert job.size == last.nbytes > 0


def test_kept_measurements_fit_into_their_bound(service: TurnService):
    assert service._keep_jobs * longest().nbytes < service._keep_bytes


def test_a_series_counts_the_arrays_of_its_checkpoints():
    settings = AblationSettings(train=TrainSettings(n_steps=20), n_seeds=1, variants=("learned",))
    items = [item for item in run_steps(settings.runs) if item is not None]
    passed = [item for item in items if item.checkpoint is not None]
    assert passed
    for item in passed:
        arrays = item.checkpoint.qk.nbytes + item.checkpoint.ov.nbytes
        assert _item_bytes(item) == 1000 + arrays > 1500


def test_a_snapshot_says_how_large_it_is():
    snapshot = longest()
    assert len(pickle.dumps(snapshot)) < snapshot.nbytes < 2 * len(pickle.dumps(snapshot))
    few = ContextSettings(n_largest=512, n_repeats=1)
    *_, whole = context_cost.measure_steps(few)
    assert whole.nbytes > len(pickle.dumps(whole))


def nodelay(connection: socket.socket) -> bool:
    return bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))


def test_a_connection_accepted_later_sends_at_once():
    with socket.socket() as listening, socket.socket() as early, socket.socket() as late:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        early.connect(listening.getsockname())
        before, _ = listening.accept()
        with before:
            assert not nodelay(before), "the system does so by itself"
            _send_at_once()
            assert nodelay(before)
        late.connect(listening.getsockname())
        after, _ = listening.accept()
        with after:
            assert nodelay(after)


def test_a_socket_that_is_not_tcp_is_left_alone():
    with socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        _send_at_once()
        assert datagrams.type == socket.SOCK_DGRAM


def test_what_other_threads_are_making_is_left_alone():
    failures = []
    done = threading.Event()

    def make_tuples() -> None:
        while not done.is_set():
            try:
                tuple(str(number) for number in range(2000))
            except SystemError as failure:
                failures.append(str(failure))

    thread = threading.Thread(target=make_tuples)
    thread.start()
    for _ in range(50):
        _send_at_once()
    done.set()
    thread.join()
    assert failures == []


def unsent() -> tuple[ForwardMsgQueue, list[ForwardMsg]]:
    """The end of a page, drawn and not sent: two elements, and the message that its run is over."""
    messages = [ForwardMsg() for _ in range(3)]
    for number, (fragment, message) in enumerate(zip(("live", "still"), messages, strict=False)):
        message.metadata.delta_path[:] = [0, number]
        message.delta.fragment_id = fragment
        message.delta.new_element.markdown.body = fragment
    messages[2].script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
    queue = ForwardMsgQueue()
    for message in messages:
        queue.enqueue(message)
    return queue, messages


def test_a_fragments_run_takes_back_nothing_of_the_page_drawn_before_it():
    _send_all_of_a_page()
    queue, messages = unsent()
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["live"])
    assert queue.flush() == messages


def test_a_run_of_the_whole_page_takes_back_the_page_before_it():
    _send_all_of_a_page()
    queue, [*_, finished] = unsent()
    queue.clear(retain_lifecycle_msgs=True)
    [left] = queue.flush()
    assert left.WhichOneof("type") == finished.WhichOneof("type")
    assert left.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
    queue, _ = unsent()
    queue.clear()
    assert queue.is_empty()


def test_what_a_fragments_run_clears_is_settled_once(monkeypatch):
    _send_all_of_a_page()
    settled = ForwardMsgQueue.clear
    _send_all_of_a_page()
    assert ForwardMsgQueue.clear is settled

    def clear(queue: ForwardMsgQueue, *, retain_lifecycle_msgs: bool = False) -> None:
        """A Streamlit that does it differently."""

    monkeypatch.setattr(ForwardMsgQueue, "clear", clear)
    _send_all_of_a_page()
    assert ForwardMsgQueue.clear is clear


class Visit:
    """Refers to itself, so that only a collection finds that it has been left."""

    def __init__(self) -> None:
        self.itself = self


def test_it_settles_sockets_and_heap_and_what_visits_leave_is_soon_found():
    heavy = [[] for _ in range(2_000_000)]  # what imports would have left
    settle.clear()
    try:
        with socket.socket() as listening:
            settle()
            assert nodelay(listening)
        assert hasattr(ForwardMsgQueue.clear, "__wrapped__")
        assert gc.get_freeze_count() > len(heavy)
        visit = Visit()
        gone = weakref.ref(visit)
        gc.collect(0)
        gc.collect(1)  # it has lasted, and only a full collection looks at it again
        del visit
        assert gone() is not None
        # Survivors of younger collections, fewer than a quarter of what was frozen.
        others = [[] for _ in range(len(heavy) // 6)]
        assert others
        assert gone() is None
    finally:
        gc.unfreeze()

"""One thread, many computations: fairness, caps, sharing, and that every job ends."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.turns import Job, QueueFullError, TurnService


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def make_service(clock: Clock | None = None, **options) -> TurnService[int]:
    options = {"threaded": False, "turn_seconds": 0.0, **options}
    return TurnService(clock=clock or Clock(), **options)


def count_to(n: int) -> Iterator[int]:
    yield from range(1, n + 1)


def drain(service: TurnService[int]) -> None:
    for _ in range(10_000):
        if not service.turn():
            return
    raise AssertionError("the service never became idle")


# --- worked example ------------------------------------------------------------------------------


def test_two_jobs_take_turns_and_end():
    service = make_service()
    first = service.submit("first", lambda: count_to(3), "ann")
    second = service.submit("second", lambda: count_to(2), "bob")
    seen = []
    while service.turn():
        seen.append((service.poll(first, "ann").items, service.poll(second, "bob").items))
    assert seen[:4] == [((1,), ()), ((1,), (1,)), ((1, 2), (1,)), ((1, 2), (1, 2))]
    assert service.poll(first, "ann").items == (1, 2, 3)
    assert service.poll(first, "ann").state == service.poll(second, "bob").state == "done"


def test_it_gives_way_before_every_step_and_not_when_there_is_none():
    called = []
    service = make_service(give_way=lambda: called.append("gave way"))
    assert not service.turn()
    assert called == []

    def steps() -> Iterator[int]:
        for i in range(2):
            called.append(f"step {i}")
            yield i

    service.submit("key", steps, "ann")
    drain(service)
    assert called == ["gave way", "step 0", "gave way", "step 1", "gave way"]


def test_a_turn_ends_with_the_first_step_past_its_time():
    clock = Clock()

    def slow() -> Iterator[int]:
        for i in range(100):
            clock.now += 0.02
            yield i

    service = make_service(clock, turn_seconds=0.05)
    job = service.submit("slow", slow, "ann")
    service.turn()
    assert len(service.poll(job, "ann").items) == 3


def test_waiting_jobs_start_first_come_first_served():
    service = make_service(max_live=1)
    started = []
    for key in range(4):
        service.submit(key, lambda key=key: started.append(key) or count_to(2), "ann")
    drain(service)
    assert started == [0, 1, 2, 3]


def test_none_passes_the_turn_on_and_is_no_item():
    service = make_service(size_of=lambda item: item)
    job = service.submit("key", lambda: iter([None, 1, None, 2]), "ann")
    seen = []
    while service.turn():
        seen.append(service.poll(job, "ann").items)
    assert seen == [(), (1,), (1,), (1, 2)]
    assert service.poll(job, "ann").state == "done"


def test_a_job_knows_its_place_in_the_queue():
    service = make_service(max_live=1)
    jobs = [service.submit(key, lambda: count_to(2), "ann") for key in range(3)]
    assert [service.poll(job, "ann").place for job in jobs] == [0, 1, 2]
    assert service.n_live == 1
    assert [service.poll(job, "ann").state for job in jobs] == ["live", "waiting", "waiting"]
    service.leave(jobs[1], "ann")
    assert [service.poll(job, "ann").place for job in jobs] == [0, 0, 1]
    drain(service)
    assert [service.poll(job, "ann").state for job in jobs] == ["done", "stopped", "done"]


# --- sharing -------------------------------------------------------------------------------------


def test_equal_keys_share_one_job_and_finished_ones_are_reused():
    service = make_service()
    job = service.submit("same", lambda: count_to(3), "ann")
    assert service.submit("same", lambda: count_to(3), "bob") is job
    drain(service)
    assert service.submit("same", lambda: count_to(3), "cat") is job
    anew = service.submit("same", lambda: count_to(4), "cat", again=True)
    assert anew is not job
    drain(service)
    assert service.poll(anew, "cat").items == (1, 2, 3, 4)
    assert service.poll(job, "ann").items == (1, 2, 3)
    assert service.submit("same", lambda: count_to(3), "dan") is anew


def test_a_shared_job_stops_only_when_its_last_watcher_leaves():
    service = make_service()
    job = service.submit("same", lambda: count_to(5), "ann")
    service.submit("same", lambda: count_to(5), "bob")
    service.turn()
    assert service.leave(job, "ann").state == "live"
    service.turn()
    assert service.leave(job, "bob").state == "stopped"
    assert service.poll(job, "bob").items == (1, 2)
    drain(service)
    assert service.poll(job, "bob").items == (1, 2)
    assert service.submit("same", lambda: count_to(5), "cat") is not job


def test_kept_jobs_are_bounded_in_number_the_longest_unused_first():
    service = make_service(keep_jobs=2)
    first, second = (service.submit(key, lambda: count_to(1), "ann") for key in "ab")
    drain(service)
    assert service.submit("a", lambda: count_to(1), "ann") is first  # now "b" is longest unused
    service.submit("c", lambda: count_to(1), "ann")
    drain(service)
    assert service.submit("a", lambda: count_to(1), "ann") is first
    assert service.submit("b", lambda: count_to(1), "ann") is not second


def test_kept_jobs_are_bounded_in_bytes():
    service = make_service(keep_bytes=10, size_of=lambda item: item)
    small, other = (service.submit(key, lambda: iter([6]), "ann") for key in "ab")
    drain(service)
    huge = service.submit("huge", lambda: iter([11]), "ann")
    drain(service)
    assert service.submit("b", lambda: iter([6]), "ann") is other  # the huge one displaced nothing
    assert service.submit("a", lambda: iter([6]), "ann") is not small
    assert service.submit("huge", lambda: iter([11]), "ann") is not huge


def test_an_item_that_holds_all_before_it_replaces_them():
    service = make_service(only_last=True, keep_bytes=10, size_of=lambda item: item)
    job = service.submit("key", lambda: iter([9, None, 8, None]), "ann")
    seen = []
    while service.turn():
        seen.append(service.poll(job, "ann").items)
    assert seen == [(9,), (9,), (8,), (8,)]
    assert service.poll(job, "ann").items == (8,)
    other = service.submit("other", lambda: iter([30, 2]), "ann")
    drain(service)
    assert service.submit("key", lambda: iter([9]), "ann") is job  # 8 and 2 are no more than 10
    assert service.submit("other", lambda: iter([9]), "ann") is other


# --- ends that are not the generator's own -------------------------------------------------------


@dataclass
class Watched:
    """A generator that tells whether it was closed."""

    closed: list[bool] = field(default_factory=list)

    def run(self) -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            self.closed.append(True)


def test_leaving_closes_the_generator_at_the_next_turn():
    service, watched = make_service(), Watched()
    job = service.submit("key", watched.run, "ann")
    service.turn()
    service.leave(job, "ann")
    assert service.turn() is False
    assert watched.closed == [True]


def test_a_job_nobody_polls_is_dropped_and_one_polled_is_not():
    clock = Clock()
    service, watched = make_service(clock, abandon_seconds=5.0), Watched()
    dropped = service.submit("dropped", watched.run, "ann")
    polled = service.submit("polled", Watched().run, "bob")
    for _ in range(10):
        clock.now += 1.0
        service.poll(polled, "bob")
        service.turn()
    assert watched.closed == [True]
    assert service.poll(dropped, "ann").state == "stopped"
    assert service.poll(polled, "bob").state == "live"


def test_a_waiting_job_that_was_stopped_is_never_made():
    service = make_service(max_live=1)
    service.submit("live", lambda: count_to(2), "ann")
    made = []
    job = service.submit("waiting", lambda: made.append(1) or count_to(1), "bob")
    service.leave(job, "bob")
    drain(service)
    assert made == []


def test_stopping_in_the_middle_of_a_step_discards_what_it_yields():
    service = make_service()
    jobs: list[Job[int]] = []

    def leaves_itself() -> Iterator[int]:
        yield 1
        service.leave(jobs[0], "ann")
        yield 2

    jobs.append(service.submit("key", leaves_itself, "ann"))
    drain(service)
    assert service.poll(jobs[0], "ann").items == (1,)
    assert service.poll(jobs[0], "ann").state == "stopped"


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (ValueError("n_pairs must be at most n_keys (4), got 6\nmore"), "n_pairs must be at most"),
        (ZeroDivisionError("division by zero"), "the run stopped with ZeroDivisionError: division"),
        (MemoryError("Unable to allocate 1 GiB"), "this run needs more memory than the server has"),
        (SystemExit(), "the run stopped with SystemExit"),
    ],
)
def test_an_exception_becomes_a_sentence_and_spares_the_others(failure, sentence):
    def fails() -> Iterator[int]:
        yield 1
        raise failure

    service = make_service()
    bad = service.submit("bad", fails, "ann")
    good = service.submit("good", lambda: count_to(3), "ann")
    drain(service)
    progress = service.poll(bad, "ann")
    assert (progress.state, progress.items) == ("failed", (1,))
    assert progress.error.startswith(sentence)
    assert "\n" not in progress.error
    assert service.poll(good, "ann").items == (1, 2, 3)
    assert service.submit("bad", fails, "ann") is not bad  # a failed run is not reused


def test_a_generator_that_cannot_be_made_or_measured_or_closed_spares_the_others():
    def stubborn() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            raise OSError("not now")

    service = make_service(size_of=lambda item: 1 // (item - 7))
    unmade = service.submit("unmade", lambda: 1 / 0, "ann")
    unmeasured = service.submit("unmeasured", lambda: iter([7]), "ann")
    unclosed = service.submit("unclosed", stubborn, "ann")
    good = service.submit("good", lambda: count_to(3), "ann")
    for _ in range(3):
        service.turn()
    service.leave(unclosed, "ann")
    drain(service)
    states = [service.poll(job, "ann").state for job in (unmade, unmeasured, unclosed, good)]
    assert states == ["failed", "failed", "stopped", "done"]


# --- errors --------------------------------------------------------------------------------------


def test_a_full_queue_is_refused_with_a_sentence():
    service = make_service(max_live=1, max_waiting=1)
    for key in "ab":
        service.submit(key, lambda: count_to(2), "ann")
    with pytest.raises(QueueFullError, match=r"^1 run is in progress and 1 is waiting, as many"):
        service.submit("c", lambda: count_to(2), "ann")
    service.submit("b", lambda: count_to(2), "bob")  # joining needs no place
    drain(service)
    service.submit("c", lambda: count_to(2), "ann")


@pytest.mark.parametrize(
    ("max_live", "max_waiting", "sentence"),
    [
        (1, 0, "1 run is in progress and 0 are waiting, as many as this server takes"),
        (2, 1, "2 runs are in progress and 1 is waiting, as many as this server takes"),
        (1, 2, "1 run is in progress and 2 are waiting, as many as this server takes"),
    ],
)
def test_one_run_is_and_two_are(max_live, max_waiting, sentence):
    service = make_service(max_live=max_live, max_waiting=max_waiting)
    for key in range(max_live + max_waiting):
        service.submit(key, lambda: count_to(2), "ann")
    with pytest.raises(QueueFullError, match=f"^{sentence}"):
        service.submit("more", lambda: count_to(2), "ann")


def test_an_abandoned_job_makes_room_for_a_new_one():
    clock = Clock()
    service = make_service(clock, max_live=1, max_waiting=0, abandon_seconds=5.0)
    service.submit("old", Watched().run, "ann")
    clock.now = 6.0
    service.submit("new", lambda: count_to(1), "bob")


def test_caps_must_let_one_job_run():
    with pytest.raises(ValueError, match=r"max_live must be at least 1 .* got 0 and 3"):
        TurnService(max_live=0, max_waiting=3)


# --- any interleaving ----------------------------------------------------------------------------

actions = st.one_of(
    st.tuples(st.just("submit"), st.integers(0, 7), st.integers(0, 2)),
    st.tuples(st.just("poll"), st.integers(0, 30), st.integers(0, 2)),
    st.tuples(st.just("leave"), st.integers(0, 30), st.integers(0, 2)),
    st.tuples(st.just("wait"), st.integers(0, 4), st.just(0)),
    st.tuples(st.just("turn"), st.just(0), st.just(0)),
)


@settings(max_examples=150, deadline=None)
@given(
    max_live=st.integers(1, 3),
    max_waiting=st.integers(0, 3),
    steps=st.lists(actions, max_size=60),
)
def test_any_interleaving_keeps_the_caps_the_order_and_an_end(max_live, max_waiting, steps):
    """Never more open generators or waiting jobs than allowed; started first come, first served."""
    clock = Clock()
    service = make_service(
        clock, max_live=max_live, max_waiting=max_waiting, abandon_seconds=5.0, keep_jobs=2
    )
    jobs: list[Job[int]] = []  # in the order in which they were accepted
    started: list[int] = []
    opened: set[int] = set()

    def run(number: int) -> Iterator[int]:
        started.append(number)
        opened.add(number)
        try:
            if number % 4 == 3:
                raise ValueError("a failing run")
            yield from range(number % 5)
        finally:
            opened.discard(number)

    def submit(key: int, who: int) -> None:
        number = len(jobs)
        unfinished = [job for job in jobs if job.state in ("waiting", "live")]
        try:
            job = service.submit(key, lambda: run(number), who)
        except QueueFullError:
            assert len(unfinished) >= max_live + max_waiting
            assert key not in [job.key for job in unfinished]
            return
        if job not in jobs:
            jobs.append(job)

    def check() -> None:
        live = [job for job in jobs if job.state == "live"]
        waiting = [job for job in jobs if job.state == "waiting"]
        assert len(live) <= max_live
        assert len(waiting) <= max_waiting
        assert not waiting or len(live) == max_live  # nobody waits beside an idle place
        assert sorted(job.key for job in live + waiting) == sorted(
            {job.key for job in live + waiting}
        )
        assert [service._progress(job).place for job in waiting] == [*range(1, len(waiting) + 1)]
        assert started == sorted(started)
        # All earlier jobs that are still open at least hold a place.
        if waiting:
            assert all(jobs.index(job) < jobs.index(waiting[0]) for job in live)

    for action, number, who in steps:
        if action == "submit":
            submit(number, who)
        elif action == "wait":
            clock.now += number
        elif action == "turn":
            service.turn()
            assert len(opened) <= max_live
        elif jobs:
            getattr(service, action)(jobs[number % len(jobs)], who)
        check()

    while service.turn():
        check()
    assert opened == set()
    for number, job in enumerate(jobs):
        assert job.state in ("done", "failed", "stopped")
        if job.state == "done":
            assert job.items == [*range(number % 5)]
        assert job.state != "failed" or number % 4 == 3


@given(st.integers(1, 4), st.lists(st.integers(0, 6), max_size=12))
@settings(max_examples=50, deadline=None)
def test_live_jobs_never_drift_more_than_one_turn_apart(max_live, lengths):
    service = make_service(max_live=max_live, max_waiting=12)
    jobs = [service.submit(i, lambda n=n: count_to(n), "ann") for i, n in enumerate(lengths)]
    first = jobs[:max_live]
    while service.turn():
        open_counts = [len(job.items) for job in first if job.state == "live"]
        assert not open_counts or max(open_counts) - min(open_counts) <= 1
    assert [len(job.items) for job in jobs] == lengths


# --- with its thread -----------------------------------------------------------------------------


def wait_until(condition, seconds=20.0) -> None:
    done = threading.Event()
    for _ in range(int(seconds / 0.005)):
        if condition():
            return
        done.wait(0.005)
    raise AssertionError("the condition never held")


def test_the_thread_starts_with_the_first_job_and_finishes_every_one():
    service: TurnService[int] = TurnService(max_live=2)
    assert service._thread is None
    threads_before = threading.active_count()
    jobs = [service.submit(i, lambda: count_to(50), "ann") for i in range(6)]
    wait_until(lambda: all(service.poll(job, "ann").state == "done" for job in jobs))
    assert threading.active_count() == threads_before + 1
    assert service._thread.daemon


def test_an_idle_thread_sleeps_and_wakes():
    turns = []

    class Counted(TurnService[int]):
        def turn(self) -> bool:
            turns.append(1)
            return super().turn()

    service = Counted()
    first = service.submit("first", lambda: count_to(1), "ann")
    wait_until(lambda: service.poll(first, "ann").ended)
    wait_until(lambda: not service._busy())
    before = len(turns)
    threading.Event().wait(0.1)
    assert len(turns) - before <= 1  # the turn that was under way
    second = service.submit("second", lambda: count_to(1), "ann")
    wait_until(lambda: service.poll(second, "ann").ended)


def test_many_threads_may_call_at_once():
    service: TurnService[int] = TurnService(max_live=3, max_waiting=100, turn_seconds=0.001)
    failures: list[BaseException] = []

    def visit(who: int) -> None:
        try:
            for i in range(15):
                job = service.submit((who + i) % 10, lambda: count_to(20), who, again=True)
                if i % 3 == 0:
                    service.leave(job, who)
                else:
                    wait_until(lambda: service.poll(job, who).ended)  # noqa: B023
                    assert service.poll(job, who).items == tuple(range(1, 21))
        except BaseException as failure:  # noqa: BLE001 - reported by the main thread
            failures.append(failure)

    visitors = [threading.Thread(target=visit, args=(who,)) for who in range(6)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert failures == []

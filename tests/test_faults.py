"""What happens to a class when something breaks: nothing to those who had no part in it.

A real server, and students who speak its own protocol to it (`benchmarks.students`).
"""

import asyncio
import resource
import sys
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
)
from contextlib import asynccontextmanager

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.server import Server
from benchmarks.students import Student, page_name
from core.tables.context_cost import queue_sentence
from core.turns import NO_MEMORY
from pages import PAGES

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc and sets limits of Linux"
)

NAMES = [page_name(page.path) for page in PAGES]
# A link that keeps short what a visit starts; a page ignores what it has no control for.
SHORT = {"n_steps": "100", "n_seeds": "1", "n_largest": "512", "n_repeats": "1"}
BEGUN = {"seed": "7"}  # a link with settings in it: the page does not ask for a prediction first
PATIENCE = 120.0  # seconds until something has to have happened; a bound, not a measurement


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that forgets closed visits after a second instead of two minutes."""
    log = tmp_path_factory.mktemp("faults") / "log.txt"
    with Server(log, options={"server.disconnectedSessionTTL": "1"}) as server:
        yield server


def values(student: Student) -> dict[str, object]:
    """What the controls stand at, by their names in the link."""
    widgets = student.screen.widgets
    return {widget.parameter: widget.value for widget in widgets if widget.parameter}


async def together(activities: Iterable[Coroutine[None, None, object]]) -> None:
    """Wait for all of them; the first that fails ends the others."""
    async with asyncio.TaskGroup() as group:
        for activity in activities:
            group.create_task(activity)


async def whole_page(student: Student) -> None:
    """Load the page once more, until its end has come too: see `Student.ends_lost`."""
    while True:
        lost = student.ends_lost
        await student.rerun()
        if student.ends_lost == lost:
            return


async def come_to_rest(student: Student) -> None:
    """Wait until nothing on the page is live any more, and load it once more."""

    async def at_rest() -> bool:
        return not student.live

    await until(at_rest)
    await student.rerun()


@asynccontextmanager
async def bystander(server: Server) -> AsyncIterator[Student]:
    """A student on a page of their own, to whom nothing may happen meanwhile."""
    async with Student(server.address, "mask_leak", BEGUN) as student:
        before = student.text, values(student)
        assert "Can a token see" in student.text
        yield student
        await student.rerun()
        assert (student.text, values(student)) == before
        assert student.complaints == []


async def until(reached: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something to be so."""
    async with asyncio.timeout(PATIENCE):
        while not await reached():
            await asyncio.sleep(0.2)


class TestRestart:
    def test_thirty_students_get_their_pages_back(self, tmp_path):
        log = tmp_path / "log.txt"
        moved: list[Student] = []

        async def work(student: Student, number: int) -> None:
            await student.arrive()
            sliders = [
                widget
                for widget in student.screen.widgets
                if widget.kind == "slider"
                and widget.key not in SHORT
                and not widget.key.startswith("predict_")
            ]
            assert all(slider.parameter for slider in sliders)
            if sliders:
                slider = sliders[number % len(sliders)]
                await student.set(slider.key, slider.other_value(student.rng))
                assert student.link[slider.parameter]
                moved.append(student)
            await whole_page(student)

        async def lesson() -> None:
            class_ = [
                Student(server.address, NAMES[i % len(NAMES)], SHORT, seed=i) for i in range(30)
            ]
            await together(work(student, i) for i, student in enumerate(class_))
            left = [(student.link, values(student)) for student in class_]
            assert len(moved) > 20
            server.kill()
            await together(student.leave() for student in class_)
            server.start()
            # Every other one reloads the page, which has only its link left; the others' tabs
            # stay open, and connect again by themselves.
            back = [
                Student(server.address, student.page, student.link) if i % 2 else student
                for i, student in enumerate(class_)
            ]
            await together(student.arrive() for student in back)
            await together(whole_page(student) for student in back)
            assert [(student.link, values(student)) for student in back] == left
            assert [words for student in back for words in student.complaints] == []
            await together(student.leave() for student in back)

        with Server(log) as server:
            asyncio.run(lesson())
        assert "Traceback" not in log.read_text()


class TestGarbage:
    @pytest.mark.parametrize(
        "junk",
        [
            pytest.param(bytes(range(256)), id="not a message"),
            pytest.param("hello", id="text"),
            pytest.param(bytes(26_000_000), id="more than is taken"),
        ],
    )
    def test_closes_the_line_it_came_on(self, server, junk):
        async def lesson() -> None:
            async with bystander(server):
                vandal = Student(server.address, "mask_leak")
                await vandal.arrive()
                await vandal.send(junk)
                await until(vandal.is_gone)

        asyncio.run(lesson())

    @pytest.mark.parametrize(
        "message",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(BackMsg(stop_script=True), id="stop"),
            pytest.param(BackMsg(debug_shutdown_runtime=True), id="shut down"),
            pytest.param(BackMsg(clear_cache=True), id="clear the caches"),
        ],
    )
    def test_a_message_nobody_expects_changes_nothing(self, server, message):
        async def lesson() -> None:
            async with bystander(server), bystander(server) as vandal:
                await vandal.send(message)

        asyncio.run(lesson())

    def test_an_unknown_fragment_changes_nothing(self, server):
        async def lesson() -> None:
            async with bystander(server), bystander(server) as vandal:
                await vandal.send(vandal.question("no such fragment"))

        asyncio.run(lesson())

    @pytest.mark.parametrize("numbers", [[float("nan")], [float("inf")], [1e9], [-1.0], [3, 4], []])
    def test_a_slider_that_stands_nowhere_goes_back_to_its_default(self, server, numbers):
        async def lesson() -> None:
            async with bystander(server), Student(server.address, "mask_leak", BEGUN) as vandal:
                vandal.widget("n_tokens").value = tuple(numbers)
                await vandal.rerun()
                assert vandal.complaints == []
                assert "One random sequence of 16 tokens" in vandal.text

        asyncio.run(lesson())

    def test_a_slider_that_says_a_word_harms_its_sender_alone(self, server):
        async def lesson() -> None:
            async with bystander(server), Student(server.address, "mask_leak", BEGUN) as vandal:
                question = vandal.question()
                slider = vandal.widget("n_tokens").identity
                for state in question.rerun_script.widget_states.widgets:
                    if state.id == slider:
                        state.string_value = "x"
                await vandal.ask(question)
                # Streamlit fails in its own code, before the page's.
                assert len(vandal.complaints) == 1
                assert "encountered an error" in vandal.complaints[0]
                async with Student(server.address, "mask_leak", vandal.link) as reloaded:
                    assert reloaded.complaints == []
                    assert "One random sequence of 16 tokens" in reloaded.text

        asyncio.run(lesson())


class Watchful(Student):
    """Notes where the elements stood, for each run of the whole page that was sent to its end."""

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self.pages: list[frozenset[tuple[int, ...]]] = []

    def _finish(self, status: int, fragments: Collection[str]) -> None:
        if not fragments and status == ForwardMsg.FINISHED_SUCCESSFULLY:
            self.pages.append(frozenset(self.screen._fresh))
        super()._finish(status, fragments)


class TestHaste:
    @pytest.mark.parametrize("name", ["inference_cost", "mask_leak"])
    def test_a_part_asked_for_while_its_page_is_drawn_takes_nothing_of_it_back(self, server, name):
        async def lesson() -> None:
            async with Watchful(server.address, name, {**SHORT, **BEGUN}) as student:
                await come_to_rest(student)
                parts = {drawn.fragment for drawn in student.screen.elements.values()} - {""}
                assert parts
                whole = student.pages[-1]
                student.pages.clear()
                for number in range(1, 31):

                    async def ended(number: int = number) -> bool:
                        return len(student.pages) + student.ends_lost >= number

                    await student.send(student.question())
                    for part in parts:
                        await student.send(student.question(part, by_itself=True))
                    await until(ended)
                assert set(student.pages) == {whole}
                assert student.complaints == []

        asyncio.run(lesson())

    def test_no_answer_relies_on_what_a_browser_may_have_forgotten(self, server):
        remembered = []

        class Remembering(Student):
            def _hear(self, message: ForwardMsg, size: int) -> None:
                if message.metadata.cacheable or message.HasField("ref_hash"):
                    remembered.append((self.page, size))
                super()._hear(message, size)

        async def lesson() -> None:
            for name in NAMES:
                async with Remembering(server.address, name, {**SHORT, **BEGUN}) as student:
                    await student.rerun()

        asyncio.run(lesson())
        assert remembered == []


class TestDisconnecting:
    def test_students_who_vanish_mid_run_leave_nothing(self, server):
        async def visit(name: str) -> Student:
            student = Student(server.address, name, SHORT)
            await student.arrive()
            return student

        async def held() -> tuple[int, int]:
            # Streamlit drops the visits it has kept too long when it takes in the next one.
            await asyncio.sleep(1.2)
            await (await visit("mask_leak")).leave()
            usage = server.usage()
            return usage.threads, usage.files

        async def lesson() -> None:
            for name in NAMES:
                await (await visit(name)).leave()
            async with bystander(server):
                before = await held()
                for _ in range(3):
                    class_ = await asyncio.gather(*(visit(name) for name in NAMES * 2))
                    for student in class_:
                        await student.send(student.question())
                    await together(student.vanish() for student in class_)

                async def as_before() -> bool:
                    return await held() <= before

                await until(as_before)

        asyncio.run(lesson())

    def test_a_closed_tab_stops_its_run(self, server):
        endless = {
            "n_seeds": "20",
            "n_steps": "10000",
            "n_pairs": "16",
            "n_keys": "32",
            "n_values": "32",
            "d_model": "128",
            "d_k": "128",
        }

        async def lesson() -> None:
            async with Student(server.address, "ablation", endless) as student:
                assert student.live
                assert await busy()
            await until(idle)

        async def busy() -> bool:
            before = server.usage().cpu
            await asyncio.sleep(1)
            return server.usage().cpu - before > 0.1

        async def idle() -> bool:
            return not await busy()

        asyncio.run(lesson())


class TestMeasuring:
    def test_twenty_at_once_take_their_turns(self, server):

        async def lesson() -> None:
            class_ = [
                Student(server.address, "context_cost", {**SHORT, "seed": str(seed)})
                for seed in range(1, 21)
            ]
            waited = set()

            async def watch() -> None:
                while True:
                    for student in class_:
                        if any(queue_sentence(place) in student.text for place in range(1, 21)):
                            waited.add(student)
                    await asyncio.sleep(0.05)

            def redraw(student: Student) -> bool:
                # Under heavy load Streamlit can lose the run that follows the last poll.
                return not student.live or "Measured on this server" in student.text

            async def all_done() -> bool:
                waiting = [s for s in class_ if "From 256 to 512 tokens" not in s.text]
                await together(student.rerun() for student in waiting if redraw(student))
                return not waiting

            async with bystander(server):
                watching = asyncio.create_task(watch())
                await together(student.arrive() for student in class_)
                await until(all_done)
                watching.cancel()
                assert [words for student in class_ for words in student.complaints] == []
                assert len(waited) > 10
                await together(student.leave() for student in class_)

        asyncio.run(lesson())

    def test_without_memory_the_one_who_measures_is_told(self, tmp_path):
        async def lesson() -> None:
            for name in NAMES:
                async with Student(server.address, name, SHORT) as student:
                    await come_to_rest(student)
            limit = server.address_space() + 200 * 2**20  # one table of 8,192 × 8,192 is 256 MiB
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, limit))
            async with bystander(server), Student(server.address, "context_cost", large) as student:
                await come_to_rest(student)
                assert student.complaints == []
                assert NO_MEMORY in student.text.replace("\\", "")
                assert "MemoryError" not in student.text
                await student.set("n_largest", "1024")
                await come_to_rest(student)
                assert "From 512 to 1,024 tokens" in student.text

        large = {"n_largest": "8192", "n_repeats": "1"}
        cap = {"ATTENTION_LAB_MEMORY_CAP_MIB": "4096"}  # more than there is
        with Server(tmp_path / "log.txt", environment=cap) as server:
            asyncio.run(lesson())


class TestLimits:
    def test_a_disk_that_takes_nothing(self, tmp_path):
        log = tmp_path / "log.txt"

        async def lesson() -> None:
            for name in ["", *NAMES]:
                async with Student(server.address, name, SHORT) as student:
                    await student.move()
                    assert student.complaints == [], name

        with Server(log, limit="-f 0") as server:
            asyncio.run(lesson())
        assert "Traceback" not in log.read_text()

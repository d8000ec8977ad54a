"""Students without browsers: each speaks to the server as the page in a browser does.

The protocol is Streamlit 1.67's own: one websocket a student at /_stcore/stream, a `BackMsg` for
every change of a widget with the state of all of them, a `ForwardMsg` for every element drawn,
and `script_finished` at the end of a run. As in the browser, a widget in a fragment runs the
fragment alone, live fragments ask to be run again every so often, and values bound to the link
are written into it. Left out: drawing.
"""

import asyncio
import random
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from benchmarks.screen import CHARTS, Screen
from benchmarks.widgets import Value, Widget

PATIENCE = 60.0  # seconds a student waits for an answer


class LostError(RuntimeError):
    """Raised when the server has closed the connection, or did not answer in time."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One answer of the server, from the question sent to the run's end heard."""

    seconds: float
    chart: float | None  # seconds until its first chart was heard, if it has one
    messages: int
    size: int  # bytes


@dataclass(kw_only=True)
class _Asked:
    """A question the server has not answered yet."""

    fragment: str  # empty for the whole page
    since: float  # seconds, on the clock of time.perf_counter
    answer: asyncio.Future[Run]
    chart: float | None = None
    messages: int = 0
    size: int = 0


class Student:
    """One tab on one page. Ask for one thing at a time."""

    def __init__(
        self, address: str, page: str = "", link: Mapping[str, str] | None = None, seed: int = 0
    ) -> None:
        """Prepare a visit.

        Args:
            address: of the server, such as http://127.0.0.1:8501.
            page: its name in the link, such as "mask_leak"; empty for the first page.
            link: the values its link carries.
            seed: fixes what the student does.
        """
        self.address, self.page = address, page
        self.link = dict(link or {})
        self.rng = random.Random(seed)
        self.screen = Screen()
        self.complaints: list[str] = []  # every error the server has shown
        self.ends_lost = 0  # see `_begin`
        self.polls: list[float] = []  # seconds each run of a live fragment took
        self.session = ""  # the server's name for the visit
        self._page_hash = ""
        self._whole_page = False  # whether a run of the whole page has begun and not ended
        self._socket: ClientConnection | None = None
        self._listening: asyncio.Task[None] | None = None
        self._asked: _Asked | None = None
        self._alive: dict[str, asyncio.Task[None]] = {}  # by fragment
        self._polled: dict[str, float] = {}  # by fragment: when it asked, while unanswered

    async def __aenter__(self) -> Self:
        """Open the page."""
        await self.arrive()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the tab."""
        await self.leave()

    async def arrive(self) -> Run:
        """Connect and load the page; a student who was here before goes on where they were."""
        names = ["streamlit", "PLACEHOLDER_AUTH_TOKEN"]  # the places of two tokens
        if self.session:
            names.append(self.session)
        self._socket = await connect(
            self.address.replace("http", "ws", 1) + "/_stcore/stream",
            subprotocols=names,  # type: ignore[arg-type]  # plain strings are fine
            origin=self.address,  # type: ignore[arg-type]
            max_size=None,
            compression=None,
            proxy=None,
            open_timeout=PATIENCE,
        )
        self._whole_page = False
        self._listening = asyncio.create_task(self._listen(self._socket))
        return await self.rerun()

    async def leave(self) -> None:
        """Close the tab."""
        self._stop_polling()
        if self._socket is not None:
            await self._socket.close()
        if self._listening is not None:
            await self._listening

    async def vanish(self) -> None:
        """Cut the connection without a word, as a dead battery does."""
        self._stop_polling()
        if self._socket is not None:
            self._socket.transport.abort()
        if self._listening is not None:
            await self._listening

    async def is_gone(self) -> bool:
        """Whether the server has closed the connection."""
        return self._listening is None or self._listening.done()

    async def rerun(self) -> Run:
        """Ask for the page as it is, and wait for it."""
        return await self.ask(self.question())

    async def set(self, key: str, value: Value) -> Run:
        """Give a widget a value, as a student's hand does, and wait for the answer."""
        widget = self.widget(key)
        widget.value = (value,)
        if widget.parameter:
            if widget.value == widget.default:
                self.link.pop(widget.parameter, None)
            else:
                self.link[widget.parameter] = widget.in_link()
        return await self.ask(self.question(widget.fragment))

    async def press(self, key: str) -> Run:
        """Press a button and wait for the answer."""
        button = self.widget(key)
        button.value = (True,)
        question = self.question(button.fragment)
        button.value = ()
        return await self.ask(question)

    async def move(self) -> Run:
        """Move one slider that the link knows to another place; reload a page that has none."""
        sliders = [w for w in self.screen.widgets if w.kind == "slider" and w.parameter]
        if not sliders:
            return await self.rerun()
        slider = self.rng.choice(sorted(sliders, key=lambda widget: widget.key))
        return await self.set(slider.key, slider.other_value(self.rng))

    @property
    def live(self) -> bool:
        """Whether a fragment of the page asks to be run again and again."""
        return bool(self._alive)

    @property
    def text(self) -> str:
        """All words on the page, in no particular order."""
        return "\n".join(self.screen.words)

    def widget(self, key: str) -> Widget:
        """Find a widget by its key.

        Raises:
            KeyError: if the page shows none with this key.
        """
        for widget in self.screen.widgets:
            if widget.key == key:
                return widget
        raise KeyError(f"{self.page or 'the first page'} shows no widget with the key {key}")

    def question(self, fragment: str = "", *, by_itself: bool = False) -> BackMsg:
        """Return the message that asks for a run of the page, or of one of its fragments.

        Args:
            fragment: empty for the whole page.
            by_itself: whether the fragment asks because it is live, without a student's doing.
        """
        query = urlencode(self.link)
        state = ClientState(
            query_string=query,
            page_script_hash=self._page_hash,
            page_name="" if self._page_hash else self.page,
            fragment_id=fragment,
            is_auto_rerun=by_itself,
            cached_message_hashes=self.screen.cached,
        )
        widgets = (widget.state() for widget in self.screen.widgets)
        state.widget_states.widgets.extend(widget for widget in widgets if widget is not None)
        state.context_info.url = f"{self.address}/{self.page}?{query}".rstrip("?")
        state.context_info.timezone = "UTC"
        state.context_info.locale = "en"
        state.context_info.color_scheme = "light"
        return BackMsg(rerun_script=state)

    async def ask(self, question: BackMsg) -> Run:
        """Ask for a run, and wait for its end.

        Raises:
            LostError: if the connection is closed or the answer does not come.
        """
        asked = _Asked(
            fragment=question.rerun_script.fragment_id,
            since=time.perf_counter(),
            answer=asyncio.get_running_loop().create_future(),
        )
        self._asked = asked
        await self.send(question)
        try:
            return await asyncio.wait_for(asked.answer, PATIENCE)
        except TimeoutError:
            raise LostError(f"{self.page}: no answer in {PATIENCE:g} seconds") from None

    async def send(self, message: BackMsg | bytes | str) -> None:
        """Send a message, or anything else, as it is."""
        assert self._socket is not None
        data = message.SerializeToString() if isinstance(message, BackMsg) else message
        try:
            await self._socket.send(data)
        except ConnectionClosed as closed:
            raise LostError(f"{self.page}: the server has closed the connection") from closed

    async def _listen(self, socket: ClientConnection) -> None:
        end: Exception = LostError(f"{self.page}: the connection is gone")
        try:
            async for data in socket:
                assert isinstance(data, bytes)
                self._hear(ForwardMsg.FromString(data), len(data))
        except ConnectionClosed:
            pass
        except Exception as mistake:  # of ours: whoever waits for the answer has to know
            end = mistake
            raise
        finally:
            self._stop_polling()
            if self._asked is not None and not self._asked.answer.done():
                self._asked.answer.set_exception(end)

    def _hear(self, message: ForwardMsg, size: int) -> None:
        kind = message.WhichOneof("type")
        if self._asked is not None:
            self._asked.messages += 1
            self._asked.size += size
            if self._asked.chart is None and _holds_chart(message):
                self._asked.chart = time.perf_counter() - self._asked.since
        if kind in ("delta", "ref_hash"):
            error = self.screen.draw(message)
            if error is not None:
                self.complaints.append(error)
        elif kind == "new_session":
            self._begin(message.new_session, message.metadata.run.fragment_ids)
        elif kind == "navigation":
            self._page_hash = message.navigation.page_script_hash
        elif kind == "script_finished":
            self._finish(message.script_finished, message.metadata.run.fragment_ids)
        elif kind == "page_info_changed":
            self.link = dict(parse_qsl(message.page_info_changed.query_string))
        elif kind == "auto_rerun":
            self._poll(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self._stop_polling(fragment)
        elif kind == "session_event":
            error = message.session_event.script_compilation_exception.message
            self.complaints += [error] if error else []
        elif kind == "page_not_found":
            self.complaints.append(f"no page {message.page_not_found.page_name}")

    def _begin(self, session: NewSession, fragments: Collection[str]) -> None:
        self.session = session.initialize.session_id
        self._page_hash = session.page_script_hash
        if not fragments:
            self._stop_polling()
        elif self._whole_page:
            # When a live fragment asks just after a page's run is over, Streamlit ignores what it
            # has not yet queued of that run, its end included.
            self.ends_lost += 1
            self._answer("")
        self._whole_page = not fragments
        self.screen.begin()

    def _finish(self, status: int, fragments: Collection[str]) -> None:
        self._whole_page = False
        if status == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            return  # another run follows
        self.screen.end(fragments)
        for fragment in fragments or [""]:
            self._answer(fragment)
            if (since := self._polled.pop(fragment, None)) is not None:
                self.polls.append(time.perf_counter() - since)

    def _answer(self, fragment: str) -> None:
        asked = self._asked
        # A run of the whole page answers a fragment's question too.
        if asked is None or fragment not in ("", asked.fragment):
            return
        self._asked = None
        if not asked.answer.done():
            run = Run(
                seconds=time.perf_counter() - asked.since,
                chart=asked.chart,
                messages=asked.messages,
                size=asked.size,
            )
            asked.answer.set_result(run)

    def _poll(self, fragment: str, interval: float) -> None:
        self._stop_polling(fragment)
        self._alive[fragment] = asyncio.create_task(self._keep_asking(fragment, interval))

    async def _keep_asking(self, fragment: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            self._polled.setdefault(fragment, time.perf_counter())
            try:
                await self.send(self.question(fragment, by_itself=True))
            except LostError:
                return

    def _stop_polling(self, fragment: str | None = None) -> None:
        for name in list(self._alive) if fragment is None else [fragment]:
            self._polled.pop(name, None)
            task = self._alive.pop(name, None)
            if task is not None:
                task.cancel()


def _holds_chart(message: ForwardMsg) -> bool:
    return message.delta.new_element.WhichOneof("type") in CHARTS


def page_name(path: str) -> str:
    """Return the name in the link of a page's file.

    >>> page_name("pages/mask_leak.py")
    'mask_leak'
    """
    return path.rpartition("/")[2].removesuffix(".py")

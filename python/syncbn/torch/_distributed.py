"""The transport over torch.distributed: sums of int64 by gloo."""

from __future__ import annotations

import concurrent.futures
import ctypes
import datetime
import itertools
import queue
import signal
import threading
import time
import weakref
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist

from syncbn import _c
from syncbn._group import Transport

# Seconds after which a rank that waits says so, for the sentence of a rank whose time is over.
_ANNOUNCE_AFTER = 0.1
# The store has so many seconds for an answer, and for those that tell who is missing.
_STORE_ANSWERS = 1.0
_NAMES_COME = 5.0
# What the last rank to come to a round adds to its end, where each that leaves adds 1, and how it
# ended.
_ALL_CAME = 1 << 32
_ALL_ARE_HERE, _SOME_LEFT = 1, 2
# What gloo, datetime and locks take for a wait without an end, in seconds.
_ENDLESS = 1e9
# Gloo's own timeout is that much longer than the group's, which names the ranks that are missing;
# until then a rank that comes late is told, or finds all sums.
_GLOO_LATER = 10.0
# Signals by which programs are ended, told the time, or told that a worker of a DataLoader has died.
# To ask for the handlers of all takes some 50 us.
_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGALRM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCHLD,
)

_TRANSPORT_ERROR = _c.CONSTANTS["SBN_TRANSPORT_ERROR"]
_TAGS = _HEADER, _WORDS, _REPEAT = (
    _c.CONSTANTS["SBN_TAG_HEADER"],
    _c.CONSTANTS["SBN_TAG_WORDS"],
    _c.CONSTANTS["SBN_TAG_REPEAT"],
)


class _Request:
    __slots__ = ("place", "started", "tag", "words", "work")

    def __init__(self, work: Any, words: torch.Tensor, tag: int, place: int) -> None:
        self.work, self.words, self.tag, self.place = work, words, tag, place
        self.started = time.monotonic()


class _Store:
    """PyTorch's store, called by a thread of its own: a process that keeps a TCPStore may have
    stopped, for which PyTorch waits half an hour."""

    def __init__(self, store: Any) -> None:
        self.own: Any = store
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # A process may end while it waits.
        self._thread = threading.Thread(
            target=self._serve, args=(self._jobs,), name="syncbn store", daemon=True
        )
        self._thread.start()

    def tell(self, call: Callable[..., Any], *arguments: Any) -> concurrent.futures.Future[Any]:
        """Makes the call after all earlier ones."""
        answer: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._jobs.put((answer, call, arguments))
        return answer

    def ask(
        self,
        seconds: float,
        call: Callable[..., Any],
        *arguments: Any,
        interrupts: Sequence[BaseException] | None = None,
    ) -> Any:
        """The result, or what was raised, in the call or, while it waits, as one of `interrupts`."""
        answer, end = self.tell(call, *arguments), time.monotonic() + max(seconds, _STORE_ANSWERS)
        pause = _ENDLESS if interrupts is None else 0.1
        while True:
            left = end - time.monotonic()
            if concurrent.futures.wait([answer], max(0, min(left, pause))).done:
                return answer.result()
            if interrupts:
                raise interrupts[0]
            if left <= 0:
                raise _c.SyncBatchNormError(
                    _c.CONSTANTS["SBN_TIMEOUT"],
                    "PyTorch's store does not answer: the process that keeps it may have stopped",
                )

    def close(self) -> None:
        """Lets go of the store, at once unless it does not answer."""
        self._jobs.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(_STORE_ANSWERS)
        if not self._thread.is_alive():
            self.own = None

    def __del__(self) -> None:
        self._jobs.put(None)

    @staticmethod
    def _serve(jobs: queue.SimpleQueue[Any]) -> None:
        while (job := jobs.get()) is not None:
            answer, call, arguments = job
            try:
                answer.set_result(call(*arguments))
            except BaseException as error:
                answer.set_exception(error)
            del job, answer, call, arguments


if dist.is_available():

    class _GlooStore(dist.distributed_c10d.Store):
        """Where gloo's ranks find each other. It asks PyTorch's store again and again: that store's own
        wait keeps other threads out, of which one may have to set what another process waits for."""

        def __init__(
            self, store: _Store, path: str, seconds: float, interrupts: Sequence[BaseException]
        ) -> None:
            super().__init__()
            self._store, self._path, self._seconds = store, path, seconds
            self._interrupts = interrupts

        def set(self, key: str, value: Any) -> None:
            self._ask("set", key, value)
            self._ask("add", f"{key}/set", 1)

        def get(self, key: str) -> Any:
            begin, pause = time.monotonic(), 0.001
            while not self._ask("add", f"{key}/set", 0):
                # What interrupts waits for ranks that live.
                seconds = min(self._seconds, _NAMES_COME) if self._interrupts else self._seconds
                if time.monotonic() - begin > seconds:
                    rank = key.rpartition("/")[2].replace("rank_", "")
                    raise _c.SyncBatchNormError(
                        _c.CONSTANTS["SBN_TIMEOUT"],
                        f"{seconds:g} s were over before rank {rank} connected, which had come: it "
                        "may have died",
                    )
                time.sleep(pause)
                pause = min(2 * pause, 0.05)
            return self._ask("get", key)

        def _ask(self, name: str, key: str, *arguments: Any) -> Any:
            function = getattr(self._store.own, name)
            own = self._path + key, *arguments
            return self._store.ask(self._seconds, function, *own, interrupts=self._interrupts)

        def wait(self, keys: list[str], _timeout: Any = None) -> None:
            for key in keys:
                self.get(key)


class DistributedTransport(Transport):
    """A transport between the ranks of a process group.

    It has process groups of its own, so that passes meet neither the gradients of
    DistributedDataParallel nor a rank that has skipped a layer. They are made when all ranks come
    to the first pass. One serves wide accumulators and disagreements (SBN_TAG_REPEAT), the other
    all else: between these the library gives no order once a rank has given up. In a part, where
    exchanges overlap, the headers of later ones have no order with the sums of former ones, and a
    process group of their own.

    Each rank's number is that in the process group.
    """

    def __init__(
        self,
        process_group: dist.ProcessGroup,
        timeout: float,
        whole: DistributedTransport | None = None,
    ) -> None:
        super().__init__()
        self._whole = whole or self
        self._process_group: Callable[[], Any] = weakref.ref(process_group)
        self._timeout = timeout
        self._parts: list[DistributedTransport] = []
        self._calls = False  # the library, which may call back
        self._round = 0
        self._rounds: list[int] = []  # that this rank has come to
        self._rank, self._size = dist.get_rank(process_group), dist.get_world_size(process_group)
        # PyTorch has no public way to it.
        self._store = _Store(dist.distributed_c10d._get_default_store())
        self._requests: dict[int, _Request] = {}
        self._numbers = itertools.count(1)  # a request is other than NULL
        # How many transports of this process group this rank has made: the same on all, which make
        # them in the same order. The number ends with the world, as its store does. Between the same
        # ranks PyTorch's name for it, which is the same on all, tells it from others.
        ranks = "-".join(map(str, _ranks_of(process_group)))
        between = f"syncbn/{ranks}/{dist.distributed_c10d._pg_names[process_group]}/"
        self._made = f"{between}made/{self._rank}"
        try:
            self._path = f"{between}{self._number(timeout)}/"
            self._groups = self._make_groups(timeout)
        except BaseException:
            self._store.close()
            raise
        self._started = {tag: itertools.count(1) for tag in _TAGS}
        self._announced = dict.fromkeys(_TAGS, 0)
        self._start = _c.Start(self.start)
        self._test = _c.Test(self.test)
        self._missing = _c.Missing(self.missing)
        self._split, self._end = _c.Split(self.split), _c.End(self.end)
        self.table = _c.Transport(
            size=ctypes.sizeof(_c.Transport),
            rank=self._rank,
            world_size=self._size,
            start=self._start,
            test=self._test,
            missing=self._missing,
            split=self._split,
            end=self._end,
        )

    def _number(self, timeout: float) -> int:
        try:
            add, kept = self._store.own.add, self._whole.interrupts
            return int(self._store.ask(timeout, add, self._made, 1, interrupts=kept))
        except BaseException:
            # It may be added yet.
            self._store.tell(self._store.own.add, self._made, -1)
            raise

    def _make_groups(self, timeout: float) -> dict[int, Any]:
        """The process group of each tag. new_group() would have all ranks of the world come, or else
        give it a name that ranks in other groups do not share."""
        interrupt = self._wait_for_all(timeout)
        seconds = min(timeout + min(timeout, _GLOO_LATER), _ENDLESS)
        limit = datetime.timedelta(seconds=seconds)
        kinds = {_HEADER: "words", _WORDS: "words", _REPEAT: "repeat"}
        if self._whole is not self:
            kinds[_HEADER] = "headers"
        kept = self._whole.interrupts
        stores = {
            kind: _GlooStore(self._store, f"{self._path}{kind}/", seconds, kept)
            for kind in kinds.values()
        }
        made = {}

        def make() -> int:
            for kind, store in stores.items():
                made[kind] = dist.ProcessGroupGloo(store, self._rank, self._size, timeout=limit)
            return 0

        try:
            # What interrupts it now waits, because the others make theirs. A part is made in a call.
            make() if self._whole is not self else self.call(make)
        finally:
            if interrupts := self.interrupts or ([interrupt] if interrupt else []):
                raise interrupts[0]
        self._stores = stores  # gloo does not keep what is of Python
        return {tag: made[kind] for tag, kind in kinds.items()}

    def _wait_for_all(self, timeout: float) -> BaseException | None:
        """Waits until all ranks are here, because PyTorch's own wait has no such limit. Returns
        what interrupted it when all have come, who now make their groups."""
        end, pause = time.monotonic() + timeout, 0.001
        interrupt: BaseException | None = None
        try:
            # What `call` has kept, where this is a part.
            kept = self._whole.interrupts
            while True:
                if self._store.ask(end - time.monotonic(), self._come, interrupts=kept):
                    return None
                if kept:
                    raise kept[0]
                if time.monotonic() > end:
                    break
                time.sleep(pause)
                pause = min(2 * pause, 0.05)
        except BaseException as error:
            interrupt = error
        try:
            all_are_here = self._store.ask(_STORE_ANSWERS, self._leave)
        except Exception as error:
            raise interrupt or error
        if all_are_here:
            return interrupt
        if interrupt:
            raise interrupt
        others = [rank for rank in range(self._size) if rank != self._rank]
        came = {rank: self._store.ask(_NAMES_COME, self._came, rank) for rank in others}
        # Those that never came, or else that came and left, or have come since.
        absent = [rank for rank in others if not any(came[rank])]
        absent = absent or [rank for rank in others if not came[rank][-1]] or others
        raise _c.SyncBatchNormError(
            _c.CONSTANTS["SBN_TIMEOUT"],
            f"rank {self._rank} waited {timeout:g} s to make a group with "
            f"rank{'s' if len(absent) > 1 else ''} {', '.join(map(str, absent))}",
        )

    # Ranks come in rounds. The last one to come ends a round, and so does the first that leaves it:
    # the store's key `end`, whose numbers are added, tells who was first. Those that stay go on in
    # the next round. By numbers alone: before version 2.4 PyTorch's compare_set makes its bytes
    # without the interpreter's lock, which ends the process now and then.

    def _come(self) -> bool:
        """Whether all ranks are here, this one among them."""
        add = self._store.own.add
        while True:
            path = f"{self._path}{self._round}/"
            if self._round not in self._rounds and add(f"{path}end", 0) == 0:
                self._rounds.append(self._round)
                # Another thread may wait under this rank's name.
                if add(f"{path}came/{self._rank}", 1) == 1 and add(f"{path}here", 1) == self._size:
                    is_first = add(f"{path}end", _ALL_CAME) == _ALL_CAME
                    add(f"{path}told", _ALL_ARE_HERE if is_first else _SOME_LEFT)
            told = self._ended(path, add(f"{path}end", 0))
            if told != _SOME_LEFT:
                return told == _ALL_ARE_HERE
            self._round += 1

    def _ended(self, path: str, end: int) -> int:
        """What ended a round; 0: nothing yet."""
        if end > _ALL_CAME:
            return int(self._store.own.add(f"{path}told", 0))
        return _ALL_ARE_HERE if end == _ALL_CAME else _SOME_LEFT if end else 0

    def _leave(self) -> bool:
        """Whether all ranks are here, which stays so. If not, this one leaves, and finds its name
        free when it comes to the next pass."""
        add, path = self._store.own.add, f"{self._path}{self._round}/"
        end, until = add(f"{path}end", 1), time.monotonic() + _STORE_ANSWERS / 2
        # Alone behind the last one that has come; or the last one tells, at once unless it dies.
        told = _ALL_ARE_HERE if end == _ALL_CAME + 1 else self._ended(path, end)
        while not told and time.monotonic() < until:
            told = self._ended(path, end)
        if told != _ALL_ARE_HERE:
            add(self._made, -1)
        return told == _ALL_ARE_HERE

    def _came(self, rank: int) -> list[int]:
        """Has the rank come to the rounds that this one has come to?"""
        add = self._store.own.add
        return [add(f"{self._path}{number}/came/{rank}", 0) for number in self._rounds]

    def call(self, function: Callable[..., int], *arguments: Any) -> int:
        """Keeps what handlers of _SIGNALS raise: they run where Python enters a callback, before the
        `try` in it, and what they raise there is lost."""
        if threading.current_thread() is not threading.main_thread():
            return function(*arguments)
        handlers = {
            number: handler for number in _SIGNALS if callable(handler := signal.getsignal(number))
        }
        keepers = {number: self._keeper(handler) for number, handler in handlers.items()}
        try:
            for number, keeper in keepers.items():
                signal.signal(number, keeper)
            self._calls = True
            return function(*arguments)
        finally:
            try:
                for number, keeper in keepers.items():
                    # Unless a handler has set another one.
                    if signal.getsignal(number) is keeper:
                        signal.signal(number, handlers[number])
            finally:
                self._calls = False

    def _keeper(self, handler: Callable[[int, Any], Any]) -> Callable[[int, Any], None]:
        def keep(number: int, frame: Any) -> None:
            try:
                handler(number, frame)
            except BaseException as error:
                if not self._calls:
                    raise
                self.interrupts.append(error)

        return keep

    def close(self) -> None:
        """Lets go of the store, as a new world may need its address, and of gloo's threads."""
        for own in (self, *self._parts):
            if own._requests:
                # It stays, past the end of the interpreter: its threads' end would wait for them.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(own))
            else:
                own._groups = {}
            own._store.close()

    # --- the library's callbacks -------------------------------------------------------------
    # None may raise: an error's text becomes part of the library's sentence.

    def start(self, _context: Any, tag: int, words: int, count: int, request: Any) -> int:
        try:
            memory = (ctypes.c_int64 * count).from_address(words)
            tensor = torch.frombuffer(memory, dtype=torch.int64)
            work = self._groups[tag].allreduce([tensor])
            number = next(self._numbers)
            self._requests[number] = _Request(work, tensor, tag, next(self._started[tag]))
            request[0] = number
            return 0
        except BaseException as error:
            return self._failed(error)

    def test(self, _context: Any, number: int, done: Any) -> int:
        try:
            if self._whole.interrupts:
                return self._failed(self._whole.interrupts[0])
            request = self._requests[number]
            if not request.work.is_completed():
                done[0] = 0
                if time.monotonic() - request.started > _ANNOUNCE_AFTER:
                    self._announce(request)
                return 0
            del self._requests[number]
            request.work.wait()
            done[0] = 1
            return 0
        except BaseException as error:
            return self._failed(error)

    def missing(self, _context: Any, number: int, ranks: Any) -> int:
        try:
            request = self._requests[number]
            self._announce(request)
            absent = self._absent(request)
            for place, rank in enumerate(absent):
                ranks[place] = rank
            return len(absent)
        except Exception:
            return -1
        except BaseException as error:
            self._whole.interrupts.append(error)
            return -1

    def split(self, _context: Any, _ranks: Any, count: int, _number: int, part: int) -> int:
        try:
            if count != self._size:
                raise ValueError(f"split: expected all {self._size} ranks, got {count}")
            made = DistributedTransport(self._process_group(), self._timeout, self)
            self._parts.append(made)
            ctypes.memmove(part, ctypes.byref(made.table), ctypes.sizeof(_c.Transport))
            return 0
        except BaseException as error:
            return self._failed(error)

    def end(self, _context: Any) -> None:
        """Parts end with the whole."""

    def _failed(self, error: BaseException) -> int:
        if not isinstance(error, Exception) and error not in self._whole.interrupts:
            self._whole.interrupts.append(error)
        text = str(error) or type(error).__name__
        return int(_c.sbn_set_last_error(_TRANSPORT_ERROR, text.encode()))

    # --- who has come ---------------------------------------------------------------------------

    def _announce(self, request: _Request) -> None:
        """Tells the other ranks how many requests of this tag have begun here, by one key for all,
        so that the store does not grow."""
        more = request.place - self._announced[request.tag]
        if more > 0:
            self._announced[request.tag] = request.place
            self._store.tell(self._store.own.add, f"{self._path}{request.tag}/{self._rank}", more)

    def _absent(self, request: _Request) -> list[int]:
        """The other ranks that have not announced it."""
        absent, end = [], time.monotonic() + _NAMES_COME
        kept = self._whole.interrupts
        for rank in range(self._size):
            if time.monotonic() > end:
                raise TimeoutError
            key = f"{self._path}{request.tag}/{rank}"
            begun = self._store.ask(_STORE_ANSWERS, self._store.own.add, key, 0, interrupts=kept)
            if rank != self._rank and begun < request.place:
                absent.append(rank)
        return absent


def _ranks_of(process_group: dist.ProcessGroup) -> list[int]:
    """The group's ranks, by their numbers in the world."""
    if dist.get_world_size(process_group) == dist.get_world_size():
        return list(range(dist.get_world_size()))
    return [
        dist.get_global_rank(process_group, rank)
        for rank in range(dist.get_world_size(process_group))
    ]

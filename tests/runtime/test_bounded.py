"""Operations in bounded time: answers, limits, what is left behind, and the end."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from visceral_cli.runtime.bounded import MAX_STUCK, MAX_WORKERS, BoundedWorkers, TookTooLong


@pytest.fixture
def workers():
    made = BoundedWorkers("test")
    yield made
    made.close()


def threads_of(name: str) -> int:
    return sum(thread.name == name for thread in threading.enumerate())


def fail() -> None:
    raise KeyError("inside")


def test_answers_and_exceptions_come_through(workers):
    assert workers.run(lambda: 7, seconds=5) == 7
    with pytest.raises(KeyError, match="inside"):
        workers.run(fail, seconds=5)
    assert asyncio.run(workers.run_async(lambda: 7, seconds=5)) == 7
    with pytest.raises(KeyError, match="inside"):
        asyncio.run(workers.run_async(fail, seconds=5))


def test_what_hangs_is_left_behind_and_others_go_on(workers):
    hang = threading.Event()
    for _ in range(3):
        began = time.monotonic()
        with pytest.raises(TookTooLong):
            workers.run(lambda: hang.wait(20), seconds=0.05)
        assert time.monotonic() - began < 2
        assert workers.run(lambda: "still here", seconds=5) == "still here"
    hang.set()


def test_when_too_many_hang_the_next_fails_at_once_until_one_returns(workers):
    hang = threading.Event()
    for _ in range(MAX_STUCK):
        with pytest.raises(TookTooLong):
            workers.run(lambda: hang.wait(20), seconds=0.01)
    began = time.monotonic()
    with pytest.raises(TookTooLong):
        workers.run(lambda: None, seconds=5)
    assert time.monotonic() - began < 1
    hang.set()
    for _ in range(200):
        try:
            assert workers.run(lambda: 7, seconds=5) == 7
            return
        except TookTooLong:
            time.sleep(0.01)
    raise AssertionError("it never worked again")


def test_an_operation_that_was_given_up_before_it_began_never_runs(workers):
    hang, ran = threading.Event(), []
    blockers = [
        threading.Thread(target=lambda: workers.run(lambda: hang.wait(20), seconds=20))
        for _ in range(MAX_WORKERS)
    ]
    for blocker in blockers:
        blocker.start()
    time.sleep(0.2)
    with pytest.raises(TookTooLong):
        workers.run(lambda: ran.append(1), seconds=0.05)
    hang.set()
    for blocker in blockers:
        blocker.join()
    workers.run(lambda: None, seconds=5)
    assert ran == []


def test_the_event_loop_goes_on_while_an_operation_hangs(workers):
    hang = threading.Event()

    async def main() -> int:
        beats = 0
        waiting = asyncio.ensure_future(workers.run_async(lambda: hang.wait(20), seconds=0.2))
        while not waiting.done():
            await asyncio.sleep(0.01)
            beats += 1
        with pytest.raises(TookTooLong):
            await waiting
        return beats

    assert asyncio.run(main()) > 3
    hang.set()


def test_closing_ends_the_threads_and_it_may_be_used_again(workers):
    workers.run(lambda: None, seconds=5)
    assert threads_of("test") == 1
    workers.close()
    assert threads_of("test") == 0
    assert workers.run(lambda: 7, seconds=5) == 7


def test_closing_finishes_what_is_waiting(workers):
    ran = []
    for number in range(5):
        workers.later(lambda number=number: ran.append(number))
    workers.close()
    assert sorted(ran) == [0, 1, 2, 3, 4]

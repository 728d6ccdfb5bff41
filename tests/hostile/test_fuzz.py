"""Every byte sequence from a worker ends in a verdict on that worker.

The tests change real replies at random, with fixed seeds.
"""

import json
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from attn_drill.diagnosis.diagnose import diagnose
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Grader, Judgement
from attn_drill.grading.judge import judge
from attn_drill.model.challenge import Submission
from attn_drill.model.report import to_json
from attn_drill.packs import pack_reader
from attn_drill.worker.protocol import (
    HEAD_BYTES,
    NOTE,
    PART,
    REPLY,
    ProtocolError,
    Reply,
    decode,
    message,
)
from attn_drill.worker.worker_client import WorkerRun
from tests.support.grading import diagnoser_of, report_of
from tests.support.paths import TINY_PACK

SUMS = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
SEED = 21
ODD_SCALARS = [-1, 0, 1, 2, 7, 1 << 20, 1 << 31, (1 << 53) + 1, 1 << 63, 1e308, -0.5]
ODD_VALUES = [None, True, "", "x" * 9000, [], {}, [[]], "nan", "\x1b[2J", "\ud7ff", {"tensor": 3}]


_streams: dict[tuple[str, str], bytes] = {}


@pytest.fixture
def streams(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Return the bytes that workers sent for a right answer and for a wrong answer."""
    found: dict[str, bytes] = {}
    sources = {
        "right": pack_reader.solution(SUMS),
        "wrong": pack_reader.solution(SUMS).replace("cumsum(x, dim=-1)", "cumsum(x, dim=0)"),
    }
    for name, source in sources.items():
        if ("sums", name) not in _streams:
            kept: list[bytes] = []
            take = WorkerRun._take_messages

            def keep(
                running: WorkerRun,
                kept: list[bytes] = kept,
                take: Callable[[WorkerRun], bool] = take,
            ) -> bool:
                before = bytes(running._buffer)
                done = take(running)
                kept.append(before[: len(before) - len(running._buffer)])
                return done

            monkeypatch.setattr(WorkerRun, "_take_messages", keep)
            report_of(grader, SUMS, source, "prefix_sum.py", SEED)
            monkeypatch.setattr(WorkerRun, "_take_messages", take)
            _streams["sums", name] = b"".join(kept)
        found[name] = _streams["sums", name]
    return found


def messages(stream: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and the payload of each message of a stream."""
    while stream:
        length = struct.unpack_from("<Q", stream, 1)[0]
        yield stream[:1], stream[HEAD_BYTES : HEAD_BYTES + length]
        stream = stream[HEAD_BYTES + length :]


def verdict_on(grader: Grader, stream: bytes) -> str:
    """Return the verdict on the bytes of a worker. No bytes may cause an exception."""
    case_set = grader.case_set(SUMS, SEED)
    running = _without_worker(stream)
    how, reason = "died", ""
    try:
        how = "replied" if running._take_messages() else "died"
    except ProtocolError as error:
        how, reason = "garbage", str(error)
    result = running.result
    result.how, result.reason = how, reason  # type: ignore[assignment]
    result.last_note = running._note
    if how != "replied":
        result.partial, result.reply, result.tensors = result.reply.runs, Reply(), []
    comparison = Comparison(case_set, result)
    report = judge(comparison, "prefix_sum.py", 0.0)
    assert json.loads(to_json(report))["verdict"] == report.verdict
    return report.verdict


def _without_worker(stream: bytes) -> WorkerRun:
    running = WorkerRun.__new__(WorkerRun)
    attributes: dict[str, Any] = {
        "_buffer": bytearray(stream),
        "_received": len(stream),
        "_message_count": 0,
        "_note": None,
        "_more": lambda: None,
    }
    vars(running).update(attributes)
    from attn_drill.worker.worker_client import WorkerResult

    running.result = WorkerResult("died")
    return running


def changed_bytes(draw: random.Random, stream: bytes) -> bytes:
    """Return the stream with a few bytes changed, dropped, repeated or inserted."""
    data = bytearray(stream)
    for _ in range(draw.randint(1, 6)):
        place = draw.randrange(len(data) or 1)
        match draw.randrange(4):
            case 0 if data:
                data[place] = draw.randrange(256)
            case 1:
                del data[place : place + draw.randint(1, 40)]
            case 2:
                data[place:place] = data[place : place + draw.randint(1, 200)]
            case _:
                data[place:place] = draw.randbytes(draw.randint(1, 20))
    return bytes(data)


def changed_header(draw: random.Random, stream: bytes) -> bytes:
    """Return the stream with changed values in the JSON of some messages.

    The result still consists of well-formed messages.
    """
    stream_messages = list(messages(stream))
    chosen = draw.randrange(len(stream_messages))
    changed = b""
    for index, (kind, payload) in enumerate(stream_messages):
        if index == chosen or draw.random() < 0.1:
            payload = _changed_payload(draw, kind, payload)
        changed += message(
            kind if draw.random() < 0.97 else draw.choice([NOTE, PART, REPLY]), payload
        )
    return changed


def _changed_payload(draw: random.Random, kind: bytes, payload: bytes) -> bytes:
    if kind == NOTE:
        return str(draw.choice([-1, 3, 10**9, 10**12])).encode()
    (length,) = struct.unpack_from("<I", payload)
    header = _changed(draw, json.loads(payload[4 : 4 + length]))
    text = json.dumps(header).encode("utf-8", "replace")
    return struct.pack("<I", len(text)) + text + payload[4 + length :]


def _changed(draw: random.Random, tree: Any) -> Any:
    """Return a JSON tree with changes in some places."""
    if isinstance(tree, dict) and tree and draw.random() < 0.95:
        name = draw.choice(list(tree))
        return {key: _changed(draw, value) if key == name else value for key, value in tree.items()}
    if isinstance(tree, list) and tree and draw.random() < 0.95:
        place = draw.randrange(len(tree))
        return [
            _changed(draw, value) if index == place else value for index, value in enumerate(tree)
        ]
    if isinstance(tree, int | float):
        return draw.choice(ODD_SCALARS)
    return draw.choice([*ODD_VALUES, *ODD_SCALARS])


@pytest.mark.sampled(2)
@pytest.mark.thorough
@pytest.mark.parametrize(
    "seeds", [range(400), pytest.param(range(400, 2000), marks=pytest.mark.thorough)], ids=len
)
@pytest.mark.parametrize("name", ["right", "wrong"])
@pytest.mark.parametrize("change", [changed_bytes, changed_header])
def test_changed_replies_end_in_verdicts(
    grader: Grader,
    streams: dict[str, bytes],
    change: Callable[[random.Random, bytes], bytes],
    name: str,
    seeds: range,
) -> None:
    """Hundreds of changed replies raise nothing except ProtocolError. No wrong answer passes."""
    assert verdict_on(grader, streams[name]) == ("passed" if name == "right" else "failed")
    seen = set()
    for seed in seeds:
        draw = random.Random(seed)
        stream = change(draw, streams[name])
        verdict = verdict_on(grader, stream)
        seen.add(verdict)
        assert name == "right" or verdict != "passed", seed
    assert seen >= {"error", "failed"}, "the changes are too small to test anything"


def test_random_frames_are_protocol_errors() -> None:
    """A frame with a random header and tensor table is decoded, or raises ProtocolError."""
    read = 0
    for seed in range(1000):
        draw = random.Random(seed)
        sizes = [
            [draw.choice([0, 1, 2, 3, 1 << 20, 1 << 39, 1 << 40]) for _ in range(draw.randrange(6))]
            for _ in range(draw.randrange(4))
        ]
        dtypes = ["float32", "bool", "int64", "bfloat16", "complex64", ""]
        header = {
            "body": {"runs": []} if draw.random() < 0.8 else draw.choice(ODD_VALUES),
            "tensors": [[draw.choice(dtypes), size] for size in sizes],
        }
        text = json.dumps(header).encode()
        try:
            tail = draw.randbytes(draw.choice([0, 8, 64]))
            decode(struct.pack("<I", len(text)) + text + tail, Reply)
            read += 1
        except ProtocolError:
            pass
    assert 20 < read < 980


def test_diagnosis_of_changed_replies(grader: Grader, streams: dict[str, bytes]) -> None:
    """The diagnosis of changed replies with wrong values raises no exception."""
    case_set = grader.case_set(SUMS, SEED)
    explained = 0
    references = diagnoser_of(grader).references(case_set)
    for seed in range(60):
        running = _without_worker(changed_header(random.Random(seed), streams["wrong"]))
        try:
            replied = running._take_messages()
        except ProtocolError:
            continue
        if not replied:
            continue
        running.result.how = "replied"
        comparison = Comparison(case_set, running.result)
        report = judge(comparison, "prefix_sum.py", 0.0)
        if report.verdict == "failed":
            explained += 1
            submission = Submission("prefix_sum.py", pack_reader.solution(SUMS))
            judgement = Judgement(submission, report, comparison)
            diagnose(references, judgement, _NoWorkers())
    assert explained >= 2


class _NoWorkers:
    """A runner without workers: every run dies."""

    def begin(self, *unused: object) -> Callable[[], Any]:
        """Start nothing."""
        from attn_drill.worker.worker_client import WorkerResult

        return lambda: WorkerResult("died")

    def run(self, *unused: object) -> Any:
        """Return a result without a reply."""
        return self.begin()()

    def grade(self, *unused: object) -> Any:
        """Fail, because no test here calls this method."""
        raise AssertionError

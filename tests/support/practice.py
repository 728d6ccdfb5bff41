"""A practice session without a screen: a model, and a fake grader that replies when it is told."""

from pathlib import Path
from typing import Any

from attn_drill.model.report import Report
from attn_drill.practice.facts import Started
from attn_drill.practice.journal import Journal
from attn_drill.server.messages import Grade, Ready, Request, Teach, Verdict
from attn_drill.session._practice_model import PracticeModel
from tests.support.fake_grader import report_on
from tests.support.session import Clock, request_on


class Practice:
    """A session that began five minutes after the start of the challenge.

    Attributes:
        model: the model of the session.
        clock: its clock, which only the test moves.
        sent: the requests to the grader.
    """

    def __init__(self, path: Path, home: Path, **options: Any) -> None:
        self.path, self.clock, self.sent = path, Clock(), list[Request]()
        journal = Journal(home)
        journal.add(Started("gqa", self.clock() - 300, path=str(path)))
        request = request_on(path, **{"seconds_before": 300.0, **options})
        self.model = PracticeModel(request, journal, self.sent.append, self.clock, self.clock)
        self.model.reply(Ready())

    @property
    def grades(self) -> list[Grade]:
        """The requests for a verdict."""
        return [request for request in self.sent if isinstance(request, Grade)]

    @property
    def lessons(self) -> list[Teach]:
        """The requests for a lesson."""
        return [request for request in self.sent if isinstance(request, Teach)]

    def write(self, text: str) -> None:
        """Save a text. The grader has no reply yet."""
        self.path.write_text(text)
        self.model.look()

    def save(self, text: str) -> Report:
        """Save a text, and let the grader reply at once."""
        self.write(text)
        return self.answer()

    def answer(self) -> Report:
        """Let the grader reply to the last request with a verdict."""
        request = self.grades[-1]
        report = report_on("gqa", "gqa.py", request.submission.source, request.id)
        self.model.reply(Verdict(request.id, report))
        return report

    def press(self, *names: str) -> None:
        """Run these actions as the screen does."""
        for name in names:
            self.model.status = self.model.refusal(name)
            if not self.model.status:
                self.model.press(name)

    def shown(self) -> list[str]:
        """Return the keys of the line of keys."""
        return [key for key, _ in self.model.shown_keys()]

    def label(self, key: str) -> str:
        """Return the label of a key that is shown."""
        return dict(self.model.shown_keys())[key]

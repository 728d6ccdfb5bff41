"""The screens of a practice session, a mock interview and the menu. They import Textual."""

from attn_drill.session._interview_screen import ask_and_score
from attn_drill.session._menu_screen import Menu, MenuChoice, choose
from attn_drill.session._practice_screen import run_session
from attn_drill.session._session_record import SessionRequest, SessionResult

__all__ = [
    "Menu",
    "MenuChoice",
    "SessionRequest",
    "SessionResult",
    "ask_and_score",
    "choose",
    "run_session",
]

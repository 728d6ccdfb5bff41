"""The menu and the screen of a practice session. The mock interview is in `interviews`."""

from attn_drill.session._menu_screen import Menu, MenuChoice, choose
from attn_drill.session._practice_screen import run_session
from attn_drill.session._session_record import SessionRequest, SessionResult

__all__ = [
    "Menu",
    "MenuChoice",
    "SessionRequest",
    "SessionResult",
    "choose",
    "run_session",
]

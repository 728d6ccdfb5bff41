"""A grader in another process: messages, the server, its handle, a pool, and an async client.

The screen of a session, a class, notebooks, `pytest --drill` and `pack check` use it.
"""

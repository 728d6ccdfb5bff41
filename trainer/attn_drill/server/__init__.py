"""Run a grader in another process: messages, server, process handle, pool and async client.

The screen of a session, the classroom, notebooks, `pytest --drill` and `pack check` use it.
"""

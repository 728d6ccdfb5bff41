"""Floor 6: services that the commands, the session, the notebook and the pytest plugin share.

They parse no command line and print nothing.
"""

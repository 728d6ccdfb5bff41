"""Services that the commands, the session, the notebook and the pytest plugin share."""

"""Between the socket and a request: connections, limits, keys' guard, answers, errors and logs."""

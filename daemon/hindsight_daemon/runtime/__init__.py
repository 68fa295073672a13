"""The process: server, dispatch, lock, signals, scheduler, logs."""

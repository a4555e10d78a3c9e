"""The loop of discovery: settings, pool, ledger, executors, run folders."""

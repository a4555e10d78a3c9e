"""The studio: the workbench in a browser. Long jobs run in child processes, and what they tell reaches the page as one
stream of events."""

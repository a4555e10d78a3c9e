"""Learning: a model from examples of a task. `train` begins a run, `resume` goes on with one."""

"""The loop of discovery, in the order of reading: `plan` and `setup`, what a run is given; `state`, what changes;
`loop`, what it does, with `schedule` (which search next), `model_turn` (train, propose) and `ledger` (what was found);
`start`, new and resumed runs. `executors` and `ray_executor` make the searches, `report` is what a watcher sees,
`compare` runs with and without the model."""

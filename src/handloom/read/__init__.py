"""Reading models: what their heads attend to and what their parts compute."""

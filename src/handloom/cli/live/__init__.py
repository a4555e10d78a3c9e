"""What a command shows while it runs."""

"""What one sees while a command runs."""

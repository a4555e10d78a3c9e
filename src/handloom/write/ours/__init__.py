"""Our own programs: smaller, or right where the book's are not."""

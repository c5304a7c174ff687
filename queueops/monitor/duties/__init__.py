"""One file per duty of the monitor."""

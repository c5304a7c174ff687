"""One leader-elected loop per Redis server: it samples, mirrors, copies, expires and tidies; nothing waits for it."""

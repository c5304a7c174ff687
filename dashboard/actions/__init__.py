"""POST → one function of ``queueops.operations`` → back to the page with a message."""

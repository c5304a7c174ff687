"""One module a page: read the query, ask a selector, show. No Redis here."""

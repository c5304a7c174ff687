"""What can be wrong with a declaration (found at import) or with one call of it (found at enqueue)."""

from __future__ import annotations


class DeclarationError(ValueError):
    """A control is declared wrongly. The text names the function and option and says how to mend it."""


class ClaimError(ValueError):
    """The claims of one call cannot be made, e.g. a key argument is None. The text names function and option."""

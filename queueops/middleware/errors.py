"""What can be wrong with a declaration (found at import) or with one call of it (found at enqueue)."""

from __future__ import annotations

from queueops.primitives.errors import DeclarationError

__all__ = ["ClaimError", "DeclarationError"]


class ClaimError(ValueError):
    """The claims of one call cannot be made, e.g. a key argument is None. The text names function and option."""

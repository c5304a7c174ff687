"""Every control that this process declares, and where: one name must mean one thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from queueops.middleware.claims import Control
from queueops.middleware.errors import DeclarationError


class Definitions:
    """Controls by id and by the place that declares them (a function, or an entry of the settings)."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, tuple[Control, str]]] = {}
        self.version = 0
        """Grows with every declaration, so that a worker sees when there is more to publish."""

    def put(self, place: str, source: str, controls: Iterable[Control]) -> None:
        """Replace what ``place`` declares. ``source`` tells a person where that is (file and line).

        Raises ``DeclarationError`` and changes nothing when another place defines one of them differently.
        """
        wanted: dict[str, Control] = {}
        for control in controls:
            self._compare(control, source, wanted.get(control.id), source)
            wanted[control.id] = control
            for other_place, (other, other_source) in self._places.get(control.id, {}).items():
                if other_place != place:
                    self._compare(control, source, other, other_source)
        self.version += 1
        self.drop(place)
        for control in wanted.values():
            self._places.setdefault(control.id, {})[place] = (control, source)

    @staticmethod
    def _compare(control: Control, source: str, other: Control | None, other_source: str) -> None:
        if other is not None and other != control:
            raise DeclarationError(
                f"the {control.kind} {control.name!r} has two definitions: {describe(control, other)} at {source}, "
                f"but {describe(other, control)} at {other_source}. Make them the same, or give one another name"
            )

    def drop(self, place: str) -> None:
        """Forget what ``place`` declares."""
        for control_id in [c for c, places in self._places.items() if place in places]:
            del self._places[control_id][place]
            if not self._places[control_id]:
                del self._places[control_id]

    def places(self) -> set[str]:
        """Every place that declares something."""
        return {place for places in self._places.values() for place in places}

    def __iter__(self) -> Iterator[Control]:
        for places in list(self._places.values()):
            yield next(iter(places.values()))[0]


def describe(control: Control, other: Control) -> str:
    """The options of ``control`` that differ from ``other``, e.g. ``limit=4``."""
    names = ("limit", "per", "strategy", "burst", "lease")
    return ", ".join(f"{n}={getattr(control, n)!r}" for n in names if getattr(control, n) != getattr(other, n))

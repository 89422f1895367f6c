"""Values of one settings file with their places, found by the names that the CLI takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.core.json_places import Kind, Node, escape_pointer
from harness.core.settings import FaultKind, FileFault, RuleSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A value with its JSON pointer."""

    node: Node
    pointer: str


@dataclass(slots=True, kw_only=True)
class SettingsFile:
    """One file while it is read."""

    path: str
    strict: bool
    faults: list[FileFault] = field(default_factory=list)

    def source(self, place: Place) -> RuleSource:
        """Return where a value stands."""
        return RuleSource(file=self.path, pointer=place.pointer, line=place.node.line)

    def wrong(self, place: Place, expected: str) -> None:
        """Note a value of a type that nobody expects there; null is the absence of one."""
        if place.node.kind is not Kind.NULL:
            where = place.pointer or "the whole"
            detail = f"{where}: expected {expected}, found {place.node.kind}"
            self.faults.append(
                FileFault(kind=FaultKind.WRONG_TYPE, detail=detail, line=place.node.line)
            )

    def children(self, place: Place, name: str) -> Iterator[Place]:
        """Yield every member of an object that the CLI may take for this key."""
        if place.node.kind is not Kind.OBJECT:
            self.wrong(place, "an object")
            return
        for key, node in place.node.members:
            if self._is(key, name):
                yield Place(node=node, pointer=f"{place.pointer}/{escape_pointer(key)}")

    def path_of(self, place: Place, *names: str) -> Iterator[Place]:
        """Yield what stands below a chain of keys."""
        if not names:
            yield place
            return
        for child in self.children(place, names[0]):
            yield from self.path_of(child, *names[1:])

    def texts(self, place: Place) -> Iterator[Place]:
        """Yield the texts of an array; a lone text, which is wrong, counts as one."""
        if place.node.kind is Kind.STRING:
            self.wrong(place, "an array")
            yield place
            return
        if place.node.kind is not Kind.ARRAY:
            self.wrong(place, "an array")
            return
        for index, node in enumerate(place.node.items):
            item = Place(node=node, pointer=f"{place.pointer}/{index}")
            if node.kind is Kind.STRING:
                yield item
            else:
                self.wrong(item, "a text")

    def _is(self, key: str, name: str) -> bool:
        if self.strict:
            return key in {name, _snake(name)}
        return key.replace("_", "").casefold() == name.casefold()


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)

"""Find two known mistakes that give, together, exactly what a submission gives on all cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations, islice, permutations

from trainer.diagnosis.agreement import Agreement
from trainer.diagnosis.patched_references import Ids

_SOME = 2  # cases with wrong values that are looked at for a mistake of a pair
_MOST_RUN = 32_000  # operations that all pairs together may take
_MOST_CASES = 600  # cases that all mistakes and pairs together are run on
_BUILD = 150  # building a reference takes as long as so many operations

Likely = Callable[[], Iterable[str]]


class PairSearch:
    """The search for two mistakes in a submission that no single mistake explains.

    Args:
        likely: returns mistakes that may be one of the two, among those that explain no case alone.
        suspects: mistakes that nothing rules out. They are tried first.
    """

    def __init__(self, agreement: Agreement, likely: Likely, suspects: Collection[str]) -> None:
        self.agreement, self.references = agreement, agreement.references
        self._likely, self._suspects = likely, suspects

    def find(self, operations: int) -> Ids:
        """Return the first two mistakes that agree with everything together; () if none do.

        Args:
            operations: how many the reference takes in a case. As many pairs are tried as that
                allows.
        """
        before = self.references.case_count
        for pair in islice(self._pairs(), _MOST_RUN // (_BUILD + operations)):
            if self.references.case_count - before > _MOST_CASES:
                break
            if self.agreement.agrees(pair) and all(self._matters(known, pair) for known in pair):
                return pair
        return ()

    def _matters(self, mistake: str, pair: Ids) -> bool:
        """Return whether the other mistake alone fails to explain several cases.

        A single case may be explained by chance.
        """
        agreement = self.agreement
        other = tuple(member for member in pair if member != mistake)
        enough = min(2, len(agreement.wrong))
        unexplained = (seen for seen in agreement.seen if not agreement.agrees_on(other, seen))
        return len(list(islice(unexplained, enough))) == enough

    def _pairs(self) -> Iterator[Ids]:
        """Yield pairs that may explain everything, in an order in which they can be made.

        Neither mistake changes a right case. In the first wrong case both change something, or a
        single mistake explains the case and the other changes nothing.
        """
        first_wrong = self.agreement.wrong[0]
        able = list(dict.fromkeys([*self._suspects, *self.references.mistakes]))
        alone = {known for known in able if self.agreement.agrees_on((known,), first_wrong)}
        changing = {known for known in able if self.agreement.changes(known)} - alone
        if not alone:
            able = [known for known in able if known in changing]
        tried: set[frozenset[str]] = set()
        for pair in self._ordered_pairs(able):
            members = frozenset(pair)
            if len(members) == 1 or members in tried:
                continue
            is_explained = len(members & alone) == 1 and not members & changing
            if not is_explained and not members <= changing:
                continue
            tried.add(members)
            if all(map(self.agreement.may_be_part, pair)):
                yield from islice(filter(self.references.patched, permutations(pair)), 1)

    def _ordered_pairs(self, able: Sequence[str]) -> Iterator[Ids]:
        """Yield pairs, the likely pairs first. To find these takes as long as to try a hundred."""
        in_part = self._agreeing_in_part(known for known in able if known in self._suspects)
        others = (known for known in able if known not in self._suspects)
        sources: tuple[Likely, ...] = (
            lambda: in_part,
            self._likely,
            lambda: self._agreeing_in_part(others),
        )
        for first in chain.from_iterable(source() for source in sources):
            for second in dict.fromkeys([*in_part, *able]):
                yield first, second
        for first_place, second_place in sorted(combinations(range(len(able)), 2), key=sum):
            yield able[first_place], able[second_place]

    def _agreeing_in_part(self, mistakes: Iterable[str]) -> list[str]:
        """Return mistakes that explain a wrong case alone: the other may not show there."""
        wrong = [
            seen
            for seen in self.agreement.wrong
            if seen.behaviour.failure is None and not seen.is_random
        ]
        some = wrong[:: max(1, len(wrong) // _SOME)][:_SOME]
        return [
            known
            for known in mistakes
            if any(self.agreement.agrees_on((known,), seen) for seen in some)
        ]

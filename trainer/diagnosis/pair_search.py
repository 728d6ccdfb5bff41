"""Find two known mistakes that together behave exactly like a submission on all cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations, islice, permutations

from trainer.diagnosis.agreement import Agreement
from trainer.diagnosis.patched_references import Ids

_SOME = 2  # cases with wrong values in which a single mistake is tried
_MOST_RUN = 32_000  # operations of all pairs together
_MOST_CASES = 900  # runs of a case for all mistakes and pairs together
_BUILD = 150  # building a patched reference takes as long as 150 operations

Likely = Callable[[], Iterable[str]]


class PairSearch:
    """The search for two mistakes in a submission that no single mistake explains.

    Args:
        agreement: compares the submission with patched references.
        likely: returns likely mistakes among those that explain no case alone.
        suspects: mistakes that are not ruled out. They are tried first.
    """

    def __init__(self, agreement: Agreement, likely: Likely, suspects: Collection[str]) -> None:
        self.agreement, self.references = agreement, agreement.references
        self._likely, self._suspects = likely, suspects

    def find(self, operations: int) -> Ids:
        """Return the first two mistakes that together agree with all cases; () if none do.

        Args:
            operations: the number of operations of the reference in a case. It limits the number
                of pairs that are tried.
        """
        before = self.references.case_count
        for pair in islice(self._pairs(), _MOST_RUN // (_BUILD + operations)):
            if self.references.case_count - before > _MOST_CASES:
                break
            if self.agreement.agrees(pair) and all(
                self._matters(mistake, pair) for mistake in pair
            ):
                return pair
        return ()

    def _matters(self, mistake: str, pair: Ids) -> bool:
        """Return whether the other mistake alone fails to explain several cases.

        A difference in a single case may be chance.
        """
        agreement = self.agreement
        other = tuple(member for member in pair if member != mistake)
        enough = min(2, len(agreement.wrong_cases))
        unexplained = (
            observed
            for observed in agreement.observed_cases
            if not agreement.agrees_on(other, observed)
        )
        return len(list(islice(unexplained, enough))) == enough

    def _pairs(self) -> Iterator[Ids]:
        """Yield pairs that may explain all cases, in an order in which they can be patched.

        Neither mistake changes a right case. In the first wrong case, either both mistakes change
        the result, or one mistake explains the result and the other does not change it.
        """
        first_wrong = self.agreement.wrong_cases[0]
        candidates = list(dict.fromkeys([*self._suspects, *self.references.mistakes]))
        sufficient = {
            mistake for mistake in candidates if self.agreement.agrees_on((mistake,), first_wrong)
        }
        changing = {
            mistake for mistake in candidates if self.agreement.changes(mistake)
        } - sufficient
        if not sufficient:
            candidates = [mistake for mistake in candidates if mistake in changing]
        tried: set[frozenset[str]] = set()
        for pair in self._ordered_pairs(candidates):
            members = frozenset(pair)
            if len(members) == 1 or members in tried:
                continue
            is_explained = len(members & sufficient) == 1 and not members & changing
            if not is_explained and not members <= changing:
                continue
            tried.add(members)
            if all(map(self.agreement.may_be_part, pair)):
                yield from islice(filter(self.references.patched, permutations(pair)), 1)

    def _ordered_pairs(self, candidates: Sequence[str]) -> Iterator[Ids]:
        """Yield likely pairs, then all others. To find likely pairs costs as much as 100 pairs."""
        in_part = self._agreeing_in_part(
            mistake for mistake in candidates if mistake in self._suspects
        )
        others = (mistake for mistake in candidates if mistake not in self._suspects)
        sources: tuple[Likely, ...] = (
            lambda: in_part,
            self._likely,
            lambda: self._agreeing_in_part(others),
        )
        for first in chain.from_iterable(source() for source in sources):
            for second in dict.fromkeys([*in_part, *candidates]):
                yield first, second
        for first_place, second_place in sorted(combinations(range(len(candidates)), 2), key=sum):
            yield candidates[first_place], candidates[second_place]

    def _agreeing_in_part(self, mistakes: Iterable[str]) -> list[str]:
        """Return mistakes that explain a wrong case alone. The second may not show there."""
        wrong = [
            observed
            for observed in self.agreement.wrong_cases
            if observed.behaviour.failure is None and not observed.is_random
        ]
        some = wrong[:: max(1, len(wrong) // _SOME)][:_SOME]
        return [
            mistake
            for mistake in mistakes
            if any(self.agreement.agrees_on((mistake,), observed) for observed in some)
        ]

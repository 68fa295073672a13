"""Which lessons recur over several episodes, and the one memory that they come down to.

Pure; imports records and the readers of terms, names and commands. Conservative on purpose: two
lessons that merely look alike stay apart, and what is written is only what the supports say
themselves, with every name, number and date that any of them has.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from hindsight_daemon.engine.commands import decisive
from hindsight_daemon.engine.entities import entities_of
from hindsight_daemon.engine.lang import is_chinese
from hindsight_daemon.engine.normalize import normalize
from hindsight_daemon.engine.terms import STOP_WORDS, terms_of
from hindsight_daemon.model import Memory, MemoryKind, Record

GENERALISED = "generalised"
"""Tag of memories that were made of others."""

LESSON_KINDS: tuple[MemoryKind, ...] = (
    "lesson",
    "solution",
    "procedure",
    "preference",
    "decision",
    "fact",
)
ALIKE = 0.62
"""Weighted share of common words from which two lessons say the same of the same thing."""
ALIKE_IN_CONTEXT = 0.34
"""The same where command and error agree, of the remedy alone."""
SAME_ERROR = 0.65
"""Share of common words from which two errors of one command are the same, but for a name."""
DOUBTFUL = 0.36
"""From here on up to `ALIKE` vectors may decide, where there are any."""
ALIKE_BY_VECTOR = 0.925
"""Cosine of multilingual-e5-small for a pair that is doubtful by its words."""
MOST_MEMBERS = 64

_CANDIDATE_TERMS = 10
_CANDIDATES = 64
_LOOSEST = 0.8
_MOST_CHARS = 1500

_NUMBER = re.compile(r"\d+(?:[.:/-]\d+)*")
_SPAN = re.compile(r"`([^`\n]+)`")
_MASK = re.compile(
    r"\b[a-z][a-z\d]*_\w*|\d+|0x[0-9a-f]+|'[^']*'|\"[^\"]*\"|(?:[\w.@~-]*/)+[\w.@-]+"
)
_FAILS = re.compile(
    r"\b(?:fail|hang|crash|break|stop|abort|die|exit|report|error|time)\w*\b|报错|失败|出错|卡住|超时|崩溃",
    re.I,
)
_NEGATION = re.compile(
    r"\b(?:never|not|don.?t|do not|doesn.?t|avoid|stop|without|no longer|isn.?t|aren.?t|cannot"
    r"|can.?t|won.?t|must not|instead of)\b|不要|不能|不准|不许|不得|不用|不再|禁止|严禁|切勿|请勿"
    r"|避免|别(?!的|人)|而不是",
    re.I,
)
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff](?:[\w.'’-]*[^\W_\u3400-\u9fff])?")
_RATHER = re.compile(
    r"(?P<rather>[A-Za-z_][\w.@/+-]*)[`'\"”」]?[\s,，、]*"
    r"(?:over|instead of|rather than|(?:and )?(?:never|not)(?: use)?|而不是|而非|不用|不要用"
    r"|别用)\s*"
    r"[`'\"“「]?(?P<than>[A-Za-z_][\w.@/+-]*)",
    re.I,
)
_EMPTY_TEXT = """
    must should shall need needs needed require requires required always please make sure have has
    first then once before after ever every each all whenever so thus since
"""
_EMPTY_CHARACTERS = (
    "必须要应该请都也将会得了的并且和与及先再后以需依赖能可时则就才每次一律务统皆均在为是把被让"
)
_EMPTY_WORDS = STOP_WORDS | frozenset((*_EMPTY_TEXT.split(), *_EMPTY_CHARACTERS))
_STATED: frozenset[MemoryKind] = frozenset(("preference", "decision", "fact"))


class Lesson(Record, frozen=True, kw_only=True):
    """A memory as grouping sees it: what it is about and what it says.

    `circumstances` are command and error in normal form, empty where the text names none;
    `remedy` are the terms after them.
    """

    memory: Memory
    terms: frozenset[str]
    remedy: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    circumstances: tuple[str, str]
    negations: int
    prefers: frozenset[tuple[str, str]] = frozenset()
    """What it prefers, and to what."""
    error_terms: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id


class Group(Record, frozen=True, kw_only=True):
    """Lessons that recur, oldest first; `known` is the id of what they came down to before."""

    members: tuple[Memory, ...]
    known: str = ""
    reason: str = ""


class Text(Record, frozen=True, kw_only=True):
    """What a group comes down to: `summary` is the support that says it best, `text` all of it."""

    text: str
    summary: str
    best: Memory


def is_generalised(memory: Memory) -> bool:
    """Tell whether a memory was made of others by generalisation."""
    return GENERALISED in memory.tags


def episodes_of(memory: Memory) -> frozenset[str]:
    """Return what stands for the episodes behind a lesson; its session where none is named."""
    return frozenset(memory.derived_from or filter(None, (memory.session_id,)))


def told_already(ranked: Iterable[Memory]) -> frozenset[str]:
    """Return the memories whose words stand before them, in what they came down to."""
    told: set[str] = set()
    repeats: set[str] = set()
    for memory in ranked:
        if memory.id in told:
            repeats.add(memory.id)
        if is_generalised(memory):
            told.update(memory.derived_from)
    return frozenset(repeats)


def lesson_of(memory: Memory) -> Lesson:
    """Read a memory for grouping."""
    text = memory.text
    spans = _SPAN.findall(text)
    head, remedy = _divided(text)
    circumstances = _circumstances(_SPAN.findall(head), memory.cwd)
    return Lesson(
        memory=memory,
        terms=frozenset(terms_of(text)),
        remedy=frozenset(terms_of(remedy)),
        names=frozenset(name.casefold() for name in (*entities_of(text), *spans)),
        numbers=frozenset(_NUMBER.findall(text)),
        circumstances=circumstances,
        error_terms=frozenset(terms_of(circumstances[1])),
        negations=len(_NEGATION.findall(text)) % 2,
        prefers=frozenset(
            (m["rather"].casefold(), m["than"].casefold()) for m in _RATHER.finditer(text)
        ),
    )


def _divided(text: str) -> tuple[str, str]:
    """Return what a lesson says of when it holds, up to the quoted error, and what follows."""
    spans = list(_SPAN.finditer(text))[:2]
    if len(spans) == 2 and _FAILS.search(text, 0, spans[1].end()):
        return text[: spans[1].end()], text[spans[1].end() :]
    return "", text


def _circumstances(spans: Sequence[str], cwd: str) -> tuple[str, str]:
    if len(spans) < 2:
        return "", ""
    command = decisive(spans[0], cwd)
    if command is None:
        return "", ""
    error = " ".join(_MASK.sub("#", spans[1]).casefold().split())
    return f"{command.program} {command.subcommand}".strip(), error


class Weights:
    """How telling each term is among the lessons at hand (smoothed inverse frequency)."""

    def __init__(self, lessons: Iterable[Lesson]) -> None:
        counts: Counter[str] = Counter()
        total = 0
        for lesson in lessons:
            counts.update(lesson.terms)
            total += 1
        self._counts = counts
        # Few lessons tell nothing of frequency, so every term counts nearly alike among them.
        self._total = total + 16

    def of(self, term: str) -> float:
        """Return the weight of a term."""
        return math.log(1 + self._total / (1 + self._counts.get(term, 0)))

    def overlap(self, one: frozenset[str], other: frozenset[str]) -> float:
        """Return the weighted share of common terms, from 0 to 1."""
        union = sum(map(self.of, one | other))
        return sum(map(self.of, one & other)) / union if union else 0.0

    def telling(self, terms: frozenset[str], most: int) -> list[str]:
        """Return the rarest terms that other lessons have too."""
        shared = [term for term in terms if self._counts[term] > 1]
        return sorted(shared, key=lambda term: (self._counts[term], term))[:most]


def veto(one: Lesson, other: Lesson) -> str:
    """Return why two lessons cannot say the same, empty if nothing speaks against it."""
    if not _same_sort(one.memory.kind, other.memory.kind):
        return "they are of different kinds"
    if one.memory.scope != other.memory.scope:
        return "they are meant for different readers"
    if one.negations != other.negations and "solution" not in (one.memory.kind, other.memory.kind):
        return "one of them forbids"
    if one.memory.kind in _STATED:
        # A statement with another value is a newer or contrary statement, not a recurrence.
        if one.numbers != other.numbers:
            return "their numbers differ"
        if one.names - other.names and other.names - one.names:
            return "they name different things"
    if any((than, rather) in other.prefers for rather, than in one.prefers):
        return "one prefers what the other rejects"
    if one.memory.kind != "solution" and (slot := _other_value(one, other)):
        return f"one says {slot[0]} where the other says {slot[1]}"
    return ""


def _other_value(one: Lesson, other: Lesson) -> tuple[str, str] | None:
    """Return two words that stand for each other in otherwise like sentences, None if none do.

    Words that the other text has elsewhere, and those that only join or oblige, do not count.
    """
    left, right = _words(one.memory.text), _words(other.memory.text)
    for what, i, j, k, n in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if what != "replace":
            continue
        here = [word for word in left[i:j] if word not in right and word not in _EMPTY_WORDS]
        there = [word for word in right[k:n] if word not in left and word not in _EMPTY_WORDS]
        if here and there:
            return here[0], there[0]
    return None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _same_sort(one: MemoryKind, other: MemoryKind) -> bool:
    return one == other or {one, other} <= {"lesson", "solution"}


def likeness(one: Lesson, other: Lesson, weights: Weights) -> tuple[float, bool]:
    """Return how alike two lessons are (1 at `ALIKE`) and whether the circumstances agree."""
    whole = weights.overlap(one.terms, other.terms) / ALIKE
    if _same_circumstances(one, other):
        remedy = weights.overlap(one.remedy, other.remedy) / ALIKE_IN_CONTEXT
        return max(whole, remedy), True
    return whole, False


def _same_circumstances(one: Lesson, other: Lesson) -> bool:
    if not one.circumstances[1] or one.circumstances[0] != other.circumstances[0]:
        return False
    common, either = one.error_terms & other.error_terms, one.error_terms | other.error_terms
    return one.circumstances == other.circumstances or len(common) >= SAME_ERROR * len(either) > 0


Similarity = Mapping[tuple[str, str], float]
"""Cosines of pairs of memories, by their ids in order."""


class Grouping:
    """Puts lessons of one project into groups; nothing is changed by it."""

    def __init__(self, lessons: Sequence[Lesson], cosines: Similarity | None = None) -> None:
        self._lessons = lessons
        self._weights = Weights(lessons)
        self._cosines = cosines or {}
        self.doubtful: list[tuple[Lesson, Lesson]] = []
        """Pairs that vectors could decide and no vector was given for."""

    def groups(self, known: Mapping[str, Sequence[str]]) -> list[Group]:
        """Return the groups of two and more; `known` maps former results to their supports."""
        by_id = {lesson.id: lesson for lesson in self._lessons}
        clusters: list[list[Lesson]] = []
        former: list[str] = []
        taken: set[str] = set()
        for known_id, supports in known.items():
            members = [by_id[i] for i in supports if i in by_id and i not in taken]
            if members:
                taken.update(member.id for member in members)
                clusters.append(members)
                former.append(known_id)
        index: dict[str, list[int]] = defaultdict(list)
        for number, cluster in enumerate(clusters):
            for member in cluster:
                self._enter(index, member, number)
        for lesson in sorted(self._lessons, key=lambda one: (_at(one.memory), one.id)):
            if lesson.id in taken:
                continue
            place = self._place(lesson, clusters, index)
            if place is None:
                place = len(clusters)
                clusters.append([])
                former.append("")
            clusters[place].append(lesson)
            self._enter(index, lesson, place)
        return [
            Group(
                members=tuple(one.memory for one in _in_order(cluster)),
                known=known_id,
                reason=self._reason(cluster),
            )
            for cluster, known_id in zip(clusters, former, strict=True)
            if known_id or len(cluster) > 1
        ]

    def _enter(self, index: dict[str, list[int]], lesson: Lesson, number: int) -> None:
        for term in self._weights.telling(lesson.terms, _CANDIDATE_TERMS):
            if not index[term] or index[term][-1] != number:
                index[term].append(number)

    def _place(
        self, lesson: Lesson, clusters: list[list[Lesson]], index: dict[str, list[int]]
    ) -> int | None:
        votes: Counter[int] = Counter()
        for term in self._weights.telling(lesson.terms, _CANDIDATE_TERMS):
            weight = self._weights.of(term)
            for number in index[term][-_CANDIDATES:]:
                votes[number] += weight  # type: ignore[assignment]
        best, place = 0.0, None
        for number, _ in votes.most_common(_CANDIDATES):
            cluster = clusters[number]
            if len(cluster) >= MOST_MEMBERS:
                continue
            fit = self._fit(lesson, cluster)
            if fit > best:
                best, place = fit, number
        return place

    def _fit(self, lesson: Lesson, cluster: Sequence[Lesson]) -> float:
        """Return how well a lesson fits: to one member fully, to none of them badly."""
        fits: list[float] = []
        for member in cluster[:8]:
            if veto(lesson, member):
                return 0.0
            like, agrees = likeness(lesson, member, self._weights)
            if like < 1 and not agrees and like * ALIKE >= DOUBTFUL:
                like = self._by_vector(lesson, member, like)
            fits.append(like)
            if like < _LOOSEST:
                return 0.0
        return max(fits) if max(fits) >= 1 else 0.0

    def _by_vector(self, one: Lesson, other: Lesson, like: float) -> float:
        if one.numbers ^ other.numbers or one.names ^ other.names:
            return like  # vectors hardly see which name or number it is
        pair = (min(one.id, other.id), max(one.id, other.id))
        cosine = self._cosines.get(pair)
        if cosine is None:
            self.doubtful.append((one, other))
            return like
        return 1.0 if cosine >= ALIKE_BY_VECTOR else like

    def _reason(self, cluster: Sequence[Lesson]) -> str:
        episodes = frozenset[str]().union(*(episodes_of(one.memory) for one in cluster))
        first = cluster[0]
        same = all(_same_circumstances(first, one) for one in cluster)
        why = f"`{first.circumstances[0]}` with the same error" if same else "the same words"
        return f"{len(cluster)} lessons from {len(episodes)} episodes speak of {why}"


def _at(memory: Memory) -> float:
    return (memory.valid_from or memory.created_at).timestamp()


def _in_order(cluster: Sequence[Lesson]) -> list[Lesson]:
    return sorted(cluster, key=lambda one: (_at(one.memory), one.id))


def recurs(group: Group) -> bool:
    """Tell whether a group is worth a memory: two lessons or more, from two episodes or more."""
    episodes = frozenset[str]().union(*map(episodes_of, group.members))
    return len(group.members) > 1 and len(episodes) > 1


def text_of(members: Sequence[Memory]) -> Text:
    """Return what lessons come down to, in their own words.

    The one closest to the others leads; of the others follows, whole, what it does not say, and
    where that would grow too long the names, numbers and dates that would be missing.
    """
    lessons = [lesson_of(member) for member in members]
    weights = Weights(lessons)
    best = max(
        lessons,
        key=lambda one: (
            sum(weights.overlap(one.terms, other.terms) for other in lessons),
            _at(one.memory),
            one.id,
        ),
    )
    chinese = is_chinese(best.memory.text)
    told = [best.memory.text.strip()]
    also: list[str] = []
    for lesson in sorted(lessons, key=lambda one: (-_at(one.memory), one.id)):
        said = "\n".join((*told, *also))
        missing = _missing(lesson, said)
        if lesson is best or not (missing or _adds(lesson, said)):
            continue
        whole = lesson.memory.text.strip()
        if len(said) + len(whole) <= _MOST_CHARS:
            also.append(whole)
        elif missing:
            also.append(_listed(missing, chinese=chinese))
    text = told[0]
    if also:
        first, *rest = [_ended(one, chinese=chinese) for one in (text, *also)]
        text = f"{first}另外：{''.join(rest)}" if chinese else f"{first} Also: {' '.join(rest)}"
    return Text(text=text, summary=told[0], best=best.memory)


def _ended(text: str, *, chinese: bool) -> str:
    is_ended = text.endswith((".", "。", "!", "！", "?", "？"))
    return text if is_ended else text + ("。" if chinese else ".")


def _missing(lesson: Lesson, said: str) -> list[str]:
    """Return the names and numbers of a lesson that a text lacks, as they are written."""
    text = lesson.memory.text
    found = [*_SPAN.findall(text), *entities_of(text, limit=64), *_NUMBER.findall(text)]
    numbers = set(_NUMBER.findall(said))
    folded = said.casefold()
    return [
        one
        for one in dict.fromkeys(found)
        if (one not in numbers if _NUMBER.fullmatch(one) else one.casefold() not in folded)
    ]


def _adds(lesson: Lesson, said: str) -> bool:
    """Tell whether a lesson says more than other words for the same."""
    if normalize(lesson.memory.text) in normalize(said):
        return False
    fresh = lesson.terms - frozenset(terms_of(said))
    return len(fresh) * 4 >= len(lesson.terms)


def _listed(missing: Sequence[str], *, chinese: bool) -> str:
    words = [one if _NUMBER.fullmatch(one) else f"`{one}`" for one in missing]
    return ("、" if chinese else ", ").join(words)


def confidence_of(members: Sequence[Memory], most: float = 0.97) -> float:
    """Return the confidence in what several independent lessons say: the odds that not all err."""
    doubt = math.prod(1 - min(0.95, member.confidence) for member in members)
    return round(min(most, 1 - doubt), 4)

"""Plan and begin a mock interview, resume it, and make its score sheet."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, replace
from pathlib import Path

from attn_drill.app import hunts
from attn_drill.app.grade_file import fresh_seed
from attn_drill.app.start_challenge import language
from attn_drill.app.warn import warn
from attn_drill.interview import plan as planning
from attn_drill.interview.plan import InterviewPlan, plan_from, planned_questions
from attn_drill.interview.score import ScoreSheet, score_sheet
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.packs.catalogue import Catalogue
from attn_drill.packs.follow_up import read_follow_ups
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.practice.facts import InterviewBegan
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import write_new
from attn_drill.practice.progress import counted_attempts, rated_reviews
from attn_drill.practice.schedule import items
from attn_drill.report.score_sheet import minutes
from attn_drill.session.interview_state import Interview, first_text, recorded_events

SHEET_NAME = "score-sheet.html"


def last_interview(journal: Journal, catalogue: Catalogue) -> Interview | None:
    """Return the last interview, or None if there is none or this version cannot read it."""
    entry = journal.last(InterviewBegan)
    plan = plan_from(entry.plan) if entry is not None else None
    if entry is None or plan is None:
        return None
    return _interview(journal, catalogue, entry.id, entry.at, plan)


def _interview(
    journal: Journal, catalogue: Catalogue, name: str, began: float, plan: InterviewPlan
) -> Interview:
    questions, _ = read_follow_ups(tuple(catalogue.challenges), language())
    asked = planned_questions(plan, questions)
    challenges = {challenge.id: challenge for challenge in catalogue.challenges}
    events = recorded_events(journal, name)
    return Interview(name, began, plan, asked, challenges, journal, events)


def plan_interview(
    journal: Journal,
    catalogue: Catalogue,
    minutes: int,
    topic: str | None,
    bugs: int,
    is_graded: bool = True,
) -> InterviewPlan:
    """Return the plan of an interview, without its folder. With bugs, it is a debugging round."""
    challenges = catalogue.challenges
    mains = planning.main_problems(challenges, topic)
    questions, troubles = read_follow_ups(tuple(challenges), language())
    warn(troubles)
    now, facts, seed = time.time(), journal.facts(), fresh_seed()
    familiarity = planning.familiarity(
        counted_attempts(facts), items(rated_reviews(facts), now), now
    )
    ids: tuple[str, ...] = ()
    if bugs:
        challenge = hunts.debugging_challenge(mains, challenges, topic)
        ids = tuple(mistake.id for mistake in hunts.choose_bugs(challenge, bugs, (), seed))
        chosen: planning.Choice = {"debugging": challenge}
        if (follow_up := hunts.follow_up_of(challenge, challenges)) is not None:
            chosen["follow-up"] = follow_up
    else:
        chosen = planning.choose_problems(challenges, minutes, mains, familiarity, seed)
    plan = planning.make_plan(chosen, questions, minutes, familiarity, seed, ids)
    return replace(plan, is_graded=is_graded)


def begun(
    journal: Journal, catalogue: Catalogue, plan: InterviewPlan, folder: Path | None
) -> Interview:
    """Write the first file and record the interview. By default it gets a new folder."""
    now = time.time()
    place, suffix = folder, 2
    if place is None:
        name = time.strftime("interview-%Y-%m-%d", time.localtime(now))
        place = Path(name)
        while os.path.lexists(place):
            place, suffix = Path(f"{name}-{suffix}"), suffix + 1
    by_id = {challenge.id: challenge for challenge in catalogue.challenges}
    problems = [by_id[stage.challenge] for stage in plan.stages]
    for name in [*(problem.file_name for problem in problems), SHEET_NAME]:
        if os.path.lexists(place / name):
            raise DrillError(
                f"{place / name} already exists and is left unchanged. "
                "Choose another folder with --dir."
            )
    write_new(place / problems[0].file_name, first_text(problems[0], plan.stages[0]))
    plan = replace(plan, folder=str(place.resolve()))
    name = journal.add(InterviewBegan("", now, plan=asdict(plan)))
    run = _interview(journal, catalogue, name, now, plan)
    entry = journal.last(InterviewBegan)
    if entry is None or entry.id != run.id:
        run.news.append(
            "The journal cannot be written: this interview works, but it cannot be resumed."
        )
    return run


def resumed(last: Interview | None) -> Interview:
    """Return the last interview, or raise a DrillError if none is under way or it cannot go on."""
    if last is None or last.state.finished:
        raise DrillError("No interview is under way. `attn-drill interview` begins an interview.")
    for stage in last.plan.stages:
        if stage.challenge not in last.challenges:
            raise DrillError(
                f"The interview under way has the challenge {stage.challenge}, which no pack has "
                "any more. Begin another interview with `attn-drill interview --fresh`."
            )
    last.news.append(
        f"The interview goes on. {minutes(last.state.seconds)} of {last.plan.minutes}:00 min are "
        "spent; the pause does not count."
    )
    return last


def sheet_of(run: Interview) -> ScoreSheet:
    """Return the score sheet. A challenge that no pack has any more gets no reference on it."""
    references: dict[str, str] = {}
    mistakes: dict[str, str] = {}
    for stage in run.plan.stages:
        if (problem := run.challenges.get(stage.challenge)) is None:
            continue
        references[problem.id] = pack_reader.solution(problem)
        if stage.bugs:
            mistakes |= {mistake.id: mistake.says for mistake in read_mistakes(problem)}
    return score_sheet(
        run.plan, run.state, run.challenges, references, run.questions, run.began, mistakes
    )

"""Write the page that each student gets back, and name it as the student's system expects.

Sources: Canvas, "How do I upload all student submissions for an assignment?"; Moodle, "Assignment
settings: feedback types, Upload multiple feedback files in a zip"; Blackboard has no upload for
the feedback of a whole class, so its files are sorted by user name.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator

from attn_drill.classroom.lms_names import read_name
from attn_drill.classroom.records import Assignment, Student, StudentGrade
from attn_drill.classroom.result_store import safe_name
from attn_drill.export.grade_words import override_words, penalty_taken
from attn_drill.export.student_view import student_view
from attn_drill.report.class_words import points
from attn_drill.report.coloured import coloured
from attn_drill.report.pages import page

_FILE = "feedback.html"


def feedback_html(grade: StudentGrade, assignment: Assignment) -> Iterator[str]:
    """Yield the page of one student in small pieces."""
    return page(
        "feedback",
        title=assignment.title,
        student=grade.student.name,
        grade=grade,
        parts=student_view(grade, assignment),
        decided=None if grade.override is None else override_words(grade.override),
        penalty_taken=penalty_taken,
        points=points,
        coloured=coloured,
    )


def feedback_path(student: Student) -> str:
    """Return the path of a student's feedback below `feedback/`.

    Canvas and Moodle accept a zip with these paths. The names of files in a class's zip may lead
    anywhere, so every name passes through `safe_name`.
    """
    if student.system == "blackboard" and student.system_id:
        return f"{safe_name(student.system_id)}/{_FILE}"
    lms = read_name(student.upload, False, student.system)
    if lms is None:
        return f"{safe_name(student.name)}.html"
    head = safe_name(lms.student)
    if lms.system == "moodle":  # the number of the participant
        return f"{head}_{lms.id}_assignsubmission_file_/{_FILE}"
    late = "_LATE" if lms.is_marked_late else ""
    return f"{head}{late}_{lms.id}_{lms.upload}_{_FILE}"


def feedback_zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip of all feedback files with their paths."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files:
            # Without a date, the same feedback gives the same zip.
            archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()

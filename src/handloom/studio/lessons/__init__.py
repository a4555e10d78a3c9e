"""Lessons: short texts whose links set the state of the loom beside them, and the small trained models they show.

A lesson is a file NAME.md of this folder, in the little Markdown that `markdown.py` reads; `lesson.py` finds it,
`exported.py` makes one page of it that works offline. `learned/` has the trained models; `docs/lesson_models.py` trains
them again. What a lesson states in numbers, `tests/studio/test_lessons.py` computes.
"""

"""The built-in question bank for tests of the quiz."""

from trainer.packs import pack_reader
from trainer.packs.mistakes import readable_mistakes
from trainer.packs.question_bank import read_bank
from trainer.quiz.question_order import pool_of

BUILT_IN = pack_reader.built_in_pack()

CHALLENGES = pack_reader.read_pack(BUILT_IN)

BANK = read_bank([BUILT_IN])

POOL = pool_of(BANK.questions, CHALLENGES, readable_mistakes(CHALLENGES)[0])

NAMES = [*BANK.titles, *(challenge.id for challenge in CHALLENGES)]

DAY = 86_400.0

BEGIN TRANSACTION;
CREATE TABLE attempts (id TEXT PRIMARY KEY NOT NULL, challenge TEXT NOT NULL, at REAL NOT NULL, seed INTEGER NOT NULL, verdict TEXT NOT NULL, checks TEXT NOT NULL, checks_passed INTEGER NOT NULL, checks_total INTEGER NOT NULL, seconds REAL, hints INTEGER NOT NULL, solution INTEGER NOT NULL, purpose TEXT NOT NULL, source TEXT NOT NULL);
INSERT INTO "attempts" VALUES('d1c342befadf8185f4d432fb','gqa',1790000120.0,7,'failed','{"loads": "passed", "values": "failed"}',1,2,120.0,2,0,'practice','"""Attention."""
x = ''é 注意力 🙂''  # it''s
');
INSERT INTO "attempts" VALUES('0c34f3c51d21f1187a866dce','gqa',1790000130.0,8,'error','{"loads": "failed"}',0,1,130.0,2,0,'practice','x = (
');
INSERT INTO "attempts" VALUES('f3f6ddaaa85d25e85a63d7ba','gqa',1790000600.0,9223372036854775807,'passed','{"loads": "passed", "values": "passed"}',2,2,600.25,2,0,'practice','"""Attention."""
x = ''é 注意力 🙂''  # it''s
');
INSERT INTO "attempts" VALUES('431eb7e5c680140de5a2589b','mha',1790001100.0,9,'timeout','{}',0,0,NULL,0,1,'review','while True: pass
');
INSERT INTO "attempts" VALUES('661ade4872516cca77c9749a','gqa',1790003100.0,11,'failed','{"loads": "passed", "values": "failed"}',1,2,100.0,0,0,'hunt','hunted
');
INSERT INTO "attempts" VALUES('dbc587f6fdc357b127c26ac2','gqa',1790003200.0,11,'passed','{"loads": "passed", "values": "passed"}',2,2,200.0,0,0,'hunt','repaired
');
INSERT INTO "attempts" VALUES('9ff05ce2c257e40ce338244f','sdpa',1790005099.0,12,'failed','{"loads": "passed", "values": "failed"}',1,2,98.0,0,0,'interview','y
');
CREATE TABLE diagnoses (id TEXT PRIMARY KEY NOT NULL, attempt TEXT NOT NULL, mistakes TEXT NOT NULL, line INTEGER);
INSERT INTO "diagnoses" VALUES('8de4310332c5d02bf1f398d1','d1c342befadf8185f4d432fb','["no-scale", "mask-after"]',12);
INSERT INTO "diagnoses" VALUES('945c212178b516d25432fd25','431eb7e5c680140de5a2589b','[]',NULL);
CREATE TABLE hints (id TEXT PRIMARY KEY NOT NULL, challenge TEXT NOT NULL, at REAL NOT NULL, level INTEGER NOT NULL);
INSERT INTO "hints" VALUES('ad728f20e42e7b07e77c3455','gqa',1790000060.0,1);
INSERT INTO "hints" VALUES('c0454f2b063d250e2f5bfa83','gqa',1790000090.5,2);
CREATE TABLE hunts (id TEXT PRIMARY KEY NOT NULL, challenge TEXT NOT NULL, at REAL NOT NULL, mistakes TEXT NOT NULL, path TEXT NOT NULL);
INSERT INTO "hunts" VALUES('9e4f216dc64d7d8d2061265a','gqa',1790003000.0,'["no-scale", "repeat"]','/home/ann/gqa_hunt.py');
CREATE TABLE interview_events (id TEXT PRIMARY KEY NOT NULL, interview TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL);
INSERT INTO "interview_events" VALUES('41afec0b0fe57d93fae83ed6','9afd6bad13f397bfebd9a3fc',1790005001.0,'begun','{"stage": 0, "seconds": 0.0}');
INSERT INTO "interview_events" VALUES('ac6418e3cbedf16c060513d1','9afd6bad13f397bfebd9a3fc',1790005100.0,'attempt','{"stage": 0, "verdict": "failed", "passed": 1, "total": 2, "failed": ["values"], "seconds": 99.0, "bugs_left": null, "count": 2}');
INSERT INTO "interview_events" VALUES('b1983092ad50e6fea84f370e','9afd6bad13f397bfebd9a3fc',1790005100.0,'left','{"stage": 0, "seconds": 99.5}');
CREATE TABLE interviews (id TEXT PRIMARY KEY NOT NULL, at REAL NOT NULL, plan TEXT NOT NULL);
INSERT INTO "interviews" VALUES('9afd6bad13f397bfebd9a3fc',1790005000.0,'{"version": 1, "minutes": 45, "folder": "/home/ann/interview-2026-09-21", "stages": [{"challenge": "sdpa", "seconds": 900.0, "bugs": []}]}');
CREATE TABLE overrules (id TEXT PRIMARY KEY NOT NULL, review TEXT NOT NULL, at REAL NOT NULL, rating INTEGER NOT NULL);
INSERT INTO "overrules" VALUES('f0e37fdccdd87d1893e0363c','a7bacdd6abc7861f452f8eb5',1790000610.0,4);
INSERT INTO "overrules" VALUES('4a70b4a2ed3c088d2e0f3177','a7bacdd6abc7861f452f8eb5',1790000620.0,3);
CREATE TABLE replaced (id TEXT PRIMARY KEY NOT NULL, attempt TEXT NOT NULL, at REAL NOT NULL);
INSERT INTO "replaced" VALUES('7507a1df927648a1c642f3bc','0c34f3c51d21f1187a866dce',1790000132.0);
CREATE TABLE resumed (id TEXT PRIMARY KEY NOT NULL, challenge TEXT NOT NULL, at REAL NOT NULL);
INSERT INTO "resumed" VALUES('d9fb6ab015ff5a7f6935cb0b','gqa',1790002000.0);
CREATE TABLE reviews (id TEXT PRIMARY KEY NOT NULL, item TEXT NOT NULL, at REAL NOT NULL, rating INTEGER NOT NULL, reason TEXT NOT NULL);
INSERT INTO "reviews" VALUES('a7bacdd6abc7861f452f8eb5','challenge:gqa',1790000600.0,2,'10 of 20 min, 2 hints, 2 failed attempts');
INSERT INTO "reviews" VALUES('88ba862113e4ea20c6a3a594','challenge:mha',1790001010.0,1,'given up');
INSERT INTO "reviews" VALUES('d7e4060b5cf92821e47cf948','question:sqrt',1790004000.0,3,'right');
INSERT INTO "reviews" VALUES('026679d84b452dca9fad8e6e','line:gqa:no-scale',1790004001.0,1,'wrong');
INSERT INTO "reviews" VALUES('99f97eaa49b76fa7a048ca01','follow-up:gqa:1',1790004002.0,4,'own rating');
CREATE TABLE solutions (id TEXT PRIMARY KEY NOT NULL, challenge TEXT NOT NULL, at REAL NOT NULL);
INSERT INTO "solutions" VALUES('b1e7f342e0cd800d6e7054f6','mha',1790001010.0);
CREATE TABLE started (id TEXT PRIMARY KEY NOT NULL, challenge TEXT NOT NULL, at REAL NOT NULL, path TEXT NOT NULL, level TEXT NOT NULL);
INSERT INTO "started" VALUES('4b482bf169185a2afdccd174','gqa',1790000000.0,'/home/ann/gqa.py','guided');
INSERT INTO "started" VALUES('eeaf373ebfda41a3e5461d51','mha',1790001000.0,'/home/ann/mha.py','standard');
INSERT INTO "started" VALUES('ee2c83c9ef3d77af39e51c76','sdpa',1790005001.0,'/home/ann/interview-2026-09-21/sdpa.py','standard');
INSERT INTO "started" VALUES('d29ae155d79beea2b0998905','rope',1790006000.0,'/home/ann/\udcff/rope.py','blank');
CREATE INDEX started_by_challenge ON started (challenge, at);
CREATE INDEX attempts_by_challenge ON attempts (challenge, at);
CREATE INDEX hints_by_challenge ON hints (challenge, at);
CREATE INDEX solutions_by_challenge ON solutions (challenge, at);
CREATE INDEX hunts_by_challenge ON hunts (challenge, at);
CREATE INDEX diagnoses_by_attempt ON diagnoses (attempt);
CREATE INDEX reviews_by_item ON reviews (item, at);
CREATE INDEX overrules_by_review ON overrules (review);
CREATE INDEX events_by_interview ON interview_events (interview);
CREATE INDEX replaced_by_attempt ON replaced (attempt);
COMMIT;
PRAGMA user_version = 4;

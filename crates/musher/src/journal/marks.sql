-- What is to be said of a row of `usage` beside its figures. Most rows have no mark. The table came after the first
-- version of the journal, and an older Musher does without it.
CREATE TABLE IF NOT EXISTS usage_marks (
  fact       INTEGER PRIMARY KEY,
  -- Some of it was worked out, and is the least that it can be.
  estimated  INTEGER NOT NULL,
  -- Of a call that did not come to its end: no total holds it.
  cut        INTEGER NOT NULL,
  -- The part of an unknown cost that is known.
  known_usd  REAL NOT NULL,
  -- It tells what earlier runs of the session had left unknown.
  settles    INTEGER NOT NULL,
  -- The fact that told the cost, if it was told later.
  settled_by INTEGER
) STRICT;

-- What a story asks for, as it was set last. A story that asks for nothing particular has no row.
CREATE TABLE IF NOT EXISTS story_specs (
  story TEXT PRIMARY KEY,
  spec  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who answered an ask, and which event tells how it was closed. An older Musher does without it.
CREATE TABLE IF NOT EXISTS ask_ends (
  run    INTEGER NOT NULL,
  ask    TEXT NOT NULL,
  sender TEXT,
  seq    INTEGER,
  PRIMARY KEY (run, ask)
) STRICT, WITHOUT ROWID;

-- The journal, version 1. Facts are the truth; every table below `texts` is written from them in the same transaction.

CREATE TABLE facts (
  id   INTEGER PRIMARY KEY,
  at   INTEGER NOT NULL,
  body TEXT NOT NULL,
  type TEXT NOT NULL GENERATED ALWAYS AS (body ->> '$.type') STORED,
  run  INTEGER GENERATED ALWAYS AS (CAST(substr(body ->> '$.run', 2) AS INTEGER)) STORED,
  seq  INTEGER GENERATED ALWAYS AS (body ->> '$.seq') STORED
) STRICT;
-- One event of a run's log becomes one fact of its kind, however often it is read.
CREATE UNIQUE INDEX facts_heard ON facts (run, seq, type) WHERE seq IS NOT NULL;

CREATE TABLE snapshots (
  fact    INTEGER NOT NULL,
  version INTEGER NOT NULL,
  state   TEXT NOT NULL,
  PRIMARY KEY (version, fact)
) STRICT, WITHOUT ROWID;

-- What people wrote. It can be erased, because no fact holds it.
CREATE TABLE texts (
  key  TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who the journal is, and in which folder; see journal/identity.rs. Builds before it leave the table alone.
CREATE TABLE identity (
  key  TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  key          TEXT PRIMARY KEY,
  request_hash TEXT NOT NULL,
  command      TEXT NOT NULL,
  reply        TEXT NOT NULL,
  settled      INTEGER NOT NULL,
  at           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (at) WHERE settled = 1;
CREATE INDEX idempotency_unsettled ON idempotency (command) WHERE settled = 0;

CREATE TABLE stories (
  n          INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  state      TEXT NOT NULL,
  merged     TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
  id           INTEGER PRIMARY KEY,
  story        TEXT NOT NULL,
  agent        TEXT NOT NULL,
  model        TEXT,
  kind         TEXT NOT NULL,
  of           INTEGER,
  line         TEXT NOT NULL,
  words        TEXT NOT NULL,
  phase        TEXT NOT NULL,
  wish         TEXT,
  slot         INTEGER,
  branch       INTEGER,
  head         TEXT,
  session      TEXT,
  outcome      TEXT,
  error        TEXT,
  commit_      TEXT,
  finish_error TEXT,
  parked       INTEGER NOT NULL DEFAULT 0,
  queued_at    INTEGER NOT NULL,
  prepared_at  INTEGER,
  started_at   INTEGER,
  ended_at     INTEGER
) STRICT;
CREATE INDEX runs_by_story ON runs (story, id);
CREATE INDEX runs_by_agent ON runs (agent, id);
CREATE INDEX runs_live ON runs (id) WHERE phase <> 'over';

CREATE TABLE asks (
  run       INTEGER NOT NULL,
  ask       TEXT NOT NULL,
  seq       INTEGER,
  state     TEXT NOT NULL,
  by        TEXT,
  command   TEXT,
  opened_at INTEGER NOT NULL,
  closed_at INTEGER,
  PRIMARY KEY (run, ask)
) STRICT, WITHOUT ROWID;
CREATE INDEX asks_open ON asks (opened_at) WHERE state IN ('open', 'offered');

-- No cost means that nobody knows it.
CREATE TABLE usage (
  fact              INTEGER PRIMARY KEY,
  run               INTEGER NOT NULL,
  seq               INTEGER NOT NULL,
  at                INTEGER NOT NULL,
  model             TEXT,
  input             INTEGER NOT NULL,
  cache_read        INTEGER NOT NULL,
  cache_write_5m    INTEGER NOT NULL,
  cache_write_1h    INTEGER NOT NULL,
  cache_write_other INTEGER NOT NULL,
  output            INTEGER NOT NULL,
  reasoning         INTEGER NOT NULL,
  cost_usd          REAL
) STRICT;
CREATE INDEX usage_by_run ON usage (run);

-- What is kept of several runs, with its runs as parts: `study` names the whole that a run is a part
-- of, `place` says in JSON where it stands there, for whoever reads the whole again.
ALTER TABLE runs ADD COLUMN place TEXT;
-- The devices under the target by name, a blank between each two.
ALTER TABLE runs ADD COLUMN devices TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_whole ON runs (id) WHERE study IS NULL;
-- Whether a document is there already.
CREATE INDEX runs_by_size ON runs (record_bytes);

-- Runs, their figures and their tags. TEXT, BIGINT, DOUBLE PRECISION and BYTEA alone, so that the
-- same text serves SQLite and PostgreSQL.
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    -- When the run was kept, in milliseconds since 1970, UTC.
    time_ms BIGINT NOT NULL,
    origin TEXT NOT NULL,
    target TEXT NOT NULL,
    drive TEXT,
    host TEXT,
    suite TEXT,
    label TEXT,
    -- What was tested, as its own version control calls it.
    tested TEXT,
    -- The study that the run belongs to, and its place there.
    study TEXT,
    block BIGINT,
    arm TEXT,
    task TEXT,
    -- One character a part of the run, for lists.
    spark TEXT NOT NULL,
    -- The record as JSON, deflated, with its length before that.
    record_bytes BIGINT NOT NULL,
    record BYTEA NOT NULL
);
CREATE INDEX runs_by_time ON runs (time_ms);
CREATE INDEX runs_by_label ON runs (label);
CREATE INDEX runs_by_study ON runs (study);

CREATE TABLE figures (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- 0 is the figure that a list shows.
    place BIGINT NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    better TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run, place)
);
CREATE INDEX figures_by_name ON figures (name);

CREATE TABLE tags (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
);
CREATE INDEX tags_by_tag ON tags (tag);

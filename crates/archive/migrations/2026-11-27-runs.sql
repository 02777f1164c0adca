-- Runs, their records, and all that lists and comparisons read in place of records. TEXT, BIGINT,
-- DOUBLE PRECISION and BYTEA alone, so that the same text serves SQLite and PostgreSQL.
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    -- When the run was kept, in milliseconds since 1970, UTC.
    time_ms BIGINT NOT NULL,
    origin TEXT NOT NULL,
    target TEXT NOT NULL,
    drive TEXT,
    host TEXT,
    -- The devices under the target by name, a blank between each two.
    devices TEXT NOT NULL,
    suite TEXT,
    label TEXT,
    -- What was tested, as its own version control calls it.
    tested TEXT,
    -- The whole that the run is a part of, and its position there; as JSON for readers of the whole.
    study TEXT,
    position TEXT,
    block BIGINT,
    arm TEXT,
    task TEXT,
    -- One character a part of the run, for lists.
    spark TEXT NOT NULL
);
CREATE INDEX runs_by_time ON runs (time_ms);
CREATE INDEX runs_by_label ON runs (label);
-- These two are partial: most runs are part of nothing, and an index of them by `study`, which says
-- nothing, would be preferred to `runs_whole`; a list of 20 out of 10,000 runs would then sort all.
CREATE INDEX runs_by_study ON runs (study) WHERE study IS NOT NULL;
CREATE INDEX runs_whole ON runs (id) WHERE study IS NULL;
CREATE INDEX runs_by_origin ON runs (origin, id) WHERE study IS NULL;

-- Records are most of an archive: they have pages of their own, which no list and no comparison of
-- many runs reads.
CREATE TABLE records (
    run TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    -- Bytes of the JSON, and that text, deflated.
    bytes BIGINT NOT NULL,
    record BYTEA NOT NULL
);
-- For documents that may be equal.
CREATE INDEX records_by_size ON records (bytes);

-- The parts of digests that many runs share, as JSON; `id` is a hash of the text.
CREATE TABLE commons (
    id TEXT PRIMARY KEY,
    text TEXT NOT NULL
);

-- What comparisons, courses and fleets read of a run.
CREATE TABLE digests (
    run TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    -- The revision of what is made out of a record; a digest of another revision is not read.
    version TEXT NOT NULL,
    common TEXT NOT NULL REFERENCES commons (id),
    ended_s BIGINT,
    seed BIGINT NOT NULL,
    -- A hash of what was asked and measured: copies have the same.
    content BYTEA NOT NULL,
    -- Why its figures are not what they claim to be, as JSON.
    flaws TEXT,
    -- The values of its figures, eight bytes each, the lowest first; `common` has their names.
    figures BYTEA NOT NULL
);
-- For the deletion of a shared text, which looks for the digests that refer to it.
CREATE INDEX digests_by_common ON digests (common);
-- For those of another revision, which are made again.
CREATE INDEX digests_by_version ON digests (version);

CREATE TABLE figures (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- 0 is the figure that a list shows.
    position BIGINT NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    better TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run, position)
);
-- With the run: whether a run has a figure is one look into the index.
CREATE INDEX figures_by_name ON figures (name, run);

CREATE TABLE tags (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
);
CREATE INDEX tags_by_tag ON tags (tag);

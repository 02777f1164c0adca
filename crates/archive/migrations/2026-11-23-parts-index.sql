-- Most runs are part of nothing: an index of them by `study` says nothing, and is preferred to
-- `runs_whole` all the same, which a list of 20 out of 10,000 runs then sorts whole.
DROP INDEX runs_by_study;
CREATE INDEX runs_by_study ON runs (study) WHERE study IS NOT NULL;

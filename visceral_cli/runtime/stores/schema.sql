-- The results file of the runtime. Times are integer nanoseconds since 1970-01-01 UTC.

-- One row: one kept result. Usable while the generations of its scopes are those of `barrier`.
CREATE TABLE IF NOT EXISTS entry (
    key          TEXT PRIMARY KEY,
    namespace    TEXT NOT NULL,
    tool         TEXT NOT NULL,
    version      TEXT,             -- NULL: none was declared
    hash_v       INTEGER NOT NULL,
    value        TEXT NOT NULL,    -- JSON, or that encrypted
    content_hash TEXT NOT NULL,
    checksum     TEXT NOT NULL,    -- of key, content_hash and value
    started_ns   INTEGER NOT NULL,
    stored_ns    INTEGER NOT NULL,
    freshness_ns INTEGER NOT NULL,
    expires_ns   INTEGER NOT NULL,
    scopes       TEXT NOT NULL,    -- JSON list
    generations  TEXT NOT NULL,    -- JSON list, in the order of scopes
    size         INTEGER NOT NULL,
    used_ns      INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS entry_by_expiry ON entry (expires_ns);
CREATE INDEX IF NOT EXISTS entry_by_use ON entry (used_ns);
CREATE INDEX IF NOT EXISTS entry_by_namespace ON entry (namespace);

-- One row: the current generation of one scope; every writer replaces it.
CREATE TABLE IF NOT EXISTS barrier (
    scope      TEXT PRIMARY KEY,
    generation TEXT NOT NULL
) WITHOUT ROWID;

-- One row: a writer that is running, in one of its scopes.
CREATE TABLE IF NOT EXISTS running_writer (
    scope    TEXT NOT NULL,
    writer   TEXT NOT NULL,
    lapse_ns INTEGER NOT NULL,
    PRIMARY KEY (scope, writer)
) WITHOUT ROWID;

-- One row: a call that somebody is executing.
CREATE TABLE IF NOT EXISTS claim (
    key      TEXT PRIMARY KEY,
    owner    TEXT NOT NULL,
    lapse_ns INTEGER NOT NULL
) WITHOUT ROWID;

-- One row: the bytes of all results.
CREATE TABLE IF NOT EXISTS usage (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    bytes INTEGER NOT NULL
);
INSERT OR IGNORE INTO usage VALUES (1, 0);
CREATE TRIGGER IF NOT EXISTS entry_added AFTER INSERT ON entry BEGIN
    UPDATE usage SET bytes = bytes + NEW.size;
END;
CREATE TRIGGER IF NOT EXISTS entry_removed AFTER DELETE ON entry BEGIN
    UPDATE usage SET bytes = bytes - OLD.size;
END;

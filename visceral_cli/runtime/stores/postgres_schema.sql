-- Results of the runtime in PostgreSQL. Times in _ns are nanoseconds since 1970-01-01 UTC.
CREATE SCHEMA IF NOT EXISTS visceral_results_1;

-- One row: one kept result. Usable while the generations of its scopes are those of `barrier`.
CREATE TABLE IF NOT EXISTS visceral_results_1.entry (
    key         text PRIMARY KEY,
    namespace   text NOT NULL,      -- hex name
    packed      text NOT NULL,      -- the entry as JSON
    scopes      text[] NOT NULL,    -- hex names
    generations text[] NOT NULL,    -- in the order of scopes
    expires_ns  bigint NOT NULL,
    used_ns     bigint NOT NULL,
    size        bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS entry_by_expiry ON visceral_results_1.entry (expires_ns);
CREATE INDEX IF NOT EXISTS entry_by_use ON visceral_results_1.entry (used_ns);
CREATE INDEX IF NOT EXISTS entry_by_namespace ON visceral_results_1.entry (namespace);

-- One row: the current generation of one scope; every writer replaces it.
CREATE TABLE IF NOT EXISTS visceral_results_1.barrier (
    scope      text PRIMARY KEY,
    generation text NOT NULL
);

-- One row: a writer that is running, in one of its scopes.
CREATE TABLE IF NOT EXISTS visceral_results_1.running_writer (
    scope  text NOT NULL,
    writer text NOT NULL,
    lapse  timestamptz NOT NULL,
    PRIMARY KEY (scope, writer)
);

-- One row: a call that somebody is executing.
CREATE TABLE IF NOT EXISTS visceral_results_1.claim (
    key   text PRIMARY KEY,
    owner text NOT NULL,
    lapse timestamptz NOT NULL
);

-- One row: the bytes of all results.
CREATE TABLE IF NOT EXISTS visceral_results_1.usage (
    id    integer PRIMARY KEY CHECK (id = 1),
    bytes bigint NOT NULL
);
INSERT INTO visceral_results_1.usage VALUES (1, 0) ON CONFLICT DO NOTHING;

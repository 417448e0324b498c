-- Defines the tables of a store. Times are nanoseconds since the Unix epoch, hashes lower-case hex.
-- Public: input_file, damage, argument_text, result_text and the views span and tool_call. Names
-- with a leading underscore may change.

-- One row: the version of this schema, and the settings by which spans became calls. A store of
-- another version, or filled by other settings, is refused and never changed.
CREATE TABLE IF NOT EXISTS _schema (
    version  INTEGER NOT NULL,
    settings VARCHAR                -- NULL until the first file is loaded
);

-- One row per input file that was loaded whole.
CREATE TABLE IF NOT EXISTS input_file (
    file_id     INTEGER NOT NULL,   -- order of loading, from 0
    path        VARCHAR NOT NULL,   -- as given on the command line or found below a folder
    digest      VARCHAR,            -- blake2b of the bytes; NULL in a temporary store
    bytes       BIGINT NOT NULL,    -- length as it lies on the disk
    format      VARCHAR NOT NULL,   -- what the content was recognised as
    lines       BIGINT NOT NULL,
    spans       BIGINT NOT NULL,    -- span records, copies included
    log_records BIGINT NOT NULL,    -- log records seen
    skipped     BIGINT NOT NULL     -- records of other signals that were left out
);

-- One row per damaged place; places of one kind past the first hundred of a file are only counted.
CREATE TABLE IF NOT EXISTS damage (
    file_id INTEGER NOT NULL,
    kind    VARCHAR NOT NULL,
    line    BIGINT,                 -- from 1; NULL where the input has no lines
    byte    BIGINT,                 -- from 0; NULL where a line is known
    what    VARCHAR NOT NULL,       -- what was wrong and what was done about it; never a value
    places  BIGINT NOT NULL         -- how many places this row stands for
);

-- One row per span record as it was read, but for those that the row of their call stands for.
CREATE TABLE IF NOT EXISTS _plain_span_record (
    record         BIGINT NOT NULL, -- 0, 1, 2 ... in the order of reading, calls' spans included
    file_id        INTEGER NOT NULL,
    trace_id       VARCHAR NOT NULL,
    span_id        VARCHAR NOT NULL,
    parent_span_id VARCHAR,         -- NULL for a root
    name           VARCHAR NOT NULL,
    kind           TINYINT NOT NULL,
    start_ns       BIGINT,          -- NULL when missing or impossible
    end_ns         BIGINT,
    status         TINYINT NOT NULL,
    service        VARCHAR,
    scope          VARCHAR,
    session        VARCHAR,
    user_id        VARCHAR,
    agent          VARCHAR,
    attributes     INTEGER NOT NULL -- how many the record carried
);

-- One row per call as one span record tells it. The columns of tool_call, before calls of one
-- execution are joined.
CREATE TABLE IF NOT EXISTS _call_record (
    record             BIGINT NOT NULL, -- the span record that tells it
    file_id            INTEGER NOT NULL,
    trace_id           VARCHAR NOT NULL,
    span_id            VARCHAR NOT NULL,
    parent_span_id     VARCHAR,
    position           INTEGER NOT NULL,
    tool               VARCHAR NOT NULL,
    kind               VARCHAR NOT NULL,
    convention         VARCHAR NOT NULL,
    start_ns           BIGINT,
    end_ns             BIGINT,
    failed             BOOLEAN NOT NULL,
    service            VARCHAR,
    scope              VARCHAR,
    span_kind          TINYINT NOT NULL,
    version            VARCHAR,
    input_hash         VARCHAR,
    hash_v             INTEGER,
    recorded_hash      BOOLEAN NOT NULL,
    hash_disagrees     BOOLEAN NOT NULL,
    identity_missing   VARCHAR,
    arguments_hash     VARCHAR,     -- sha256 of the canonical JSON of all arguments, vary or not
    content_hash       VARCHAR,
    content_missing    VARCHAR,
    content_bytes      BIGINT,
    empty_result       BOOLEAN NOT NULL,
    result_order       VARCHAR,     -- order of the keys in the result, where the span tells it
    call_id            VARCHAR,
    session            VARCHAR,
    user_id            VARCHAR,
    agent              VARCHAR,
    readonly           BOOLEAN,
    replay_safe        BOOLEAN,
    vary               VARCHAR,
    freshness_override DOUBLE,
    invalidates        VARCHAR,
    declared_run       VARCHAR,
    served_start_ns    BIGINT,
    served_decision_id VARCHAR,
    verify_match       BOOLEAN,
    cost_usd           DOUBLE,
    namespace          VARCHAR,         -- NULL: none
    unnamed_arguments  BOOLEAN NOT NULL,-- the arguments have lost their names
    spans              INTEGER NOT NULL DEFAULT 1, -- how many spans told this call
    name               VARCHAR,         -- of the span; NULL: it stands in _plain_span_record
    status             TINYINT,         -- of the span, as attributes
    attributes         INTEGER
);

-- One row per span record as it was read, copies included.
CREATE VIEW IF NOT EXISTS _span_record AS
SELECT * FROM _plain_span_record
UNION ALL
SELECT
    record,
    file_id,
    trace_id,
    span_id,
    parent_span_id,
    name,
    span_kind AS kind,
    start_ns,
    end_ns,
    status,
    service,
    scope,
    session,
    user_id,
    agent,
    attributes
FROM _call_record
WHERE name IS NOT NULL;

-- One row per place outside a call's own span that tells its arguments or result.
CREATE TABLE IF NOT EXISTS _mention (
    file_id  INTEGER NOT NULL,
    trace_id VARCHAR NOT NULL,
    span_id  VARCHAR,
    call_id  VARCHAR,
    tool     VARCHAR,
    what     VARCHAR NOT NULL,
    text     VARCHAR NOT NULL
);

-- One row per span record that is a copy of another one, which is kept instead.
CREATE TABLE IF NOT EXISTS _copy (record BIGINT NOT NULL);

-- One row per distinct span.
CREATE VIEW IF NOT EXISTS span AS
SELECT * EXCLUDE (record, file_id, attributes)
FROM _span_record
WHERE record NOT IN (SELECT record FROM _copy);

-- One row per distinct arguments that were kept.
CREATE TABLE IF NOT EXISTS argument_text (
    arguments_hash VARCHAR NOT NULL,
    text           VARCHAR NOT NULL -- canonical JSON
);

-- One row per distinct result that was kept.
CREATE TABLE IF NOT EXISTS result_text (
    content_hash VARCHAR NOT NULL,
    text         VARCHAR NOT NULL   -- canonical JSON
);

-- One row per call that several records tell, or that another record completes: the columns of
-- _call_record, with record = -1 - (the record whose place it takes).
CREATE TABLE IF NOT EXISTS _call_joined AS SELECT * FROM _call_record LIMIT 0;

-- One row per tool call: where its columns stand, and its place in the order of time.
CREATE TABLE IF NOT EXISTS _call_key (
    call_key BIGINT NOT NULL,  -- 0, 1, 2 ... by start_ns, end_ns, trace_id, span_id, position
    record   BIGINT NOT NULL,  -- in _call_record, or negative in _call_joined
    position INTEGER NOT NULL,
    session  VARCHAR,          -- what the other spans of the trace say, where its own says nothing
    user_id  VARCHAR,
    agent    VARCHAR
);

-- One row per tool call: every execution once, however many spans and copies told it.
CREATE VIEW IF NOT EXISTS tool_call AS
SELECT
    key.call_key,                        -- the order of time; calls without times stand last
    coalesce(call.namespace, '') AS namespace, -- results are never shared between namespaces; '' when none
    call.trace_id,
    call.span_id,
    call.parent_span_id,
    call.position,                       -- 0, or the place among the calls that one span tells of
    call.spans,                          -- how many spans told this call
    call.service,
    coalesce(call.session, key.session) AS session,
    coalesce(call.user_id, key.user_id) AS user_id,
    coalesce(call.agent, key.agent)     AS agent,
    call.tool,
    call.kind,                           -- tool, retriever, embedding, reranker
    call.version,
    call.convention,
    call.call_id,
    call.input_hash,                     -- NULL exactly when identity_missing says why
    call.hash_v,
    call.recorded_hash,                  -- input_hash stood on the span
    call.hash_disagrees,                 -- recorded and recomputed hash differ
    call.identity_missing,
    call.arguments_hash,                 -- key into argument_text; NULL when unknown
    call.content_hash,                   -- key into result_text; NULL exactly when content_missing
    call.content_missing,
    call.content_bytes,
    call.empty_result,
    call.failed,
    call.start_ns,                       -- NULL when missing or impossible: never evidence then
    call.end_ns,
    call.end_ns - call.start_ns         AS duration_ns,
    call.readonly,                       -- attested on the span; NULL: the span says nothing
    call.replay_safe,
    call.vary,
    call.freshness_override,             -- declared upper bound, seconds
    call.invalidates,                    -- tools that a writer voids, by commas; NULL: all
    call.declared_run,                   -- id of the run the program declared; NULL: none
    call.served_start_ns,                -- when the execution began whose result was served
    call.served_decision_id,
    call.verify_match,
    call.cost_usd
FROM _call_key AS key
JOIN (SELECT * FROM _call_record UNION ALL SELECT * FROM _call_joined) AS call
    ON call.record = key.record
    AND call.position = key.position;

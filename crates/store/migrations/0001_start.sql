-- One text for SQLite and PostgreSQL: only TEXT, BIGINT and BYTEA. Ids, enums
-- and JSON are TEXT; instants are microseconds since 1970 UTC; money is
-- micro-units; flags are 0 or 1.

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    operator BIGINT NOT NULL CHECK (operator IN (0, 1)),
    created_at BIGINT NOT NULL
);

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    -- SHA-256 of the secret, hex; the secret itself is nowhere.
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    currency TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    -- Equals the sum of the account's balance book; `suanli audit` recomputes it.
    balance BIGINT NOT NULL,
    -- Equals the sum of its holds.
    held BIGINT NOT NULL CHECK (held >= 0),
    -- When the money guard has to look again; NULL: nothing runs.
    due_at BIGINT,
    -- The last rung of the money ladder that was told: 0 none, 1 one day, 2 two hours, 3 stopped.
    rung BIGINT NOT NULL DEFAULT 0,
    lease_token TEXT,
    lease_until BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);
CREATE INDEX accounts_due ON accounts (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE members (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    user_id TEXT NOT NULL REFERENCES users (id),
    role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'billing', 'viewer')),
    PRIMARY KEY (account_id, user_id)
);
CREATE INDEX members_user ON members (user_id);

CREATE TABLE idempotency (
    user_id TEXT NOT NULL REFERENCES users (id),
    key TEXT NOT NULL,
    -- Method, path and SHA-256 of the body: the same key with another request is a mistake.
    request TEXT NOT NULL,
    response TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, key)
);

CREATE TABLE price_books (
    version TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    loaded_at BIGINT NOT NULL
);

CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('ready', 'lost', 'cordoned')),
    -- What the host cannot do: JSON list of sentences.
    info TEXT NOT NULL,
    isolation TEXT NOT NULL,
    cpus BIGINT NOT NULL,
    memory_mib BIGINT NOT NULL,
    disk_mib BIGINT NOT NULL,
    inventory_version BIGINT NOT NULL,
    boot_id TEXT NOT NULL,
    -- Evidence reaches up to here: nothing later on this node can be billed yet.
    proven_until BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE devices (
    id TEXT PRIMARY KEY,
    node_id TEXT NOT NULL REFERENCES nodes (id),
    uuid TEXT NOT NULL UNIQUE,
    -- Slug of the catalogue entry; NULL: unknown, so it is not offered.
    gpu TEXT,
    idx BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('ok', 'lost')),
    fake BIGINT NOT NULL CHECK (fake IN (0, 1)),
    -- DeviceFacts, JSON.
    facts TEXT NOT NULL
);
CREATE INDEX devices_node ON devices (node_id);
CREATE INDEX devices_gpu ON devices (gpu);

CREATE TABLE instances (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    created_by TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    desired TEXT NOT NULL CHECK (desired IN ('running', 'stopped', 'released')),
    state TEXT NOT NULL CHECK (state IN ('requested', 'creating', 'starting', 'running', 'stopping',
                                         'stopped', 'lost', 'failed', 'releasing', 'released')),
    state_since BIGINT NOT NULL,
    -- When this state must have been left; missing it opens an incident.
    deadline_at BIGINT,
    -- When the controller has to look again; NULL: at rest.
    due_at BIGINT,
    -- Counts wishes from outside, so that a step that ends late does not sleep over a newer one.
    wishes BIGINT NOT NULL DEFAULT 0,
    lease_token TEXT,
    lease_until BIGINT NOT NULL DEFAULT 0,
    -- Counts placements; the engine refuses older ones.
    generation BIGINT NOT NULL,
    node_id TEXT REFERENCES nodes (id),
    gpu TEXT NOT NULL,
    count BIGINT NOT NULL CHECK (count >= 0),
    cpus BIGINT NOT NULL,
    memory_mib BIGINT NOT NULL,
    disk_mib BIGINT NOT NULL,
    plan TEXT NOT NULL CHECK (plan IN ('on-demand', 'spot', 'month', 'year')),
    rate BIGINT NOT NULL CHECK (rate >= 0),
    price_version TEXT NOT NULL REFERENCES price_books (version),
    env TEXT NOT NULL,
    on_start TEXT,
    on_start_exit BIGINT,
    rules TEXT NOT NULL,
    -- Why it stops or rests, and in which state it comes to rest: JSON.
    reason TEXT,
    notices TEXT NOT NULL,
    ready_at BIGINT,
    created_at BIGINT NOT NULL,
    released_at BIGINT
);
CREATE INDEX instances_due ON instances (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX instances_account ON instances (account_id, id);
CREATE INDEX instances_node ON instances (node_id) WHERE node_id IS NOT NULL;

CREATE TABLE allocations (
    id TEXT PRIMARY KEY,
    device_id TEXT NOT NULL REFERENCES devices (id),
    instance_id TEXT NOT NULL REFERENCES instances (id),
    generation BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    released_at BIGINT
);
-- One device, one tenant: whatever else goes wrong, the database refuses a second one.
CREATE UNIQUE INDEX allocations_one_tenant ON allocations (device_id) WHERE released_at IS NULL;
CREATE INDEX allocations_instance ON allocations (instance_id);

CREATE TABLE holds (
    instance_id TEXT PRIMARY KEY REFERENCES instances (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    amount BIGINT NOT NULL CHECK (amount >= 0)
);

CREATE TABLE segments (
    id TEXT PRIMARY KEY,
    instance_id TEXT NOT NULL REFERENCES instances (id),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    node_id TEXT NOT NULL REFERENCES nodes (id),
    generation BIGINT NOT NULL,
    kind TEXT NOT NULL,
    rate BIGINT NOT NULL CHECK (rate >= 0),
    price_version TEXT NOT NULL,
    plan TEXT NOT NULL,
    from_at BIGINT NOT NULL,
    -- NULL: still open.
    to_at BIGINT,
    posted BIGINT NOT NULL CHECK (posted >= 0),
    -- Up to which moment that is: its end is never taken back behind it.
    posted_to BIGINT NOT NULL DEFAULT 0,
    -- How its beginning was proven, and why it ended.
    evidence TEXT NOT NULL,
    closed_by TEXT,
    -- Serials (or UUIDs) of the devices, JSON.
    devices TEXT NOT NULL,
    -- NULL: settled, or open and nothing to do.
    due_at BIGINT,
    lease_token TEXT,
    lease_until BIGINT NOT NULL DEFAULT 0,
    CHECK (to_at IS NULL OR to_at >= from_at)
);
CREATE UNIQUE INDEX segments_one_open ON segments (instance_id) WHERE to_at IS NULL;
CREATE INDEX segments_due ON segments (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX segments_account ON segments (account_id, from_at);
CREATE INDEX segments_instance ON segments (instance_id);
CREATE INDEX segments_open_node ON segments (node_id) WHERE to_at IS NULL;

CREATE TABLE gaps (
    node_id TEXT NOT NULL REFERENCES nodes (id),
    from_at BIGINT NOT NULL,
    to_at BIGINT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (node_id, from_at)
);

CREATE TABLE postings (
    id TEXT PRIMARY KEY,
    debit TEXT NOT NULL,
    credit TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0),
    kind TEXT NOT NULL,
    -- What it is for, once and for all: a retry cannot post it again.
    cause TEXT NOT NULL UNIQUE,
    at BIGINT NOT NULL,
    account_id TEXT,
    segment_id TEXT REFERENCES segments (id),
    price_version TEXT,
    note TEXT
);
CREATE INDEX postings_account ON postings (account_id, at);
CREATE INDEX postings_segment ON postings (segment_id);

CREATE TABLE events (
    id TEXT PRIMARY KEY,
    -- Given after commit by one sequencer, so that a reader who follows it misses nothing.
    seq BIGINT UNIQUE,
    at BIGINT NOT NULL,
    account_id TEXT,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX events_subject ON events (subject, seq);
CREATE INDEX events_account ON events (account_id, seq);
CREATE INDEX events_unsequenced ON events (id) WHERE seq IS NULL;

CREATE TABLE incidents (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    opened_at BIGINT NOT NULL,
    closed_at BIGINT,
    owner TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE UNIQUE INDEX incidents_open ON incidents (kind, subject) WHERE closed_at IS NULL;

-- A site as a server with schema 0001 left it, at 10:13 on 1 March 2026: one instance
-- runs, one has stopped and is settled, one has stopped while its machine was out of
-- touch. Made once with the true schema and controllers; never changed afterwards.

-- The schema of migration 0001, word for word.

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

-- The rows.

INSERT INTO accounts (id, name, currency, time_zone, balance, held, due_at, rung, lease_token, lease_until, created_at)
    VALUES ('acc-01kjmdeb800000000000000001', 'renter', 'CNY', 'Asia/Shanghai', 999999700000, 6000000, 1772359980000000, 0, NULL, 0, 1772359200000000);
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000000b45nx89p0z', 1, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000002', 'state-changed', '1 × a100-sxm4-40g requested', '{"rate_micros":3600000,"state":"requested"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000000payse9xcqh', 2, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000002', 'state-changed', 'cards allocated, the engine prepares', '{"cause":null,"from":"requested","generation":1,"to":"creating"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000000rgrttys9sf', 3, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000002', 'state-changed', 'started, not proven ready yet', '{"cause":null,"from":"creating","generation":1,"to":"starting"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb8000000165sggg8ybx', 4, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000002', 'ready', 'proven ready: the meter runs', '{"evidence":"the helper answered and a shell ran","ready_at":"2026-03-01T10:00:00Z"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000001f9bgbr7gw7', 5, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000002', 'state-changed', 'proven ready, usable', '{"cause":null,"from":"starting","generation":1,"to":"running"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000001kngxe9197s', 6, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000003', 'state-changed', '1 × a100-sxm4-40g requested', '{"rate_micros":1800000,"state":"requested"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000001wrj9vpsx70', 7, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000003', 'state-changed', 'cards allocated, the engine prepares', '{"cause":null,"from":"requested","generation":1,"to":"creating"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb8000000240j0ff7qhq', 8, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000003', 'state-changed', 'started, not proven ready yet', '{"cause":null,"from":"creating","generation":1,"to":"starting"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb800000028sqzcdcs67', 9, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000003', 'ready', 'proven ready: the meter runs', '{"evidence":"the helper answered and a shell ran","ready_at":"2026-03-01T10:00:00Z"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000002j6s53wfg2k', 10, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000003', 'state-changed', 'proven ready, usable', '{"cause":null,"from":"starting","generation":1,"to":"running"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000002y1jhgfdwy9', 11, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000004', 'state-changed', '1 × a100-sxm4-40g requested', '{"rate_micros":2400000,"state":"requested"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb8000000309mck4qtf2', 12, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000004', 'state-changed', 'cards allocated, the engine prepares', '{"cause":null,"from":"requested","generation":1,"to":"creating"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000003c33v4s4pft', 13, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000004', 'state-changed', 'started, not proven ready yet', '{"cause":null,"from":"creating","generation":1,"to":"starting"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000003g68hj06q6n', 14, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000004', 'ready', 'proven ready: the meter runs', '{"evidence":"the helper answered and a shell ran","ready_at":"2026-03-01T10:00:00Z"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjmdeb80000003x8q833851k', 15, 1772359200000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000004', 'state-changed', 'proven ready, usable', '{"cause":null,"from":"starting","generation":1,"to":"running"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjme0n600000047921c30c35', 16, 1772359800000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000003', 'stop-accepted', 'stopped by its renter', '{"cause":"by-renter"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjme0n60000004acpe5wedfy', 17, 1772359800000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000003', 'state-changed', 'stopped by its renter', '{"cause":"by-renter","from":"running","generation":1,"to":"stopping"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjme0n60000004pwzy4hwvnf', 18, 1772359800000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000003', 'state-changed', 'stopped by its renter', '{"cause":"by-renter","from":"stopping","generation":1,"to":"stopped"}');
INSERT INTO events (id, seq, at, account_id, subject, kind, message, data)
    VALUES ('evt-01kjme64z0000004x0enpwsckg', 19, 1772359980000000, 'acc-01kjmdeb800000000000000001', 'ins-01kjmdeb800000000000000004', 'stop-accepted', 'stopped by its renter', '{"cause":"by-renter"}');
INSERT INTO nodes (id, name, state, info, isolation, cpus, memory_mib, disk_mib, inventory_version, boot_id, proven_until, seen_at, created_at)
    VALUES ('nod-01kjmdeb80eprdsz8tc74y7aqb', 'node-0', 'ready', '[]', 'container', 64, 262144, 1000000, 1, 'boot-1', 1772359860000000, 1772359860000000, 1772359200000000);
INSERT INTO devices (id, node_id, uuid, gpu, idx, state, fake, facts)
    VALUES ('dev-01kjmdeb8020kfj722txhqqs3b', 'nod-01kjmdeb80eprdsz8tc74y7aqb', 'GPU-1', 'a100-sxm4-40g', 1, 'ok', 1, '{"uuid":"GPU-1","name":"NVIDIA A100-SXM4-40GB","serial":"S1","memory_mib":40960,"pci":"0000:01:00.0","numa":0,"index":1,"paths":[],"links":[],"power_limit_w":400,"driver":null,"fake":true}');
INSERT INTO devices (id, node_id, uuid, gpu, idx, state, fake, facts)
    VALUES ('dev-01kjmdeb8022mw3ktexseekbje', 'nod-01kjmdeb80eprdsz8tc74y7aqb', 'GPU-2', 'a100-sxm4-40g', 2, 'ok', 1, '{"uuid":"GPU-2","name":"NVIDIA A100-SXM4-40GB","serial":"S2","memory_mib":40960,"pci":"0000:02:00.0","numa":0,"index":2,"paths":[],"links":[],"power_limit_w":400,"driver":null,"fake":true}');
INSERT INTO devices (id, node_id, uuid, gpu, idx, state, fake, facts)
    VALUES ('dev-01kjmdeb80929pzvsvtgt630dc', 'nod-01kjmdeb80eprdsz8tc74y7aqb', 'GPU-0', 'a100-sxm4-40g', 0, 'ok', 1, '{"uuid":"GPU-0","name":"NVIDIA A100-SXM4-40GB","serial":"S0","memory_mib":40960,"pci":"0000:00:00.0","numa":0,"index":0,"paths":[],"links":[],"power_limit_w":400,"driver":null,"fake":true}');
INSERT INTO devices (id, node_id, uuid, gpu, idx, state, fake, facts)
    VALUES ('dev-01kjmdeb80qj2j1gtdn1f173gs', 'nod-01kjmdeb80eprdsz8tc74y7aqb', 'GPU-3', 'a100-sxm4-40g', 3, 'ok', 1, '{"uuid":"GPU-3","name":"NVIDIA A100-SXM4-40GB","serial":"S3","memory_mib":40960,"pci":"0000:03:00.0","numa":0,"index":3,"paths":[],"links":[],"power_limit_w":400,"driver":null,"fake":true}');
INSERT INTO price_books (version, text, loaded_at)
    VALUES ('v1', 'text', 1772359200000000);
INSERT INTO users (id, name, password_hash, operator, created_at)
    VALUES ('usr-01kjmdeb800000000000000001', 'renter', 'hash', 0, 1772359200000000);
INSERT INTO instances (id, slug, account_id, created_by, name, desired, state, state_since, deadline_at, due_at, wishes, lease_token, lease_until, generation, node_id, gpu, count, cpus, memory_mib, disk_mib, plan, rate, price_version, env, on_start, on_start_exit, rules, reason, notices, ready_at, created_at, released_at)
    VALUES ('ins-01kjmdeb800000000000000002', 'c000000000', 'acc-01kjmdeb800000000000000001', 'usr-01kjmdeb800000000000000001', 'job-2', 'running', 'running', 1772359200000000, NULL, NULL, 0, NULL, 0, 1, 'nod-01kjmdeb80eprdsz8tc74y7aqb', 'a100-sxm4-40g', 1, 2, 1024, 1024, 'on-demand', 3600000, 'v1', '{}', 'python train.py', NULL, '{"idle":null,"after":null,"at":null,"budget":null}', NULL, '["the cards are fake: their load follows what your programs do on the CPU, and CPU and memory are shared with others"]', 1772359200000000, 1772359200000000, NULL);
INSERT INTO instances (id, slug, account_id, created_by, name, desired, state, state_since, deadline_at, due_at, wishes, lease_token, lease_until, generation, node_id, gpu, count, cpus, memory_mib, disk_mib, plan, rate, price_version, env, on_start, on_start_exit, rules, reason, notices, ready_at, created_at, released_at)
    VALUES ('ins-01kjmdeb800000000000000003', 'd000000000', 'acc-01kjmdeb800000000000000001', 'usr-01kjmdeb800000000000000001', 'job-3', 'stopped', 'stopped', 1772359800000000, NULL, NULL, 1, NULL, 0, 1, 'nod-01kjmdeb80eprdsz8tc74y7aqb', 'a100-sxm4-40g', 1, 2, 1024, 1024, 'on-demand', 1800000, 'v1', '{}', NULL, NULL, '{"idle":null,"after":null,"at":null,"budget":null}', '{"rest":"stopped","cause":"by-renter","message":"stopped by its renter","hint":null}', '["the cards are fake: their load follows what your programs do on the CPU, and CPU and memory are shared with others"]', 1772359200000000, 1772359200000000, NULL);
INSERT INTO instances (id, slug, account_id, created_by, name, desired, state, state_since, deadline_at, due_at, wishes, lease_token, lease_until, generation, node_id, gpu, count, cpus, memory_mib, disk_mib, plan, rate, price_version, env, on_start, on_start_exit, rules, reason, notices, ready_at, created_at, released_at)
    VALUES ('ins-01kjmdeb800000000000000004', 'e000000000', 'acc-01kjmdeb800000000000000001', 'usr-01kjmdeb800000000000000001', 'job-4', 'stopped', 'running', 1772359200000000, NULL, 1772359980000000, 1, NULL, 0, 1, 'nod-01kjmdeb80eprdsz8tc74y7aqb', 'a100-sxm4-40g', 1, 2, 1024, 1024, 'on-demand', 2400000, 'v1', '{}', NULL, NULL, '{"idle":null,"after":null,"at":null,"budget":null}', '{"rest":"stopped","cause":"by-renter","message":"stopped by its renter","hint":null}', '["the cards are fake: their load follows what your programs do on the CPU, and CPU and memory are shared with others"]', 1772359200000000, 1772359200000000, NULL);
INSERT INTO allocations (id, device_id, instance_id, generation, created_at, released_at)
    VALUES ('alc-01kjmdeb805b7rr5p45ee711s7', 'dev-01kjmdeb8020kfj722txhqqs3b', 'ins-01kjmdeb800000000000000003', 1, 1772359200000000, 1772359800000000);
INSERT INTO allocations (id, device_id, instance_id, generation, created_at, released_at)
    VALUES ('alc-01kjmdeb80ddnndqfsbxbym2bp', 'dev-01kjmdeb8022mw3ktexseekbje', 'ins-01kjmdeb800000000000000004', 1, 1772359200000000, NULL);
INSERT INTO allocations (id, device_id, instance_id, generation, created_at, released_at)
    VALUES ('alc-01kjmdeb80y8kcqgjpjyr05a0s', 'dev-01kjmdeb80929pzvsvtgt630dc', 'ins-01kjmdeb800000000000000002', 1, 1772359200000000, NULL);
INSERT INTO holds (instance_id, account_id, amount)
    VALUES ('ins-01kjmdeb800000000000000002', 'acc-01kjmdeb800000000000000001', 3600000);
INSERT INTO holds (instance_id, account_id, amount)
    VALUES ('ins-01kjmdeb800000000000000004', 'acc-01kjmdeb800000000000000001', 2400000);
INSERT INTO segments (id, instance_id, account_id, node_id, generation, kind, rate, price_version, plan, from_at, to_at, posted, posted_to, evidence, closed_by, devices, due_at, lease_token, lease_until)
    VALUES ('seg-01kjmdeb806y3ffz9h6ac9gxss', 'ins-01kjmdeb800000000000000002', 'acc-01kjmdeb800000000000000001', 'nod-01kjmdeb80eprdsz8tc74y7aqb', 1, 'device', 3600000, 'v1', 'on-demand', 1772359200000000, NULL, 0, 0, 'the helper answered and a shell ran', NULL, '["S0"]', NULL, NULL, 0);
INSERT INTO segments (id, instance_id, account_id, node_id, generation, kind, rate, price_version, plan, from_at, to_at, posted, posted_to, evidence, closed_by, devices, due_at, lease_token, lease_until)
    VALUES ('seg-01kjmdeb80gzp91e1jmjdnhzne', 'ins-01kjmdeb800000000000000004', 'acc-01kjmdeb800000000000000001', 'nod-01kjmdeb80eprdsz8tc74y7aqb', 1, 'device', 2400000, 'v1', 'on-demand', 1772359200000000, 1772359980000000, 0, 0, 'the helper answered and a shell ran', 'by-renter', '["S2"]', 1772359980000000, NULL, 0);
INSERT INTO segments (id, instance_id, account_id, node_id, generation, kind, rate, price_version, plan, from_at, to_at, posted, posted_to, evidence, closed_by, devices, due_at, lease_token, lease_until)
    VALUES ('seg-01kjmdeb80p8a6e5xqyb4acahb', 'ins-01kjmdeb800000000000000003', 'acc-01kjmdeb800000000000000001', 'nod-01kjmdeb80eprdsz8tc74y7aqb', 1, 'device', 1800000, 'v1', 'on-demand', 1772359200000000, 1772359800000000, 300000, 1772359800000000, 'the helper answered and a shell ran', 'by-renter', '["S1"]', NULL, NULL, 0);
INSERT INTO postings (id, debit, credit, amount, kind, cause, at, account_id, segment_id, price_version, note)
    VALUES ('pst-01kjmdeb80a0h4d9awccwxrnw3', 'cash:manual', 'customer:acc-01kjmdeb800000000000000001:balance', 1000000000000, 'top-up', 'top-up:1', 1772359200000000, 'acc-01kjmdeb800000000000000001', NULL, NULL, NULL);
INSERT INTO postings (id, debit, credit, amount, kind, cause, at, account_id, segment_id, price_version, note)
    VALUES ('pst-01kjme0n60sb2xvgr6xqkvw26r', 'customer:acc-01kjmdeb800000000000000001:balance', 'revenue:device', 300000, 'charge', 'charge:seg-01kjmdeb80p8a6e5xqyb4acahb:1772359800000000', 1772359800000000, 'acc-01kjmdeb800000000000000001', 'seg-01kjmdeb80p8a6e5xqyb4acahb', 'v1', NULL);

-- People: how they sign up and in, what they may do, and who did what.
-- What an older server does not know must not open a door there: tokens with
-- limits are in a table of their own, and `users.operator` stays the flag of those
-- who may do everything.

ALTER TABLE users ADD COLUMN email TEXT;
ALTER TABLE users ADD COLUMN email_verified_at BIGINT;
ALTER TABLE users ADD COLUMN state TEXT NOT NULL DEFAULT 'active'
    CHECK (state IN ('active', 'awaiting-email', 'awaiting-approval', 'disabled'));
-- NULL where `operator` is 1: admin.
ALTER TABLE users ADD COLUMN operator_role TEXT
    CHECK (operator_role IN ('admin', 'support', 'finance', 'auditor'));
-- Sealed; counts only from `totp_since` on.
ALTER TABLE users ADD COLUMN totp_secret TEXT;
ALTER TABLE users ADD COLUMN totp_since BIGINT;
-- The last step of 30 s whose code was used: none is used twice.
ALTER TABLE users ADD COLUMN totp_step BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN identity TEXT NOT NULL DEFAULT 'none'
    CHECK (identity IN ('none', 'pending', 'verified', 'refused'));
ALTER TABLE users ADD COLUMN identity_at BIGINT;
ALTER TABLE users ADD COLUMN identity_note TEXT;
ALTER TABLE users ADD COLUMN language TEXT;
ALTER TABLE users ADD COLUMN seen_at BIGINT;
-- Addresses are kept in lower case.
CREATE UNIQUE INDEX users_email ON users (email) WHERE email IS NOT NULL;

-- `login`: a bearer token of the command line; `cookie`: a browser.
ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'login' CHECK (kind IN ('login', 'cookie'));
ALTER TABLE tokens ADD COLUMN used_at BIGINT;
ALTER TABLE tokens ADD COLUMN address TEXT;
ALTER TABLE tokens ADD COLUMN agent TEXT;
CREATE INDEX tokens_user ON tokens (user_id);

CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    -- Whose rights it has at most.
    user_id TEXT NOT NULL REFERENCES users (id),
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    -- JSON list.
    scopes TEXT NOT NULL,
    -- Only this account.
    account_id TEXT REFERENCES accounts (id),
    -- The token inside this instance: what concerns it alone.
    instance_id TEXT REFERENCES instances (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    -- Sealed: the secret of a token for an instance until it is handed over to that.
    handover TEXT
);
CREATE INDEX api_tokens_user ON api_tokens (user_id);
CREATE INDEX api_tokens_instance ON api_tokens (instance_id) WHERE instance_id IS NOT NULL;

CREATE TABLE recovery_codes (
    user_id TEXT NOT NULL REFERENCES users (id),
    hash TEXT NOT NULL,
    used_at BIGINT,
    PRIMARY KEY (user_id, hash)
);

-- Who is who at an identity provider.
CREATE TABLE identities (
    provider TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (provider, subject)
);
CREATE INDEX identities_user ON identities (user_id);

-- A sign-in that is under way at a provider.
CREATE TABLE oidc_flows (
    state_hash TEXT PRIMARY KEY,
    provider TEXT NOT NULL,
    -- Sealed JSON: nonce, PKCE verifier, where to go then.
    data TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- Links that were mailed: to check an address, or for a new password.
CREATE TABLE mail_links (
    hash TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    purpose TEXT NOT NULL CHECK (purpose IN ('verify', 'reset')),
    email TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX mail_links_user ON mail_links (user_id);

ALTER TABLE members ADD COLUMN since BIGINT NOT NULL DEFAULT 0;

CREATE TABLE invitations (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    -- Into this account; NULL: to sign up with an account of one's own.
    account_id TEXT REFERENCES accounts (id),
    role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'billing', 'viewer')),
    email TEXT,
    -- For an account of one's own: its name, and what is in it at the beginning.
    account_name TEXT,
    credit BIGINT NOT NULL DEFAULT 0 CHECK (credit >= 0),
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    used_by TEXT REFERENCES users (id),
    revoked_at BIGINT
);
CREATE INDEX invitations_account ON invitations (account_id);

-- SSH public keys.
CREATE TABLE ssh_keys (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    -- SHA256:… as OpenSSH prints it.
    fingerprint TEXT NOT NULL,
    -- One line as in authorized_keys, without options.
    key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (user_id, fingerprint)
);

-- The renter's name for a part of his work; never changes.
ALTER TABLE instances ADD COLUMN project TEXT;

-- What an account, or one of its projects, may have at most.
CREATE TABLE quotas (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    -- '': the account as a whole. The name of a project is never empty.
    project TEXT NOT NULL DEFAULT '',
    -- `cards`, `cards:SLUG`, `instances`, `storage-gib`, `spend-per-day` (micro-units).
    kind TEXT NOT NULL,
    most BIGINT NOT NULL CHECK (most >= 0),
    PRIMARY KEY (account_id, project, kind)
);

-- Who did what. Written in the transaction of the deed; numbered and chained
-- afterwards, in the order of the numbers.
CREATE TABLE audit_log (
    id TEXT PRIMARY KEY,
    seq BIGINT UNIQUE,
    at BIGINT NOT NULL,
    actor_kind TEXT NOT NULL CHECK (actor_kind IN ('user', 'token', 'instance', 'system', 'stranger')),
    actor_id TEXT,
    actor_name TEXT,
    address TEXT,
    action TEXT NOT NULL,
    object TEXT,
    account_id TEXT,
    result TEXT NOT NULL CHECK (result IN ('done', 'refused', 'failed')),
    code TEXT,
    -- JSON of what changed, before and after.
    was TEXT,
    became TEXT,
    request_id TEXT,
    -- SHA-256 over the entry before and this one.
    hash TEXT
);
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_actor ON audit_log (actor_id);
CREATE INDEX audit_log_object ON audit_log (object);
CREATE INDEX audit_log_fresh ON audit_log (id) WHERE seq IS NULL;

-- Mail and later other messages that have to leave the site.
CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('mail')),
    recipient TEXT NOT NULL,
    -- Sealed JSON: a link in it may open a door. NULL once it is sent or given up.
    data TEXT,
    -- When it is tried next; NULL: sent, or given up.
    due_at BIGINT,
    lease_token TEXT,
    lease_until BIGINT NOT NULL DEFAULT 0,
    tries BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    sent_at BIGINT,
    error TEXT
);
CREATE INDEX outbox_due ON outbox (due_at) WHERE due_at IS NOT NULL;

-- Until then only its budget stops an instance. An older server does not know it and
-- goes by the rules alone.
ALTER TABLE instances ADD COLUMN snoozed_until BIGINT;

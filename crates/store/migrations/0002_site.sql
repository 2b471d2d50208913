-- What belongs to the site as a whole, one value a key: whether it is being
-- recovered, which server it needs at least, which key encrypts its secrets.
CREATE TABLE site (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

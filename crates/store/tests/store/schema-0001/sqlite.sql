-- What the migrator of that server had noted, on SQLite.
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time)
    VALUES (1, 'start', '2026-03-01 09:00:00', TRUE, x'2533fb849a9242c916122904160b8d5391aa6844665d24d85ffae99c4cc525dea41ba2c8942a3f7dfe9a2221a034d9dc', 1000);

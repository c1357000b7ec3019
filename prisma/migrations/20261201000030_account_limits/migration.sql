-- What limits of accounts count, and what lists page by.
CREATE INDEX "event_added_idx" ON "event"("project_id", "at") WHERE type = 'domain.added';

CREATE INDEX "account_created_at_id_idx" ON "account"("created_at", "id");
CREATE INDEX "project_account_id_created_at_id_idx" ON "project"("account_id", "created_at", "id");
CREATE INDEX "project_created_at_id_idx" ON "project"("created_at", "id");
CREATE INDEX "api_key_created_at_id_idx" ON "api_key"("created_at", "id");
CREATE INDEX "domain_listed_idx" ON "domain"("project_id", "added_at", "id") WHERE removed_at IS NULL;
CREATE INDEX "domain_listed_status_idx" ON "domain"("project_id", "status", "added_at", "id") WHERE removed_at IS NULL;

-- Every three characters in a row of a host name, each once: a name with `shop` in it has `sho` and `hop`. In plain SQL, since
-- pg_trgm is not on every server, nor ours to install there (docs/decisions/0029-limits-of-accounts.md).
CREATE FUNCTION hostname_trigrams(hostname text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
    AS $$ SELECT array_agg(DISTINCT substr(hostname, n, 3)) FROM generate_series(1, length(hostname) - 2) AS n $$;
-- Of removed ones as well: PostgreSQL plans by the statistics of an index only where that has all rows.
CREATE INDEX "domain_part_idx" ON "domain" USING gin (hostname_trigrams(hostname));

-- Accounts that wait for what all of them share at a certificate authority: meanwhile none takes more than a quarter of it.
CREATE TABLE "budget_waiting" (
    "authority" TEXT NOT NULL,
    "subject" UUID NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budget_waiting_pkey" PRIMARY KEY ("authority", "subject")
);

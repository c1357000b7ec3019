-- The watch: between checks, workers keep the names that are pending, live or drifted in memory and ask their servers. Each
-- name belongs to one of 256 shards, each shard to one worker at a time.

-- Which servers are asked, and what each showed last (src/core/watch/watched-name.ts). Null or empty: nothing is asked. The next
-- full check of a domain fills it.
ALTER TABLE "observation" ADD COLUMN "watched_servers" TEXT;

-- A shard's names. hashtext() depends on nothing but the text; its numbers are stored nowhere else.
CREATE INDEX "domain_watched_idx" ON "domain" ((hashtext("hostname") & 255), "id")
    WHERE "removed_at" IS NULL AND "status" IN ('pending', 'live', 'drifted');

-- Every heartbeat writes these rows again: room in their pages lets them stay where they are.
CREATE TABLE "watch_shard" (
    "shard" SMALLINT NOT NULL,
    "worker" UUID,
    "leased_until" TIMESTAMPTZ(3),

    CONSTRAINT "watch_shard_pkey" PRIMARY KEY ("shard")
) WITH (fillfactor = 40);
INSERT INTO "watch_shard" ("shard") SELECT generate_series(0, 255);

-- Who shares them, those that have none yet among them.
CREATE TABLE "watch_worker" (
    "worker" UUID NOT NULL,
    "alive_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "watch_worker_pkey" PRIMARY KEY ("worker")
);

-- <shard> <domain id>: read the name again; it may have to be watched otherwise, or no more. A notifying commit takes a lock of
-- the whole database for a moment, so a check that finds what the one before found must never be one.
CREATE FUNCTION "notify_watch"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    "one" RECORD := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF TG_TABLE_NAME = 'observation' THEN
        PERFORM pg_notify('signpost_watch', (hashtext("hostname") & 255) || ' ' || "id") FROM "domain"
        WHERE "id" = "one"."domain_id" AND "removed_at" IS NULL AND "status" IN ('pending', 'live', 'drifted');
    ELSE
        PERFORM pg_notify('signpost_watch', (hashtext("one"."hostname") & 255) || ' ' || "one"."id");
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER "observation_watched_at_once" AFTER INSERT ON "observation" FOR EACH ROW
    WHEN (NEW."watched_servers" <> '')
    EXECUTE FUNCTION "notify_watch"();
CREATE TRIGGER "observation_watched_otherwise" AFTER UPDATE OF "watched_servers" ON "observation" FOR EACH ROW
    WHEN (COALESCE(OLD."watched_servers", '') <> COALESCE(NEW."watched_servers", ''))
    EXECUTE FUNCTION "notify_watch"();

CREATE TRIGGER "domain_watched_otherwise" AFTER UPDATE OF "status", "epoch", "pending_since", "removed_at" ON "domain" FOR EACH ROW
    WHEN ((OLD."status", OLD."epoch", OLD."pending_since", OLD."removed_at")
            IS DISTINCT FROM (NEW."status", NEW."epoch", NEW."pending_since", NEW."removed_at")
        AND (OLD."removed_at" IS NULL AND OLD."status" IN ('pending', 'live', 'drifted')
            OR NEW."removed_at" IS NULL AND NEW."status" IN ('pending', 'live', 'drifted')))
    EXECUTE FUNCTION "notify_watch"();
CREATE TRIGGER "domain_watched_no_more" AFTER DELETE ON "domain" FOR EACH ROW
    WHEN (OLD."removed_at" IS NULL AND OLD."status" IN ('pending', 'live', 'drifted'))
    EXECUTE FUNCTION "notify_watch"();

-- The whole schema of version 0.2.0. Later migrations add to it.

-- Finds parts of host names. The database's owner may create it.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- CreateEnum
CREATE TYPE "pet_status" AS ENUM ('available', 'pending', 'sold');

-- CreateEnum
CREATE TYPE "plan" AS ENUM ('free', 'pro', 'enterprise');

-- CreateEnum
CREATE TYPE "deploy_status" AS ENUM ('succeeded', 'failed');

-- CreateEnum
CREATE TYPE "domain_status" AS ENUM ('pending', 'verified', 'live', 'drifted', 'failed');

-- CreateEnum
CREATE TYPE "certificate_status" AS ENUM ('ordering', 'issued', 'failed');

-- CreateEnum
CREATE TYPE "delivery_status" AS ENUM ('pending', 'delivered', 'failed');

-- CreateTable
CREATE TABLE "pet" (
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "category_id" BIGINT NOT NULL,
    "status" "pet_status" NOT NULL DEFAULT 'available',

    CONSTRAINT "pet_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "account" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "limits" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "project" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL DEFAULT '00000000-0000-4000-8000-000000000000'::uuid,
    "name" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "plan" "plan" NOT NULL DEFAULT 'free',
    "deployed_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_event_number" BIGINT NOT NULL DEFAULT 0,
    "primary_hostname" TEXT,
    "signing_generation" INTEGER NOT NULL DEFAULT 1,
    "signing_rotated_at" TIMESTAMPTZ(3),
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "project_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deploy" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "status" "deploy_status" NOT NULL,
    "upstream" TEXT NOT NULL,
    "upstream_ca" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "deploy_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "domain" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "hostname" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "status" "domain_status" NOT NULL,
    "epoch" INTEGER NOT NULL DEFAULT 1,
    "version" INTEGER NOT NULL DEFAULT 0,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "findings" JSONB NOT NULL DEFAULT '[]',
    "added_at" TIMESTAMPTZ(3) NOT NULL,
    "pending_since" TIMESTAMPTZ(3) NOT NULL,
    "last_checked_at" TIMESTAMPTZ(3),
    "next_check_at" TIMESTAMPTZ(3),
    "verified_at" TIMESTAMPTZ(3),
    "missed_at" TIMESTAMPTZ(3),
    "escalate_at" TIMESTAMPTZ(3),
    "removed_at" TIMESTAMPTZ(3),
    "drifted_at" TIMESTAMPTZ(3),
    "failed_at" TIMESTAMPTZ(3),
    "recheck_at" TIMESTAMPTZ(3),
    "renew_at" TIMESTAMPTZ(3),
    "renewal_info_at" TIMESTAMPTZ(3),
    "shown" JSONB,
    "certificate_ends_at" TIMESTAMPTZ(3),
    "watched_until" TIMESTAMPTZ(3),
    "leases" INTEGER NOT NULL DEFAULT 0,
    "metadata" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "domain_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "observation" (
    "domain_id" UUID NOT NULL,
    "value" JSONB NOT NULL,

    CONSTRAINT "observation_pkey" PRIMARY KEY ("domain_id")
);

-- CreateTable
CREATE TABLE "hsts" (
    "domain_id" UUID NOT NULL,
    "max_age" INTEGER NOT NULL,
    "include_subdomains" BOOLEAN NOT NULL,
    "preload" BOOLEAN NOT NULL,

    CONSTRAINT "hsts_pkey" PRIMARY KEY ("domain_id")
);

-- CreateTable
CREATE TABLE "event" (
    "id" BIGSERIAL NOT NULL,
    "project_id" UUID NOT NULL,
    "number" BIGINT NOT NULL,
    "message_id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "domain_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "project_metadata" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook" (
    "id" UUID NOT NULL,
    "project_id" UUID,
    "url" TEXT NOT NULL,
    "event_types" TEXT[],
    "sealed_secret" BYTEA NOT NULL,
    "sealed_old_secret" BYTEA,
    "old_secret_ends_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),
    "disabled_reason" TEXT,
    "failing_since" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_delivery" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "webhook_id" UUID NOT NULL,
    "event_id" BIGINT NOT NULL,
    "status" "delivery_status" NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "queued_at" TIMESTAMPTZ(3),
    "last_attempt_at" TIMESTAMPTZ(3),
    "last_status" INTEGER,
    "last_error" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_delivery_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "redirect" (
    "project_id" UUID NOT NULL,
    "from_hostname" TEXT NOT NULL,
    "to_hostname" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "place" INTEGER NOT NULL,

    CONSTRAINT "redirect_pkey" PRIMARY KEY ("project_id","from_hostname")
);

-- CreateTable
CREATE TABLE "certificate" (
    "id" UUID NOT NULL,
    "domain_id" UUID NOT NULL,
    "hostname" TEXT NOT NULL,
    "status" "certificate_status" NOT NULL,
    "sealed_key" BYTEA,
    "authority" TEXT,
    "order_url" TEXT,
    "chain" TEXT,
    "issuer" TEXT,
    "issued_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "problem" JSONB,
    "setback" JSONB,
    "renewal_info" JSONB,
    "buckets" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "ended_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "certificate_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "challenge" (
    "token" TEXT NOT NULL,
    "type" TEXT NOT NULL DEFAULT 'http-01',
    "hostname" TEXT NOT NULL,
    "key_authorization" TEXT NOT NULL,
    "certificate_id" UUID NOT NULL,

    CONSTRAINT "challenge_pkey" PRIMARY KEY ("token")
);

-- CreateTable
CREATE TABLE "escalation" (
    "id" UUID NOT NULL,
    "domain_id" UUID NOT NULL,
    "cause" TEXT NOT NULL,
    "evidence" JSONB NOT NULL,
    "next_action" TEXT NOT NULL,
    "opened_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "escalation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "acme_account" (
    "directory_url" TEXT NOT NULL,
    "account_url" TEXT,
    "sealed_key" BYTEA NOT NULL,
    "contact" TEXT,

    CONSTRAINT "acme_account_pkey" PRIMARY KEY ("directory_url")
);

-- CreateTable
CREATE TABLE "authority_budget" (
    "key" TEXT NOT NULL,
    "full_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "authority_budget_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "order_waiting" (
    "authority" TEXT NOT NULL,
    "project_id" UUID NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "order_waiting_pkey" PRIMARY KEY ("authority","project_id")
);

-- CreateTable
CREATE TABLE "local_authority" (
    "id" TEXT NOT NULL,
    "certificate" TEXT NOT NULL,
    "sealed_key" BYTEA NOT NULL,

    CONSTRAINT "local_authority_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "derived_secret" (
    "name" TEXT NOT NULL,
    "sealed_value" BYTEA NOT NULL,

    CONSTRAINT "derived_secret_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "scopes" TEXT[],
    "account_id" UUID,
    "project_ids" UUID[] DEFAULT ARRAY[]::UUID[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "successor_id" TEXT,

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deprecated_use" (
    "api_key_id" TEXT NOT NULL,
    "operation_id" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "deprecated_use_pkey" PRIMARY KEY ("api_key_id","operation_id")
);

-- CreateTable
CREATE TABLE "idempotent_answer" (
    "api_key_id" TEXT NOT NULL,
    "operation_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "status" INTEGER NOT NULL,
    "headers" JSONB NOT NULL,
    "body" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotent_answer_pkey" PRIMARY KEY ("api_key_id","operation_id","key")
);

-- Not logged: a crash may forget the counters of a minute.
CREATE UNLOGGED TABLE "rate_limit" (
    "key" VARCHAR(255) NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "rate_limit_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "turn" (
    "name" TEXT NOT NULL,
    "taken_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "turn_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "quarantine" (
    "queue" TEXT NOT NULL,
    "job_id" TEXT NOT NULL,
    "domain_id" UUID,
    "reason" TEXT NOT NULL,
    "times" INTEGER NOT NULL DEFAULT 1,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "quarantine_pkey" PRIMARY KEY ("queue","job_id")
);

-- CreateTable
CREATE TABLE "repair" (
    "kind" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "repair_pkey" PRIMARY KEY ("kind")
);

-- CreateTable
CREATE TABLE "fleet_process" (
    "id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "version" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    "queue_seen_at" TIMESTAMPTZ(3),
    "resolvers_failing" BOOLEAN NOT NULL DEFAULT false,
    "is_refused" BOOLEAN NOT NULL DEFAULT false,
    "problem" TEXT,

    CONSTRAINT "fleet_process_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "shared_settings" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "settings" JSONB NOT NULL,
    "queue_id" TEXT,

    CONSTRAINT "shared_settings_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "pet_status_id_idx" ON "pet"("status", "id");

-- CreateIndex
CREATE INDEX "account_listed_idx" ON "account"("created_at", "id");

-- CreateIndex
CREATE INDEX "project_listed_idx" ON "project"("created_at", "id") WHERE (deleted_at IS NULL);

-- CreateIndex
CREATE INDEX "project_of_account_idx" ON "project"("account_id", "created_at", "id") WHERE (deleted_at IS NULL);

-- CreateIndex
CREATE INDEX "project_metadata_idx" ON "project" USING GIN ("metadata" jsonb_path_ops) WHERE (deleted_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "project_slug_key" ON "project"("account_id", "slug") WHERE (deleted_at IS NULL);

-- CreateIndex
CREATE INDEX "deploy_project_id_created_at_idx" ON "deploy"("project_id", "created_at" DESC);

-- CreateIndex
CREATE INDEX "domain_project_id_hostname_idx" ON "domain"("project_id", "hostname");

-- CreateIndex
CREATE INDEX "domain_project_id_added_at_idx" ON "domain"("project_id", "added_at" DESC);

-- CreateIndex
CREATE INDEX "domain_listed_idx" ON "domain"("added_at", "id") WHERE (removed_at IS NULL);

-- CreateIndex
CREATE INDEX "domain_listed_of_project_idx" ON "domain"("project_id", "added_at", "id") WHERE (removed_at IS NULL);

-- CreateIndex
CREATE INDEX "domain_listed_by_status_idx" ON "domain"("project_id", "status", "added_at", "id") WHERE (removed_at IS NULL);

-- CreateIndex
CREATE INDEX "domain_part_of_name_idx" ON "domain" USING GIN ("hostname" gin_trgm_ops) WHERE (removed_at IS NULL);

-- CreateIndex
CREATE INDEX "domain_metadata_idx" ON "domain" USING GIN ("metadata" jsonb_path_ops) WHERE (removed_at IS NULL);

-- CreateIndex
CREATE INDEX "domain_hostname_idx" ON "domain"("hostname");

-- CreateIndex
CREATE INDEX "domain_waiting_idx" ON "domain"("status", "id") WHERE (removed_at IS NULL);

-- CreateIndex
CREATE INDEX "domain_recheck_idx" ON "domain"("recheck_at") WHERE (recheck_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "domain_renew_idx" ON "domain"("renew_at") WHERE (renew_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "domain_renewal_info_idx" ON "domain"("renewal_info_at") WHERE (renewal_info_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "domain_escalate_idx" ON "domain"("escalate_at") WHERE (escalate_at IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "domain_attached_key" ON "domain"("project_id", "hostname") WHERE (removed_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "domain_held_hostname_key" ON "domain"("hostname") WHERE (removed_at IS NULL AND status = ANY (ARRAY['verified'::domain_status, 'live'::domain_status, 'drifted'::domain_status]));

-- CreateIndex
CREATE INDEX "event_domain_id_id_idx" ON "event"("domain_id", "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "event_project_id_number_key" ON "event"("project_id", "number");

-- CreateIndex
CREATE INDEX "webhook_project_id_idx" ON "webhook"("project_id");

-- CreateIndex
CREATE INDEX "webhook_delivery_unqueued_idx" ON "webhook_delivery"("webhook_id", "next_attempt_at", "event_id") WHERE (queued_at IS NULL AND status = 'pending'::delivery_status);

-- CreateIndex
CREATE INDEX "webhook_delivery_queued_idx" ON "webhook_delivery"("queued_at") WHERE (queued_at IS NOT NULL AND status = 'pending'::delivery_status);

-- CreateIndex
CREATE INDEX "webhook_delivery_ended_idx" ON "webhook_delivery"("created_at") WHERE (status <> 'pending'::delivery_status);

-- CreateIndex
CREATE INDEX "webhook_delivery_webhook_id_event_id_idx" ON "webhook_delivery"("webhook_id", "event_id" DESC);

-- CreateIndex
CREATE INDEX "certificate_domain_id_created_at_idx" ON "certificate"("domain_id", "created_at" DESC);

-- CreateIndex
CREATE INDEX "certificate_issued_idx" ON "certificate"("ended_at") WHERE (status = 'issued'::certificate_status);

-- CreateIndex
CREATE UNIQUE INDEX "certificate_open_order_key" ON "certificate"("domain_id") WHERE (status = 'ordering');

-- CreateIndex
CREATE INDEX "challenge_certificate_id_idx" ON "challenge"("certificate_id");

-- CreateIndex
CREATE INDEX "challenge_hostname_idx" ON "challenge"("hostname");

-- CreateIndex
CREATE INDEX "escalation_domain_id_opened_at_idx" ON "escalation"("domain_id", "opened_at" DESC);

-- CreateIndex
CREATE INDEX "escalation_opened_at_id_idx" ON "escalation"("opened_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "escalation_open_key" ON "escalation"("domain_id") WHERE (closed_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "api_key_digest_key" ON "api_key"("digest");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_successor_id_key" ON "api_key"("successor_id");

-- CreateIndex
CREATE INDEX "api_key_of_account_idx" ON "api_key"("account_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "idempotent_answer_expires_at_idx" ON "idempotent_answer"("expires_at");

-- CreateIndex
CREATE INDEX "quarantine_domain_id_idx" ON "quarantine"("domain_id");

-- AddForeignKey
ALTER TABLE "project" ADD CONSTRAINT "project_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deploy" ADD CONSTRAINT "deploy_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "domain" ADD CONSTRAINT "domain_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "observation" ADD CONSTRAINT "observation_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "hsts" ADD CONSTRAINT "hsts_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "event" ADD CONSTRAINT "event_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "event" ADD CONSTRAINT "event_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook" ADD CONSTRAINT "webhook_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_webhook_id_fkey" FOREIGN KEY ("webhook_id") REFERENCES "webhook"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_event_id_fkey" FOREIGN KEY ("event_id") REFERENCES "event"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "redirect" ADD CONSTRAINT "redirect_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "certificate" ADD CONSTRAINT "certificate_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "challenge" ADD CONSTRAINT "challenge_certificate_id_fkey" FOREIGN KEY ("certificate_id") REFERENCES "certificate"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "escalation" ADD CONSTRAINT "escalation_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order_waiting" ADD CONSTRAINT "order_waiting_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_successor_id_fkey" FOREIGN KEY ("successor_id") REFERENCES "api_key"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deprecated_use" ADD CONSTRAINT "deprecated_use_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Projects that name no account belong to this one, which has no limits.
INSERT INTO "account" ("id", "name") VALUES ('00000000-0000-4000-8000-000000000000', 'Default');

-- Writes events: numbers them within their project without gaps, in the order of their commits, copies the metadata, and
-- adds a delivery for every webhook that subscribes to them.
-- given: [{"domain_id", "type", "data", "at"}], in the order in which they happened.
CREATE FUNCTION "record_events"("given" JSONB) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    -- In one order, so that two transactions with events of the same projects do not deadlock.
    PERFORM 1 FROM "project" WHERE "id" IN (
        SELECT "domain"."project_id" FROM jsonb_to_recordset("given") AS "one"("domain_id" UUID)
        JOIN "domain" ON "domain"."id" = "one"."domain_id"
    ) ORDER BY "id" FOR NO KEY UPDATE;
    WITH "listed" AS (
        SELECT "domain"."project_id", "domain"."id" AS "domain_id", "domain"."metadata", "item"."value" AS "one", "item"."place",
            row_number() OVER (PARTITION BY "domain"."project_id" ORDER BY "item"."place") AS "nth"
        FROM jsonb_array_elements("given") WITH ORDINALITY AS "item"("value", "place")
        JOIN "domain" ON "domain"."id" = ("item"."value" ->> 'domain_id')::UUID
    ), "counted" AS (
        UPDATE "project" SET "last_event_number" = "last_event_number" + "more"."count"
        FROM (SELECT "project_id", count(*) FROM "listed" GROUP BY "project_id") AS "more"
        WHERE "project"."id" = "more"."project_id"
        RETURNING "project"."id", "project"."metadata", "last_event_number" - "more"."count" AS "before"
    ), "written" AS (
        INSERT INTO "event" ("project_id", "domain_id", "number", "type", "data", "at", "metadata", "project_metadata")
        SELECT "listed"."project_id", "domain_id", "before" + "nth", "one" ->> 'type', "one" -> 'data', ("one" ->> 'at')::TIMESTAMPTZ,
            "listed"."metadata", "counted"."metadata"
        FROM "listed" JOIN "counted" ON "counted"."id" = "listed"."project_id"
        ORDER BY "place"
        RETURNING "id", "project_id", "type", "at"
    )
    INSERT INTO "webhook_delivery" ("webhook_id", "event_id", "next_attempt_at", "created_at")
    SELECT "webhook"."id", "written"."id", "written"."at", "written"."at"
    FROM "written" JOIN "webhook" ON ("webhook"."project_id" = "written"."project_id" OR "webhook"."project_id" IS NULL)
        AND "webhook"."deleted_at" IS NULL AND "webhook"."disabled_at" IS NULL
        AND ("webhook"."event_types" = '{}' OR "written"."type" = ANY ("webhook"."event_types"));
END $$;

-- Notifies every edge process, at the commit, of what changed about a name (docs/decisions/0017-what-an-edge-remembers.md). A commit that notifies
-- takes a lock of the whole database for a moment, so an ordinary check must not notify: the trigger of `domain` names
-- columns that such a check does not write.
-- gone <hostname>: no domain holds the name. changed <hostname>, project <id>: read again.
CREATE FUNCTION "notify_edges"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    "one" RECORD := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF TG_TABLE_NAME = 'domain' THEN
        PERFORM pg_notify('signpost_edge', CASE WHEN TG_OP <> 'DELETE' AND "one"."removed_at" IS NULL
            AND "one"."status" IN ('verified', 'live', 'drifted') THEN 'changed ' ELSE 'gone ' END || "one"."hostname");
    ELSIF TG_TABLE_NAME = 'certificate' THEN
        PERFORM pg_notify('signpost_edge', 'changed ' || "one"."hostname");
    ELSIF TG_TABLE_NAME = 'redirect' THEN
        PERFORM pg_notify('signpost_edge', 'changed ' || "one"."from_hostname");
    ELSIF TG_TABLE_NAME = 'hsts' THEN
        PERFORM pg_notify('signpost_edge', 'changed ' || "hostname") FROM "domain" WHERE "id" = "one"."domain_id";
    ELSIF TG_TABLE_NAME = 'deploy' THEN
        PERFORM pg_notify('signpost_edge', 'project ' || "one"."project_id");
    ELSE
        PERFORM pg_notify('signpost_edge', 'project ' || "one"."id");
    END IF;
    RETURN NULL;
END $$;

-- Only when a domain begins or ceases to hold its name: its route is the same while verified, live or drifted.
CREATE TRIGGER "domain_held_or_not" AFTER UPDATE OF "status", "removed_at" ON "domain" FOR EACH ROW
    WHEN ((OLD."removed_at" IS NULL AND OLD."status" IN ('verified', 'live', 'drifted'))
        <> (NEW."removed_at" IS NULL AND NEW."status" IN ('verified', 'live', 'drifted')))
    EXECUTE FUNCTION "notify_edges"();
CREATE TRIGGER "domain_held_at_once" AFTER INSERT ON "domain" FOR EACH ROW
    WHEN (NEW."removed_at" IS NULL AND NEW."status" IN ('verified', 'live', 'drifted'))
    EXECUTE FUNCTION "notify_edges"();
CREATE TRIGGER "domain_deleted" AFTER DELETE ON "domain" FOR EACH ROW
    WHEN (OLD."removed_at" IS NULL AND OLD."status" IN ('verified', 'live', 'drifted'))
    EXECUTE FUNCTION "notify_edges"();

CREATE TRIGGER "certificate_issued" AFTER UPDATE OF "status", "expires_at" ON "certificate" FOR EACH ROW
    WHEN ((OLD."status" = 'issued' OR NEW."status" = 'issued')
        AND (OLD."status", OLD."expires_at") IS DISTINCT FROM (NEW."status", NEW."expires_at"))
    EXECUTE FUNCTION "notify_edges"();
CREATE TRIGGER "certificate_issued_at_once" AFTER INSERT ON "certificate" FOR EACH ROW
    WHEN (NEW."status" = 'issued') EXECUTE FUNCTION "notify_edges"();
CREATE TRIGGER "certificate_deleted" AFTER DELETE ON "certificate" FOR EACH ROW
    WHEN (OLD."status" = 'issued') EXECUTE FUNCTION "notify_edges"();

CREATE TRIGGER "redirect_changed" AFTER INSERT OR UPDATE OR DELETE ON "redirect" FOR EACH ROW
    EXECUTE FUNCTION "notify_edges"();

-- Each event of a project also updates its row: last_event_number.
CREATE TRIGGER "project_primary_changed" AFTER UPDATE OF "primary_hostname" ON "project" FOR EACH ROW
    WHEN (OLD."primary_hostname" IS DISTINCT FROM NEW."primary_hostname") EXECUTE FUNCTION "notify_edges"();

CREATE TRIGGER "deploy_changed" AFTER INSERT OR UPDATE OR DELETE ON "deploy" FOR EACH ROW
    EXECUTE FUNCTION "notify_edges"();
CREATE TRIGGER "hsts_changed" AFTER INSERT OR UPDATE OR DELETE ON "hsts" FOR EACH ROW
    EXECUTE FUNCTION "notify_edges"();

CREATE TRIGGER "project_signing_changed" AFTER UPDATE OF "signing_generation" ON "project" FOR EACH ROW
    WHEN (OLD."signing_generation" IS DISTINCT FROM NEW."signing_generation") EXECUTE FUNCTION "notify_edges"();

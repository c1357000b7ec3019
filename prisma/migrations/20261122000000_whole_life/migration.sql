-- A domain's whole life: looks at settled domains, renewals, numbered events with their webhooks, domain settings.

ALTER TABLE "domain"
    ADD COLUMN "drifted_at" TIMESTAMPTZ(3),
    ADD COLUMN "failed_at" TIMESTAMPTZ(3),
    ADD COLUMN "recheck_at" TIMESTAMPTZ(3),
    ADD COLUMN "renew_at" TIMESTAMPTZ(3),
    ADD COLUMN "certificate_ends_at" TIMESTAMPTZ(3),
    ADD COLUMN "watched_until" TIMESTAMPTZ(3),
    ADD COLUMN "leases" INTEGER NOT NULL DEFAULT 0;

-- What stands from before: looked at within the hour, like everything else from now on.
UPDATE "domain" SET
    "drifted_at" = CASE WHEN "status" = 'drifted' THEN now() END,
    "failed_at" = CASE WHEN "status" = 'failed' THEN COALESCE("last_checked_at", now()) END,
    "recheck_at" = CASE WHEN "status" IN ('live', 'drifted', 'failed') THEN now() + random() * interval '1 hour' END,
    "certificate_ends_at" = (SELECT max("expires_at") FROM "certificate"
        WHERE "certificate"."domain_id" = "domain"."id" AND "certificate"."status" = 'issued')
WHERE "removed_at" IS NULL;
-- A case that is open is looked at again from now on.
UPDATE "domain" SET "escalate_at" = now()
WHERE "removed_at" IS NULL AND "status" = 'verified' AND "escalate_at" IS NULL;
UPDATE "domain" SET "renew_at" = "certificate_ends_at" - interval '30 days'
WHERE "removed_at" IS NULL AND "status" IN ('live', 'drifted') AND "certificate_ends_at" IS NOT NULL;

CREATE INDEX "domain_recheck_idx" ON "domain"("recheck_at") WHERE recheck_at IS NOT NULL;
CREATE INDEX "domain_renew_idx" ON "domain"("renew_at") WHERE renew_at IS NOT NULL;

-- The last look lies beside its domain: an update of the domain, which every check is, need not copy it.
CREATE TABLE "observation" (
    "domain_id" UUID NOT NULL,
    "value" JSONB NOT NULL,
    CONSTRAINT "observation_pkey" PRIMARY KEY ("domain_id")
);
ALTER TABLE "observation" ADD CONSTRAINT "observation_domain_id_fkey"
    FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE CASCADE ON UPDATE CASCADE;
INSERT INTO "observation" SELECT "id", "observation" FROM "domain" WHERE "observation" IS NOT NULL;
ALTER TABLE "domain" DROP COLUMN "observation";

-- Events are numbered within their project, without a gap and in the order of their commits.
ALTER TABLE "project" ADD COLUMN "last_event_number" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "event"
    ADD COLUMN "project_id" UUID,
    ADD COLUMN "number" BIGINT,
    ADD COLUMN "message_id" UUID NOT NULL DEFAULT gen_random_uuid();
UPDATE "event" SET "project_id" = "numbered"."project_id", "number" = "numbered"."number"
FROM (
    SELECT "event"."id", "domain"."project_id",
        row_number() OVER (PARTITION BY "domain"."project_id" ORDER BY "event"."id") AS "number"
    FROM "event" JOIN "domain" ON "domain"."id" = "event"."domain_id"
) AS "numbered" WHERE "numbered"."id" = "event"."id";
UPDATE "project" SET "last_event_number" = "told"."count"
FROM (SELECT "project_id", count(*) FROM "event" GROUP BY "project_id") AS "told"
WHERE "told"."project_id" = "project"."id";
ALTER TABLE "event" ALTER COLUMN "project_id" SET NOT NULL, ALTER COLUMN "number" SET NOT NULL;
CREATE UNIQUE INDEX "event_project_id_number_key" ON "event"("project_id", "number");
ALTER TABLE "event" ADD CONSTRAINT "event_project_id_fkey"
    FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

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
CREATE INDEX "webhook_project_id_idx" ON "webhook"("project_id");
ALTER TABLE "webhook" ADD CONSTRAINT "webhook_project_id_fkey"
    FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TYPE "delivery_status" AS ENUM ('pending', 'delivered', 'failed');
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
-- What waits for its turn, webhook by webhook; what the queue has been given; what is to be forgotten.
CREATE INDEX "webhook_delivery_unqueued_idx" ON "webhook_delivery"("webhook_id", "next_attempt_at", "event_id") WHERE queued_at IS NULL AND status = 'pending'::delivery_status;
CREATE INDEX "webhook_delivery_queued_idx" ON "webhook_delivery"("queued_at") WHERE queued_at IS NOT NULL AND status = 'pending'::delivery_status;
CREATE INDEX "webhook_delivery_ended_idx" ON "webhook_delivery"("created_at") WHERE status <> 'pending'::delivery_status;
CREATE INDEX "webhook_delivery_webhook_id_event_id_idx" ON "webhook_delivery"("webhook_id", "event_id" DESC);
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_webhook_id_fkey"
    FOREIGN KEY ("webhook_id") REFERENCES "webhook"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_event_id_fkey"
    FOREIGN KEY ("event_id") REFERENCES "event"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The one way to write events: numbers them, and leaves a delivery for every webhook that wants them.
-- told: [{"domain_id", "type", "data", "at"}], in the order in which they happened.
CREATE FUNCTION "record_events"("told" JSONB) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    -- Whoever numbers events of several projects takes them in one order, or two would wait for each other.
    PERFORM 1 FROM "project" WHERE "id" IN (
        SELECT "domain"."project_id" FROM jsonb_to_recordset("told") AS "one"("domain_id" UUID)
        JOIN "domain" ON "domain"."id" = "one"."domain_id"
    ) ORDER BY "id" FOR NO KEY UPDATE;
    WITH "listed" AS (
        SELECT "domain"."project_id", "domain"."id" AS "domain_id", "item"."value" AS "one", "item"."place",
            row_number() OVER (PARTITION BY "domain"."project_id" ORDER BY "item"."place") AS "nth"
        FROM jsonb_array_elements("told") WITH ORDINALITY AS "item"("value", "place")
        JOIN "domain" ON "domain"."id" = ("item"."value" ->> 'domain_id')::UUID
    ), "counted" AS (
        UPDATE "project" SET "last_event_number" = "last_event_number" + "more"."count"
        FROM (SELECT "project_id", count(*) FROM "listed" GROUP BY "project_id") AS "more"
        WHERE "project"."id" = "more"."project_id"
        RETURNING "project"."id", "last_event_number" - "more"."count" AS "before"
    ), "written" AS (
        INSERT INTO "event" ("project_id", "domain_id", "number", "type", "data", "at")
        SELECT "listed"."project_id", "domain_id", "before" + "nth", "one" ->> 'type', "one" -> 'data', ("one" ->> 'at')::TIMESTAMPTZ
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

-- domains.primary and domains.redirects of the interface document.
ALTER TABLE "project" ADD COLUMN "primary_hostname" TEXT;
CREATE TABLE "redirect" (
    "project_id" UUID NOT NULL,
    "from_hostname" TEXT NOT NULL,
    "to_hostname" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "place" INTEGER NOT NULL,
    CONSTRAINT "redirect_pkey" PRIMARY KEY ("project_id", "from_hostname")
);
ALTER TABLE "redirect" ADD CONSTRAINT "redirect_project_id_fkey"
    FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Why an order that nobody refused has not come to its end: the last time that the authority could not be asked.
ALTER TABLE "certificate" ADD COLUMN "setback" JSONB, ADD COLUMN "ended_at" TIMESTAMPTZ(3);
UPDATE "certificate" SET "ended_at" = "created_at" WHERE "status" <> 'ordering';

-- A job that failed again and again is set aside, so that it harms no others, and comes back at its time.
CREATE TABLE "quarantine" (
    "queue" TEXT NOT NULL,
    "job_id" TEXT NOT NULL,
    "domain_id" UUID,
    "reason" TEXT NOT NULL,
    "times" INTEGER NOT NULL DEFAULT 1,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "quarantine_pkey" PRIMARY KEY ("queue", "job_id")
);
CREATE INDEX "quarantine_domain_id_idx" ON "quarantine"("domain_id");

-- What the reconciler had to put right, by kind; stays empty while nothing goes wrong.
CREATE TABLE "repair" (
    "kind" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "repair_pkey" PRIMARY KEY ("kind")
);

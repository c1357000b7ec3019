-- Each addition of a host name is a row with an ID of its own; a removed one keeps its events.
DROP INDEX "domain_project_id_hostname_key";
CREATE UNIQUE INDEX "domain_attached_key" ON "domain"("project_id", "hostname") WHERE (removed_at IS NULL);
CREATE INDEX "domain_project_id_hostname_idx" ON "domain"("project_id", "hostname");

-- The platform's own keys and values.
ALTER TABLE "project" ADD COLUMN "metadata" JSONB NOT NULL DEFAULT '{}';
ALTER TABLE "domain" ADD COLUMN "metadata" JSONB NOT NULL DEFAULT '{}';
-- As they were when the event happened.
ALTER TABLE "event" ADD COLUMN "metadata" JSONB NOT NULL DEFAULT '{}',
    ADD COLUMN "project_metadata" JSONB NOT NULL DEFAULT '{}';

-- A deleted project keeps its row for the events of its domains; its slug is free again.
ALTER TABLE "project" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
DROP INDEX "project_slug_key";
CREATE UNIQUE INDEX "project_slug_key" ON "project"("slug") WHERE (deleted_at IS NULL);

-- Lists in pages. The extension finds parts of names; the database's owner may create it.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX "project_listed_idx" ON "project"("created_at", "id") WHERE (deleted_at IS NULL);
CREATE INDEX "project_metadata_idx" ON "project" USING GIN ("metadata" jsonb_path_ops) WHERE (deleted_at IS NULL);
CREATE INDEX "domain_listed_idx" ON "domain"("added_at", "id") WHERE (removed_at IS NULL);
CREATE INDEX "domain_listed_of_project_idx" ON "domain"("project_id", "added_at", "id") WHERE (removed_at IS NULL);
CREATE INDEX "escalation_opened_at_id_idx" ON "escalation"("opened_at" DESC, "id" DESC);
-- How many were added lately, with the removed ones.
CREATE INDEX "domain_project_id_added_at_idx" ON "domain"("project_id", "added_at" DESC);
CREATE INDEX "domain_listed_by_status_idx" ON "domain"("project_id", "status", "added_at", "id") WHERE (removed_at IS NULL);
CREATE INDEX "domain_part_of_name_idx" ON "domain" USING GIN ("hostname" gin_trgm_ops) WHERE (removed_at IS NULL);
CREATE INDEX "domain_metadata_idx" ON "domain" USING GIN ("metadata" jsonb_path_ops) WHERE (removed_at IS NULL);

-- As before, and it copies the metadata. given: [{"domain_id", "type", "data", "at"}], in the order in which they happened.
DROP FUNCTION "record_events"(JSONB);
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

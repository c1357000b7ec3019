-- RenameTable
-- Processes of 0.2.0 read the view below instead.
ALTER TABLE "event" RENAME TO "recorded_event";
ALTER TABLE "recorded_event" RENAME CONSTRAINT "event_pkey" TO "recorded_event_pkey";
ALTER TABLE "recorded_event" RENAME CONSTRAINT "event_domain_id_fkey" TO "recorded_event_domain_id_fkey";
ALTER TABLE "recorded_event" RENAME CONSTRAINT "event_project_id_fkey" TO "recorded_event_project_id_fkey";
ALTER INDEX "event_domain_id_id_idx" RENAME TO "recorded_event_domain_id_id_idx";
ALTER INDEX "event_project_id_number_key" RENAME TO "recorded_event_project_id_number_key";

-- CreateTable
-- Without a foreign key to the project: adding one locks that table, and running transactions could deadlock.
CREATE TABLE "event_metadata" (
    "id" BIGSERIAL NOT NULL,
    "project_id" UUID NOT NULL,
    "digest" BYTEA NOT NULL,
    "value" JSONB NOT NULL,

    CONSTRAINT "event_metadata_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "event_metadata_project_id_digest_key" ON "event_metadata"("project_id", "digest");

-- AlterTable
ALTER TABLE "recorded_event" ADD COLUMN     "metadata_id" BIGINT,
ADD COLUMN     "project_metadata_id" BIGINT;

-- CreateIndex
CREATE INDEX "recorded_event_metadata_idx" ON "recorded_event"("metadata_id") WHERE (metadata_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "recorded_event_project_metadata_idx" ON "recorded_event"("project_metadata_id") WHERE (project_metadata_id IS NOT NULL);

-- AddForeignKey
-- Not validated, because both columns are empty.
ALTER TABLE "recorded_event" ADD CONSTRAINT "recorded_event_metadata_id_fkey" FOREIGN KEY ("metadata_id") REFERENCES "event_metadata"("id") ON DELETE RESTRICT ON UPDATE CASCADE NOT VALID;

-- AddForeignKey
ALTER TABLE "recorded_event" ADD CONSTRAINT "recorded_event_project_metadata_id_fkey" FOREIGN KEY ("project_metadata_id") REFERENCES "event_metadata"("id") ON DELETE RESTRICT ON UPDATE CASCADE NOT VALID;

-- What processes of 0.2.0 read during an upgrade or after a rollback. A later version drops it.
CREATE VIEW "event" AS SELECT "id", "project_id", "number", "message_id", "domain_id", "type", "data", "at",
    COALESCE((SELECT "value" FROM "event_metadata" WHERE "event_metadata"."id" = "metadata_id"), "metadata") AS "metadata",
    COALESCE((SELECT "value" FROM "event_metadata" WHERE "event_metadata"."id" = "project_metadata_id"), "project_metadata") AS "project_metadata"
FROM "recorded_event";

-- Writes events: numbers them within their project without gaps, in the order of their commits, stores each metadata once, and
-- adds a delivery for every webhook that subscribes to them.
-- given: [{"domain_id", "type", "data", "at"}], in the order in which they happened.
CREATE OR REPLACE FUNCTION "record_events"("given" JSONB) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    -- In one order, so that two transactions with events of the same projects do not deadlock. Only the holder of a
    -- project's lock writes its metadata.
    PERFORM 1 FROM "project" WHERE "id" IN (
        SELECT "domain"."project_id" FROM jsonb_to_recordset("given") AS "one"("domain_id" UUID)
        JOIN "domain" ON "domain"."id" = "one"."domain_id"
    ) ORDER BY "id" FOR NO KEY UPDATE;
    WITH "listed" AS (
        SELECT "domain"."project_id", "domain"."id" AS "domain_id", "item"."value" AS "one", "item"."place",
            row_number() OVER (PARTITION BY "domain"."project_id" ORDER BY "item"."place") AS "nth",
            "domain"."metadata", sha256(convert_to(NULLIF("domain"."metadata", '{}')::TEXT, 'UTF8')) AS "digest"
        FROM jsonb_array_elements("given") WITH ORDINALITY AS "item"("value", "place")
        JOIN "domain" ON "domain"."id" = ("item"."value" ->> 'domain_id')::UUID
    ), "counted" AS (
        UPDATE "project" SET "last_event_number" = "last_event_number" + "more"."count"
        FROM (SELECT "project_id", count(*) FROM "listed" GROUP BY "project_id") AS "more"
        WHERE "project"."id" = "more"."project_id"
        RETURNING "project"."id", "last_event_number" - "more"."count" AS "before",
            "project"."metadata", sha256(convert_to(NULLIF("project"."metadata", '{}')::TEXT, 'UTF8')) AS "digest"
    ), "used" AS (
        SELECT DISTINCT ON ("project_id", "digest") * FROM (
            SELECT "project_id", "digest", "metadata" FROM "listed"
            UNION ALL SELECT "id", "digest", "metadata" FROM "counted"
        ) AS "either" WHERE "digest" IS NOT NULL
    ), "known" AS (
        SELECT "event_metadata"."id", "project_id", "digest" FROM "used" JOIN "event_metadata" USING ("project_id", "digest")
    ), "added" AS (
        INSERT INTO "event_metadata" ("project_id", "digest", "value")
        SELECT "project_id", "digest", "metadata" FROM "used"
        WHERE NOT EXISTS (SELECT FROM "known" WHERE ("known"."project_id", "known"."digest") = ("used"."project_id", "used"."digest"))
        RETURNING "id", "project_id", "digest"
    ), "stored" AS (
        SELECT * FROM "known" UNION ALL SELECT * FROM "added"
    ), "written" AS (
        INSERT INTO "recorded_event" ("project_id", "domain_id", "number", "type", "data", "at", "metadata_id", "project_metadata_id")
        SELECT "listed"."project_id", "domain_id", "before" + "nth", "one" ->> 'type', "one" -> 'data', ("one" ->> 'at')::TIMESTAMPTZ,
            "of_domain"."id", "of_project"."id"
        FROM "listed" JOIN "counted" ON "counted"."id" = "listed"."project_id"
            LEFT JOIN "stored" AS "of_domain" ON ("of_domain"."project_id", "of_domain"."digest") = ("listed"."project_id", "listed"."digest")
            LEFT JOIN "stored" AS "of_project" ON ("of_project"."project_id", "of_project"."digest") = ("counted"."id", "counted"."digest")
        ORDER BY "place"
        RETURNING "id", "project_id", "type", "at"
    )
    INSERT INTO "webhook_delivery" ("webhook_id", "event_id", "next_attempt_at", "created_at")
    SELECT "webhook"."id", "written"."id", "written"."at", "written"."at"
    FROM "written" JOIN "webhook" ON ("webhook"."project_id" = "written"."project_id" OR "webhook"."project_id" IS NULL)
        AND "webhook"."deleted_at" IS NULL AND "webhook"."disabled_at" IS NULL
        AND ("webhook"."event_types" = '{}' OR "written"."type" = ANY ("webhook"."event_types"));
END $$;

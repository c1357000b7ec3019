-- What proves an apex is one claim's. A claim of before keeps the value that its customer may have published (claim_nonce is null),
-- and what it has seen so far counts: nobody is asked for a record because of an upgrade, except where another project holds the
-- name, or where its own certificate has expired.
ALTER TABLE "domain" ADD COLUMN "claim_nonce" TEXT,
ADD COLUMN "arrival" TEXT;

UPDATE "domain" SET "arrival" = CASE
    WHEN "status" = 'failed' AND "certificate_ends_at" IS NOT NULL THEN 'lapsed'
    WHEN "status" IN ('pending', 'failed') AND EXISTS (
        SELECT FROM "domain" AS "holder"
        WHERE "holder"."hostname" = "domain"."hostname" AND "holder"."id" <> "domain"."id"
            AND "holder"."removed_at" IS NULL AND "holder"."status" IN ('verified', 'live', 'drifted')) THEN 'held_before'
    ELSE 'awaited' END
WHERE "removed_at" IS NULL AND ("status" <> 'pending' OR "last_checked_at" IS NOT NULL);

-- Who had a name counts as well as who has it.
DROP INDEX "domain_attached_idx";
CREATE INDEX "domain_hostname_idx" ON "domain"("hostname");

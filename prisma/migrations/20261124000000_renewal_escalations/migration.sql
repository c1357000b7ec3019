-- A served certificate that is not renewed in time is a case for an operator: its domain has the time of that in its row.

UPDATE "domain" SET "escalate_at" = "served"."issued_at" + ("served"."expires_at" - "served"."issued_at") * 0.8
FROM (
    SELECT DISTINCT ON ("domain_id") "domain_id", "issued_at", "expires_at" FROM "certificate"
    WHERE "status" = 'issued' AND "issued_at" IS NOT NULL AND "expires_at" IS NOT NULL
    ORDER BY "domain_id", "expires_at" DESC
) AS "served"
WHERE "served"."domain_id" = "domain"."id" AND "removed_at" IS NULL AND "status" IN ('live', 'drifted');

CREATE INDEX "domain_escalate_idx" ON "domain"("escalate_at") WHERE escalate_at IS NOT NULL;

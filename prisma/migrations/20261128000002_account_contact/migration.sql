-- The mail address that the certificate authority was last told; null: none, or told before it was kept.
ALTER TABLE "acme_account" ADD COLUMN "contact" TEXT;
-- A certificate on which an authority had no opinion was never asked about again; now it is, daily.
UPDATE "domain" SET "renewal_info_at" = now() + random() * interval '1 day'
WHERE "status" = 'live' AND "removed_at" IS NULL AND "renewal_info_at" IS NULL;

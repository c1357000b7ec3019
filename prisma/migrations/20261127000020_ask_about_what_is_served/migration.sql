-- Certificates that are served already are asked about, too (RFC 9773), not all of them together.
UPDATE "domain" SET "renewal_info_at" = now() + random() * interval '6 hours'
WHERE "status" = 'live' AND "removed_at" IS NULL;

-- Several certificate authorities, what each allows, when it wants a certificate renewed, and what our own edge shows.

-- The directory of the authority that has the order; null: the first one's, the local one's, or another edge's.
ALTER TABLE "certificate" ADD COLUMN "authority" TEXT;
-- RFC 9773: the window in which the authority wants it renewed, and its page on why.
ALTER TABLE "certificate" ADD COLUMN "renewal_info" JSONB;

ALTER TABLE "domain" ADD COLUMN "renewal_info_at" TIMESTAMPTZ(3);
CREATE INDEX "domain_renewal_info_idx" ON "domain"("renewal_info_at") WHERE renewal_info_at IS NOT NULL;
ALTER TABLE "domain" ADD COLUMN "shown" JSONB;

ALTER TABLE "challenge" ADD COLUMN "type" TEXT NOT NULL DEFAULT 'http-01';
CREATE INDEX "challenge_hostname_idx" ON "challenge"("hostname");

-- A token bucket as one time (the generic cell rate algorithm): when it is full again.
CREATE TABLE "authority_budget" (
    "key" TEXT NOT NULL,
    "full_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "authority_budget_pkey" PRIMARY KEY ("key")
);

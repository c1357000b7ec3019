-- Whoever's look is right asks who else has the name, pending or held.
CREATE INDEX "domain_attached_idx" ON "domain"("hostname") WHERE (removed_at IS NULL);

-- Who ever held a name, with the removed ones.
DROP INDEX "domain_attached_idx";
CREATE INDEX "domain_hostname_idx" ON "domain"("hostname");

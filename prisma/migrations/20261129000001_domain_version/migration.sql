-- What saves are conditional on (src/db/domains/commit.ts). The count of checks was that, too, so that pressing verify
-- counted a check that never ran.
ALTER TABLE "domain" ADD COLUMN "version" INTEGER NOT NULL DEFAULT 0;

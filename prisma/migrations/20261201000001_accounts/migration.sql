-- Whose the projects and keys are. Everything that exists goes into one account, without limits of its own, and so does what
-- a version without accounts still adds while this one takes over. Keys stay the installation's.
CREATE TABLE "account" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "limits" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);

INSERT INTO "account" ("id", "name", "limits")
VALUES ('00000000-0000-4000-8000-000000000000', 'Default',
    '{"domains": null, "additionsPerHour": null, "projects": null, "keys": null, "webhooks": null, "streams": null, "diagnoses": null, "requestsPerMinute": null}');

ALTER TABLE "project" ADD COLUMN "account_id" UUID NOT NULL DEFAULT '00000000-0000-4000-8000-000000000000';
ALTER TABLE "project" ADD CONSTRAINT "project_account_id_fkey"
    FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

DROP INDEX "project_slug_key";
CREATE UNIQUE INDEX "project_account_id_slug_key" ON "project"("account_id", "slug");

ALTER TABLE "api_key" ADD COLUMN "account_id" UUID,
ADD COLUMN "project_ids" UUID[] NOT NULL DEFAULT ARRAY[]::UUID[];
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_account_id_fkey"
    FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
CREATE INDEX "api_key_account_id_idx" ON "api_key"("account_id");

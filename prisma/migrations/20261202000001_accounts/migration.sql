-- Whose the projects are. Everything that exists belongs to the default account, which has no limits: they would change what works today.
CREATE TABLE "account" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "limits" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "account_listed_idx" ON "account"("created_at", "id");
INSERT INTO "account" ("id", "name") VALUES ('00000000-0000-4000-8000-000000000000', 'Default');

-- A process of the version before inserts projects without an account: the default stays.
ALTER TABLE "project" ADD COLUMN "account_id" UUID NOT NULL DEFAULT '00000000-0000-4000-8000-000000000000'::uuid;
ALTER TABLE "project" ADD CONSTRAINT "project_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
DROP INDEX "project_slug_key";
CREATE UNIQUE INDEX "project_slug_key" ON "project"("account_id", "slug") WHERE (deleted_at IS NULL);
CREATE INDEX "project_of_account_idx" ON "project"("account_id", "created_at", "id") WHERE (deleted_at IS NULL);

-- Keys stay the installation's.
ALTER TABLE "api_key" ADD COLUMN "account_id" UUID,
    ADD COLUMN "account_scopes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    ADD COLUMN "project_ids" UUID[] DEFAULT ARRAY[]::UUID[];
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
CREATE INDEX "api_key_of_account_idx" ON "api_key"("account_id", "created_at", "id");

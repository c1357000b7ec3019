-- Who changed what, when and from where. No foreign keys: an entry outlives its key, and takes no lock but its own.
CREATE TYPE "audit_outcome" AS ENUM ('done', 'refused', 'failed', 'unknown');

CREATE TABLE "audit_entry" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "key_id" TEXT,
    "session_id" TEXT,
    "by_installation" BOOLEAN NOT NULL,
    "account_id" UUID,
    "project_id" UUID,
    "operation_id" TEXT NOT NULL,
    "object_kind" TEXT NOT NULL,
    "object_id" TEXT,
    "outcome" "audit_outcome" NOT NULL,
    "code" TEXT,
    "address" TEXT,
    "user_agent" TEXT,
    "request_id" TEXT,

    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("at", "id")
);

CREATE INDEX "audit_entry_account_id_at_id_idx" ON "audit_entry"("account_id", "at", "id");
CREATE INDEX "audit_entry_account_id_operation_id_at_id_idx" ON "audit_entry"("account_id", "operation_id", "at", "id");
CREATE INDEX "audit_entry_operation_id_at_id_idx" ON "audit_entry"("operation_id", "at", "id");
CREATE INDEX "audit_entry_key_id_at_id_idx" ON "audit_entry"("key_id", "at", "id");
CREATE INDEX "audit_entry_project_idx" ON "audit_entry"("project_id", "at", "id") WHERE project_id IS NOT NULL;

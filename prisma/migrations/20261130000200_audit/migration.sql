-- CreateTable
CREATE TABLE "audit_entry" (
    "id" BIGSERIAL NOT NULL,
    "operation" TEXT NOT NULL,
    "object" TEXT NOT NULL,
    "fields" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "key_id" TEXT,
    "session_id" UUID,
    "account_id" UUID,
    "project_id" UUID,
    "address" TEXT,
    "request_id" TEXT,
    "status" INTEGER,
    "code" TEXT,
    "count" INTEGER NOT NULL DEFAULT 1,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "audit_entry_object_id_idx" ON "audit_entry"("object", "id" DESC);

-- CreateIndex
CREATE INDEX "audit_entry_account_id_id_idx" ON "audit_entry"("account_id", "id" DESC);

-- CreateIndex
CREATE INDEX "audit_entry_project_id_id_idx" ON "audit_entry"("project_id", "id" DESC);

-- CreateIndex
CREATE INDEX "audit_entry_key_id_id_idx" ON "audit_entry"("key_id", "id" DESC);

-- CreateTable
CREATE TABLE "session" (
    "id" UUID NOT NULL,
    "digest" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "address" TEXT NOT NULL,
    "user_agent" TEXT NOT NULL,

    CONSTRAINT "session_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "session_digest_key" ON "session"("digest");

-- CreateIndex
CREATE INDEX "session_key_id_idx" ON "session"("key_id");

-- CreateIndex
CREATE INDEX "session_ends_at_idx" ON "session"("ends_at");

-- CreateIndex
CREATE INDEX "session_listed_idx" ON "session"("created_at", "id");

-- AddForeignKey
ALTER TABLE "session" ADD CONSTRAINT "session_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Keys that are rotated and watched, answers that are replayed, requests that are counted.
ALTER TABLE "api_key" ADD COLUMN "last_used_at" TIMESTAMPTZ(3);
ALTER TABLE "api_key" ADD COLUMN "successor_id" TEXT;
CREATE UNIQUE INDEX "api_key_successor_id_key" ON "api_key"("successor_id");
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_successor_id_fkey"
    FOREIGN KEY ("successor_id") REFERENCES "api_key"("id") ON DELETE SET NULL ON UPDATE CASCADE;

CREATE TABLE "deprecated_use" (
    "api_key_id" TEXT NOT NULL,
    "operation_id" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "deprecated_use_pkey" PRIMARY KEY ("api_key_id", "operation_id")
);
ALTER TABLE "deprecated_use" ADD CONSTRAINT "deprecated_use_api_key_id_fkey"
    FOREIGN KEY ("api_key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "idempotent_answer" (
    "api_key_id" TEXT NOT NULL,
    "operation_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "status" INTEGER NOT NULL,
    "headers" JSONB NOT NULL,
    "body" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "idempotent_answer_pkey" PRIMARY KEY ("api_key_id", "operation_id", "key")
);
CREATE INDEX "idempotent_answer_expires_at_idx" ON "idempotent_answer"("expires_at");

-- Not logged: counters of a minute do not deserve the write-ahead log, and a crash may forget them.
CREATE UNLOGGED TABLE "rate_limit" (
    "key" VARCHAR(255) NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,
    CONSTRAINT "rate_limit_pkey" PRIMARY KEY ("key")
);

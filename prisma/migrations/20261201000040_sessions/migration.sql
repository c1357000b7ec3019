-- Who is signed in to the dashboard. The cookie holds a random token, the row its digest; the key's own token is encrypted
-- with a key that is derived from the cookie's, so that a copy of this table signs nobody in and shows no key.
CREATE TABLE "session" (
    "id" UUID NOT NULL,
    "digest" BYTEA NOT NULL,
    "sealed_key" BYTEA,
    "api_key_id" TEXT NOT NULL,
    "account_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "user_agent" TEXT NOT NULL,
    "address" TEXT NOT NULL,

    CONSTRAINT "session_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "session_digest_key" ON "session"("digest");
CREATE INDEX "session_api_key_id_idx" ON "session"("api_key_id");
CREATE INDEX "session_expires_at_idx" ON "session"("expires_at");

ALTER TABLE "session" ADD CONSTRAINT "session_api_key_id_fkey"
    FOREIGN KEY ("api_key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "session" ADD CONSTRAINT "session_account_id_fkey"
    FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE CASCADE ON UPDATE CASCADE;

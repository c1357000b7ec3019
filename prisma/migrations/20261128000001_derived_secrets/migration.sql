-- What is derived from KEY_ENCRYPTION_KEY once and must not change with it: targets, proofs, probes, sessions.
CREATE TABLE "derived_secret" (
    "name" TEXT NOT NULL,
    "sealed_value" BYTEA NOT NULL,

    CONSTRAINT "derived_secret_pkey" PRIMARY KEY ("name")
);

-- A process of the installation, which renews `seen_at` while it runs (src/db/fleet.ts).
CREATE TABLE "fleet_process" (
    "id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "version" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    "joined_at" TIMESTAMPTZ(3),
    "queue_seen_at" TIMESTAMPTZ(3),
    "resolvers_failing" BOOLEAN NOT NULL DEFAULT false,
    "refused_at" TIMESTAMPTZ(3),
    "problem" TEXT,

    CONSTRAINT "fleet_process_pkey" PRIMARY KEY ("id")
);

-- Settings with which processes can start although others run with different ones; at most one row.
CREATE TABLE "fleet_acceptance" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "settings" JSONB NOT NULL,
    "accepted_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "fleet_acceptance_pkey" PRIMARY KEY ("id")
);

-- For the certificates of the last day, by authority.
CREATE INDEX "certificate_issued_idx" ON "certificate"("ended_at") WHERE (status = 'issued'::certificate_status);

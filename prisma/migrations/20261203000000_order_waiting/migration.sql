-- Who waits for an authority's limits. A process of the version before neither reads nor writes it: its orders take turns by project alone.
CREATE TABLE "order_waiting" (
    "authority" TEXT NOT NULL,
    "project_id" UUID NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "order_waiting_pkey" PRIMARY KEY ("authority", "project_id")
);
ALTER TABLE "order_waiting" ADD CONSTRAINT "order_waiting_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

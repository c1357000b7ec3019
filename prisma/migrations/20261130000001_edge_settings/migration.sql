-- What signs the requests to a project's deploys is derived (src/certificates/vault/derived-secrets.ts): only the number of
-- the key is stored. For a day after `signing_rotated_at` the key before it signs, too.
ALTER TABLE "project" ADD COLUMN "signing_generation" INTEGER NOT NULL DEFAULT 1,
ADD COLUMN "signing_rotated_at" TIMESTAMPTZ(3);

-- The authorities, in PEM, that the certificate of an https upstream must lead to; null: those that Node.js trusts.
ALTER TABLE "deploy" ADD COLUMN "upstream_ca" TEXT;

-- Strict-Transport-Security of a domain (RFC 6797); without a row, its deploy's own is passed on.
CREATE TABLE "hsts" (
    "domain_id" UUID NOT NULL,
    "max_age" INTEGER NOT NULL,
    "include_subdomains" BOOLEAN NOT NULL,
    "preload" BOOLEAN NOT NULL,

    CONSTRAINT "hsts_pkey" PRIMARY KEY ("domain_id")
);

-- AddForeignKey
ALTER TABLE "hsts" ADD CONSTRAINT "hsts_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- As in migration edge_notifications, and of `hsts`, whose host name stands beside.
CREATE OR REPLACE FUNCTION "tell_edges"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    "one" RECORD := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF TG_TABLE_NAME = 'domain' THEN
        PERFORM pg_notify('signpost_edge', CASE WHEN TG_OP <> 'DELETE' AND "one"."removed_at" IS NULL
            AND "one"."status" IN ('verified', 'live', 'drifted') THEN 'changed ' ELSE 'gone ' END || "one"."hostname");
    ELSIF TG_TABLE_NAME = 'certificate' THEN
        PERFORM pg_notify('signpost_edge', 'changed ' || "one"."hostname");
    ELSIF TG_TABLE_NAME = 'redirect' THEN
        PERFORM pg_notify('signpost_edge', 'changed ' || "one"."from_hostname");
    ELSIF TG_TABLE_NAME = 'hsts' THEN
        PERFORM pg_notify('signpost_edge', 'changed ' || "hostname") FROM "domain" WHERE "id" = "one"."domain_id";
    ELSIF TG_TABLE_NAME = 'deploy' THEN
        PERFORM pg_notify('signpost_edge', 'project ' || "one"."project_id");
    ELSE
        PERFORM pg_notify('signpost_edge', 'project ' || "one"."id");
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER "hsts_changed" AFTER INSERT OR UPDATE OR DELETE ON "hsts" FOR EACH ROW
    EXECUTE FUNCTION "tell_edges"();

CREATE TRIGGER "project_signing_changed" AFTER UPDATE OF "signing_generation" ON "project" FOR EACH ROW
    WHEN (OLD."signing_generation" IS DISTINCT FROM NEW."signing_generation") EXECUTE FUNCTION "tell_edges"();

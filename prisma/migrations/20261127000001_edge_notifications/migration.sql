-- Tells every edge process, at the commit, what of the things that it remembers of a name is true no more
-- (docs/decisions/0017). A notifying commit takes a lock of the whole database for a moment, so an ordinary look at a
-- domain must never be one: its trigger names columns that such a look does not write.
--
-- gone <hostname>: nobody holds the name. changed <hostname>, project <id>: read again.

CREATE FUNCTION "tell_edges"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
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
    ELSIF TG_TABLE_NAME = 'deploy' THEN
        PERFORM pg_notify('signpost_edge', 'project ' || "one"."project_id");
    ELSE
        PERFORM pg_notify('signpost_edge', 'project ' || "one"."id");
    END IF;
    RETURN NULL;
END $$;

-- A domain that is held from now on, or no more. Between verified, live and drifted its route stays what it is.
CREATE TRIGGER "domain_held_or_not" AFTER UPDATE OF "status", "removed_at" ON "domain" FOR EACH ROW
    WHEN ((OLD."removed_at" IS NULL AND OLD."status" IN ('verified', 'live', 'drifted'))
        <> (NEW."removed_at" IS NULL AND NEW."status" IN ('verified', 'live', 'drifted')))
    EXECUTE FUNCTION "tell_edges"();
CREATE TRIGGER "domain_held_at_once" AFTER INSERT ON "domain" FOR EACH ROW
    WHEN (NEW."removed_at" IS NULL AND NEW."status" IN ('verified', 'live', 'drifted'))
    EXECUTE FUNCTION "tell_edges"();
CREATE TRIGGER "domain_deleted" AFTER DELETE ON "domain" FOR EACH ROW
    WHEN (OLD."removed_at" IS NULL AND OLD."status" IN ('verified', 'live', 'drifted'))
    EXECUTE FUNCTION "tell_edges"();

CREATE TRIGGER "certificate_issued" AFTER UPDATE OF "status", "expires_at" ON "certificate" FOR EACH ROW
    WHEN ((OLD."status" = 'issued' OR NEW."status" = 'issued')
        AND (OLD."status", OLD."expires_at") IS DISTINCT FROM (NEW."status", NEW."expires_at"))
    EXECUTE FUNCTION "tell_edges"();
CREATE TRIGGER "certificate_issued_at_once" AFTER INSERT ON "certificate" FOR EACH ROW
    WHEN (NEW."status" = 'issued') EXECUTE FUNCTION "tell_edges"();
CREATE TRIGGER "certificate_deleted" AFTER DELETE ON "certificate" FOR EACH ROW
    WHEN (OLD."status" = 'issued') EXECUTE FUNCTION "tell_edges"();

CREATE TRIGGER "redirect_changed" AFTER INSERT OR UPDATE OR DELETE ON "redirect" FOR EACH ROW
    EXECUTE FUNCTION "tell_edges"();

-- Each event of a project writes its row, too: last_event_number.
CREATE TRIGGER "project_primary_changed" AFTER UPDATE OF "primary_hostname" ON "project" FOR EACH ROW
    WHEN (OLD."primary_hostname" IS DISTINCT FROM NEW."primary_hostname") EXECUTE FUNCTION "tell_edges"();

CREATE TRIGGER "deploy_changed" AFTER INSERT OR UPDATE OR DELETE ON "deploy" FOR EACH ROW
    EXECUTE FUNCTION "tell_edges"();

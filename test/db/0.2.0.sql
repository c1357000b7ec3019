-- A database of version 0.2.0: its schema and some rows, as pg_dump --inserts printed them. test/db/upgrade.test.ts upgrades it.
-- Keys at rest are encrypted with 32 bytes of 7.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE TYPE public.certificate_status AS ENUM (
    'ordering',
    'issued',
    'failed'
);

CREATE TYPE public.delivery_status AS ENUM (
    'pending',
    'delivered',
    'failed'
);

CREATE TYPE public.deploy_status AS ENUM (
    'succeeded',
    'failed'
);

CREATE TYPE public.domain_status AS ENUM (
    'pending',
    'verified',
    'live',
    'drifted',
    'failed'
);

CREATE TYPE public.pet_status AS ENUM (
    'available',
    'pending',
    'sold'
);

CREATE TYPE public.plan AS ENUM (
    'free',
    'pro',
    'enterprise'
);

CREATE FUNCTION public.notify_edges() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.record_events(given jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- In one order, so that two transactions with events of the same projects do not deadlock.
    PERFORM 1 FROM "project" WHERE "id" IN (
        SELECT "domain"."project_id" FROM jsonb_to_recordset("given") AS "one"("domain_id" UUID)
        JOIN "domain" ON "domain"."id" = "one"."domain_id"
    ) ORDER BY "id" FOR NO KEY UPDATE;
    WITH "listed" AS (
        SELECT "domain"."project_id", "domain"."id" AS "domain_id", "domain"."metadata", "item"."value" AS "one", "item"."place",
            row_number() OVER (PARTITION BY "domain"."project_id" ORDER BY "item"."place") AS "nth"
        FROM jsonb_array_elements("given") WITH ORDINALITY AS "item"("value", "place")
        JOIN "domain" ON "domain"."id" = ("item"."value" ->> 'domain_id')::UUID
    ), "counted" AS (
        UPDATE "project" SET "last_event_number" = "last_event_number" + "more"."count"
        FROM (SELECT "project_id", count(*) FROM "listed" GROUP BY "project_id") AS "more"
        WHERE "project"."id" = "more"."project_id"
        RETURNING "project"."id", "project"."metadata", "last_event_number" - "more"."count" AS "before"
    ), "written" AS (
        INSERT INTO "event" ("project_id", "domain_id", "number", "type", "data", "at", "metadata", "project_metadata")
        SELECT "listed"."project_id", "domain_id", "before" + "nth", "one" ->> 'type', "one" -> 'data', ("one" ->> 'at')::TIMESTAMPTZ,
            "listed"."metadata", "counted"."metadata"
        FROM "listed" JOIN "counted" ON "counted"."id" = "listed"."project_id"
        ORDER BY "place"
        RETURNING "id", "project_id", "type", "at"
    )
    INSERT INTO "webhook_delivery" ("webhook_id", "event_id", "next_attempt_at", "created_at")
    SELECT "webhook"."id", "written"."id", "written"."at", "written"."at"
    FROM "written" JOIN "webhook" ON ("webhook"."project_id" = "written"."project_id" OR "webhook"."project_id" IS NULL)
        AND "webhook"."deleted_at" IS NULL AND "webhook"."disabled_at" IS NULL
        AND ("webhook"."event_types" = '{}' OR "written"."type" = ANY ("webhook"."event_types"));
END $$;

CREATE TABLE public._prisma_migrations (
    id character varying(36) NOT NULL,
    checksum character varying(64) NOT NULL,
    finished_at timestamp with time zone,
    migration_name character varying(255) NOT NULL,
    logs text,
    rolled_back_at timestamp with time zone,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    applied_steps_count integer DEFAULT 0 NOT NULL
);

CREATE TABLE public.account (
    id uuid NOT NULL,
    name text NOT NULL,
    limits jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp(3) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    closed_at timestamp(3) with time zone
);

CREATE TABLE public.acme_account (
    directory_url text NOT NULL,
    account_url text,
    sealed_key bytea NOT NULL,
    contact text
);

CREATE TABLE public.api_key (
    id text NOT NULL,
    name text NOT NULL,
    digest bytea NOT NULL,
    scopes text[],
    account_id uuid,
    project_ids uuid[] DEFAULT ARRAY[]::uuid[],
    created_at timestamp(3) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    expires_at timestamp(3) with time zone,
    revoked_at timestamp(3) with time zone,
    last_used_at timestamp(3) with time zone,
    successor_id text
);

CREATE TABLE public.authority_budget (
    key text NOT NULL,
    full_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.certificate (
    id uuid NOT NULL,
    domain_id uuid NOT NULL,
    hostname text NOT NULL,
    status public.certificate_status NOT NULL,
    sealed_key bytea,
    authority text,
    order_url text,
    chain text,
    issuer text,
    issued_at timestamp(3) with time zone,
    expires_at timestamp(3) with time zone,
    problem jsonb,
    setback jsonb,
    renewal_info jsonb,
    buckets text[] DEFAULT ARRAY[]::text[],
    ended_at timestamp(3) with time zone,
    created_at timestamp(3) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);

CREATE TABLE public.challenge (
    token text NOT NULL,
    type text DEFAULT 'http-01'::text NOT NULL,
    hostname text NOT NULL,
    key_authorization text NOT NULL,
    certificate_id uuid NOT NULL
);

CREATE TABLE public.deploy (
    id uuid NOT NULL,
    project_id uuid NOT NULL,
    status public.deploy_status NOT NULL,
    upstream text NOT NULL,
    upstream_ca text,
    created_at timestamp(3) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);

CREATE TABLE public.deprecated_use (
    api_key_id text NOT NULL,
    operation_id text NOT NULL,
    count bigint NOT NULL,
    last_used_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.derived_secret (
    name text NOT NULL,
    sealed_value bytea NOT NULL
);

CREATE TABLE public.domain (
    id uuid NOT NULL,
    project_id uuid NOT NULL,
    hostname text NOT NULL,
    target text NOT NULL,
    status public.domain_status NOT NULL,
    epoch integer DEFAULT 1 NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    findings jsonb DEFAULT '[]'::jsonb NOT NULL,
    added_at timestamp(3) with time zone NOT NULL,
    pending_since timestamp(3) with time zone NOT NULL,
    last_checked_at timestamp(3) with time zone,
    next_check_at timestamp(3) with time zone,
    verified_at timestamp(3) with time zone,
    missed_at timestamp(3) with time zone,
    escalate_at timestamp(3) with time zone,
    removed_at timestamp(3) with time zone,
    drifted_at timestamp(3) with time zone,
    failed_at timestamp(3) with time zone,
    recheck_at timestamp(3) with time zone,
    renew_at timestamp(3) with time zone,
    renewal_info_at timestamp(3) with time zone,
    shown jsonb,
    certificate_ends_at timestamp(3) with time zone,
    watched_until timestamp(3) with time zone,
    leases integer DEFAULT 0 NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL
);

CREATE TABLE public.escalation (
    id uuid NOT NULL,
    domain_id uuid NOT NULL,
    cause text NOT NULL,
    evidence jsonb NOT NULL,
    next_action text NOT NULL,
    opened_at timestamp(3) with time zone NOT NULL,
    closed_at timestamp(3) with time zone
);

CREATE TABLE public.event (
    id bigint NOT NULL,
    project_id uuid NOT NULL,
    number bigint NOT NULL,
    message_id uuid DEFAULT gen_random_uuid() NOT NULL,
    domain_id uuid NOT NULL,
    type text NOT NULL,
    data jsonb NOT NULL,
    at timestamp(3) with time zone NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    project_metadata jsonb DEFAULT '{}'::jsonb NOT NULL
);

CREATE SEQUENCE public.event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.event_id_seq OWNED BY public.event.id;

CREATE TABLE public.fleet_process (
    id uuid NOT NULL,
    role text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    settings jsonb NOT NULL,
    started_at timestamp(3) with time zone NOT NULL,
    seen_at timestamp(3) with time zone NOT NULL,
    queue_seen_at timestamp(3) with time zone,
    resolvers_failing boolean DEFAULT false NOT NULL,
    is_refused boolean DEFAULT false NOT NULL,
    problem text
);

CREATE TABLE public.hsts (
    domain_id uuid NOT NULL,
    max_age integer NOT NULL,
    include_subdomains boolean NOT NULL,
    preload boolean NOT NULL
);

CREATE TABLE public.idempotent_answer (
    api_key_id text NOT NULL,
    operation_id text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    status integer NOT NULL,
    headers jsonb NOT NULL,
    body text,
    expires_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.local_authority (
    id text NOT NULL,
    certificate text NOT NULL,
    sealed_key bytea NOT NULL
);

CREATE TABLE public.observation (
    domain_id uuid NOT NULL,
    value jsonb NOT NULL
);

CREATE TABLE public.order_waiting (
    authority text NOT NULL,
    project_id uuid NOT NULL,
    until timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.pet (
    id bigint NOT NULL,
    name text NOT NULL,
    category_id bigint NOT NULL,
    status public.pet_status DEFAULT 'available'::public.pet_status NOT NULL
);

CREATE SEQUENCE public.pet_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.pet_id_seq OWNED BY public.pet.id;

CREATE TABLE public.project (
    id uuid NOT NULL,
    account_id uuid DEFAULT '00000000-0000-4000-8000-000000000000'::uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    plan public.plan DEFAULT 'free'::public.plan NOT NULL,
    deployed_at timestamp(3) with time zone,
    created_at timestamp(3) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_event_number bigint DEFAULT 0 NOT NULL,
    primary_hostname text,
    signing_generation integer DEFAULT 1 NOT NULL,
    signing_rotated_at timestamp(3) with time zone,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    deleted_at timestamp(3) with time zone
);

CREATE TABLE public.quarantine (
    queue text NOT NULL,
    job_id text NOT NULL,
    domain_id uuid,
    reason text NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    since timestamp(3) with time zone NOT NULL,
    until timestamp(3) with time zone NOT NULL
);

CREATE UNLOGGED TABLE public.rate_limit (
    key character varying(255) NOT NULL,
    points integer DEFAULT 0 NOT NULL,
    expire bigint
);

CREATE TABLE public.redirect (
    project_id uuid NOT NULL,
    from_hostname text NOT NULL,
    to_hostname text NOT NULL,
    status integer NOT NULL,
    place integer NOT NULL
);

CREATE TABLE public.repair (
    kind text NOT NULL,
    count bigint NOT NULL,
    last_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.shared_settings (
    id integer DEFAULT 1 NOT NULL,
    settings jsonb NOT NULL,
    queue_id text
);

CREATE TABLE public.turn (
    name text NOT NULL,
    taken_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.webhook (
    id uuid NOT NULL,
    project_id uuid,
    url text NOT NULL,
    event_types text[],
    sealed_secret bytea NOT NULL,
    sealed_old_secret bytea,
    old_secret_ends_at timestamp(3) with time zone,
    created_at timestamp(3) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    disabled_at timestamp(3) with time zone,
    disabled_reason text,
    failing_since timestamp(3) with time zone,
    deleted_at timestamp(3) with time zone
);

CREATE TABLE public.webhook_delivery (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    webhook_id uuid NOT NULL,
    event_id bigint NOT NULL,
    status public.delivery_status DEFAULT 'pending'::public.delivery_status NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp(3) with time zone,
    queued_at timestamp(3) with time zone,
    last_attempt_at timestamp(3) with time zone,
    last_status integer,
    last_error text,
    created_at timestamp(3) with time zone NOT NULL
);
ALTER TABLE ONLY public.event ALTER COLUMN id SET DEFAULT nextval('public.event_id_seq'::regclass);
ALTER TABLE ONLY public.pet ALTER COLUMN id SET DEFAULT nextval('public.pet_id_seq'::regclass);
INSERT INTO public._prisma_migrations VALUES ('08a9916a-05b2-47c0-8ab7-a00c15670b1e', 'b86aaa6ea72ff69f5f6f8a05b1524989536390f31133fc9f26d626b9d90476a2', '2026-11-28 17:48:47.845581+00', '20261128000000_init', NULL, NULL, '2026-11-28 17:48:47.789408+00', 1);
INSERT INTO public.account VALUES ('00000000-0000-4000-8000-000000000000', 'Default', '{}', '2026-11-28 17:48:47.784+00', NULL);
INSERT INTO public.account VALUES ('96248489-b9d1-4587-8760-008777400f49', 'A customer', '{}', '2026-11-28 18:01:06.306+00', NULL);
INSERT INTO public.account VALUES ('b6205dc4-5a71-492a-9d1f-c2dd2d64955a', 'A customer', '{}', '2026-11-28 18:01:09.473+00', NULL);
INSERT INTO public.api_key VALUES ('configured', 'API_KEY', '\xc1d0829363699a1117787999057786283ffbe4970cbb6bd3cd257a7f6308e282', '{admin}', NULL, '{}', '2026-11-28 18:01:06.289+00', NULL, NULL, NULL, NULL);
INSERT INTO public.api_key VALUES ('Yei1eKtsxemL', 'key-primero', '\xe55b0ac129acfa6496ee3fb0746f90f0571db0e4e8e436fef2f78a64f735ef80', '{domains:read,domains:write,projects:write,keys:read,keys:write}', '96248489-b9d1-4587-8760-008777400f49', '{}', '2026-11-28 18:01:09.463+00', NULL, NULL, NULL, NULL);
INSERT INTO public.api_key VALUES ('VtlanVg5qE6F', 'key-segundo', '\xa5114df137a5509c5e2161ec881418b048e47bc50cb53c89e61ba0dea61f47f0', '{domains:read,domains:write,projects:write,keys:read,keys:write}', 'b6205dc4-5a71-492a-9d1f-c2dd2d64955a', '{}', '2026-11-28 18:01:09.576+00', NULL, NULL, NULL, NULL);
INSERT INTO public.certificate VALUES ('00000000-0000-4000-8000-000000000031', '3b0fcb54-8226-4051-b81e-9fc365f80ae6', 'docs.primero.example', 'issued', NULL, 'https://acme.example/directory', NULL, 'PEM', 'Example CA', '2030-11-01 00:00:00+00', '2031-02-01 00:00:00+00', NULL, NULL, NULL, '{}', '2030-11-01 00:00:00+00', '2026-11-28 18:01:09.596+00');
INSERT INTO public.deploy VALUES ('beeca394-593f-4b9e-a452-0cd28b4cf64e', '226b05c3-09c6-4f85-ae4c-a9fc117719d6', 'succeeded', 'http://127.0.0.1:9/primero', NULL, '2026-11-28 18:01:08.333+00');
INSERT INTO public.deploy VALUES ('15f5639e-0085-4525-8991-b17375237fb6', '226b05c3-09c6-4f85-ae4c-a9fc117719d6', 'succeeded', 'http://127.0.0.1:9/primero', NULL, '2026-11-28 18:01:09.347+00');
INSERT INTO public.deploy VALUES ('0d78f9b1-6810-4b46-b8e3-5e96755e784c', 'dcde99e1-9060-46fa-bdc6-6a7f5371c026', 'succeeded', 'http://127.0.0.1:9/segundo', NULL, '2026-11-28 18:01:09.489+00');
INSERT INTO public.deploy VALUES ('af060723-6352-4949-ab95-0e5302882f78', 'dcde99e1-9060-46fa-bdc6-6a7f5371c026', 'succeeded', 'http://127.0.0.1:9/segundo', NULL, '2026-11-28 18:01:09.492+00');
INSERT INTO public.derived_secret VALUES ('target', '\x01ab4c6fcfa01c91a5a3f442b17119e5628baff418bd79ad74d7b2c47a9e8a6015018eaeaf1173d273a501aa88e8419aade1cf491e88fb2d830cbb7e09e9873b398bad3501ad72731f7b4d65b68e193636a60965c1b6e50be36919ee85a0d75ecb298acf59688f7adae7f0a2320f74c6ec0b4d9dd1e0bf0c9a5607912d7531164f');
INSERT INTO public.derived_secret VALUES ('proof', '\x01ab4c6fcfa01c91a50cc8ffb5aa25a885587b1b47a9dbd582d88e1e0062e67bd59788482693b0cee3b5d2733b0bfa387bb22d3d62b1e55c24027954ba9c8974dfd17bffd7992b265f184545e492c946918b994d02e0fb60c402f3cd016c4da8967b636ea937277b240e504507de7051d35cd776938dfcdd9c527ceaf037a1d28e');
INSERT INTO public.derived_secret VALUES ('probe', '\x01ab4c6fcfa01c91a5d15719118140271f5764d48f838c6b18f63aa87f1354e607104059f0e5b13d018a9d4da8f5fb89a387bd39974b9768600bfb4468ffc4bca288226e9ae167bab85865f296b92857886fe321604e2ba55a59bec089e6b9c24195930797b14b18b1987510441efc617b89597dd0fdaa16043d520e4817aebef4');
INSERT INTO public.derived_secret VALUES ('session', '\x01ab4c6fcfa01c91a5af67a16d918e1315c8ea651bd9a5c18683211c5cb82b1274ece1e9c4b25295dbca7cca4248324699a29993a30b0df2514cf27fccfd1ab251292a945aa0d820e8d3c50fc72a4a748eab48b00f9f2f54a479c97ba7f364ce3a87325e50f2073d4ab6bbbca41fa73e6f370db699d175eb7ca0ab928f1bebf7d1');
INSERT INTO public.derived_secret VALUES ('signing', '\x01ab4c6fcfa01c91a588b0a0568ff2f59d0389f6dfaf9e200720cd47dc0cbd186b7783c65693fc27fa9225423d139da2844285ccc65ca9d716738aa9a08ce9c49132ee84975ac68c4b9d1a3f431d4c90e627ef9c47fc19e539dbc1f9d803b4109eecfe5cf1773af21ac456da6068fe9510a72316e3ea130222a3c2f2cd2f19c0df');
INSERT INTO public.derived_secret VALUES ('tickets', '\x01ab4c6fcfa01c91a5633b9b8308690c1e7106ef05240a28b8e91ad7e398298a026c5f7c1116e83d236192e18db2c65931ae226feb4334d9b1b74e13e0eeaf359e97a72227dccd7ac3151518aacaffefbb4cb78731f743e5d164944b382d13b485f3e260dfa043379a6466524e4a68ee5244c2a586b539f82b37e7d068e30d06ad');
INSERT INTO public.domain VALUES ('05eb6a1a-9abc-47b3-a16b-b19d7ea45ab7', '226b05c3-09c6-4f85-ae4c-a9fc117719d6', 'www.primero.example', 'agfymsywl6jcxp2t.edge.signpost.test', 'pending', 1, 0, 0, '[]', '2026-11-28 18:01:09.426+00', '2026-11-28 18:01:09.426+00', NULL, '2026-11-28 18:01:09.426+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, '{}');
INSERT INTO public.domain VALUES ('41958cb9-df13-4ec8-a91a-7045d319335f', 'dcde99e1-9060-46fa-bdc6-6a7f5371c026', 'docs.segundo.example', '346squfjq2kk6kjb.edge.signpost.test', 'pending', 1, 0, 0, '[]', '2026-11-28 18:01:09.51+00', '2026-11-28 18:01:09.51+00', NULL, '2026-11-28 18:01:09.51+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, '{}');
INSERT INTO public.domain VALUES ('87b4fc72-c268-4138-b7a1-4b653dc030dd', 'dcde99e1-9060-46fa-bdc6-6a7f5371c026', 'www.segundo.example', 'xqy5sxx5x2l4ikbo.edge.signpost.test', 'pending', 1, 0, 0, '[]', '2026-11-28 18:01:09.528+00', '2026-11-28 18:01:09.528+00', NULL, '2026-11-28 18:01:09.528+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, '{}');
INSERT INTO public.domain VALUES ('3b0fcb54-8226-4051-b81e-9fc365f80ae6', '226b05c3-09c6-4f85-ae4c-a9fc117719d6', 'docs.primero.example', 'vqfo2kqurfptzjn6.edge.signpost.test', 'live', 1, 0, 0, '[]', '2026-11-28 18:01:09.382+00', '2026-11-28 18:01:09.382+00', NULL, NULL, '2026-11-20 00:00:00+00', NULL, NULL, NULL, NULL, NULL, '2031-01-01 00:00:00+00', '2031-01-02 00:00:00+00', NULL, NULL, '2031-02-01 00:00:00+00', NULL, 0, '{}');
INSERT INTO public.escalation VALUES ('00000000-0000-4000-8000-000000000032', '3b0fcb54-8226-4051-b81e-9fc365f80ae6', 'authority_unreachable', '{}', 'wait', '2026-11-21 00:00:00+00', '2026-11-22 00:00:00+00');
INSERT INTO public.event VALUES (1, '226b05c3-09c6-4f85-ae4c-a9fc117719d6', 1, '29dff0ee-cf3d-438f-a0f3-b10bec2cca81', '3b0fcb54-8226-4051-b81e-9fc365f80ae6', 'domain.added', '{"record": {"ttl": 3600, "name": "docs", "type": "CNAME", "value": "vqfo2kqurfptzjn6.edge.signpost.test"}}', '2026-11-28 18:01:09.382+00', '{}', '{"of": "primero"}');
INSERT INTO public.event VALUES (2, '226b05c3-09c6-4f85-ae4c-a9fc117719d6', 2, 'd4b5429b-293d-48e0-8db5-8243b79d0470', '05eb6a1a-9abc-47b3-a16b-b19d7ea45ab7', 'domain.added', '{"record": {"ttl": 3600, "name": "www", "type": "CNAME", "value": "agfymsywl6jcxp2t.edge.signpost.test"}}', '2026-11-28 18:01:09.426+00', '{}', '{"of": "primero"}');
INSERT INTO public.event VALUES (3, 'dcde99e1-9060-46fa-bdc6-6a7f5371c026', 1, 'ffd1273f-9b7e-44a4-ae23-26d044e71b2d', '41958cb9-df13-4ec8-a91a-7045d319335f', 'domain.added', '{"record": {"ttl": 3600, "name": "docs", "type": "CNAME", "value": "346squfjq2kk6kjb.edge.signpost.test"}}', '2026-11-28 18:01:09.51+00', '{}', '{"of": "segundo"}');
INSERT INTO public.event VALUES (4, 'dcde99e1-9060-46fa-bdc6-6a7f5371c026', 2, 'acc84abb-97c1-49ad-9007-da354c04b3f4', '87b4fc72-c268-4138-b7a1-4b653dc030dd', 'domain.added', '{"record": {"ttl": 3600, "name": "www", "type": "CNAME", "value": "xqy5sxx5x2l4ikbo.edge.signpost.test"}}', '2026-11-28 18:01:09.528+00', '{}', '{"of": "segundo"}');
INSERT INTO public.event VALUES (5, '226b05c3-09c6-4f85-ae4c-a9fc117719d6', 3, 'fa543aac-62d8-47c3-87d1-13509230e40f', '3b0fcb54-8226-4051-b81e-9fc365f80ae6', 'domain.live', '{"issuer": "Example CA", "expiresAt": "2031-02-01T00:00:00.000Z"}', '2026-11-20 12:00:00+00', '{}', '{"of": "primero"}');
INSERT INTO public.hsts VALUES ('3b0fcb54-8226-4051-b81e-9fc365f80ae6', 300, false, false);
INSERT INTO public.hsts VALUES ('41958cb9-df13-4ec8-a91a-7045d319335f', 300, false, false);
INSERT INTO public.pet VALUES (1, 'Rex', 1, 'available');
INSERT INTO public.project VALUES ('ab5ae2ce-9bce-48eb-b6dd-f42944b444ba', '96248489-b9d1-4587-8760-008777400f49', 'Other', 'other', 'pro', NULL, '2026-11-28 18:01:06.322+00', 0, NULL, 1, NULL, '{}', NULL);
INSERT INTO public.project VALUES ('879f022a-d1b9-4df8-83f3-518045c9fbb6', 'b6205dc4-5a71-492a-9d1f-c2dd2d64955a', 'Other', 'other', 'pro', NULL, '2026-11-28 18:01:09.485+00', 0, NULL, 1, NULL, '{}', NULL);
INSERT INTO public.project VALUES ('dcde99e1-9060-46fa-bdc6-6a7f5371c026', 'b6205dc4-5a71-492a-9d1f-c2dd2d64955a', 'project-segundo', 'docs', 'pro', '2026-11-28 18:01:09.491+00', '2026-11-28 18:01:09.479+00', 2, 'docs.segundo.example', 1, NULL, '{"of": "segundo"}', NULL);
INSERT INTO public.project VALUES ('226b05c3-09c6-4f85-ae4c-a9fc117719d6', '96248489-b9d1-4587-8760-008777400f49', 'project-primero', 'docs', 'pro', '2026-11-28 18:01:09.344+00', '2026-11-28 18:01:06.316+00', 3, 'docs.primero.example', 1, NULL, '{"of": "primero"}', NULL);
INSERT INTO public.shared_settings VALUES (1, '{"EDGE": "own", "REDIS_URL": "not set", "TIME_SCALE": "1", "CERTIFICATES": "own", "VERIFY_WINDOW": "48h", "ACCOUNT_LIMITS": "domains=1000,domainsPerHour=300,projects=100,keys=50,webhooks=100,streams=50,diagnoses=2,requestsPerMinute=6000", "PLATFORM_DOMAIN": "edge.signpost.test", "UPSTREAM_NETWORKS": "127.0.0.0/8", "ACME_DIRECTORY_URL": "local", "KEY_ENCRYPTION_KEY": "targets 14f034514ab0e5c7", "PLATFORM_ADDRESSES": "not set", "ACME_ISSUER_DOMAINS": "letsencrypt.org", "ACME_FALLBACK_DIRECTORY_URL": "not set", "ACME_FALLBACK_ISSUER_DOMAINS": "not set"}', NULL);
INSERT INTO public.webhook VALUES ('ad3b83e1-1eb5-42f0-a4f1-dfe34e523327', '226b05c3-09c6-4f85-ae4c-a9fc117719d6', 'https://primero.example/hook', '{}', '\x01ab4c6fcfa01c91a5e4b2d8ada6d4348638e7bee66550d8c784a7cf5ea7e7efe826017a2b0f91061d88c683f0950a69badfe32ab974e8d607c1006934e94c11f5bb7fd8d88704a3e1191bdec6b046fa7f69db3cf4d71579e5d74c2136cb11e342b6c04653158b2b003b29694b48a765ebf25d8e9fc3dcf2d82fe81e4bea3e37a3', NULL, NULL, '2026-11-28 18:01:09.35+00', NULL, NULL, NULL, NULL);
INSERT INTO public.webhook VALUES ('b27f8dd0-3b3f-4e43-abe1-a6e01b15cb88', '226b05c3-09c6-4f85-ae4c-a9fc117719d6', 'https://primero.example/hook', '{}', '\x01ab4c6fcfa01c91a5d30c701344b014cc2a336f983766e6032300c8e2f573999f1bfb96730acbdb41c1026ec25b94a63404be3bdc18f6467b1324f1141ae1bf5c446d63a66698dec9ff962256ccf912826ed08000a4df1bb6040a2e1824eef5fd369a06ae24a90caf6d31c12468e1b2dc4c9e4c2830969298541b117098d9c612', NULL, NULL, '2026-11-28 18:01:09.366+00', NULL, NULL, NULL, NULL);
INSERT INTO public.webhook VALUES ('6bbc1ff6-2393-403e-9bc1-8d19d87f7761', 'dcde99e1-9060-46fa-bdc6-6a7f5371c026', 'https://segundo.example/hook', '{}', '\x01ab4c6fcfa01c91a5c974d8717ac11536b80cf1e9833f32940e0e203c40e4a28af7db6550232e5c325aa63616f6ec8e040e33f755241b10ada4fd2b5bc8fdcc70e94f003ef890ce00a6aecb47920cd3d927f756d1a6ed09a696fbe623ff7216929d1586663e5b281c7a8fc7ba9fdd2c4c62c6247a857815e3a1673629981834fe', NULL, NULL, '2026-11-28 18:01:09.494+00', NULL, NULL, NULL, NULL);
INSERT INTO public.webhook VALUES ('7e48fc6f-731a-4040-960f-cc0fa57557fa', 'dcde99e1-9060-46fa-bdc6-6a7f5371c026', 'https://segundo.example/hook', '{}', '\x01ab4c6fcfa01c91a5d74c8d5d78bd9f389ca1296e7beae30321ce4b34224bd6599670405582c8f8d4bdfe48934b165648775474eebd02c956d05b7fa7029b2eb46f85a27b0053669091c2d8489ac5d268a891fadab10c9f79a3794e417b8dbb6b9fe6a6adcff95b09009c557b0e17d71fb793dc379a3fceb622be91a8239ba519', NULL, NULL, '2026-11-28 18:01:09.501+00', NULL, NULL, NULL, NULL);
INSERT INTO public.webhook_delivery VALUES ('24d56257-861f-4453-a10c-fa37757bb1d4', 'ad3b83e1-1eb5-42f0-a4f1-dfe34e523327', 1, 'pending', 0, '2026-11-28 18:01:09.382+00', NULL, NULL, NULL, NULL, '2026-11-28 18:01:09.382+00');
INSERT INTO public.webhook_delivery VALUES ('bbc6d9dc-473d-430a-b22a-d52c6d886428', 'b27f8dd0-3b3f-4e43-abe1-a6e01b15cb88', 1, 'pending', 0, '2026-11-28 18:01:09.382+00', NULL, NULL, NULL, NULL, '2026-11-28 18:01:09.382+00');
INSERT INTO public.webhook_delivery VALUES ('b9503994-6559-4800-8ab3-0dfb6939c3e9', 'ad3b83e1-1eb5-42f0-a4f1-dfe34e523327', 2, 'pending', 0, '2026-11-28 18:01:09.426+00', NULL, NULL, NULL, NULL, '2026-11-28 18:01:09.426+00');
INSERT INTO public.webhook_delivery VALUES ('14c05aea-0bc0-4949-9d0c-30e7acfb3ae5', 'b27f8dd0-3b3f-4e43-abe1-a6e01b15cb88', 2, 'pending', 0, '2026-11-28 18:01:09.426+00', NULL, NULL, NULL, NULL, '2026-11-28 18:01:09.426+00');
INSERT INTO public.webhook_delivery VALUES ('4af956c7-e476-4174-ae6e-a4b083f19662', '6bbc1ff6-2393-403e-9bc1-8d19d87f7761', 3, 'pending', 0, '2026-11-28 18:01:09.51+00', NULL, NULL, NULL, NULL, '2026-11-28 18:01:09.51+00');
INSERT INTO public.webhook_delivery VALUES ('8ebe1340-5ccb-4656-9d67-c1ac3f040fb9', '7e48fc6f-731a-4040-960f-cc0fa57557fa', 3, 'pending', 0, '2026-11-28 18:01:09.51+00', NULL, NULL, NULL, NULL, '2026-11-28 18:01:09.51+00');
INSERT INTO public.webhook_delivery VALUES ('11ef8d11-7a3f-48a4-b1e7-4a07c8062315', '6bbc1ff6-2393-403e-9bc1-8d19d87f7761', 4, 'pending', 0, '2026-11-28 18:01:09.528+00', NULL, NULL, NULL, NULL, '2026-11-28 18:01:09.528+00');
INSERT INTO public.webhook_delivery VALUES ('d20560b1-94fb-45a1-b718-2caa890724a5', '7e48fc6f-731a-4040-960f-cc0fa57557fa', 4, 'pending', 0, '2026-11-28 18:01:09.528+00', NULL, NULL, NULL, NULL, '2026-11-28 18:01:09.528+00');
INSERT INTO public.webhook_delivery VALUES ('7d1b4162-f8b8-4054-9362-2f5f1797d1f4', 'ad3b83e1-1eb5-42f0-a4f1-dfe34e523327', 5, 'pending', 0, '2026-11-20 12:00:00+00', NULL, NULL, NULL, NULL, '2026-11-20 12:00:00+00');
INSERT INTO public.webhook_delivery VALUES ('701c0db0-b94e-4979-aeb1-17a02c31d43a', 'b27f8dd0-3b3f-4e43-abe1-a6e01b15cb88', 5, 'pending', 0, '2026-11-20 12:00:00+00', NULL, NULL, NULL, NULL, '2026-11-20 12:00:00+00');
SELECT pg_catalog.setval('public.event_id_seq', 5, true);
SELECT pg_catalog.setval('public.pet_id_seq', 1, true);
ALTER TABLE ONLY public._prisma_migrations
    ADD CONSTRAINT _prisma_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.acme_account
    ADD CONSTRAINT acme_account_pkey PRIMARY KEY (directory_url);
ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.authority_budget
    ADD CONSTRAINT authority_budget_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.certificate
    ADD CONSTRAINT certificate_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.challenge
    ADD CONSTRAINT challenge_pkey PRIMARY KEY (token);
ALTER TABLE ONLY public.deploy
    ADD CONSTRAINT deploy_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.deprecated_use
    ADD CONSTRAINT deprecated_use_pkey PRIMARY KEY (api_key_id, operation_id);
ALTER TABLE ONLY public.derived_secret
    ADD CONSTRAINT derived_secret_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.domain
    ADD CONSTRAINT domain_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.escalation
    ADD CONSTRAINT escalation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.fleet_process
    ADD CONSTRAINT fleet_process_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.hsts
    ADD CONSTRAINT hsts_pkey PRIMARY KEY (domain_id);
ALTER TABLE ONLY public.idempotent_answer
    ADD CONSTRAINT idempotent_answer_pkey PRIMARY KEY (api_key_id, operation_id, key);
ALTER TABLE ONLY public.local_authority
    ADD CONSTRAINT local_authority_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.observation
    ADD CONSTRAINT observation_pkey PRIMARY KEY (domain_id);
ALTER TABLE ONLY public.order_waiting
    ADD CONSTRAINT order_waiting_pkey PRIMARY KEY (authority, project_id);
ALTER TABLE ONLY public.pet
    ADD CONSTRAINT pet_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.project
    ADD CONSTRAINT project_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.quarantine
    ADD CONSTRAINT quarantine_pkey PRIMARY KEY (queue, job_id);
ALTER TABLE ONLY public.rate_limit
    ADD CONSTRAINT rate_limit_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.redirect
    ADD CONSTRAINT redirect_pkey PRIMARY KEY (project_id, from_hostname);
ALTER TABLE ONLY public.repair
    ADD CONSTRAINT repair_pkey PRIMARY KEY (kind);
ALTER TABLE ONLY public.shared_settings
    ADD CONSTRAINT shared_settings_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.turn
    ADD CONSTRAINT turn_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.webhook_delivery
    ADD CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook
    ADD CONSTRAINT webhook_pkey PRIMARY KEY (id);
CREATE INDEX account_listed_idx ON public.account USING btree (created_at, id);
CREATE UNIQUE INDEX api_key_digest_key ON public.api_key USING btree (digest);
CREATE INDEX api_key_of_account_idx ON public.api_key USING btree (account_id, created_at, id);
CREATE UNIQUE INDEX api_key_successor_id_key ON public.api_key USING btree (successor_id);
CREATE INDEX certificate_domain_id_created_at_idx ON public.certificate USING btree (domain_id, created_at DESC);
CREATE INDEX certificate_issued_idx ON public.certificate USING btree (ended_at) WHERE (status = 'issued'::public.certificate_status);
CREATE UNIQUE INDEX certificate_open_order_key ON public.certificate USING btree (domain_id) WHERE (status = 'ordering'::public.certificate_status);
CREATE INDEX challenge_certificate_id_idx ON public.challenge USING btree (certificate_id);
CREATE INDEX challenge_hostname_idx ON public.challenge USING btree (hostname);
CREATE INDEX deploy_project_id_created_at_idx ON public.deploy USING btree (project_id, created_at DESC);
CREATE UNIQUE INDEX domain_attached_key ON public.domain USING btree (project_id, hostname) WHERE (removed_at IS NULL);
CREATE INDEX domain_escalate_idx ON public.domain USING btree (escalate_at) WHERE (escalate_at IS NOT NULL);
CREATE UNIQUE INDEX domain_held_hostname_key ON public.domain USING btree (hostname) WHERE ((removed_at IS NULL) AND (status = ANY (ARRAY['verified'::public.domain_status, 'live'::public.domain_status, 'drifted'::public.domain_status])));
CREATE INDEX domain_hostname_idx ON public.domain USING btree (hostname);
CREATE INDEX domain_listed_by_status_idx ON public.domain USING btree (project_id, status, added_at, id) WHERE (removed_at IS NULL);
CREATE INDEX domain_listed_idx ON public.domain USING btree (added_at, id) WHERE (removed_at IS NULL);
CREATE INDEX domain_listed_of_project_idx ON public.domain USING btree (project_id, added_at, id) WHERE (removed_at IS NULL);
CREATE INDEX domain_metadata_idx ON public.domain USING gin (metadata jsonb_path_ops) WHERE (removed_at IS NULL);
CREATE INDEX domain_part_of_name_idx ON public.domain USING gin (hostname public.gin_trgm_ops) WHERE (removed_at IS NULL);
CREATE INDEX domain_project_id_added_at_idx ON public.domain USING btree (project_id, added_at DESC);
CREATE INDEX domain_project_id_hostname_idx ON public.domain USING btree (project_id, hostname);
CREATE INDEX domain_recheck_idx ON public.domain USING btree (recheck_at) WHERE (recheck_at IS NOT NULL);
CREATE INDEX domain_renew_idx ON public.domain USING btree (renew_at) WHERE (renew_at IS NOT NULL);
CREATE INDEX domain_renewal_info_idx ON public.domain USING btree (renewal_info_at) WHERE (renewal_info_at IS NOT NULL);
CREATE INDEX domain_waiting_idx ON public.domain USING btree (status, id) WHERE (removed_at IS NULL);
CREATE INDEX escalation_domain_id_opened_at_idx ON public.escalation USING btree (domain_id, opened_at DESC);
CREATE UNIQUE INDEX escalation_open_key ON public.escalation USING btree (domain_id) WHERE (closed_at IS NULL);
CREATE INDEX escalation_opened_at_id_idx ON public.escalation USING btree (opened_at DESC, id DESC);
CREATE INDEX event_domain_id_id_idx ON public.event USING btree (domain_id, id DESC);
CREATE UNIQUE INDEX event_project_id_number_key ON public.event USING btree (project_id, number);
CREATE INDEX idempotent_answer_expires_at_idx ON public.idempotent_answer USING btree (expires_at);
CREATE INDEX pet_status_id_idx ON public.pet USING btree (status, id);
CREATE INDEX project_listed_idx ON public.project USING btree (created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX project_metadata_idx ON public.project USING gin (metadata jsonb_path_ops) WHERE (deleted_at IS NULL);
CREATE INDEX project_of_account_idx ON public.project USING btree (account_id, created_at, id) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX project_slug_key ON public.project USING btree (account_id, slug) WHERE (deleted_at IS NULL);
CREATE INDEX quarantine_domain_id_idx ON public.quarantine USING btree (domain_id);
CREATE INDEX webhook_delivery_ended_idx ON public.webhook_delivery USING btree (created_at) WHERE (status <> 'pending'::public.delivery_status);
CREATE INDEX webhook_delivery_queued_idx ON public.webhook_delivery USING btree (queued_at) WHERE ((queued_at IS NOT NULL) AND (status = 'pending'::public.delivery_status));
CREATE INDEX webhook_delivery_unqueued_idx ON public.webhook_delivery USING btree (webhook_id, next_attempt_at, event_id) WHERE ((queued_at IS NULL) AND (status = 'pending'::public.delivery_status));
CREATE INDEX webhook_delivery_webhook_id_event_id_idx ON public.webhook_delivery USING btree (webhook_id, event_id DESC);
CREATE INDEX webhook_project_id_idx ON public.webhook USING btree (project_id);
CREATE TRIGGER certificate_deleted AFTER DELETE ON public.certificate FOR EACH ROW WHEN ((old.status = 'issued'::public.certificate_status)) EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER certificate_issued AFTER UPDATE OF status, expires_at ON public.certificate FOR EACH ROW WHEN ((((old.status = 'issued'::public.certificate_status) OR (new.status = 'issued'::public.certificate_status)) AND ((old.status IS DISTINCT FROM new.status) OR (old.expires_at IS DISTINCT FROM new.expires_at)))) EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER certificate_issued_at_once AFTER INSERT ON public.certificate FOR EACH ROW WHEN ((new.status = 'issued'::public.certificate_status)) EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER deploy_changed AFTER INSERT OR DELETE OR UPDATE ON public.deploy FOR EACH ROW EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER domain_deleted AFTER DELETE ON public.domain FOR EACH ROW WHEN (((old.removed_at IS NULL) AND (old.status = ANY (ARRAY['verified'::public.domain_status, 'live'::public.domain_status, 'drifted'::public.domain_status])))) EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER domain_held_at_once AFTER INSERT ON public.domain FOR EACH ROW WHEN (((new.removed_at IS NULL) AND (new.status = ANY (ARRAY['verified'::public.domain_status, 'live'::public.domain_status, 'drifted'::public.domain_status])))) EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER domain_held_or_not AFTER UPDATE OF status, removed_at ON public.domain FOR EACH ROW WHEN ((((old.removed_at IS NULL) AND (old.status = ANY (ARRAY['verified'::public.domain_status, 'live'::public.domain_status, 'drifted'::public.domain_status]))) <> ((new.removed_at IS NULL) AND (new.status = ANY (ARRAY['verified'::public.domain_status, 'live'::public.domain_status, 'drifted'::public.domain_status]))))) EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER hsts_changed AFTER INSERT OR DELETE OR UPDATE ON public.hsts FOR EACH ROW EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER project_primary_changed AFTER UPDATE OF primary_hostname ON public.project FOR EACH ROW WHEN ((old.primary_hostname IS DISTINCT FROM new.primary_hostname)) EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER project_signing_changed AFTER UPDATE OF signing_generation ON public.project FOR EACH ROW WHEN ((old.signing_generation IS DISTINCT FROM new.signing_generation)) EXECUTE FUNCTION public.notify_edges();
CREATE TRIGGER redirect_changed AFTER INSERT OR DELETE OR UPDATE ON public.redirect FOR EACH ROW EXECUTE FUNCTION public.notify_edges();
ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON UPDATE CASCADE ON DELETE RESTRICT;
ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_successor_id_fkey FOREIGN KEY (successor_id) REFERENCES public.api_key(id) ON UPDATE CASCADE ON DELETE SET NULL;
ALTER TABLE ONLY public.certificate
    ADD CONSTRAINT certificate_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES public.domain(id) ON UPDATE CASCADE ON DELETE RESTRICT;
ALTER TABLE ONLY public.challenge
    ADD CONSTRAINT challenge_certificate_id_fkey FOREIGN KEY (certificate_id) REFERENCES public.certificate(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.deploy
    ADD CONSTRAINT deploy_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.project(id) ON UPDATE CASCADE ON DELETE RESTRICT;
ALTER TABLE ONLY public.deprecated_use
    ADD CONSTRAINT deprecated_use_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES public.api_key(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.domain
    ADD CONSTRAINT domain_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.project(id) ON UPDATE CASCADE ON DELETE RESTRICT;
ALTER TABLE ONLY public.escalation
    ADD CONSTRAINT escalation_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES public.domain(id) ON UPDATE CASCADE ON DELETE RESTRICT;
ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES public.domain(id) ON UPDATE CASCADE ON DELETE RESTRICT;
ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.project(id) ON UPDATE CASCADE ON DELETE RESTRICT;
ALTER TABLE ONLY public.hsts
    ADD CONSTRAINT hsts_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES public.domain(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.observation
    ADD CONSTRAINT observation_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES public.domain(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.order_waiting
    ADD CONSTRAINT order_waiting_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.project(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.project
    ADD CONSTRAINT project_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON UPDATE CASCADE ON DELETE RESTRICT;
ALTER TABLE ONLY public.redirect
    ADD CONSTRAINT redirect_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.project(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.webhook_delivery
    ADD CONSTRAINT webhook_delivery_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.event(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.webhook_delivery
    ADD CONSTRAINT webhook_delivery_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES public.webhook(id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.webhook
    ADD CONSTRAINT webhook_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.project(id) ON UPDATE CASCADE ON DELETE RESTRICT;

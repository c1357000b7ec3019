-- The roles of PostgreSQL, of which none is a superuser. `signpost` owns the database: APIs and workers make its tables and
-- bring them up to date. `signpost_edge` reads what edges serve, and is given the columns by the processes of `signpost`
-- (src/db/engine/edge-role.ts). To be run once, by a superuser, with psql 14 or newer and both passwords in the environment:
--
--   SIGNPOST_PASSWORD=… EDGE_PASSWORD=… psql -v ON_ERROR_STOP=1 -f deploy/postgres/roles.sql postgres
--
-- On a server that has no other databases, OWN_SERVER=true beside them closes those that every server has to both roles.
\getenv signpost_password SIGNPOST_PASSWORD
\getenv edge_password EDGE_PASSWORD
\set own_server false
\getenv own_server OWN_SERVER

CREATE ROLE signpost LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'signpost_password';
CREATE ROLE signpost_edge LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'edge_password';

CREATE DATABASE signpost OWNER signpost;
REVOKE ALL ON DATABASE signpost FROM PUBLIC;
GRANT CONNECT ON DATABASE signpost TO signpost_edge;
\if :own_server
REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC;
\endif

\connect signpost
ALTER SCHEMA public OWNER TO signpost;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO signpost_edge;
-- Everybody may make large objects, and so fill the disk. With a right of its own, signpost restores a dump without an error.
REVOKE EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) TO signpost;

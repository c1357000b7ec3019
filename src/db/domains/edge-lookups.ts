/** Not cached here, so a removal takes effect at its commit. The edge caches. */

import { heldStatuses } from '../../core/life/lifecycle.ts';
import { type EdgeRoute, hstsField, oldKeyEndsAt } from '../../core/operations/edge-route.ts';
import type { Database, PoolOptions } from '../engine/client.ts';
import {
  createRunStatement,
  type GatherOptions,
  type RunStatement,
  type Statement,
  shareReads,
} from '../engine/statements.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';
import { statusList } from './domain-row.ts';

/** Each answer is from a query that started after the call. Rejects without an answer. */
export type EdgeLookups = {
  /** Null if no project holds the name. A consistent snapshot; `certificateId` has not expired. */
  findRoute(hostname: string): Promise<EdgeRoute | null>;
  /** The key authorization of an open http-01 challenge (RFC 8555, 8.3). */
  findChallenge(token: string, hostname: string): Promise<string | null>;
  /** Of the newest tls-alpn-01 challenge, which has no token (RFC 8737, 3). */
  findTlsChallenge(hostname: string): Promise<string | null>;
  /** In PEM. Null also if an external edge has its key. */
  loadCertificate(id: string): Promise<{ chain: string; sealedKey: Uint8Array } | null>;
  /** In PEM. */
  loadUpstreamCa(deployId: string): Promise<string | null>;
  /** In no order. */
  listNames(max: number): Promise<readonly string[]>;
};

/** Limits concurrent queries, however many names visitors request. */
const routeBatches = { itemsMax: 500, concurrency: 3 } as const;
const certificateBatches = { itemsMax: 100, concurrency: 2 } as const;
const upstreamCaBatches = { itemsMax: 50, concurrency: 1 } as const;
/** Challenge requests are unauthenticated, so each kind uses at most one connection. */
const challengeBatches = { itemsMax: 500, concurrency: 1 } as const;

/** For routes, certificates, upstream CAs and the heartbeat of route-notifications.ts only. */
export const edgeConnections: PoolOptions = {
  max:
    routeBatches.concurrency + certificateBatches.concurrency + upstreamCaBatches.concurrency + 1,
  statementTimeoutMs: 10_000,
};

/** `pool` serves what visitors wait for; challenges use `prisma` and cannot exhaust it. */
export function createEdgeLookups(database: Pick<Database, 'prisma' | 'pool'>): EdgeLookups {
  const { prisma } = database;
  const run = createRunStatement(database);
  const findChallenge = sharedByName((names) => findChallenges(prisma, names), challengeBatches);
  return {
    findRoute: sharedByName((names) => findRoutes(run, names), routeBatches),
    findChallenge: (token, hostname) => findChallenge(`${hostname}/${token}`),
    findTlsChallenge: sharedByName((names) => findTlsChallenges(prisma, names), challengeBatches),
    loadCertificate: sharedByName((ids) => loadCertificates(run, ids), certificateBatches),
    loadUpstreamCa: sharedByName((ids) => loadUpstreamCas(run, ids), upstreamCaBatches),
    async listNames(max) {
      const rows = await run<{ readonly hostname: string }>(names, [max]);
      return rows.map(({ hostname }) => hostname);
    },
  };
}

/** `read`: what exists, by name. Null for the others. */
function sharedByName<Value>(
  read: (names: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
  options: GatherOptions,
): (name: string) => Promise<Value | null> {
  const readEach = async (names: readonly string[]) => {
    const byName = await read(names);
    return names.map((name) => byName.get(name) ?? null);
  };
  return shareReads(readEach, (name) => name, options);
}

/** By `<host name>/<token>`. */
async function findChallenges(prisma: PrismaClient, names: readonly string[]) {
  const token = { in: names.map((name) => name.slice(name.indexOf('/') + 1)) };
  const certificate: Prisma.CertificateWhereInput = {
    status: 'ordering',
    domain: { removedAt: null },
  };
  const open = await prisma.challenge.findMany({ where: { token, type: 'http-01', certificate } });
  return new Map(open.map((one) => [`${one.hostname}/${one.token}`, one.keyAuthorization]));
}

async function findTlsChallenges(prisma: PrismaClient, hostnames: readonly string[]) {
  const domain = { removedAt: null, status: { in: [...heldStatuses] } };
  const open = await prisma.challenge.findMany({
    where: {
      hostname: { in: [...hostnames] },
      type: 'tls-alpn-01',
      certificate: { status: 'ordering', domain },
    },
    orderBy: { certificate: { createdAt: 'asc' } }, // the newest comes last and wins
  });
  return new Map(open.map((each) => [each.hostname, each.keyAuthorization]));
}

const certificates: Statement = {
  name: 'edge_certificates',
  text: `SELECT id::text AS id, chain, encode(sealed_key, 'base64') AS "sealedKey" FROM certificate
    WHERE id = ANY($1::uuid[]) AND chain IS NOT NULL AND sealed_key IS NOT NULL`,
};

async function loadCertificates(run: RunStatement, ids: readonly string[]) {
  type Row = { readonly id: string; readonly chain: string; readonly sealedKey: string };
  const rows = await run<Row>(certificates, [ids]);
  return new Map(
    rows.map(({ id, chain, sealedKey }) => [
      id,
      { chain, sealedKey: Buffer.from(sealedKey, 'base64') },
    ]),
  );
}

const names: Statement = {
  name: 'edge_names',
  text: `SELECT hostname FROM domain
    WHERE removed_at IS NULL AND status IN (${statusList(heldStatuses)}) LIMIT $1`,
};

const upstreamCas: Statement = {
  name: 'edge_upstream_cas',
  text: `SELECT id::text AS id, upstream_ca AS "upstreamCa" FROM deploy
    WHERE id = ANY($1::uuid[]) AND upstream_ca IS NOT NULL`,
};

async function loadUpstreamCas(run: RunStatement, ids: readonly string[]) {
  const rows = await run<{ readonly id: string; readonly upstreamCa: string }>(upstreamCas, [ids]);
  return new Map(rows.map(({ id, upstreamCa }) => [id, upstreamCa]));
}

/** A redirect and HSTS are one row or none; none of their other columns is null. */
const routes: Statement = {
  name: 'edge_routes_verified',
  text: `SELECT domain.hostname, domain.project_id::text AS "projectId",
      deployed.upstream, deployed.ca_id AS "upstreamCaId",
      (SELECT id::text FROM certificate
        WHERE domain_id = domain.id AND status = 'issued' AND expires_at > now()
          AND sealed_key IS NOT NULL
        ORDER BY created_at DESC, expires_at DESC LIMIT 1) AS "certificateId",
      redirect.to_hostname AS "redirectTo", redirect.status::text AS "redirectStatus",
      project.primary_hostname AS "primary", project.signing_generation::text AS "signingGeneration",
      (extract(epoch FROM project.signing_rotated_at) * 1000)::bigint::text AS "signingRotatedAt",
      hsts.max_age::text AS "hstsMaxAge", hsts.include_subdomains::text AS "hstsSubdomains",
      hsts.preload::text AS "hstsPreload"
    FROM domain
    JOIN project ON project.id = domain.project_id
    LEFT JOIN LATERAL (
      SELECT upstream, CASE WHEN upstream_ca IS NOT NULL THEN id::text END AS ca_id FROM deploy
      WHERE deploy.project_id = domain.project_id AND deploy.status = 'succeeded'
      ORDER BY created_at DESC LIMIT 1) AS deployed ON true
    LEFT JOIN redirect ON redirect.project_id = domain.project_id
      AND redirect.from_hostname = domain.hostname
    LEFT JOIN hsts ON hsts.domain_id = domain.id
    WHERE domain.hostname = ANY($1::text[]) AND domain.removed_at IS NULL
      AND domain.status IN (${statusList(heldStatuses)})`,
};

type RouteRow = Omit<EdgeRoute, 'redirect' | 'signing' | 'hsts'> & {
  readonly redirectTo: string | null;
  readonly redirectStatus: string | null;
  readonly signingGeneration: string;
  /** Milliseconds since 1970. */
  readonly signingRotatedAt: string | null;
  readonly hstsMaxAge: string | null;
  /** `true` or `false`; the next field, too. */
  readonly hstsSubdomains: string | null;
  readonly hstsPreload: string | null;
};

async function findRoutes(run: RunStatement, hostnames: readonly string[]) {
  const rows = await run<RouteRow>(routes, [hostnames]);
  return new Map(rows.map((row) => [row.hostname, toRoute(row)]));
}

function toRoute(row: RouteRow): EdgeRoute {
  const { hostname, projectId, upstream, upstreamCaId, certificateId, primary } = row;
  const { redirectTo: to } = row;
  const rotatedAt = row.signingRotatedAt === null ? null : new Date(Number(row.signingRotatedAt));
  return {
    hostname,
    projectId,
    upstream,
    upstreamCaId,
    certificateId,
    redirect: to === null ? null : { to, status: Number(row.redirectStatus) },
    primary,
    signing: {
      generation: Number(row.signingGeneration),
      oldEndsAt: oldKeyEndsAt(rotatedAt)?.getTime() ?? null,
    },
    hsts: hstsOf(row),
  };
}

function hstsOf({ hstsMaxAge, hstsSubdomains, hstsPreload }: RouteRow): string | null {
  if (hstsMaxAge === null) return null;
  const includeSubdomains = hstsSubdomains === 'true';
  return hstsField({
    maxAge: Number(hstsMaxAge),
    includeSubdomains,
    preload: hstsPreload === 'true',
  });
}

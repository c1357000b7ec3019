/** What a certificate needs besides DNS: the name's addresses and the CAs. Stores nothing. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import type { BudgetWait } from '../../core/certificates/budget.ts';
import type { AddressReach } from '../../core/certificates/reach.ts';
import {
  type AuthorityReach,
  authorityInWords,
  type ReachExpected,
  reachInWords,
} from '../../core/certificates/reach-words.ts';
import { printable } from '../../core/names/printable.ts';
import { beforeAbort } from '../../net/deadline.ts';
import { isPublic } from '../../net/destination.ts';
import { parseJson } from '../../net/json.ts';
import { createIsListener, type OwnListeners } from '../../net/own-addresses.ts';
import { type AcmeTransport, createTransport } from '../acme/transport.ts';
import { type ReachRules, reachAddresses } from './challenge-path.ts';

/** Of an attached name. */
export type OrderLimits = {
  readonly hasCertificate: boolean;
  /** For each CA, in order. */
  readonly waits: readonly (BudgetWait | null)[];
  readonly refused:
    | (NonNullable<AuthorityReach['refused']> & {
        /** Its directory; null: the local one. */
        readonly authority: string | null;
      })
    | null;
};

/** Plain JSON; its schema is in src/http/schemas/diagnosis.ts. */
export type ReachReport = ReturnType<typeof reportOf>;

/** `limits`: null if the name is not attached. Takes up to 10 s. Network failures do not reject it. */
export type ExamineReach = (hostname: string, limits: OrderLimits | null) => Promise<ReachReport>;

/** A visitor would not wait longer. */
const TIMEOUT_MS = 10_000;
const DIRECTORY_MS = 4_000;

type ReachRuleParts = {
  readonly config: Pick<Config, 'acme' | 'dns'>;
  readonly lookupAddresses: ReachRules['lookupAddresses'];
  readonly probes: ReachRules['probes'];
  readonly ownListeners: OwnListeners;
};

export type ReachParts = ReachRuleParts & {
  /** Whether the configuration says which CAs are in use. */
  readonly isAuthorityKnown: boolean;
};

/** Throws if a CA file cannot be read. */
export function createExamineReach(parts: ReachParts): ExamineReach {
  const { config, lookupAddresses, probes, isAuthorityKnown } = parts;
  const { acme } = config;
  const authorities = isAuthorityKnown
    ? [acme, ...(acme.fallback ? [acme.fallback] : [])].map(reachedAuthority)
    : [];
  return async (hostname, limits) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const rules = { ...reachRules(parts), signal };
    const found = beforeAbort(
      signal,
      lookupAddresses(hostname).catch(() => []),
      [],
    );
    const [addresses, states] = await Promise.all([
      found.then((all) => reachAddresses(rules, hostname, all)),
      Promise.all(authorities.map((one, index) => stateOf(one, index, limits))),
    ]);
    const hasCertificate = limits?.hasCertificate ?? false;
    const expected = { isEdgeKnown: probes !== null, hasCertificate, challenge: acme.challenge };
    return reportOf(addresses, states, expected);
  };
}

/** Probes go to our own edge, but to no other port of ours. */
export function reachRules({
  config: { acme, dns },
  lookupAddresses,
  probes,
  ownListeners,
}: ReachRuleParts): Omit<ReachRules, 'signal'> {
  return {
    probes,
    challenge: acme.challenge,
    ports: { http: acme.httpPort, https: acme.tlsPort },
    lookupAddresses,
    async isAllowed(address, port) {
      if (!dns.allowPrivate && !isPublic(address)) return false;
      return !createIsListener(await ownListeners(), { withEdge: false })(address, port);
    },
  };
}

type ReachedAuthority = {
  readonly directoryUrl: string | null;
  readonly transport: AcmeTransport;
};

/** The status page has a public certificate; the directory can have a private one. */
const publicTransport = createTransport(null, DIRECTORY_MS);

function reachedAuthority({
  directoryUrl = null,
  caFile,
}: {
  readonly directoryUrl?: string | undefined | null;
  readonly caFile: string | undefined;
}): ReachedAuthority {
  const trust = caFile === undefined ? null : readFileSync(caFile, 'utf8');
  return { directoryUrl, transport: createTransport(trust, DIRECTORY_MS) };
}

async function stateOf(
  { directoryUrl, transport }: ReachedAuthority,
  index: number,
  limits: OrderLimits | null,
): Promise<AuthorityReach> {
  const statusUrl = directoryUrl === null ? null : knownStatusPage(directoryUrl);
  const [directoryAnswers, statusPage] = await Promise.all([
    directoryUrl === null ? null : answers(transport, directoryUrl),
    statusUrl === null ? null : readStatusPage(publicTransport, statusUrl),
  ]);
  const refused = limits?.refused ?? null;
  const isItsOwn = refused?.authority === directoryUrl;
  return {
    directoryUrl,
    directoryAnswers,
    statusPage,
    wait: limits?.waits[index] ?? null,
    refused: refused !== null && isItsOwn ? { type: refused.type, detail: refused.detail } : null,
  };
}

async function answers(transport: AcmeTransport, url: string): Promise<boolean> {
  const reply = await transport({ method: 'GET', url }).catch(() => null);
  return reply?.status === 200;
}

function reportOf(
  addresses: readonly AddressReach[],
  authorities: readonly AuthorityReach[],
  expected: ReachExpected,
) {
  return {
    addresses: addresses.map((one) => ({ ...one, ...reachInWords(one, expected) })),
    authorities: authorities.map((one) => ({
      directoryUrl: one.directoryUrl,
      directoryAnswers: one.directoryAnswers,
      statusPage: one.statusPage,
      noOrderBefore: one.wait?.until.toISOString() ?? null,
      refused: one.refused,
      ...authorityInWords(one),
    })),
  };
}

// A CA's status page, in the format of Status.io's public API (kb.status.io, "Public Status API").

const OPERATIONAL = 100;
const STATUS_MAX = 80;

const page = z.object({
  result: z.object({
    status_overall: z.object({ status: z.string(), status_code: z.coerce.number() }),
  }),
});

/** letsencrypt.status.io by its ID at Status.io. */
const LETS_ENCRYPT = 'https://api.status.io/1.0/status/55957a99e800baa4470002da';

/** Null: none that we know. */
export function knownStatusPage(directoryUrl: string): string | null {
  return new URL(directoryUrl).hostname.endsWith('.letsencrypt.org') ? LETS_ENCRYPT : null;
}

/** Null without a usable answer. Network failures do not reject it. */
export async function readStatusPage(
  transport: AcmeTransport,
  url: string,
): Promise<AuthorityReach['statusPage']> {
  const reply = await transport({ method: 'GET', url }).catch(() => null);
  if (reply?.status !== 200) return null;
  const parsed = parseJson(Buffer.from(reply.body));
  const read = page.safeParse(parsed.ok ? parsed.value : null);
  if (!read.success) return null;
  const { status, status_code: code } = read.data.result.status_overall;
  return { url, status: printable(status, STATUS_MAX), isOperational: code === OPERATIONAL };
}

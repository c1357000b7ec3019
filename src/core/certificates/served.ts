/** Compares what a name's addresses serve in a TLS handshake with the stored certificates. */

import type { FindingCode } from '../diagnosis/findings.ts';
import type { DomainStatus } from '../life/lifecycle.ts';
import { NAME_OCTETS_MAX } from '../names/hostname.ts';
import { printable, shortList } from '../names/printable.ts';
import { HOUR } from '../time.ts';

export type ShownOutcome =
  | 'ours'
  /** An earlier one that the newest has replaced. */
  | 'ours_before'
  /** Not stored for the name. */
  | 'other'
  | 'no_certificate'
  | 'refused'
  | 'timeout'
  /** Says nothing about visitors: this machine has no route, or the address is not public. */
  | 'no_route'
  | 'reserved';

/** `issuer` and `names`: sanitized foreign text. */
export type AddressShown = {
  readonly address: string;
  readonly outcome: ShownOutcome;
  readonly issuer: string | null;
  readonly names: readonly string[];
};

/** Of all public addresses of the name; empty if it resolves to none. */
export type ServedCheck = { readonly checkedAt: Date; readonly addresses: readonly AddressShown[] };

const saysNothing: readonly ShownOutcome[] = ['no_route', 'reserved'];

/** False without addresses. */
export function hasProblem({ addresses }: ServedCheck): boolean {
  return addresses.some(({ outcome }) => outcome !== 'ours' && !saysNothing.includes(outcome));
}

export type Handshake =
  | {
      readonly address: string;
      readonly outcome: 'certificate';
      /** SHA-256 of the leaf, always in the same spelling. */
      readonly fingerprint: string;
      readonly issuer: string;
      readonly names: readonly string[];
    }
  | {
      readonly address: string;
      readonly outcome: Exclude<ShownOutcome, 'ours' | 'ours_before' | 'other'>;
    };

/** A certificate can have a hundred. */
const NAMES_MAX = 5;
const ISSUER_LENGTH_MAX = 100;

/** Keeps the order. `fingerprints`: of the stored certificates, the newest first. */
export function compareServed(
  handshakes: readonly Handshake[],
  fingerprints: readonly string[],
): readonly AddressShown[] {
  return handshakes.map((one) => {
    const { address, outcome } = one;
    if (outcome !== 'certificate') return { address, outcome, issuer: null, names: [] };
    const place = fingerprints.indexOf(one.fingerprint);
    return {
      address,
      outcome: place === 0 ? 'ours' : place > 0 ? 'ours_before' : 'other',
      issuer: printable(one.issuer, ISSUER_LENGTH_MAX),
      names: one.names.slice(0, NAMES_MAX).map((name) => printable(name, NAME_OCTETS_MAX)),
    };
  });
}

export type BrowserState =
  | 'no_certificate_yet'
  /** Served. If a browser still warns, a proxy intervenes or the local CA signed it. */
  | 'served'
  /** A browser, a resolver or an address can still have the previous state. */
  | 'may_be_cached'
  | 'other_certificate'
  | 'not_shown'
  /** The DNS points elsewhere, or the domain is not served until its DNS is correct. */
  | 'not_reaching_us';

export type Visited = {
  readonly status: DomainStatus;
  readonly missedAt: Date | null;
  readonly findings: readonly FindingCode[];
  readonly certificate: {
    readonly storedAt: Date;
    readonly hasEnded: boolean;
    readonly isTrusted: boolean;
  } | null;
  readonly shown: ServedCheck | null;
};

export type BrowserWarning = {
  readonly state: BrowserState;
  readonly summary: string;
  /** Null if no check covers the current certificate. */
  readonly shown: ServedCheck | null;
};

/** For this long, browsers and resolvers can cache the previous state: the usual TTL, and ours. */
export const REMEMBERED_MS = HOUR;

/** Live domains are checked at least hourly, so an older check is outdated. */
export const CHECK_COUNTS_MS = 7_200_000;

/** Findings that mean some resolvers or servers still give the previous answer. */
const explainedElsewhere: ReadonlySet<FindingCode> = new Set([
  'old_answer_cached',
  'name_servers_disagree',
]);

/** Pure. */
export function browserWarning(visited: Visited, now: Date): BrowserWarning {
  const shown = observationThatCounts(visited, now);
  return { ...classify(visited, shown, now), shown };
}

type Classified = Pick<BrowserWarning, 'state' | 'summary'>;

function classify(visited: Visited, shown: ServedCheck | null, now: Date): Classified {
  const { status, missedAt, certificate } = visited;
  if (status === 'drifted' || (status === 'live' && missedAt !== null)) {
    return { state: 'not_reaching_us', summary: elsewhere };
  }
  if (certificate === null || certificate.hasEnded) {
    return { state: 'no_certificate_yet', summary: notYet(visited) };
  }
  if (status === 'pending' || status === 'failed') {
    return { state: 'not_reaching_us', summary: notServed };
  }
  const isProxied = visited.findings.includes('proxied') && certificate.isTrusted;
  if (isProxied) return { state: 'served', summary: behindProxy };
  return (shown && problemOf(shown)) ?? whileServed(visited, certificate, shown, now);
}

function whileServed(
  { findings }: Visited,
  certificate: NonNullable<Visited['certificate']>,
  shown: ServedCheck | null,
  now: Date,
): Classified {
  if (!certificate.isTrusted) return { state: 'served', summary: untrusted };
  if (findings.some((code) => explainedElsewhere.has(code))) {
    return { state: 'may_be_cached', summary: oldAnswers };
  }
  const isNew = now.getTime() - certificate.storedAt.getTime() < REMEMBERED_MS;
  if (shown?.addresses.some(({ outcome }) => outcome === 'ours')) {
    return { state: 'served', summary: `${everywhere} ${isNew ? privateWindow : between}` };
  }
  return isNew
    ? { state: 'may_be_cached', summary: `${lastHour} ${privateWindow}` }
    : { state: 'served', summary: `${served} ${between}` };
}

/** Ignores a check that is outdated, or from before the certificate. */
function observationThatCounts(
  { status, certificate, shown }: Visited,
  now: Date,
): ServedCheck | null {
  if (status !== 'live' || certificate === null || certificate.hasEnded) return null;
  const isOld = shown !== null && now.getTime() - shown.checkedAt.getTime() > CHECK_COUNTS_MS;
  return shown !== null && !isOld && shown.checkedAt >= certificate.storedAt ? shown : null;
}

/** By severity: browser warnings, then errors, then what resolves without action. */
function problemOf({ addresses }: ServedCheck): Classified | null {
  const at = (...outcomes: readonly ShownOutcome[]) =>
    addresses.filter(({ outcome }) => outcomes.includes(outcome));
  const others = at('other');
  if (others.length > 0) return { state: 'other_certificate', summary: anotherOne(others) };
  const silent = at('no_certificate', 'refused', 'timeout');
  if (silent.length > 0) return { state: 'not_shown', summary: notShown(silent) };
  const behind = at('ours_before');
  if (behind.length > 0) return { state: 'may_be_cached', summary: oneOfBefore(behind) };
  return null;
}

const elsewhere =
  'At the last check the DNS no longer pointed here. A browser warning is about another server’s certificate. The findings say what to change.';

const notServed =
  'The domain is not served here until its DNS is correct; its certificate is kept until then. A browser warning is about another server’s certificate.';

const untrusted =
  'The certificate is served, but browsers warn: it is signed by the local certificate authority, which they do not trust. No action needed: the platform’s operator has to set up a trusted authority.';

const oldAnswers =
  'The certificate is served, but some of the DNS still gives the old answer. A browser that shows a warning reached the old server. The findings say what is cached, and for how long.';

const behindProxy =
  'A proxy in front of the domain shows its own certificate to visitors. The proxy checks the one here, if it is set to. A browser warning is about the proxy’s certificate.';

const lastHour = 'The certificate was stored within the last hour.';
const everywhere = 'The certificate is served: every address that could be checked serves it.';
const served = 'The certificate is served.';

const privateWindow =
  'If a browser shows a warning, check for a cached answer: open the page in a private window. Other caches expire, usually within an hour.';

const between =
  'If a browser still shows a warning, it got a different certificate: compare its issuer with the one here. Check for a proxy, antivirus software or a hosts file.';

const ADDRESSES_LISTED = 3;

function anotherOne(others: readonly AddressShown[]): string {
  const described = others.map(({ address, issuer, names }) => {
    const of = issuer === null ? '' : ` of “${issuer}”`;
    const forNames = names.length === 0 ? '' : ` for ${shortList(names, 1)}`;
    return `${address} served a certificate${of}${forNames}`;
  });
  return `The certificate is stored, but ${shortList(described, ADDRESSES_LISTED, '; ')} instead. A proxy or the previous server answers there instead of the edge. If it is yours, check its certificate. If not, contact the operator of this service.`;
}

const silences: Readonly<Partial<Record<ShownOutcome, string>>> = {
  no_certificate: 'ended the handshake without a certificate',
  refused: 'refused the connection',
  timeout: 'did not answer in time',
};

function notShown(silent: readonly AddressShown[]): string {
  const described = silent.map(({ address, outcome }) => `${address} ${silences[outcome]}`);
  return `The certificate is stored, but ${shortList(described, ADDRESSES_LISTED, '; ')}. A browser that uses this address shows an error. No action needed: the operator of this service has to check that address.`;
}

function oneOfBefore(behind: readonly AddressShown[]): string {
  const where = shortList(
    behind.map(({ address }) => address),
    ADDRESSES_LISTED,
  );
  return `A new certificate is stored, but ${where} still served the previous one. No action needed: the edge there picks up the new one shortly.`;
}

function notYet({ status, certificate }: Visited): string {
  if (status === 'pending' || status === 'failed') {
    return 'There is no certificate yet: it is ordered as soon as the DNS is right. Until then a browser shows an error, or the site that the DNS points to.';
  }
  return certificate?.hasEnded
    ? 'The certificate has expired, and the next one is being issued. Until then, browsers show an error.'
    : 'The DNS is correct, and the certificate is being issued. Until then, browsers show an error.';
}

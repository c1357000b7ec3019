/** What the addresses of a name show in a TLS handshake, held against the stored certificates, and what a browser says of it. */

import type { FindingCode } from '../diagnosis/findings.ts';
import type { DomainStatus } from '../life/lifecycle.ts';
import { printable, shortList } from '../names/printable.ts';

/** What one address shows, compared with the certificates that are stored for the name. */
export type ShownOutcome =
  /** The newest one. */
  | 'ours'
  /** An earlier one, which the newest has replaced. */
  | 'ours_before'
  /** One that is not stored for the name. */
  | 'other'
  /** The server closed the handshake without one. */
  | 'no_certificate'
  | 'refused'
  | 'timeout'
  /** These two say nothing of what visitors see: this machine has no way there, or nobody on the internet has. */
  | 'no_route'
  | 'reserved';

/** `issuer` and `names` are foreign text made fit to be shown; null and empty where no certificate was. */
export type AddressShown = {
  readonly address: string;
  readonly outcome: ShownOutcome;
  readonly issuer: string | null;
  readonly names: readonly string[];
};

/** One check of all the addresses, as the world resolves the name; empty where it resolved to none. */
export type Shown = { readonly checkedAt: Date; readonly addresses: readonly AddressShown[] };

const saysNothing: readonly ShownOutcome[] = ['no_route', 'reserved'];

/** Whether some visitors are given something else than the newest certificate, or nothing; false without addresses. */
export function hasProblem({ addresses }: Shown): boolean {
  return addresses.some(({ outcome }) => outcome !== 'ours' && !saysNothing.includes(outcome));
}

/** What came of one handshake. */
export type Handshake =
  | {
      readonly address: string;
      readonly outcome: 'certificate';
      /** SHA-256 of the leaf, in any spelling that is always the same. */
      readonly fingerprint: string;
      readonly issuer: string;
      readonly names: readonly string[];
    }
  | {
      readonly address: string;
      readonly outcome: Exclude<ShownOutcome, 'ours' | 'ours_before' | 'other'>;
    };

/** Our choice: enough to know a certificate again. It may have a hundred names. */
const NAMES_MAX = 5;
const ISSUER_LENGTH_MAX = 100;
/** A host name has no more (RFC 1035, 2.3.4). */
const NAME_LENGTH_MAX = 253;

/** In the order of the handshakes. `fingerprints`: of the certificates stored for the name, the served one first. */
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
      names: one.names.slice(0, NAMES_MAX).map((name) => printable(name, NAME_LENGTH_MAX)),
    };
  });
}

/** What a browser that is led to the domain meets, as the API spells it. */
export type BrowserState =
  /** There is none, or it has expired. */
  | 'no_certificate_yet'
  /** We serve it. A browser that warns nevertheless has met something in between, or the local authority signed it. */
  | 'served'
  /** A browser, a resolver or an address may still have what was there before. */
  | 'may_be_cached'
  /** An address showed one that is not ours. */
  | 'other_certificate'
  /** An address showed none, or did not answer. */
  | 'not_shown'
  /** The DNS leads elsewhere, or the domain is not served until it is right. */
  | 'not_reaching_us';

/** What is stored of the domain, as far as the answer depends on it. */
export type Visited = {
  readonly status: DomainStatus;
  /** The first of two checks that make a live domain drifted, where there was one. */
  readonly missedAt: Date | null;
  readonly findings: readonly FindingCode[];
  /** The newest one. `isTrusted`: by browsers. */
  readonly certificate: {
    readonly storedAt: Date;
    readonly hasEnded: boolean;
    readonly isTrusted: boolean;
  } | null;
  /** The last check of the addresses; null where there was none. */
  readonly shown: Shown | null;
};

/** What a browser meets at the domain, and the words for it. */
export type BrowserWarning = {
  readonly state: BrowserState;
  /** A sentence or two for the customer. */
  readonly summary: string;
  /** The check that it was decided from; null where none says anything about the present certificate. */
  readonly shown: Shown | null;
};

/** Milliseconds for which browsers and resolvers may go by what was before: the TTL of most records, and of ours. */
export const REMEMBERED_MS = 3_600_000;

/** Milliseconds: a live domain is checked hourly at least, so an older check says nothing of now. */
export const CHECK_COUNTS_MS = 7_200_000;

/** With one of these among the findings, some resolvers or servers still show what was there before. */
const explainedElsewhere: ReadonlySet<FindingCode> = new Set([
  'old_answer_cached',
  'name_servers_disagree',
]);

/** Returns what a browser that comes at this moment meets, and what it means. Pure: nothing is asked of the network. */
export function browserWarning(visited: Visited, now: Date): BrowserWarning {
  const shown = observationThatCounts(visited, now);
  return { ...classify(visited, shown, now), shown };
}

type Classified = Pick<BrowserWarning, 'state' | 'summary'>;

function classify(visited: Visited, shown: Shown | null, now: Date): Classified {
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
  return (shown && problemOf(shown)) ?? whileServed(visited, certificate, shown, now);
}

/** Nothing is known to be wrong with what we serve: what is left is what others remember. */
function whileServed(
  { findings }: Visited,
  certificate: NonNullable<Visited['certificate']>,
  shown: Shown | null,
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

/**
 * Of a domain that is not live the addresses are not asked, a check from before the certificate knew another one, and where
 * nobody checks any more (EDGE_PROBE) the last check is not to stand for ever.
 */
function observationThatCounts({ status, certificate, shown }: Visited, now: Date): Shown | null {
  if (status !== 'live' || certificate === null || certificate.hasEnded) return null;
  const isOld = shown !== null && now.getTime() - shown.checkedAt.getTime() > CHECK_COUNTS_MS;
  return shown !== null && !isOld && shown.checkedAt >= certificate.storedAt ? shown : null;
}

/** The gravest first: what warns, what gives no page, and what passes by itself. Null: no problem is known. */
function problemOf({ addresses }: Shown): Classified | null {
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
  'At the last check the DNS no longer led here. A browser that warns shows the certificate of the server that it came to instead; the findings say what to change.';

const notServed =
  'The domain is not served here until its DNS is right; its certificate is kept until then. A browser that warns shows the certificate of the server that it came to instead.';

const untrusted =
  'The certificate is served, and every browser warns of it: the local certificate authority signed it, which none of them trusts. There is nothing for you to do: certificates that they trust are for the platform’s operator to set up.';

const oldAnswers =
  'The certificate is served, but some of the DNS still shows what was there before. A browser that warns has come to the old server; the findings say what is remembered, and for how long.';

const lastHour = 'The certificate was stored within the last hour.';
const everywhere = 'The certificate is served: every address that could be tried shows it.';
const served = 'The certificate is served.';

const privateWindow =
  'A browser that warns may remember what was there before: close the page and open it again in a private window. Elsewhere it passes by itself, mostly within an hour.';

const between =
  'A browser that warns nevertheless has been given another one: compare its issuer with the one here. Something stands between, such as a proxy, a virus scanner or an entry in a hosts file.';

/** Of each: more say nothing new. */
const ADDRESSES_LISTED = 3;

function anotherOne(others: readonly AddressShown[]): string {
  const described = others.map(({ address, issuer, names }) => {
    const of = issuer === null ? '' : ` of “${issuer}”`;
    const forNames = names.length === 0 ? '' : ` for ${shortList(names, 1)}`;
    return `${address} showed a certificate${of}${forNames}`;
  });
  return `The certificate is stored, but ${shortList(described, ADDRESSES_LISTED, '; ')} instead. Something answers there in place of the edge, such as a proxy, or the server of before. If you have put it there, its certificate is the one to look after; if not, tell whoever runs this service.`;
}

const silences: Readonly<Partial<Record<ShownOutcome, string>>> = {
  no_certificate: 'ended the handshake without a certificate',
  refused: 'refused the connection',
  timeout: 'did not answer in time',
};

function notShown(silent: readonly AddressShown[]): string {
  const described = silent.map(({ address, outcome }) => `${address} ${silences[outcome]}`);
  return `The certificate is stored, but ${shortList(described, ADDRESSES_LISTED, '; ')}. A browser that is led there shows an error. There is nothing for you to do: the operator of this service has to check that address.`;
}

function oneOfBefore(behind: readonly AddressShown[]): string {
  const where = shortList(
    behind.map(({ address }) => address),
    ADDRESSES_LISTED,
  );
  return `A new certificate is stored, but ${where} still showed the one before it. There is nothing to do: it passes as soon as the edge there has taken the new one.`;
}

/** Without a certificate the edge ends the handshake, so there is no page to show. */
function notYet({ status, certificate }: Visited): string {
  if (status === 'pending' || status === 'failed') {
    return 'There is no certificate yet: it is ordered as soon as the DNS is right. Until then a browser shows an error, or what the DNS leads to instead.';
  }
  return certificate?.hasEnded
    ? 'The certificate has expired, and the next one is on its way. Until it is there, browsers get no secure connection and show an error.'
    : 'The DNS is right, and the certificate is on its way. Until it is there, browsers get no secure connection and show an error.';
}

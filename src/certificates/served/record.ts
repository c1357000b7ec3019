/** Our own look at what visitors of a domain are shown, held against what is stored for it. Nothing depends on it but words. */
import { X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { compareShown, type Handshake } from '../../core/certificates/served.ts';
import type { ShownStore, VisitedDomain } from '../../db/domains/shown.ts';
import { readCertificate } from '../x509.ts';
import { addressesToAsk, type HandshakeRules, lookAtShown, type Seen } from './handshake.ts';

/** An edge of ours has the certificate at hand; who needs more than this, browsers do not wait for either. */
const HANDSHAKE_MS = 5_000;
/** Our choice: while an edge is silent, the looks at its other domains go on without waiting for it each time. */
const SILENT_MS = 10_000;
const SILENT_MAX = 1_000;

export type NoteShownDeps = Pick<HandshakeRules, 'port' | 'allowPrivate'> &
  ShownStore & {
    /** As the rest of the world resolves the name. */
    readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
    readonly now: () => Date;
    /** Shorter in tests. */
    readonly handshakeMs?: number;
  };

/**
 * Makes a handshake with each of the name's addresses, at most 8, and notes what they show. Never rejects for what the
 * network does, and takes some 10 s at most.
 */
export type NoteShown = (domain: VisitedDomain) => Promise<void>;

export function createNoteShown({ lookupAddresses, ...deps }: NoteShownDeps): NoteShown {
  const silent = new LRUCache<string, true>({ max: SILENT_MAX, ttl: SILENT_MS });
  const rules = { handshakeMs: HANDSHAKE_MS, ...deps, trust: null };
  return async (domain) => {
    // Before the handshakes, and the chains after them: a certificate that is stored meanwhile is no stranger's.
    const checkedAt = deps.now();
    const addresses = addressesToAsk(await lookupAddresses(domain.hostname));
    const asked = addresses.filter((address) => !silent.has(address));
    const seen = await lookAtShown(rules, domain.hostname, asked);
    for (const { address, outcome } of seen) if (outcome === 'timeout') silent.set(address, true);
    const unasked = addresses
      .filter((address) => !asked.includes(address))
      .map((address) => ({ address, outcome: 'timeout' }) as const);
    const stored = seen.length === 0 ? [] : await deps.loadChains(domain.id);
    const compared = compareShown([...seen.map(inWords), ...unasked], stored.map(fingerprintOf));
    await deps.save(domain, { checkedAt, addresses: compared });
  };
}

/** Of a chain's first certificate, the leaf (RFC 8555, 9.1). */
function fingerprintOf(chain: string): string {
  return new X509Certificate(chain).fingerprint256;
}

function inWords(seen: Seen): Handshake {
  if (seen.outcome !== 'certificate') return seen;
  const { address, outcome, certificate } = seen;
  const { issuer, hostnames: names } = readCertificate(certificate.toString());
  return { address, outcome, fingerprint: certificate.fingerprint256, issuer, names };
}

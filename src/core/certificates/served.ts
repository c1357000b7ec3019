/** What the addresses of a name show in a TLS handshake, held against the certificates that are stored for it. */
import { printable } from '../names/printable.ts';

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

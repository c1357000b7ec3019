/** The certificate authorities in use: the one that the operator wants, and the one that stands in for it. */
import type { CertificateAuthority } from './authority.ts';

export type ConfiguredAuthority = {
  /** As `certificate.authority` has it; null for the local one, and where an edge of another make has its own. */
  readonly directoryUrl: string | null;
  readonly authority: CertificateAuthority;
  /** Its CAA identities, lower case. */
  readonly issuerDomains: readonly [string, ...string[]];
};

/** At least one, the first choice first. */
export type Authorities = readonly [ConfiguredAuthority, ...ConfiguredAuthority[]];

/** Null where the authority of an order or certificate is none of ours any more. */
export function authorityOf(
  authorities: Authorities,
  { authority }: { readonly authority: string | null },
): ConfiguredAuthority | null {
  // Orders of before there were several do not say: there was the first alone.
  if (authority === null) return authorities[0];
  return authorities.find(({ directoryUrl }) => directoryUrl === authority) ?? null;
}

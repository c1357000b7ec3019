/** An apex cannot have a CNAME, so it is compared by its addresses. */
import { recordFor } from '../names/instructions.ts';
import type { FamilyOf, FindingIn } from './finding.ts';
import { type Hint, hinted, hintsIn, ownZoneHint } from './hints.ts';
import {
  addressesInTheWay,
  choicesIn,
  type DiagnosisInput,
  unique,
  wrongAliases,
} from './input.ts';
import { recordsOf } from './observation.ts';
import { type Provider, providerNamed } from './providers.ts';
import { isProxiedHere } from './proxies.ts';
import { ownAddresses } from './server-pointing.ts';
import { addressRecords, foreignName, recordIn, type Wanted } from './words.ts';

export type ApexFinding =
  | (Wanted & {
      readonly code: 'cname_at_apex';
      /** The target of the CNAME. */
      readonly found: string;
      readonly provider?: string;
      readonly ourAddresses?: readonly string[];
      readonly hints?: readonly Hint[];
    })
  /** `addresses`: only ours, but not all of them. `missing`: the rest. */
  | (Wanted & {
      readonly code: 'apex_partial';
      readonly addresses: readonly string[];
      readonly missing: readonly string[];
    })
  | (Wanted & {
      readonly code: 'apex_mixed';
      readonly ours: readonly string[];
      readonly others: readonly string[];
    })
  | (Wanted & {
      readonly code: 'apex_elsewhere';
      readonly addresses: readonly string[];
      readonly provider?: string;
      /** For A and AAAA records if the provider has no ALIAS. */
      readonly ourAddresses?: readonly string[];
      readonly hints?: readonly Hint[];
    });

export const apex: FamilyOf<ApexFinding> = {
  cname_at_apex: {
    meaning: 'A CNAME at the apex, where none is allowed',
    severity: 'blocks',
    actor: 'customer',
    order: 80,
    hints: hintsIn,
    check: cnameAtApex,
    leads: 'here',
    explain: (finding) => {
      const { hostname } = finding;
      return {
        summary: `${hostname} has a CNAME record, which is not allowed there: it hides the mail and name server records of the whole domain.`,
        expected: recordIn(finding),
        found: `CNAME @ → ${foreignName(finding.found)}`,
        action: `Delete the CNAME record of ${hostname}. ${createAtApex(finding)}`,
      };
    },
  },
  apex_partial: {
    meaning: 'The apex has only some of our addresses',
    severity: 'informs',
    actor: 'dns_provider',
    order: 230,
    check: apexPartial,
    leads: 'here',
    explain: (finding) => {
      const { hostname, addresses, missing } = finding;
      return {
        summary: `${hostname} resolves to some of our addresses, but not all.`,
        expected: `${addressRecords([...addresses, ...missing])}`,
        found: `${addressRecords(addresses)}, without ${addressRecords(missing)}`,
        action: `Nothing to do if your provider makes these records from an ALIAS: it works, with less redundancy. If they were entered by hand, add: ${addressRecords(missing)}.`,
      };
    },
  },
  apex_mixed: {
    meaning: 'The apex has other addresses beside ours',
    severity: 'blocks',
    actor: 'customer',
    order: 90,
    check: apexMixed,
    leads: 'here',
    explain: (finding) => {
      const { hostname, ours, others } = finding;
      return {
        summary: `${hostname} sends some visitors here and others elsewhere.`,
        expected: `Our addresses only: ${addressRecords(ours)}`,
        found: `Ours: ${addressRecords(ours)}; others: ${addressRecords(others)}`,
        action: `Delete these records of ${hostname}: ${addressRecords(others)}. Keep ours.`,
      };
    },
  },
  apex_elsewhere: {
    meaning: 'The apex has other addresses',
    severity: 'blocks',
    actor: 'customer',
    order: 100,
    hints: hintsIn,
    check: apexElsewhere,
    leads: 'elsewhere',
    explain: (finding) => {
      const { hostname, addresses } = finding;
      return {
        summary: `${hostname} does not resolve to our addresses.`,
        expected: recordIn(finding),
        found: addressRecords(addresses),
        action: `Delete these records of ${hostname}: ${addressRecords(addresses)}. ${createAtApex(finding)}`,
      };
    },
  },
};

/** Even to our target: a CNAME conflicts with SOA and NS (RFC 1034, section 3.6.2). */
function cnameAtApex(input: DiagnosisInput): FindingIn<ApexFinding, 'cname_at_apex'> | undefined {
  const [found] = wrongAliases(input);
  if (found === undefined || !input.apex) return undefined;
  const hints = hinted(ownZoneHint(input));
  return { code: 'cname_at_apex', ...input.wanted, found, ...choicesIn(input), ...hints };
}

/**
 * How addresses that are not ours conflict. `mixed`: next to ours in one family. `a`, `aaaa`:
 * instead of ours in one family. Exactly one finding reports each kind. Undefined also if a proxy
 * explains them.
 */
export function foreignAtApex(input: DiagnosisInput):
  | {
      readonly kind: 'elsewhere' | 'a' | 'aaaa' | 'mixed';
      readonly addresses: readonly string[];
      readonly ours: readonly string[];
    }
  | undefined {
  if (!input.apex || isProxiedHere(input)) return undefined;
  const [a, aaaa] = [familyOf(input, 'a'), familyOf(input, 'aaaa')];
  const addresses = unique([...a.others, ...aaaa.others]);
  const ours = unique([...a.ours, ...aaaa.ours]);
  if (addresses.length === 0) return undefined;
  if (ours.length === 0) return { kind: 'elsewhere', addresses, ours };
  if ([a, aaaa].some((family) => family.ours.length > 0 && family.others.length > 0)) {
    return { kind: 'mixed', addresses, ours };
  }
  return { kind: a.others.length > 0 ? 'a' : 'aaaa', addresses, ours };
}

function apexMixed(input: DiagnosisInput): FindingIn<ApexFinding, 'apex_mixed'> | undefined {
  const found = foreignAtApex(input);
  if (found?.kind !== 'mixed') return undefined;
  const { ours, addresses } = found;
  return { code: 'apex_mixed', ...input.wanted, ours, others: addresses };
}

function apexElsewhere(
  input: DiagnosisInput,
): FindingIn<ApexFinding, 'apex_elsewhere'> | undefined {
  const found = foreignAtApex(input);
  if (found?.kind !== 'elsewhere') return undefined;
  return {
    code: 'apex_elsewhere',
    ...input.wanted,
    addresses: found.addresses,
    ...choicesIn(input),
    ...hinted(ownZoneHint(input)),
  };
}

/** Missing IPv6 alone is not an error. Without IPv4, many visitors cannot connect. */
function apexPartial(input: DiagnosisInput): FindingIn<ApexFinding, 'apex_partial'> | undefined {
  if (!input.apex || input.pointing !== 'right') return undefined;
  const right = input.servers.filter(({ pointing }) => pointing.kind === 'right');
  const [a, aaaa] = (['a', 'aaaa'] as const).map((family) =>
    right.flatMap(({ view }) => recordsOf(view[family])),
  );
  const addresses = unique([...(a ?? []), ...(aaaa ?? [])]);
  const isShown = ownAddresses(addresses);
  const wanted = (own: string) => !own.includes(':') || aaaa?.length !== 0;
  const missing = input.observation.targetAddresses.filter((own) => wanted(own) && !isShown(own));
  if (missing.length === 0) return undefined;
  return { code: 'apex_partial', ...input.wanted, addresses, missing: unique(missing) };
}

type FamilyAddresses = { readonly ours: readonly string[]; readonly others: readonly string[] };

function familyOf(input: DiagnosisInput, family: 'a' | 'aaaa'): FamilyAddresses {
  const addresses = addressesInTheWay(input, family);
  return {
    ours: addresses.filter(input.isOwn),
    others: addresses.filter((address) => !input.isOwn(address)),
  };
}

type AtApex = Wanted & {
  readonly provider?: string;
  readonly ourAddresses?: readonly string[];
};

/** Lists the alternatives if the provider is unknown or has no such record. */
export function createAtApex(finding: AtApex): string {
  const provider = finding.provider === undefined ? null : providerNamed(finding.provider);
  if (provider === null) {
    return `Create: ${recordIn(finding)}. If your provider has none of these, ${choices(finding)}`;
  }
  if (provider.apex === null) {
    return `${provider.name} has no known record type that points ${finding.hostname} to another host name. Instead, ${choices(finding)} ${provider.where}`;
  }
  return `Create: ${recordAt(provider, finding)}. ${provider.where}`;
}

function recordAt({ name: at, apex }: Provider, finding: Wanted): string {
  const { name, value, ttl } = recordFor(finding);
  return apex === 'CNAME flattening'
    ? `CNAME ${name} → ${value}, TTL ${ttl}, which ${at} resolves automatically (CNAME flattening)`
    : `${apex} ${name} → ${value}, TTL ${ttl}`;
}

function choices({ hostname, target, ourAddresses = [] }: AtApex): string {
  const now = ourAddresses.length === 0 ? '' : ` (now ${addressRecords(ourAddresses)})`;
  return `create A and AAAA records with the addresses of ${target}${now}, and update them when those change. Or add www.${hostname} here, and redirect ${hostname} to it at your provider. Or move the DNS of the domain to a provider with ALIAS, ANAME or CNAME flattening.`;
}

/** Findings about an apex, where no CNAME may stand: it is compared by the addresses that it has. */
import { recordFor } from '../names/instructions.ts';
import type { FamilyOf } from './finding.ts';
import { type Hint, hinted, hintsIn, ownZoneHint } from './hints.ts';
import {
  addressesInTheWay,
  choicesIn,
  type DiagnosisInput,
  unique,
  wrongAliases,
} from './input.ts';
import { type HttpsRecord, recordsOf } from './observation.ts';
import { type Provider, providerNamed } from './providers.ts';
import { isProxiedHere } from './proxies.ts';
import { isSameName, ownAddresses } from './server-pointing.ts';
import { addressRecords, foreignName, inZone, lines, recordIn, type Wanted } from './words.ts';

/** What can be wrong at the top of a zone. */
export type ApexFinding =
  | (Wanted & {
      readonly code: 'cname_at_apex';
      /** The alias that stands there. */
      readonly found: string;
      readonly provider?: string;
      readonly ourAddresses?: readonly string[];
      readonly hints?: readonly Hint[];
    })
  /** `addresses`: some of ours, and nothing foreign; `missing`: the others of ours. */
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
      /** What could stand there instead, where the provider has no ALIAS. */
      readonly ourAddresses?: readonly string[];
      readonly hints?: readonly Hint[];
    })
  /** `records`: those that lead elsewhere, as a zone file has them. */
  | (Wanted & { readonly code: 'https_elsewhere'; readonly records: readonly string[] });

/** The rules of these findings, by code; findings.ts puts them beside those of the other families. */
export const apex: FamilyOf<ApexFinding> = {
  cname_at_apex: {
    meaning: 'A CNAME at the apex, where none may be',
    severity: 'blocks',
    actor: 'customer',
    order: 80,
    hints: hintsIn,
    check: cnameAtApex,
    explain: (finding) => {
      const { hostname } = finding;
      return {
        summary: `${hostname} has a CNAME record, which must not stand there: it hides the mail and name server records of the whole domain.`,
        expected: recordIn(finding),
        found: `CNAME @ → ${foreignName(finding.found)}`,
        action: `Delete the CNAME record of ${hostname}. ${createAtApex(finding)}`,
      };
    },
  },
  apex_partial: {
    meaning: 'The apex shows some of our addresses only',
    severity: 'informs',
    actor: 'dns_provider',
    order: 230,
    check: apexPartial,
    explain: (finding) => {
      const { hostname, addresses, missing } = finding;
      return {
        summary: `${hostname} leads here, with some of our addresses only.`,
        expected: `${addressRecords([...addresses, ...missing])}`,
        found: `${addressRecords(addresses)}, without ${addressRecords(missing)}`,
        action: `Nothing for you to do where your provider makes these records from an ALIAS: it is right, with less to fall back on. Where they were entered by hand, add: ${addressRecords(missing)}.`,
      };
    },
  },
  apex_mixed: {
    meaning: 'The apex shows foreign addresses beside ours',
    severity: 'blocks',
    actor: 'customer',
    order: 90,
    check: apexMixed,
    explain: (finding) => {
      const { hostname, ours, others } = finding;
      return {
        summary: `${hostname} leads some of its visitors here and others elsewhere.`,
        expected: `Our addresses only: ${addressRecords(ours)}`,
        found: `Ours: ${addressRecords(ours)}; others: ${addressRecords(others)}`,
        action: `Delete from ${hostname}: ${addressRecords(others)}. The others stay.`,
      };
    },
  },
  https_elsewhere: {
    meaning: 'An HTTPS record of the apex sends browsers elsewhere',
    severity: 'warns',
    actor: 'customer',
    order: 205,
    check: httpsElsewhere,
    explain: ({ hostname, target, records }) => ({
      summary: `An HTTPS record of ${hostname} sends browsers that read it elsewhere, whatever its addresses say.`,
      expected: `No HTTPS record at ${hostname}, or one without hints and with the addresses of ${target}.`,
      found: lines(records.map(foreignName), '; '),
      action: `At your DNS provider, delete the HTTPS record (type 65) of ${hostname}. Where the provider makes it for its own proxy or CDN, switch that off for ${hostname}.`,
    }),
  },
  apex_elsewhere: {
    meaning: 'The apex shows foreign addresses',
    severity: 'blocks',
    actor: 'customer',
    order: 100,
    hints: hintsIn,
    check: apexElsewhere,
    explain: (finding) => {
      const { hostname, addresses } = finding;
      return {
        summary: `${hostname} leads its visitors to other addresses than ours.`,
        expected: recordIn(finding),
        found: addressRecords(addresses),
        action: `Delete from ${hostname}: ${addressRecords(addresses)}. ${createAtApex(finding)}`,
      };
    },
  },
};

/** Also one to the target: beside the SOA and NS records it breaks the zone (RFC 1034, 3.6.2; RFC 1912, 2.4). */
function cnameAtApex(
  input: DiagnosisInput,
): (ApexFinding & { readonly code: 'cname_at_apex' }) | undefined {
  const [found] = wrongAliases(input);
  if (found === undefined || !input.apex) return undefined;
  const hints = hinted(ownZoneHint(input));
  return { code: 'cname_at_apex', ...input.wanted, found, ...choicesIn(input), ...hints };
}

/**
 * Foreign addresses: beside ours in one family (`mixed`), in place of one family of ours (`a`, `aaaa`), or alone
 * (`elsewhere`). Exactly one finding says it; undefined where there are none, or a proxy's.
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

function apexMixed(
  input: DiagnosisInput,
): (ApexFinding & { readonly code: 'apex_mixed' }) | undefined {
  const found = foreignAtApex(input);
  if (found?.kind !== 'mixed') return undefined;
  const { ours, addresses } = found;
  return { code: 'apex_mixed', ...input.wanted, ours, others: addresses };
}

function apexElsewhere(
  input: DiagnosisInput,
): (ApexFinding & { readonly code: 'apex_elsewhere' }) | undefined {
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

/**
 * Nothing foreign, but not all of ours: less to fall back on. That IPv6 is not shown at all is no fault; without IPv4
 * many visitors find nothing.
 */
function apexPartial(
  input: DiagnosisInput,
): (ApexFinding & { readonly code: 'apex_partial' }) | undefined {
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

/** RFC 9460: an alias (priority 0), another host, another port, or an address that is not ours. */
function httpsElsewhere(
  input: DiagnosisInput,
): (ApexFinding & { readonly code: 'https_elsewhere' }) | undefined {
  const { hostname, target } = input.expected;
  const isHere = (name: string) =>
    name === '.' || [hostname, target].some((one) => isSameName(one, name));
  const known = input.observation.targetAddresses.length > 0;
  const records = recordsOf(input.observation.nearby.https ?? null).filter(
    ({ target: to, port, hints }) =>
      !isHere(to) || (port ?? 443) !== 443 || (known && hints.some((hint) => !input.isOwn(hint))),
  );
  if (!input.apex || records.length === 0) return undefined;
  return { code: 'https_elsewhere', ...input.wanted, records: unique(records.map(httpsText)) };
}

/** `HTTPS 1 . ipv4hint=192.0.2.1`, without the parameters that do not decide where it leads. */
function httpsText({ priority, target, port, hints }: HttpsRecord): string {
  const ofFamily = (six: boolean) => hints.filter((hint) => hint.includes(':') === six).join(',');
  const parameters = [
    ['port', port === null ? '' : String(port)],
    ['ipv4hint', ofFamily(false)],
    ['ipv6hint', ofFamily(true)],
  ].flatMap(([name, value]) => (value === '' ? [] : `${name}=${value}`));
  return ['HTTPS', String(priority), target, ...parameters].join(' ');
}

type Family = { readonly ours: readonly string[]; readonly others: readonly string[] };

function familyOf(input: DiagnosisInput, family: 'a' | 'aaaa'): Family {
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

/**
 * Returns how the record of an apex is made at its provider, in that provider's words; the choices where it has no such
 * record, or is not known. Whole sentences.
 */
export function createAtApex(finding: AtApex): string {
  const provider = finding.provider === undefined ? null : providerNamed(finding.provider);
  if (provider === null) {
    return `Create: ${recordIn(finding)}. If your provider has none of these: ${choices(finding)}`;
  }
  if (provider.apex === null) {
    return `${provider.name} has no record, as far as we know, that leads ${finding.hostname} to another host name. Choose: ${choices(finding)} ${provider.where}`;
  }
  return `Create: ${recordAt(provider, finding)}. ${provider.where}`;
}

function recordAt({ name: at, apex }: Provider, finding: Wanted): string {
  const { name, value, ttl } = recordFor(finding);
  return apex === 'CNAME flattening'
    ? `CNAME ${name} → ${value}, TTL ${ttl}${inZone(finding)}, which ${at} turns into addresses automatically (CNAME flattening)`
    : `${apex} ${name} → ${value}, TTL ${ttl}${inZone(finding)}`;
}

function choices({ hostname, target, ourAddresses = [] }: AtApex): string {
  const now = ourAddresses.length === 0 ? '' : ` (now ${addressRecords(ourAddresses)})`;
  return `create A and AAAA records with the addresses of ${target}${now}, to be changed when those change; or add www.${hostname} here and let your provider redirect ${hostname} to it; or move the DNS of the domain to a provider with ALIAS, ANAME or CNAME flattening.`;
}

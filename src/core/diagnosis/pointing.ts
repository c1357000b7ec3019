/** The record at a subdomain: missing, wrong, or replaced by a conflicting record. */
import { recordFor } from '../names/instructions.ts';
import { createAtApex, foreignAtApex } from './apex.ts';
import { type Masked, mailFirst, mailIn, wildcardIn } from './beside.ts';
import type { FamilyOf, FindingIn, NameLeads } from './finding.ts';
import {
  type Hint,
  hinted,
  hintsForAddresses,
  hintsForAlias,
  hintsForMissing,
  hintsIn,
  isChainOf,
} from './hints.ts';
import { addressesInTheWay, choicesIn, type DiagnosisInput, wrongAliases } from './input.ts';
import { providerNamed } from './providers.ts';
import { isProxiedHere } from './proxies.ts';
import { foreignName, isApex, lines, listed, recordIn, type Wanted, type Words } from './words.ts';

export type PointingFinding =
  | (Wanted & {
      readonly code: 'record_missing';
      /** `nodata`: the name exists without the record. */
      readonly seen: 'nxdomain' | 'nodata';
      readonly provider?: string;
      readonly ourAddresses?: readonly string[];
      /** The name's MX records: a CNAME would stop its mail. */
      readonly exchanges?: readonly string[];
      readonly hints?: readonly Hint[];
    })
  | (Wanted & {
      /** From at least one server. */
      readonly code: 'cname_mismatch';
      readonly found: string;
      readonly hints?: readonly Hint[];
    })
  /** The first name is repeated at the end. */
  | (Wanted & {
      readonly code: 'cname_loop';
      readonly names: readonly string[];
      readonly hints?: readonly Hint[];
    })
  | Conflict<'conflicting_a'>
  | Conflict<'conflicting_aaaa'>;

type ConflictCode = 'conflicting_a' | 'conflicting_aaaa';

type Conflict<C extends ConflictCode = ConflictCode> = Wanted & {
  readonly code: C;
  readonly addresses: readonly string[];
  /** Our own addresses among them: they work today, but a subdomain must follow the target. */
  readonly ours: readonly string[];
  readonly exchanges?: readonly string[];
  readonly hints?: readonly Hint[];
};

export const pointing: FamilyOf<PointingFinding> = {
  record_missing: {
    meaning: 'Nothing at the name points here',
    severity: 'blocks',
    actor: 'customer',
    order: 110,
    hints: hintsIn,
    check: recordMissing,
    leads: 'elsewhere',
    explain: (finding) => {
      const { hostname, seen } = finding;
      return {
        summary:
          seen === 'nxdomain'
            ? `${hostname} does not exist in the DNS yet.`
            : `${hostname} exists in the DNS, but has no record that points here.`,
        expected: recordIn(finding),
        found:
          seen === 'nxdomain'
            ? `No record exists at ${hostname} (NXDOMAIN).`
            : `${hostname} has records of other types, or names below it, but not this one (NODATA).`,
        action: isApex(finding)
          ? `${createAtApex(finding)}${ifPresent(finding)}`
          : createBelow(finding),
      };
    },
  },
  cname_mismatch: {
    meaning: 'The CNAME has another value than the one shown',
    severity: 'blocks',
    actor: 'customer',
    order: 70,
    hints: hintsIn,
    check: cnameMismatch,
    leads: 'here',
    explain: (finding) => {
      const { hostname, target } = finding;
      const found = foreignName(finding.found);
      return {
        summary: `${hostname} points to ${found} instead of ${target}.`,
        expected: recordIn(finding),
        found: `CNAME ${recordFor(finding).name} → ${found}`,
        action:
          belowDname(finding) ??
          beforeWildcard(finding, 'If there is a CNAME record of exactly that name, change it.') ??
          `Change the CNAME record of ${hostname}: its value must be exactly ${target}, not another name that points there.`,
      };
    },
  },
  cname_loop: {
    meaning: 'The CNAME leads back to itself',
    severity: 'blocks',
    actor: 'customer',
    order: 60,
    hints: hintsIn,
    check: cnameLoop,
    explain: (finding) => ({
      summary: `The CNAME record of ${finding.hostname} forms a loop and resolves to nothing.`,
      expected: recordIn(finding),
      found: lines(finding.names.map(foreignName), ' → '),
      action:
        belowDname(finding) ??
        `Change the CNAME record of ${finding.hostname}: its value must be exactly ${finding.target}.`,
    }),
  },
  // At an apex it comes after the alias, which hides more; at a subdomain it comes before.
  conflicting_a: {
    meaning: 'A records block the CNAME',
    severity: 'blocks',
    actor: 'customer',
    order: 40,
    orderFor: ({ apex }) => (apex ? 85 : 40),
    hints: hintsIn,
    check: (input) => conflicting('conflicting_a', input),
    leads: addressesLead,
    explain: (finding) => conflictIn('A', finding),
  },
  conflicting_aaaa: {
    meaning: 'AAAA records block the CNAME',
    severity: 'blocks',
    actor: 'customer',
    order: 50,
    orderFor: ({ apex }) => (apex ? 86 : 50),
    hints: hintsIn,
    check: (input) => conflicting('conflicting_aaaa', input),
    leads: addressesLead,
    explain: (finding) => conflictIn('AAAA', finding),
  },
};

function addressesLead({ ours }: Conflict): NameLeads {
  return ours.length > 0 ? 'here' : 'elsewhere';
}

function recordMissing(
  input: DiagnosisInput,
): FindingIn<PointingFinding, 'record_missing'> | undefined {
  const kinds = new Set(
    input.wrong.flatMap(({ pointing }) => (pointing.kind === 'missing' ? pointing.seen : [])),
  );
  if (kinds.size === 0) return undefined;
  // The name exists if one server knows it.
  const seen = kinds.has('nodata') ? 'nodata' : 'nxdomain';
  return {
    code: 'record_missing',
    ...input.wanted,
    seen,
    ...choicesIn(input),
    ...mailIn(input),
    ...hinted(hintsForMissing(input, seen)),
  };
}

function cnameMismatch(
  input: DiagnosisInput,
): FindingIn<PointingFinding, 'cname_mismatch'> | undefined {
  const [found] = wrongAliases(input);
  if (found === undefined || input.apex) return undefined;
  return { code: 'cname_mismatch', ...input.wanted, found, ...hinted(hintsForAlias(input, found)) };
}

function cnameLoop(input: DiagnosisInput): FindingIn<PointingFinding, 'cname_loop'> | undefined {
  const { chain } = input.observation.nearby;
  if (chain?.end !== 'loop') return undefined;
  // The chain belongs to one alias, so it counts only if a server returned that alias.
  if (!wrongAliases(input).some((alias) => isChainOf(alias, chain.names))) return undefined;
  const names = circleIn([input.wanted.hostname, ...chain.names]);
  const hints = hintsForAlias(input, chain.names[0] ?? '').filter(
    ({ code }) => code === 'dname_above' || code === 'separate_zone',
  );
  return { code: 'cname_loop', ...input.wanted, names, ...hinted(hints) };
}

/** From the first repeated name to its repetition. A truncated chain ends with its first name. */
function circleIn(names: readonly string[]): readonly string[] {
  const end = names.findIndex((name, index) => names.indexOf(name) < index);
  const [, first, ...rest] = names;
  if (end < 0) return first === undefined ? names : [first, ...rest, first];
  return names.slice(names.indexOf(names[end] ?? ''), end + 1);
}

/** A CNAME excludes other records (RFC 1034, section 3.6.2). */
function conflicting<C extends ConflictCode>(
  code: C,
  input: DiagnosisInput,
): Conflict<C> | undefined {
  if (input.apex) return conflictingAtApex(code, input);
  const addresses = addressesInTheWay(input, code === 'conflicting_a' ? 'a' : 'aaaa');
  if (addresses.length === 0 || isProxiedHere(input)) return undefined;
  const ours = addresses.filter(input.isOwn);
  const hints = hinted(hintsForAddresses(input, addresses));
  return { code, ...input.wanted, addresses, ours, ...mailIn(input), ...hints };
}

/** One address family is ours, the other is not. CAs, like browsers, try IPv6 first. */
function conflictingAtApex<C extends ConflictCode>(
  code: C,
  input: DiagnosisInput,
): Conflict<C> | undefined {
  const found = foreignAtApex(input);
  if (found?.kind !== (code === 'conflicting_a' ? 'a' : 'aaaa')) return undefined;
  return { code, ...input.wanted, addresses: found.addresses, ours: [] };
}

/** An ALIAS to a missing name returns no addresses, so it looks like a missing record. */
function ifPresent({ provider }: FindingIn<PointingFinding, 'record_missing'>): string {
  const hasAlias = provider === undefined || providerNamed(provider)?.apex !== null;
  return hasAlias
    ? ' If the record exists already, check its value: one that points to a missing name resolves to nothing.'
    : '';
}

/** Many providers add the domain, so a full name becomes docs.example.com.example.com. */
function createBelow(finding: FindingIn<PointingFinding, 'record_missing'>): string {
  const { hostname, seen } = finding;
  const provider = finding.provider === undefined ? null : providerNamed(finding.provider);
  const where = provider === null ? '' : ` ${provider.where}`;
  const mail = mailFirst(finding);
  // If a wildcard answers, the name itself has no records.
  const alone =
    seen === 'nodata' && wildcardIn(finding) === undefined
      ? ` A CNAME cannot share its name: first delete other records of exactly the name ${hostname}, such as TXT.`
      : '';
  return `${mail}${mail === '' ? 'Create' : 'Then create'}: ${recordIn(finding)}.${alone} Most providers add the domain automatically: enter only “${recordFor(finding).name}” as the name.${where}`;
}

/** Records of the name itself are ignored (RFC 6672, section 2.3). */
function belowDname(finding: Masked): string | undefined {
  const hint = finding.hints?.find(({ code }) => code === 'dname_above');
  if (hint?.code !== 'dname_above') return undefined;
  const owner = foreignName(hint.owner);
  return `Delete the DNAME record of ${owner}, if no other name below it needs it. Then create: ${recordIn(finding)}. Or add a name here that is not below ${owner}.`;
}

/** A separate record takes precedence over the wildcard (RFC 4592), which other names need. */
function beforeWildcard(finding: Masked, ifOwn: string): string | undefined {
  const wildcard = wildcardIn(finding);
  if (wildcard === undefined) return undefined;
  const mail = mailFirst(finding);
  return `${mail}${mail === '' ? 'Create' : 'Then create'}: ${recordIn(finding)}. It takes precedence over ${wildcard}, which stays as it is. ${ifOwn}`;
}

function conflictIn(type: 'A' | 'AAAA', finding: Conflict): Words {
  const { hostname, target, addresses, ours } = finding;
  const apex = isApex(finding);
  // An apex can keep our addresses; a subdomain cannot keep any.
  const surplus = apex ? addresses.filter((address) => !ours.includes(address)) : addresses;
  const theRecords = `the ${type} record${surplus.length === 1 ? '' : 's'} ${listed(surplus)} of ${hostname}`;
  const allOurs = ours.length > 0 && ours.length === addresses.length;
  const { type: wanted } = recordFor(finding);
  return {
    summary: allOurs
      ? `${hostname} has our address in separate ${type} records. They would be wrong when our addresses change, so it must point to ${target} instead.`
      : `${hostname} has ${type} records that send visitors elsewhere and block the ${wanted} record.`,
    expected: recordIn(finding),
    found: `${type} ${listed(addresses)}`,
    action: apex
      ? `Delete ${theRecords}. If the record that points here does not exist yet, create: ${recordIn(finding)}.`
      : (beforeWildcard(
          finding,
          `If there are ${type} records of exactly that name, delete those first.`,
        ) ?? `${mailFirst(finding)}Delete ${theRecords}, then create: ${recordIn(finding)}.`),
  };
}

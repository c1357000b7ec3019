/** Words for records at a subdomain: missing, wrong, or with something else in their place. */
import { recordFor } from '../names/instructions.ts';
import type { FindingOf, Hint } from './findings.ts';
import { providerNamed } from './providers.ts';
import {
  addressRecords,
  foreign,
  foreignName,
  isApex,
  lines,
  listed,
  recordIn,
  type Wanted,
  type Words,
  type WordsFor,
} from './words.ts';
import { createAtApex } from './words-apex.ts';

export const pointingWords: WordsFor<
  | 'record_missing'
  | 'cname_mismatch'
  | 'cname_loop'
  | 'conflicting_a'
  | 'conflicting_aaaa'
  | 'mail_at_name'
  | 'proxied'
  | 'wildcard_answers'
> = {
  record_missing: (finding) => {
    const { hostname, seen } = finding;
    return {
      summary:
        seen === 'nxdomain'
          ? `${hostname} does not exist in the DNS yet.`
          : `${hostname} exists in the DNS, but has no record that points here.`,
      expected: recordIn(finding),
      found:
        seen === 'nxdomain'
          ? `No record of any type has the name ${hostname} (NXDOMAIN).`
          : `${hostname} has records of other types, or names below it, but not this one (NODATA).`,
      action: isApex(finding) ? createAtApex(finding) : createBelow(finding),
    };
  },
  cname_mismatch: (finding) => {
    const { hostname, target } = finding;
    const found = foreignName(finding.found);
    return {
      summary: `${hostname} points to ${found} instead of ${target}.`,
      expected: recordIn(finding),
      found: `CNAME ${recordFor(finding).name} → ${found}`,
      action:
        beforeWildcard(finding, 'If there is a CNAME record of exactly that name, change it.') ??
        `Change the CNAME record of ${hostname}: its value must be exactly ${target}, not another name that leads there.`,
    };
  },
  cname_loop: (finding) => ({
    summary: `The CNAME record of ${finding.hostname} leads in a circle, so nobody arrives anywhere.`,
    expected: recordIn(finding),
    found: lines(finding.names.map(foreignName), ' → '),
    action: `Change the CNAME record of ${finding.hostname}: its value must be exactly ${finding.target}.`,
  }),
  conflicting_a: (finding) => conflictIn('A', finding),
  conflicting_aaaa: (finding) => conflictIn('AAAA', finding),
  mail_at_name: (finding) => {
    const { hostname } = finding;
    return {
      summary: `${hostname} receives mail, and a CNAME record would end that: it tolerates no other record beside it.`,
      expected: `No MX records at ${hostname}, beside: ${recordIn(finding)}`,
      found: `MX ${listed(finding.exchanges)}`,
      action: `If nobody uses mail addresses that end in @${hostname}: delete the MX records there, then create the CNAME record. If somebody does: keep them, and add another name here instead, for example www.${hostname}.`,
    };
  },
  proxied: (finding) => {
    const { hostname, target, addresses } = finding;
    const by = foreign(finding.by);
    return {
      summary: `${hostname} shows addresses of ${by}’s proxy, so the DNS does not tell where it leads, and a certificate cannot be relied on.`,
      expected: `${recordIn(finding)}, not proxied`,
      found: `Addresses of ${by}: ${addressRecords(addresses)}`,
      action:
        finding.by === 'Cloudflare'
          ? `If this is your own site behind Cloudflare: there, under DNS → Records, edit the record of ${hostname} and set its proxy status from “Proxied” (orange cloud) to “DNS only” (grey cloud). Its value must be exactly ${target}. If it is somebody else’s site: delete these addresses where your DNS is, and create the record.`
          : `If this is your own site behind ${by}: switch the proxy off there for ${hostname}, so that the DNS shows the record itself. Its value must be exactly ${target}.`,
    };
  },
  wildcard_answers: (finding) => {
    const { hostname } = finding;
    const wildcard = foreign(finding.wildcard);
    return {
      summary: `The wildcard ${wildcard} leads every name beside ${hostname} here, and perhaps ${hostname}, too: the DNS cannot tell.`,
      expected: recordIn(finding),
      found: `A random name beside ${hostname} gets the same answer.`,
      action: `If you have created a record of its own for ${hostname}, nothing is to do. Otherwise create one, to be safe when ${wildcard} changes: ${recordIn(finding)}.`,
    };
  },
};

/** Many a provider adds the domain by itself, and the full name typed in makes docs.example.com.example.com. */
function createBelow(finding: FindingOf<'record_missing'>): string {
  const { hostname, seen } = finding;
  const provider = finding.provider === undefined ? null : providerNamed(finding.provider);
  const where = provider === null ? '' : ` ${provider.where}`;
  const mail = mailFirst(finding);
  // Where a wildcard answers, the name has no records of its own.
  const alone =
    seen === 'nodata' && wildcardIn(finding) === undefined
      ? ` A CNAME record stands alone: if there are other records of exactly the name ${hostname}, such as TXT, they have to go first.`
      : '';
  return `${mail}${mail === '' ? 'Create' : 'Then create'}: ${recordIn(finding)}.${alone} Most providers add the domain by themselves: enter only “${recordFor(finding).name}” as the name.${where}`;
}

type Conflict = FindingOf<'conflicting_a' | 'conflicting_aaaa'>;

type Masked = Wanted & { readonly exchanges?: readonly string[]; readonly hints?: readonly Hint[] };

/** What to do about mail before a CNAME ends it (RFC 1034, 3.6.2); empty where there is none. */
function mailFirst(finding: Masked): string {
  const { hostname, exchanges = [] } = finding;
  if (exchanges.length === 0) return '';
  const own = wildcardIn(finding) === undefined ? ' and delete its MX records' : '';
  return `${hostname} receives mail (MX ${listed(exchanges)}), which a CNAME record would end. First move the mail to another name${own}; or keep it, and add another name here instead, for example www.${hostname}. `;
}

/** What to do where a wildcard answers: it serves other names, too, and a record of its own goes before it (RFC 4592). */
function beforeWildcard(finding: Masked, ifOwn: string): string | undefined {
  const wildcard = wildcardIn(finding);
  if (wildcard === undefined) return undefined;
  const mail = mailFirst(finding);
  return `${mail}${mail === '' ? 'Create' : 'Then create'}: ${recordIn(finding)}. It goes before ${wildcard}, which stays as it is. ${ifOwn}`;
}

function wildcardIn({ hints = [] }: Masked): string | undefined {
  const hint = hints.find(({ code }) => code === 'wildcard_masks');
  return hint?.code === 'wildcard_masks' ? foreign(hint.wildcard) : undefined;
}

function conflictIn(type: 'A' | 'AAAA', finding: Conflict): Words {
  const { hostname, target, addresses, ours } = finding;
  const apex = isApex(finding);
  // An apex may keep addresses of ours; at a subdomain they all have to go.
  const surplus = apex ? addresses.filter((address) => !ours.includes(address)) : addresses;
  const theRecords = `the ${type} record${surplus.length === 1 ? '' : 's'} ${listed(surplus)} of ${hostname}`;
  const allOurs = ours.length > 0 && ours.length === addresses.length;
  const { type: wanted } = recordFor(finding);
  return {
    summary: allOurs
      ? `${hostname} has our address in ${type} records of its own; those would stay behind when our addresses change, so it must follow ${target} instead.`
      : `${hostname} has ${type} records that send its visitors elsewhere and stand in the way of the ${wanted} record.`,
    expected: recordIn(finding),
    found: `${type} ${listed(addresses)}`,
    action: apex
      ? `Delete ${theRecords}. If the record that leads here is not there yet, create: ${recordIn(finding)}.`
      : (beforeWildcard(
          finding,
          `If there are ${type} records of exactly that name, delete those first.`,
        ) ?? `${mailFirst(finding)}Delete ${theRecords}, then create: ${recordIn(finding)}.`),
  };
}

/** Words for records at a subdomain: missing, wrong, or with something else in their place. */
import { recordFor } from '../instructions.ts';
import type { FindingOf } from './findings.ts';
import { providerNamed } from './providers.ts';
import {
  addressRecords,
  foreign,
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
  | 'held_elsewhere'
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
    const found = foreign(finding.found);
    return {
      summary: `${hostname} points to ${found} instead of ${target}.`,
      expected: recordIn(finding),
      found: `CNAME ${recordFor(finding).name} → ${found}`,
      action: `Change the CNAME record of ${hostname}: its value must be exactly ${target}, not another name that leads there.`,
    };
  },
  cname_loop: (finding) => ({
    summary: `The CNAME record of ${finding.hostname} leads in a circle, so nobody arrives anywhere.`,
    expected: recordIn(finding),
    found: lines(finding.names.map(foreign), ' → '),
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
      summary: `${hostname} is behind the proxy of ${by}, so the DNS does not show where it leads, and a certificate cannot be relied on.`,
      expected: `${recordIn(finding)}, not proxied`,
      found: `Addresses of ${by}: ${addressRecords(addresses)}`,
      action:
        finding.by === 'Cloudflare'
          ? `At Cloudflare, under DNS → Records, edit the record of ${hostname} and set its proxy status from “Proxied” (orange cloud) to “DNS only” (grey cloud). Its value must be exactly ${target}.`
          : `Switch the proxy off at ${by} for ${hostname}, so that the DNS shows the record itself. Its value must be exactly ${target}.`,
    };
  },
  wildcard_answers: (finding) => {
    const { hostname } = finding;
    const wildcard = foreign(finding.wildcard);
    return {
      summary: `${hostname} points here only by the wildcard ${wildcard}, which leads every other name here, too.`,
      expected: recordIn(finding),
      found: `A random name beside ${hostname} gets the same answer.`,
      action: `Nothing has to change today. To be safe, create a record of its own, which goes before ${wildcard}: ${recordIn(finding)}.`,
    };
  },
  held_elsewhere: ({ hostname }) => ({
    summary: `${hostname} is in use by another project already.`,
    expected: `${hostname} in one project only.`,
    found: `${hostname} is verified for another project.`,
    action: `Remove ${hostname} from the other project; it goes on here by itself. If that project is not yours, write to our support.`,
  }),
};

/** Many a provider adds the domain by itself, and the full name typed in makes docs.example.com.example.com. */
function createBelow(finding: FindingOf<'record_missing'>): string {
  const provider = finding.provider === undefined ? null : providerNamed(finding.provider);
  const where = provider === null ? '' : ` ${provider.where}`;
  return `Create: ${recordIn(finding)}. Most providers add the domain by themselves: enter only “${recordFor(finding).name}” as the name.${where}`;
}

type Conflict = Wanted & {
  readonly addresses: readonly string[];
  readonly ours: readonly string[];
};

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
      : `Delete ${theRecords}, then create: ${recordIn(finding)}.`,
  };
}

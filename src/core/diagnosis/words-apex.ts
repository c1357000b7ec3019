/** Words for an apex, where no CNAME may stand: what the provider has in its place, and what is to be done. */
import { recordFor } from '../names/instructions.ts';
import { type Provider, providerNamed } from './providers.ts';
import { addressRecords, foreignName, recordIn, type Wanted, type WordsFor } from './words.ts';

export const apexWords: WordsFor<
  'cname_at_apex' | 'apex_partial' | 'apex_mixed' | 'apex_elsewhere'
> = {
  cname_at_apex: (finding) => {
    const { hostname } = finding;
    return {
      summary: `${hostname} has a CNAME record, which must not stand there: it hides the mail and name server records of the whole domain.`,
      expected: recordIn(finding),
      found: `CNAME @ → ${foreignName(finding.found)}`,
      action: `Delete the CNAME record of ${hostname}. ${createAtApex(finding)}`,
    };
  },
  apex_partial: (finding) => {
    const { hostname, addresses, missing } = finding;
    return {
      summary: `${hostname} leads here, with some of our addresses only.`,
      expected: `${addressRecords([...addresses, ...missing])}`,
      found: `${addressRecords(addresses)}, without ${addressRecords(missing)}`,
      action: `Nothing for you to do where your provider makes these records from an ALIAS: it is right, with less to fall back on. Where they were entered by hand, add: ${addressRecords(missing)}.`,
    };
  },
  apex_mixed: (finding) => {
    const { hostname, ours, others } = finding;
    return {
      summary: `${hostname} leads some of its visitors here and others elsewhere.`,
      expected: `Our addresses only: ${addressRecords(ours)}`,
      found: `Ours: ${addressRecords(ours)}; others: ${addressRecords(others)}`,
      action: `Delete from ${hostname}: ${addressRecords(others)}. The others stay.`,
    };
  },
  apex_elsewhere: (finding) => {
    const { hostname, addresses } = finding;
    return {
      summary: `${hostname} leads its visitors to other addresses than ours.`,
      expected: recordIn(finding),
      found: addressRecords(addresses),
      action: `Delete from ${hostname}: ${addressRecords(addresses)}. ${createAtApex(finding)}`,
    };
  },
};

type AtApex = Wanted & {
  readonly provider?: string;
  readonly ourAddresses?: readonly string[];
};

/** How the record of an apex is made at its provider, in its provider's words; the choices where that has none. */
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
    ? `CNAME ${name} → ${value}, TTL ${ttl}, which ${at} turns into addresses by itself (CNAME flattening)`
    : `${apex} ${name} → ${value}, TTL ${ttl}`;
}

function choices({ hostname, target, ourAddresses = [] }: AtApex): string {
  const now = ourAddresses.length === 0 ? '' : ` (now ${addressRecords(ourAddresses)})`;
  return `create A and AAAA records with the addresses of ${target}${now}, to be changed when those change; or add www.${hostname} here and let your provider redirect ${hostname} to it; or move the DNS of the domain to a provider with ALIAS, ANAME or CNAME flattening.`;
}

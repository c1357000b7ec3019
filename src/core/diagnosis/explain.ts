/** Findings in plain words: what is wrong, what should be there, what is there, and exactly what to do. */

import { recordFor } from '../instructions.ts';
import { printable, shortList } from '../printable.ts';
import {
  type Actor,
  actors,
  type Finding,
  type FindingCode,
  type FindingOf,
  type Outcome,
  type Severity,
  severities,
} from './findings.ts';

/** Every text is a sentence or a short line, safe to show anywhere but in HTML without escaping. */
export type Explanation = Words & {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly actor: Actor;
};

type Words = {
  readonly summary: string;
  readonly expected: string;
  readonly found: string;
  readonly action: string;
};

/** Puts a finding into words for the one who has to act. */
export function explain(finding: Finding): Explanation {
  const { code } = finding;
  return { code, severity: severities[code], actor: actorFor(finding), ...inWords(finding) };
}

/** A look that failed at our own target is ours to mend. */
function actorFor(finding: Finding): Actor {
  const ours = finding.code === 'dns_unknown' && finding.servers.length === 0;
  return ours ? 'platform' : actors[finding.code];
}

/** Generic, so that the compiler sees that a finding and its words belong together. */
function inWords<C extends FindingCode>(finding: FindingOf<C>): Words {
  return words[finding.code](finding);
}

const words: { readonly [C in FindingCode]: (finding: FindingOf<C>) => Words } = {
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
      action: `Create: ${recordIn(finding)}.${nameHint(finding)}`,
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
  conflicting_a: (finding) => conflictIn('A', finding),
  conflicting_aaaa: (finding) => conflictIn('AAAA', finding),
  caa_blocks: ({ hostname, foundAt, records, toAdd, toRemove }) => {
    const shown = shortList(records.map(foreign), LIST_MAX);
    return {
      summary: `The CAA records of ${foundAt} do not let our certificate authority issue for ${hostname}.`,
      expected: `CAA ${toAdd}`,
      found: `At ${foundAt}: ${shown}`,
      action:
        toRemove === undefined
          ? `Add this CAA record at ${foundAt}, beside those that are there: ${toAdd}`
          : `Delete from ${foundAt}, or set to flags 0: ${shortList(toRemove.map(foreign), LIST_MAX)}. If an issue record remains there, add: ${toAdd}`,
    };
  },
  held_elsewhere: ({ hostname }) => ({
    summary: `${hostname} is in use by another project already.`,
    expected: `${hostname} in one project only.`,
    found: `${hostname} is verified for another project.`,
    action: `Remove ${hostname} from the other project; it goes on here by itself. If that project is not yours, write to our support.`,
  }),
  caa_unknown: ({ hostname, name, outcome }) => ({
    summary: `The CAA records of ${name} could not be read, which a certificate authority must take for a refusal to issue for ${hostname}.`,
    expected: `An answer to the CAA question for ${name}, be it that there is no such record.`,
    found: `${name}: ${outcomes[outcome]}`,
    action: `Ask the DNS provider of ${name} why its servers do not answer CAA questions (type 257). We keep asking by ourselves.`,
  }),
  dns_unknown: ({ hostname, servers }) => ({
    summary: `Whether ${hostname} is set up cannot be told: no answer that we could use.`,
    expected: `An answer from the name servers of ${hostname}.`,
    found:
      servers.length === 0
        ? `The addresses of ${hostname} are not known.`
        : shortList(
            servers.map(({ server, outcome }) => `${foreign(server)}: ${outcomes[outcome]}`),
            LIST_MAX,
          ),
    action:
      servers.length === 0
        ? 'Nothing for you to do: the name is ours, and we look again by ourselves.'
        : 'Nothing to change yet: we look again by ourselves. If it lasts, ask your DNS provider why these servers fail.',
  }),
};

const outcomes: { readonly [O in Outcome | 'nxdomain']: string } = {
  servfail: 'the server failed (SERVFAIL)',
  refused: 'the server declined to answer (REFUSED)',
  timeout: 'no answer in time',
  nxdomain: 'said not to exist (NXDOMAIN)',
};

/** More than these help nobody. */
const LIST_MAX = 5;
/** A CAA record or a name in full, yet no page-filling value of a hostile zone. */
const FOREIGN_LENGTH_MAX = 300;

/** The record to create, e.g. `CNAME docs → x.edge.test, TTL 3600`. */
function recordIn(finding: { readonly hostname: string; readonly target: string }): string {
  const { type, name, value, ttl } = recordFor(finding);
  const other = type === 'ALIAS' ? ' (ANAME or flattened CNAME at some providers)' : '';
  return `${type} ${name} → ${value}, TTL ${ttl}${other}`;
}

/** Many a provider adds the domain by itself, and the full name typed in makes docs.example.com.example.com. */
function nameHint(finding: { readonly hostname: string; readonly target: string }): string {
  const { type, name } = recordFor(finding);
  return type === 'ALIAS'
    ? ''
    : ` Most providers add the domain by themselves: enter only “${name}” as the name.`;
}

function conflictIn(
  type: 'A' | 'AAAA',
  finding: FindingOf<'conflicting_a'> | FindingOf<'conflicting_aaaa'>,
): Words {
  const { hostname, target, addresses, ours } = finding;
  const record = recordFor(finding);
  // An apex may keep addresses of ours; at a subdomain they all have to go.
  const surplus =
    record.type === 'ALIAS' ? addresses.filter((address) => !ours.includes(address)) : addresses;
  const theRecords = `the ${type} record${surplus.length === 1 ? '' : 's'} ${listed(surplus)} of ${hostname}`;
  const allOurs = ours.length > 0 && ours.length === addresses.length;
  return {
    summary: allOurs
      ? `${hostname} has our address in ${type} records of its own; those would stay behind when our addresses change, so it must follow ${target} instead.`
      : `${hostname} has ${type} records that send its visitors elsewhere and stand in the way of the ${record.type} record.`,
    expected: recordIn(finding),
    found: `${type} ${listed(addresses)}`,
    action: `Delete ${theRecords}, then create: ${recordIn(finding)}.`,
  };
}

function listed(addresses: readonly string[]): string {
  return shortList(addresses.map(foreign), LIST_MAX);
}

function foreign(text: string): string {
  return printable(text, FOREIGN_LENGTH_MAX);
}

/** Findings about mail or a wildcard at the name. */

import type { FamilyOf, FindingIn } from './finding.ts';
import { type Hint, wildcardFor } from './hints.ts';
import { type DiagnosisInput, unique } from './input.ts';
import { recordsOf } from './observation.ts';
import { isSameName, ownAddresses } from './server-pointing.ts';
import { foreign, listed, recordIn, type Wanted } from './words.ts';

export type BesideFinding =
  /** `exchanges`: `10 mx.example.net`. A CNAME would stop mail to this name (RFC 1034, 3.6.2). */
  | (Wanted & {
      readonly code: 'mail_at_name';
      readonly exchanges: readonly string[];
      /** The CNAME exists already. */
      readonly beside?: true;
    })
  /** `wildcard`: `*.example.com`. */
  | (Wanted & { readonly code: 'wildcard_answers'; readonly wildcard: string });

export const beside: FamilyOf<BesideFinding> = {
  mail_at_name: {
    meaning: 'The name receives mail, which a CNAME would end',
    severity: 'warns',
    actor: 'customer',
    order: 160,
    check: mailAtName,
    explain: (finding) => {
      const { hostname } = finding;
      if (finding.beside) return besideAlias(finding);
      return {
        summary: `${hostname} receives mail. A CNAME record would end that, because no other record can share its name.`,
        expected: `No MX records at ${hostname}, beside: ${recordIn(finding)}`,
        found: `MX ${listed(finding.exchanges)}`,
        action: `If mail addresses that end in @${hostname} are unused: delete the MX records there, then create the CNAME record. Otherwise keep them, and add another name here instead, for example www.${hostname}.`,
      };
    },
  },
  wildcard_answers: {
    meaning: 'A wildcard answers, possibly instead of a separate record',
    severity: 'warns',
    actor: 'customer',
    order: 200,
    check: wildcardAnswers,
    leads: 'here',
    explain: (finding) => {
      const { hostname } = finding;
      const wildcard = foreign(finding.wildcard);
      return {
        summary: `${wildcard} points here. DNS answers do not show whether ${hostname} has its own record.`,
        expected: recordIn(finding),
        found: `A random name beside ${hostname} gets the same answer.`,
        action: `If you created a separate record for ${hostname}, there is nothing to do. Otherwise create one, so that it keeps working when ${wildcard} changes: ${recordIn(finding)}.`,
      };
    },
  },
};

function mailAtName(input: DiagnosisInput): FindingIn<BesideFinding, 'mail_at_name'> | undefined {
  if (input.hasNoZone) return undefined;
  const { exchanges } = mailIn(input);
  if (exchanges === undefined) return undefined;
  const beside = input.pointing === 'right' ? ({ beside: true } as const) : {};
  return { code: 'mail_at_name', ...input.wanted, exchanges, ...beside };
}

/** Some servers keep both. A mail server that cached the CNAME finds no MX records (RFC 2181, section 10.1). */
function besideAlias({ hostname, exchanges }: FindingIn<BesideFinding, 'mail_at_name'>) {
  return {
    summary: `${hostname} has MX records beside its CNAME record. Mail is lost when a mail server has cached the CNAME.`,
    expected: `Only the CNAME record at ${hostname}.`,
    found: `MX ${listed(exchanges)}`,
    action: `At your DNS provider, delete the MX records of ${hostname} if mail addresses that end in @${hostname} are unused. Otherwise move the mail to another name first.`,
  };
}

/** Sorted. Empty at an apex, where an ALIAS allows MX records. */
export function mailIn(input: DiagnosisInput): { readonly exchanges?: readonly string[] } {
  const exchanges = unique(
    input.servers
      .filter(({ view }) => view.state === 'answers')
      .flatMap(({ view }) => recordsOf(view.mx))
      .filter((exchange) => !isNullMx(exchange)),
  );
  return input.apex || exchanges.length === 0 ? {} : { exchanges };
}

/** RFC 7505: the name accepts no mail. */
export function isNullMx(exchange: string): boolean {
  return /^\d+ \.?$/.test(exchange);
}

/** A finding about the record, with what to resolve before the record is created. */
export type Masked = Wanted & {
  readonly exchanges?: readonly string[];
  readonly hints?: readonly Hint[];
};

/** With a trailing space; empty without mail. */
export function mailFirst(finding: Masked): string {
  const { hostname, exchanges = [] } = finding;
  if (exchanges.length === 0) return '';
  const own = wildcardIn(finding) === undefined ? ' and delete its MX records' : '';
  return `${hostname} receives mail (MX ${listed(exchanges)}), which a CNAME record would end. First move the mail to another name${own}, or keep it and add another name here instead, for example www.${hostname}. `;
}

/** Printable. */
export function wildcardIn({ hints = [] }: Masked): string | undefined {
  const hint = hints.find(({ code }) => code === 'wildcard_masks');
  return hint?.code === 'wildcard_masks' ? foreign(hint.wildcard) : undefined;
}

/** A random sibling name points here too. */
function wildcardAnswers(
  input: DiagnosisInput,
): FindingIn<BesideFinding, 'wildcard_answers'> | undefined {
  const { sibling } = input.observation.nearby;
  if (sibling === null || input.apex || input.pointing !== 'right') return undefined;
  const { hostname, target } = input.wanted;
  const isOwn = ownAddresses(input.observation.targetAddresses);
  const addresses = recordsOf(sibling.a);
  const same =
    recordsOf(sibling.cname).some((alias) => isSameName(alias, target)) ||
    (addresses.length > 0 && addresses.every(isOwn));
  return same
    ? { code: 'wildcard_answers', ...input.wanted, wildcard: wildcardFor(hostname) }
    : undefined;
}

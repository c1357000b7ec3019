/** What pages say of verdicts, findings and whoever acts, in few words and signs, and of names that are none. */
import type { Actor, Severity } from '../core/diagnosis/findings.ts';
import type { Verdict } from '../core/life/lifecycle.ts';
import type { Style } from './layout.ts';

/** A sign that says by its shape what its color says, too. */
export type Mark = { readonly sign: string; readonly style: Style };

/** What stands before a name that was checked. */
export const marks: { readonly [V in Verdict]: Mark } = {
  right: { sign: '✓', style: 'green' },
  wrong: { sign: '✗', style: 'red' },
  unknown: { sign: '?', style: 'yellow' },
};

/** What stands before a finding. */
export const severityMarks: { readonly [S in Severity]: Mark } = {
  blocks: { sign: '✗', style: 'red' },
  warns: { sign: '!', style: 'yellow' },
  informs: { sign: 'i', style: 'blue' },
};

/** Who has to act, as a clause without a period: at the end of a finding's first line, or after “Now”. */
export const actorWords: { readonly [A in Actor]: string } = {
  customer: 'the owner of the domain acts',
  dns_provider: 'the DNS provider acts',
  platform: 'the platform acts',
};

/** A sentence for whoever gave no valid host name: the service says only what is wrong with the one that was given. */
export const validHostname =
  'Give a public host name such as docs.example.com: letters, digits and hyphens, with dots between.';

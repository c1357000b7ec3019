/** What pages say of verdicts, findings and whoever acts, in few words and signs, and of names that are none. */
import type { Actor, Severity } from '../core/diagnosis/findings.ts';
import type { Verdict } from '../core/life/lifecycle.ts';
import type { Style } from './layout.ts';

/** A sign that tells by its shape what its colour tells, too. */
export type Mark = { readonly sign: string; readonly style: Style };

export const marks: { readonly [V in Verdict]: Mark } = {
  right: { sign: '✓', style: 'green' },
  wrong: { sign: '✗', style: 'red' },
  unknown: { sign: '?', style: 'yellow' },
};

export const severityMarks: { readonly [S in Severity]: Mark } = {
  blocks: { sign: '✗', style: 'red' },
  warns: { sign: '!', style: 'yellow' },
  informs: { sign: 'i', style: 'blue' },
};

export const actorWords: { readonly [A in Actor]: string } = {
  customer: 'the owner of the domain acts',
  dns_provider: 'the DNS provider acts',
  platform: 'the platform acts',
};

/** What to give in the place of a name that is none; the service says of it only what is wrong. */
export const validHostname =
  'Give a public host name such as docs.example.com: letters, digits and hyphens, with dots between.';

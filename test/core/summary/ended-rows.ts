/** Rows of the table of states (summary.test.ts): domains that are not live any more, or failed. */
import type { SummaryInput } from '../../../src/core/life/summary/summary-types.ts';
import { noon } from '../../support/builders.ts';
import {
  add,
  addDone,
  bogus,
  caa,
  disagree,
  drifted,
  failed,
  halfway,
  held,
  issueCaa,
  live,
  none,
  ourCaa,
  pending,
  plan,
  wildcard,
} from './support.ts';

/** `what`, then badge, tone, headline, path, action and actor. */
export type SummaryRow = readonly [what: string, input: SummaryInput, expected: string];

export const endedRows: readonly SummaryRow[] = [
  [
    'has drifted',
    drifted,
    'Needs attention | bad | No longer live | dns bad, certificate ok | open_dns | customer',
  ],
  [
    'has failed',
    failed,
    'Failed | bad | Not set up within 48 hours | dns bad, certificate idle | start_again | customer',
  ],
  [
    'has failed on the Free plan',
    { ...failed, findings: [plan], changes: [addDone] },
    'Failed | bad | Not set up within 48 hours | dns ok, certificate idle | change_plan | customer',
  ],
  [
    'has failed because of CAA, while its record is right',
    { ...failed, findings: [caa], changes: [addDone, issueCaa] },
    'Failed | bad | Not set up within 48 hours | dns ok, certificate bad | start_again | customer',
  ],
  [
    'has failed because of CAA records of our target',
    { ...failed, findings: [ourCaa], changes: [addDone] },
    'Failed | bad | Not set up within 48 hours | dns ok, certificate wait | start_again | platform',
  ],
  [
    'has failed and is checked no more',
    { ...failed, nextCheckAt: null },
    'Failed | bad | We stopped checking after 48 hours | dns bad, certificate idle | start_again | customer',
  ],
  [
    'has name servers that differ while CAA records forbid it',
    { ...pending, findings: [disagree, caa], changes: [halfway(add), issueCaa] },
    'Action needed | warn | Do this at GoDaddy | dns ok, certificate warn | open_dns | customer',
  ],
  [
    'is live while CAA records of our target forbid the renewal',
    { ...live, findings: [ourCaa] },
    'Live | wait | Live. We have to fix something before the next renewal. | dns ok, certificate wait | visit | platform',
  ],
  [
    'is live while DNSSEC is broken at the registrar',
    { ...live, findings: [bogus] },
    'Action needed | warn | Live, but its DNS needs attention | dns warn, certificate ok | null | customer',
  ],
  [
    'is live with an expired certificate beside a wildcard',
    { ...live, findings: [wildcard], certificate: { ...none, hasExpired: true } },
    'Needs attention | bad | Browsers warn your visitors: the certificate has expired | dns ok, certificate bad | null | platform',
  ],
  [
    'is in another project, too, which proves nothing yet',
    { ...pending, findings: [held] },
    'Action needed | warn | Remove it from the other project | dns ok, certificate idle | null | customer',
  ],
  [
    'has failed after it was live',
    { ...failed, verifiedAt: noon, nextCheckAt: null },
    'Failed | bad | No longer live: the certificate has expired | dns bad, certificate bad | start_again | customer',
  ],
  [
    'was removed',
    { ...live, status: 'removed' },
    'Removed | idle | docs.shop.test was removed | dns idle, certificate idle | add_again | null',
  ],
];

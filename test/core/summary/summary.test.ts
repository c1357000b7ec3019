/** The table of states: what the page, the API and the CLI say, and in which tone. */
import { describe, expect, test } from 'vitest';
import { summaryOf } from '../../../src/core/life/summary/summary.ts';
import type { SummaryInput } from '../../../src/core/life/summary/summary-types.ts';
import { noon } from '../../support/builders.ts';
import {
  add,
  addDone,
  bogus,
  caa,
  caaUnknown,
  caaWarns,
  disagree,
  drifted,
  failed,
  halfway,
  https,
  issueCaa,
  lasting,
  live,
  lost,
  missing,
  none,
  ourCaa,
  ourTarget,
  partial,
  pending,
  plan,
  proxied,
  refused,
  remove,
  silent,
  twoProviders,
  unregistered,
  valid,
  verified,
  wildcard,
} from './support.ts';

/* Rows of the table of states (summary.test.ts): domains that are not live any more, or failed. */

/** `what`, then badge, tone, headline, path, action and actor. */
type SummaryRow = readonly [what: string, input: SummaryInput, expected: string];

const endedRows: readonly SummaryRow[] = [
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

const rows: readonly SummaryRow[] = [
  [
    'was just added',
    { ...pending, findings: [], lastCheckedAt: null },
    'Waiting for DNS | wait | Checking the DNS | dns wait, certificate idle | check_now | null',
  ],
  [
    'lacks its record',
    pending,
    'Action needed | warn | Do this at GoDaddy | dns warn, certificate idle | open_dns | customer',
  ],
  [
    'lacks its record at an unknown provider',
    { ...pending, provider: null },
    'Action needed | warn | Do this at your DNS provider | dns warn, certificate idle | open_dns | customer',
  ],
  [
    'lacks its record, and has a certificate from before',
    { ...pending, certificate: valid },
    'Action needed | warn | Do this at GoDaddy | dns warn, certificate ok | open_dns | customer',
  ],
  [
    'is not registered',
    { ...pending, findings: [unregistered] },
    'Action needed | warn | Do this at your registrar | dns warn, certificate idle | null | customer',
  ],
  [
    'waits for the name servers of its provider',
    { ...pending, findings: [disagree], changes: [halfway(add)] },
    'Waiting for DNS | wait | Nothing to do. GoDaddy is updating its name servers. | dns wait, certificate idle | check_now | null',
  ],
  [
    'has the record at one of two providers',
    { ...pending, findings: [twoProviders], changes: [halfway(add)] },
    'Action needed | warn | Do this at each of your DNS providers | dns warn, certificate idle | open_dns | customer',
  ],
  [
    'has every change on its way while the old record still leads elsewhere',
    { ...pending, changes: [halfway(remove), halfway(add)] },
    'Waiting for DNS | wait | Nothing to do. GoDaddy is updating its name servers. | dns wait, certificate idle | check_now | null',
  ],
  [
    'cannot be checked',
    { ...pending, findings: [silent], changes: [addDone] },
    'Waiting for DNS | wait | Nothing to do. We couldn’t check the DNS; we’ll try again. | dns wait, certificate idle | check_now | null',
  ],
  [
    'cannot be checked, because no listed name server serves it',
    { ...pending, findings: [lost] },
    'Waiting for DNS | wait | We couldn’t check the DNS; we’ll try again. | dns wait, certificate idle | check_now | null',
  ],
  [
    'cannot be checked, because our target does not resolve',
    { ...pending, findings: [ourTarget], changes: [addDone] },
    'Waiting for DNS | wait | Nothing to do. We couldn’t check the DNS; we’ll try again. | dns wait, certificate idle | check_now | null',
  ],
  [
    'is forbidden by CAA, while its record is right',
    { ...pending, findings: [caa], changes: [addDone, issueCaa] },
    'Action needed | warn | Do this at GoDaddy | dns ok, certificate warn | open_dns | customer',
  ],
  [
    'is forbidden by CAA records of our target',
    { ...pending, findings: [ourCaa], changes: [addDone] },
    'Waiting for DNS | wait | Nothing to do. We have to fix this. | dns ok, certificate wait | check_now | platform',
  ],
  [
    'has a CAA query that fails',
    { ...pending, findings: [caaUnknown] },
    'Action needed | warn | Ask GoDaddy to fix this | dns ok, certificate warn | null | dns_provider',
  ],
  [
    'lacks its record and is forbidden by CAA',
    { ...pending, findings: [missing, caa] },
    'Action needed | warn | Do this at GoDaddy | dns warn, certificate warn | open_dns | customer',
  ],
  [
    'is right on the Free plan',
    { ...pending, findings: [plan] },
    'Action needed | warn | Switch to a paid plan | dns ok, certificate idle | change_plan | customer',
  ],
  [
    'is verified',
    verified,
    'Getting certificate | wait | DNS is right. Getting the certificate. | dns ok, certificate wait | null | null',
  ],
  [
    'is verified after a refusal',
    { ...verified, certificate: refused },
    'Getting certificate | wait | DNS is right. The certificate was refused so far. | dns ok, certificate wait | null | null',
  ],
  [
    'is verified with an escalation',
    { ...verified, certificate: refused, hasEscalation: true },
    'Getting certificate | wait | The certificate is late. We’re on it. | dns ok, certificate wait | null | platform',
  ],
  [
    'is verified while the CA does not issue for such a name',
    { ...verified, certificate: lasting },
    'Action needed | warn | DNS is right, but the certificate was refused | dns ok, certificate warn | null | customer',
  ],
  [
    'was live until its certificate expired',
    { ...verified, certificate: { ...none, hasExpired: true } },
    'Needs attention | bad | Browsers warn your visitors: the certificate has expired | dns ok, certificate bad | null | platform',
  ],
  [
    'is verified beside an HTTPS record that should go',
    { ...verified, changes: [addDone, https] },
    'Getting certificate | wait | DNS is right. Getting the certificate. | dns ok, certificate wait | null | null',
  ],
  [
    'is behind a proxy whose origin could not be checked',
    {
      ...pending,
      findings: [{ ...proxied, passage: 'unknown' }],
      changes: [{ ...add, verb: 'keep', state: 'unknown' }],
    },
    'Waiting for DNS | wait | Nothing to do. Waiting for the next check. | dns wait, certificate idle | check_now | null',
  ],
  [
    'has one of two records at one name server',
    { ...pending, findings: [disagree], changes: [halfway(add), { ...add, type: 'AAAA' }] },
    'Action needed | warn | Do this at GoDaddy | dns warn, certificate idle | open_dns | customer',
  ],
  [
    'has its record at one of two resolvers',
    { ...pending, view: 'recursive', findings: [disagree], changes: [halfway(add)] },
    'Waiting for DNS | wait | Nothing to do. The changes are spreading. | dns wait, certificate idle | check_now | null',
  ],
  [
    'is verified and forbidden by CAA',
    { ...verified, findings: [caa], changes: [addDone, issueCaa], hasEscalation: true },
    'Action needed | warn | Do this at GoDaddy | dns ok, certificate warn | open_dns | customer',
  ],
  [
    'is live with an informational finding',
    { ...live, findings: [partial] },
    'Live | ok | Live. Nothing to do. | dns ok, certificate ok | visit | null',
  ],
  [
    'is live while its DNS cannot be read',
    { ...live, findings: [silent] },
    'Live | ok | Live. Nothing to do. | dns ok, certificate ok | visit | null',
  ],
  [
    'is live behind a proxy that passes challenges on',
    { ...live, findings: [proxied] },
    'Live | ok | Live. Nothing to do. | dns ok, certificate ok | visit | null',
  ],
  [
    'is live by a wildcard',
    { ...live, findings: [wildcard] },
    'Live | ok | Live. Nothing to do. | dns ok, certificate ok | visit | null',
  ],
  [
    'is live and a new CAA record forbids the renewal',
    { ...live, findings: [caa] },
    'Action needed | warn | Live, but the next renewal will fail | dns ok, certificate warn | open_dns | customer',
  ],
  [
    'is live with fragile CAA records',
    { ...live, findings: [caaWarns] },
    'Action needed | warn | Live, but its CAA records need attention | dns ok, certificate warn | open_dns | customer',
  ],
  [
    'is live after a refused renewal',
    { ...live, certificate: { ...valid, problem: refused.problem } },
    'Live | wait | Live. The renewal was refused; we’ll try again. | dns ok, certificate wait | visit | null',
  ],
  [
    'is live while the CA does not issue for such a name any more',
    { ...live, certificate: { ...valid, problem: lasting.problem } },
    'Action needed | warn | Live, but the next renewal will fail | dns ok, certificate warn | null | customer',
  ],
  [
    'is live while an address serves another certificate',
    { ...live, certificate: { ...valid, served: { isOther: true, summary: 'It does.' } } },
    'Needs attention | bad | Live, but some visitors get another certificate | dns ok, certificate bad | null | platform',
  ],
  [
    'is live while an address does not answer us',
    { ...live, certificate: { ...valid, served: { isOther: false, summary: 'It does not.' } } },
    'Live | wait | Live, but an address of it did not answer us | dns ok, certificate wait | null | platform',
  ],
  [
    'is live with an escalated renewal',
    { ...live, hasEscalation: true },
    'Live | wait | Live. The renewal is late, and we’re on it. | dns ok, certificate wait | visit | platform',
  ],
  [
    'is live after one missed check',
    { ...live, findings: [missing], missedAt: noon },
    'Action needed | warn | Live, but the last check found a problem | dns warn, certificate ok | open_dns | customer',
  ],
  [
    'is live with an expired certificate',
    { ...live, certificate: { ...none, hasExpired: true } },
    'Needs attention | bad | Browsers warn your visitors: the certificate has expired | dns ok, certificate bad | null | platform',
  ],
  [
    'is live with an expired certificate that CAA records forbid to renew',
    { ...live, findings: [caa], certificate: { ...none, hasExpired: true } },
    'Needs attention | bad | Browsers warn your visitors: the certificate has expired | dns ok, certificate bad | open_dns | customer',
  ],
  [
    'is live and its deploy is away',
    { ...live, findings: [wildcard], deploy: 'down' },
    'Needs attention | bad | Live, but your deploy isn’t answering | dns ok, certificate ok, deploy bad | change_deploy | customer',
  ],
  [
    'is live with a healthy deploy',
    { ...live, deploy: 'healthy' },
    'Live | ok | Live. Nothing to do. | dns ok, certificate ok, deploy ok | visit | null',
  ],
  ...endedRows,
];

describe('a domain', () => {
  test.each(rows)('that %s', (_, input, expected) => {
    const { badge, tone, headline, path, action, actor } = summaryOf(input, noon);
    const steps = path.map((one) => `${one.step} ${one.tone}`).join(', ');
    expect([badge, tone, headline, steps, `${action}`, `${actor}`].join(' | ')).toBe(expected);
  });
});

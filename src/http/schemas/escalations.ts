import { z } from 'zod';
import type { AuthorityLimit } from '../../core/certificates/budget.ts';
import type { Probe } from '../../core/certificates/escalation.ts';
import { PROBE_MS } from '../../core/certificates/reach.ts';
import { SECOND } from '../../core/time.ts';
import { time, uuid, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { pageFields } from '../pipeline/paging.ts';
import { problemType } from './certificates.ts';
import { component, explainedEnum } from './common.ts';
import { escalationCause, finding } from './domains.ts';
import { docsDomain } from './examples.ts';
import { projectId } from './projects.ts';

/** Probed the way the certificate authority would. */
const probe = z.object({
  address: z.string().describe('IPv4 or IPv6 address of the host name'),
  outcome: explainedEnum('ProbeOutcome', 'Result of requesting the challenge', {
    reachable: 'Our edge answered',
    refused: 'The connection was refused or closed',
    timeout: `No answer within ${PROBE_MS / SECOND} seconds`,
    other_answer: 'Another server answered, or the edge does not serve the name',
    no_route: 'No network route from this server; the address itself can be fine',
    reserved: 'A reserved address, unreachable from the internet; it was not tried',
  } satisfies Readonly<Record<Probe['outcome'], string>>),
  status: z
    .nullable(wholeNumber({ min: 100, max: 999 }))
    .describe('The HTTP status of `other_answer`; null for a tls-alpn-01 challenge'),
});

/** `open`: the existing order is continued. */
const nextAttempt = z.object({
  order: z
    .enum(['new', 'open'])
    .describe('Whether a new order is placed or the open one continues'),
  at: time(),
  thenAt: z.nullable(time()).describe('Time of the attempt after that, if this one fails'),
});

/** From the last time the cause was checked. */
const evidence = component('EscalationEvidence', 'Evidence for the cause', {
  findings: z.array(finding).describe('Findings of the last DNS check'),
  problem: z
    .nullable(
      z.object({
        type: problemType,
        detail: z.string(),
        retryAfter: z.nullable(time()),
      }),
    )
    .describe("The certificate authority's error for the newest order, for issuance or renewal"),
  refusals: wholeNumber({ min: 0, max: 2_147_483_647 }).describe(
    'Failed orders since verification or since the current certificate',
  ),
  budget: z
    .nullable(
      z.object({
        limit: explainedEnum('AuthorityLimit', 'Rate limit of the certificate authority', {
          orders: 'New orders of the installation',
          account_share: 'An account’s share of new orders, while other accounts wait',
          project_share: 'A project’s share of new orders, while other projects wait',
          registrable_domain: 'Certificates per registrable domain, including its subdomains',
          same_names: 'Certificates for the same name',
          failed_authorizations: 'Failed authorizations per name',
        } satisfies Readonly<Record<AuthorityLimit, string>>),
        subject: z
          .string()
          .describe('Host name, registrable domain, account or project; empty for `orders`'),
        until: time(),
      }),
    )
    .describe('The rate limit that delays the next order'),
  probes: z
    .array(probe)
    .describe('Result per address of requesting the challenge; empty if not tried'),
  setback: z
    .nullable(z.object({ at: time(), detail: z.string() }))
    .describe('When the certificate authority could not be reached or was still processing'),
  quarantine: z
    .nullable(z.object({ reason: z.string(), until: time() }))
    .describe('The quarantined job of the order'),
  nextAttempt: z.nullable(nextAttempt),
  servedUntil: z
    .nullable(time())
    .describe('Expiry of the certificate that is still served; null if there is none'),
});

/** The evidence and `nextAction` stay current while it is open. */
export const projectEscalation = component(
  'EscalationCase',
  'A domain whose certificate could not be issued or renewed',
  {
    id: z.guid().register(wireTypes, { type: 'string', format: 'uuid' }),
    projectId,
    domainId: uuid().describe('ID of the domain'),
    hostname: z.string().describe('DNS form: A-labels, lower case'),
    cause: escalationCause,
    summary: z.string().describe('The cause, described for operators'),
    nextAction: z.nullable(z.string()).describe('What Signpost does next; null once closed'),
    evidence,
    openedAt: time(),
    closedAt: z.nullable(time()),
  },
);

export const escalationList = z
  .array(projectEscalation)
  .meta({ id: 'EscalationCases', description: 'Escalations of all projects, newest first' });

const SHOWN = 20;

/** `cursor` is parsed to the position that the page starts after. */
export const escalationQuery = z.strictObject({
  ...pageFields('escalations', SHOWN),
  status: z.enum(['open', 'closed']).optional().describe('Filter by status'),
});

/** One of two addresses refuses the connection. */
export const docsEscalation = {
  id: '0198c1f2-9a10-4d3b-8f1e-5a7c2b9d4e60',
  projectId: docsDomain.projectId,
  domainId: '0198c1f2-8b20-4e6a-9c3d-1f7a5b2d8e90',
  hostname: docsDomain.hostname,
  cause: 'challenge_unreachable',
  summary:
    'The certificate authority cannot fetch its challenge from the domain. On port 80, 192.0.2.10 answers correctly; 2001:db8::10 refuses the connection. It says: “2001:db8::10: connection refused”',
  nextAction:
    'The addresses are checked again at 2026-11-20 12:30 UTC, then every few minutes. The order is placed as soon as none of them fails.',
  evidence: {
    findings: [],
    problem: {
      type: 'connection',
      detail: '2001:db8::10: connection refused',
      retryAfter: null,
    },
    refusals: 2,
    budget: null,
    probes: [
      { address: '192.0.2.10', outcome: 'reachable', status: null },
      { address: '2001:db8::10', outcome: 'refused', status: null },
    ],
    setback: null,
    quarantine: null,
    nextAttempt: {
      order: 'new',
      at: '2026-11-20T12:30:00.000Z',
      thenAt: '2026-11-20T13:59:00.000Z',
    },
    servedUntil: null,
  },
  openedAt: '2026-11-20T12:30:00.000Z',
  closedAt: null,
};

/** Escalations as an operator sees them, as schemas: they validate the query, and the OpenAPI document is made from them. */
import { z } from 'zod';
import type { AuthorityLimit } from '../../core/certificates/budget.ts';
import type { Probe } from '../../core/certificates/escalation.ts';
import { placeOfCursor } from '../pipeline/cursor.ts';
import { queryInteger, time, uuid, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { problemType } from './certificates.ts';
import { explainedEnum } from './common.ts';
import { escalationCause, finding } from './domains.ts';
import { docsDomain } from './examples.ts';
import { projectId } from './projects.ts';

/** One address of the host name, asked for the challenge by ourselves, as the certificate authority would. */
const probe = z.object({
  address: z.string().meta({ description: 'An IPv4 or IPv6 address of the host name' }),
  outcome: explainedEnum('ProbeOutcome', 'What came of asking it for a challenge', {
    reachable: 'Our edge answered',
    refused: 'The connection was refused or cut off',
    timeout: 'Nothing came within 3 seconds',
    other_answer: 'Something else answered, or the edge does not hold the name',
    no_route: 'This machine has no way there, which says nothing about the address',
    reserved: 'Nobody on the internet has such an address; it was not asked',
  } satisfies Readonly<Record<Probe['outcome'], string>>),
  status: z.nullable(wholeNumber({ min: 100, max: 999 })).meta({
    description: 'The HTTP status of `other_answer`; null where the challenge is tls-alpn-01',
  }),
});

/** `open`: the order that is open already is continued. */
const nextAttempt = z.object({
  order: z.enum(['new', 'open']).meta({ description: 'Whether a new order is placed' }),
  at: time(),
  thenAt: z.nullable(time()).meta({ description: 'When another one follows, should it fail' }),
});

/** What was known when the cause was last checked. */
const evidence = z
  .object({
    findings: z.array(finding).meta({ description: 'Of the check' }),
    problem: z
      .nullable(
        z.object({
          type: problemType,
          detail: z.string(),
          retryAfter: z.nullable(time()),
        }),
      )
      .meta({
        description: 'Why the certificate authority refused the newest order, first or for renewal',
      }),
    refusals: wholeNumber({ min: 0, max: 2_147_483_647 }).meta({
      description: 'Orders refused since verification, or since the certificate that is served',
    }),
    budget: z
      .nullable(
        z.object({
          limit: explainedEnum('AuthorityLimit', 'What the certificate authority limits', {
            orders: 'New orders of our account',
            account_orders: 'An account’s share of them while others wait',
            project_orders: 'A project’s share of them, as it was before accounts',
            registrable_domain: 'Certificates for a registrable domain and all names below it',
            same_names: 'Certificates for the same name',
            failed_authorizations: 'Failed authorizations of a name',
          } satisfies Readonly<Record<AuthorityLimit, string>>),
          subject: z.string().meta({
            description:
              'The host name, registrable domain or account, or a project that has no account of its own; empty for our account',
          }),
          until: time(),
        }),
      )
      .meta({ description: 'The limit that keeps a new order back, and until when' }),
    probes: z.array(probe).meta({
      description: 'The challenge, asked for at each address; empty where that was not tried',
    }),
    setback: z.nullable(z.object({ at: time(), detail: z.string() })).meta({
      description: 'When the certificate authority could not be asked, or had not finished',
    }),
    quarantine: z
      .nullable(z.object({ reason: z.string(), until: time() }))
      .meta({ description: "Why and until when the order's job was set aside" }),
    nextAttempt: z.nullable(nextAttempt),
    servedUntil: z.nullable(time()).meta({
      description: 'When the certificate ends that is served still; null where none is',
    }),
  })
  .meta({ id: 'EscalationEvidence', description: 'The evidence for the cause' });

/**
 * Answer of closing an escalation, and entry of the list. While it is open, its evidence and `nextAction` are brought up to
 * date.
 */
export const projectEscalation = z
  .object({
    id: z.guid().register(wireTypes, { type: 'string', format: 'uuid' }),
    projectId,
    domainId: uuid().meta({ description: 'ID of the domain' }),
    hostname: z.string().meta({ description: 'As in the DNS: A-labels, lower case' }),
    cause: escalationCause,
    summary: z.string().meta({ description: 'The cause in words, as an operator reads it' }),
    nextAction: z
      .nullable(z.string())
      .meta({ description: 'What happens next by itself; null once it is closed' }),
    evidence,
    openedAt: time(),
    closedAt: z.nullable(time()),
  })
  .meta({ id: 'EscalationCase', description: 'A domain that gets no certificate, or no next one' });

/** Answer of `GET /v1/escalations`: one page. */
export const escalationList = z
  .array(projectEscalation)
  .meta({ id: 'EscalationCases', description: 'Escalations of every project, the newest first' });

/** Query of `GET /v1/escalations`. `cursor` is parsed to the place that the page starts after; `limit` is a number. */
export const escalationQuery = z.strictObject({
  limit: queryInteger({ min: 1, max: 100, default: 20 }).meta({
    description: 'Maximum number of escalations returned',
  }),
  status: z
    .enum(['open', 'closed'])
    .optional()
    .meta({ description: 'Filters by whether it is open' }),
  cursor: z
    .string()
    .transform(placeOfCursor)
    .refine((place) => place !== null, 'must be one that a list of escalations linked to')
    .optional()
    .meta({ description: 'Where the page starts: taken from a `Link`, never made by hand' }),
});

/** The example of the OpenAPI document: one of two addresses refuses the connection. */
export const docsEscalation = {
  id: '0198c1f2-9a10-4d3b-8f1e-5a7c2b9d4e60',
  projectId: docsDomain.projectId,
  domainId: '0198c1f2-8b20-4e6a-9c3d-1f7a5b2d8e90',
  hostname: docsDomain.hostname,
  cause: 'challenge_unreachable',
  summary:
    'The certificate authority cannot fetch its challenge from the domain. On port 80, 192.0.2.10 answers as it should; 2001:db8::10 refuses the connection. It says: “2001:db8::10: connection refused”',
  nextAction:
    'The addresses are asked again at 2026-11-20 12:30 UTC, and every few minutes after that; the order is placed as soon as none of them fails.',
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

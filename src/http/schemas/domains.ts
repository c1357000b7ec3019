/** What the API says of a domain, as schemas: domain-view.ts makes it, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { nextActions } from '../../core/certificates/escalation-words.ts';
import { caaHintWords } from '../../core/diagnosis/caa/caa.ts';
import { meanings, type Severity } from '../../core/diagnosis/findings.ts';
import { type ExplainedHint, hintWords } from '../../core/diagnosis/hints.ts';
import type { DomainStatus } from '../../core/life/lifecycle.ts';
import type { ProofReason } from '../../core/names/claim.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import { text, time, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { pageFields } from '../pipeline/page.ts';
import { certificate } from './certificates.ts';
import { actor, explainedEnum, sentence } from './common.ts';
import { hsts } from './domain-settings.ts';
import { projectId } from './projects.ts';

/** A host name of a request, not parsed yet: src/core/names/hostname.ts does that, with refusals of its own. */
const hostname = z
  .string()
  .max(2_048, 'is too long')
  .meta({ description: 'The host name, in any spelling: Unicode, upper case, a pasted URL' });

/** Body of `POST /v1/projects/{projectId}/domains`. */
export const newDomain = z
  .strictObject({ hostname })
  .meta({ id: 'NewDomain', description: 'A domain to be attached to a project' });

/** Query of `GET /v1/hostname`. */
export const hostnameQuery = z.strictObject({
  text: hostname.meta({ example: 'https://Docs.Example.com/' }),
});

/**
 * Answer of `GET /v1/hostname`: a spelling, read as adding a domain reads it. The record has no value before the domain is
 * added.
 */
export const hostnameReading = z
  .object({
    hostname: z.string().meta({ description: 'As in the DNS: A-labels, lower case' }),
    unicodeHostname: z.string().meta({ description: 'As people read it' }),
    zone: z.string().meta({ description: 'Its registrable domain' }),
    record: z
      .object({ type: z.enum(['CNAME', 'ALIAS']), name: z.string() })
      .meta({ description: 'What will have to be created there' }),
  })
  .meta({ id: 'HostnameReading', description: 'How a host name that was typed is read' });

/** By the type of `words`, exactly the statuses of src/core/life/lifecycle.ts. */
export const domainStatus = explainedEnum('DomainStatus', 'The status of the domain', {
  pending: 'The DNS is not right yet, or not checked yet',
  verified: 'The DNS is right; the certificate is on its way',
  live: 'A certificate is stored; the edge serves the domain',
  drifted: 'It was live; the DNS points elsewhere now',
  failed: 'The window ended before the DNS was right',
} satisfies Readonly<Record<DomainStatus, string>>);

/** What the customer has to create. `ttl` is in seconds, and always 3,600. */
export const dnsRecord = z
  .object({
    type: z
      .enum(['CNAME', 'ALIAS'])
      .meta({ description: '`ALIAS` for an apex; providers also call it ANAME or flattening' }),
    name: z.string().meta({ description: 'Relative to the zone; `@` for the zone itself' }),
    value: z.string().meta({ description: 'What the record points to, exactly' }),
    ttl: z.literal(3_600n).register(wireTypes, { type: 'integer', const: 3_600 }),
  })
  .meta({ id: 'DomainRecord', description: 'The DNS record to create; it never changes' });

/** What proves the name where its addresses do not (docs/security.md). */
export const proofRecord = z
  .object({
    type: z.literal('TXT'),
    name: z.string().meta({ description: 'Relative to the zone' }),
    value: z.string().meta({
      description: 'Its text, exactly; the same until the domain is removed, and never again',
    }),
    ttl: z.literal(3_600n).register(wireTypes, { type: 'integer', const: 3_600 }),
    reason: explainedEnum('ProofReason', 'Why the TXT record is needed', {
      contested: 'Another project has added the name, too',
      already_here: 'It led here before it was added',
      held_before: 'It has led here for another project',
      lapsed: 'It led elsewhere until its certificate had expired',
    } satisfies Readonly<Record<ProofReason, string>>),
    why: sentence('The reason'),
  })
  .meta({
    id: 'ProofRecord',
    description: 'The TXT record to create beside the other: addresses do not say whose an apex is',
  });

/** Every code that a finding of this version can have. Later versions add codes. */
export const findingCode = explainedEnum('FindingCode', 'What was found', meanings);

/** Each finding code has one severity. */
export const severity = explainedEnum('Severity', 'How grave it is', {
  blocks: 'The domain cannot go on',
  warns: 'The domain goes on, but not for ever',
  informs: 'Nothing is known to be wrong',
} satisfies Readonly<Record<Severity, string>>);

// Every key of the two tables is a code, by their types.
const hintCodes = Object.keys({
  ...hintWords,
  ...caaHintWords,
}) as readonly ExplainedHint['code'][];

const hint = z
  .object({ code: z.enum(hintCodes), text: sentence('The slip and its repair') })
  .meta({ id: 'Hint', description: 'A likely slip behind a finding' });

/** A finding in words. Decide by its code; the sentences may change. */
export const finding = z
  .object({
    code: findingCode,
    severity,
    actor,
    summary: sentence('What is wrong'),
    expected: sentence('What should be there'),
    found: sentence('What is there'),
    action: sentence('What to do'),
    hints: z.array(hint).meta({ description: 'Likely slips behind it' }),
  })
  .meta({ id: 'Finding', description: 'One thing worth saying about the DNS of a domain' });

/** Every cause that this version has words for. */
export const escalationCause = z
  .enum(Object.keys(nextActions))
  .meta({ id: 'EscalationCause', description: 'Why a domain gets no certificate, or no next one' });

/** The open one, as the customer reads it; EscalationCase is the operator's view. */
const escalation = z
  .object({
    openedAt: time(),
    cause: escalationCause,
    summary: sentence('The cause, with its evidence'),
    nextAction: sentence('What happens next by itself'),
  })
  .meta({
    id: 'Escalation',
    description: 'What an operator is called for: the domain gets no certificate, or no next one',
  });

/** Made by src/core/life/summary.ts; the pages and the command line show the same words. */
const summary = z
  .object({
    line: sentence('The whole of it in one line, with its time'),
    now: sentence('Status'),
    next: sentence('What happens next by itself; `nextAt`, where it is a time, completes it'),
    nextAt: z.nullable(time()),
    actor: z.nullable(actor).meta({ description: 'Who has to act; null: nobody has to' }),
  })
  .meta({
    id: 'Summary',
    description: 'The status of a domain in words, what happens next and when',
  });

/** Recognized by the names of the zone's name servers (src/core/diagnosis/providers.ts). */
export const provider = z
  .object({
    name: z.string(),
    apex: z
      .nullable(z.string())
      .meta({ description: 'What it calls an ALIAS; null: it has none that we know of' }),
    where: sentence('Where records are entered'),
  })
  .meta({ id: 'Provider', description: 'Who runs the name servers, by their names' });

/** In words, for a page; a diagnosis has the single answers. */
const serverShows = z
  .object({
    server: sentence('Its name, or its address where it was configured by address'),
    address: z.nullable(z.string()).meta({ description: 'Where it was asked' }),
    verdict: z
      .enum(['right', 'wrong', 'unknown'])
      .meta({ description: 'Whether this is the record; `unknown`: no usable answer' }),
    shows: sentence('What it shows at the host name'),
  })
  .meta({ id: 'ServerShows', description: 'What one name server shows' });

/** The last check of all name servers; null in the domain until there was one. */
const observation = z
  .object({
    at: time().meta({
      description:
        'When it was seen in full; checks since then, of one server or of all, found the same',
    }),
    view: z.enum(['authoritative', 'recursive']).meta({
      description: "`authoritative`: the zone's own name servers; `recursive`: resolvers",
    }),
    servers: z.array(serverShows),
  })
  .meta({ id: 'DomainObservation', description: 'What each name server shows' });

/** Times of checks of the DNS; those of the certificate are in `certificate`. */
const checks = z
  .object({
    attempts: wholeNumber({ min: 0, max: 2_147_483_647 }).meta({
      description: 'Checks that ran since it was added or verified again',
    }),
    lastCheckedAt: z.nullable(time()),
    nextCheckAt: z.nullable(time()).meta({
      description:
        'When its DNS is checked next at the latest: a change that is seen before then brings the check forward. Null where its certificate comes first, or where it is checked no more',
    }),
    windowEndsAt: z.nullable(time()).meta({ description: 'Null unless the domain is pending' }),
  })
  .meta({ id: 'Checks', description: 'The checks of a domain' });

/**
 * Answer about one domain, as src/http/routes/domain-view.ts makes it. A time is null where there is none yet, or none any
 * more.
 */
export const domain = z
  .object({
    hostname: z.string().meta({ description: 'As in the DNS: A-labels, lower case' }),
    unicodeHostname: z.string().meta({ description: 'As people read it' }),
    projectId,
    status: domainStatus,
    summary,
    record: dnsRecord,
    proofRecord: z.nullable(proofRecord).meta({
      description: 'A second record to create; null where none is needed, or no check has said so',
    }),
    zone: z.string().meta({ description: 'The zone that the record goes into' }),
    provider: z.nullable(provider).meta({
      description: 'Who runs that zone; null where no server said, or we do not know them',
    }),
    findings: z.array(finding).meta({ description: 'What is wrong, the headline first' }),
    observation: z.nullable(observation).meta({ description: 'Null until the first check' }),
    checks,
    verifiedAt: z.nullable(time()),
    certificate,
    escalation: z.nullable(escalation),
    hsts: z.nullable(hsts).meta({ description: "Null: the deploy's own is passed on" }),
    createdAt: time().meta({ description: 'When it was added, the last time' }),
  })
  .meta({ id: 'Domain', description: 'A host name attached to a project' });

/** Answer of `GET /v1/projects/{projectId}/domains`: all of them, the oldest first. */
export const domainList = z.array(domain);

/** Query of `GET /v1/projects/{projectId}/domains`. */
export const domainQuery = z.strictObject({
  ...pageFields('domains', isUuid),
  status: domainStatus.optional().meta({ description: 'Filters by the status' }),
  hostname: text({ max: 253 }).optional().meta({
    description: 'Filters by the host name: all of it or a part, in any script',
    example: 'docs.example',
  }),
});

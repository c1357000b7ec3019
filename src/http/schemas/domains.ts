/** domain-view.ts builds the values. */
import { z } from 'zod';
import type { EscalationCause } from '../../core/certificates/escalation.ts';
import { caaHintWords } from '../../core/diagnosis/caa/caa.ts';
import {
  type ChangeState,
  type ChangeVerb,
  changeTypes,
} from '../../core/diagnosis/changes/change.ts';
import { meanings, type Severity } from '../../core/diagnosis/findings.ts';
import { type ExplainedHint, hintWords } from '../../core/diagnosis/hints.ts';
import type { DomainStatus } from '../../core/life/lifecycle.ts';
import {
  badges,
  pathSteps,
  summaryActions,
  type Tone,
} from '../../core/life/summary/summary-types.ts';
import { text, time, uuid, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { pageFields } from '../pipeline/paging.ts';
import { certificate } from './certificates.ts';
import { actor, component, explainedEnum, requestComponent, sentence } from './common.ts';
import { hsts } from './domain-settings.ts';
import { metadata, metadataChange, metadataFilter, newMetadata } from './metadata.ts';
import { projectId } from './projects.ts';

/** src/core/names/hostname.ts parses it and has specific error codes. */
const hostname = z
  .string()
  .max(2_048, 'is too long')
  .describe('The host name. Unicode, upper case and pasted URLs are accepted');

export const newDomain = requestComponent('NewDomain', 'Domain to attach to a project', {
  hostname,
  metadata: newMetadata.default({}),
});

export const domainChange = requestComponent(
  'DomainChange',
  'Fields to change; omitted fields keep their values',
  { metadata: metadataChange.optional() },
);

export const hostnameQuery = z.strictObject({
  text: hostname.meta({ example: 'https://Docs.Example.com/' }),
});

/** Parsed as adding a domain does. The record's value is known only after the domain is added. */
export const hostnameReading = component('HostnameReading', 'A parsed host name', {
  hostname: z.string().describe('DNS form: A-labels, lower case'),
  unicodeHostname: z.string().describe('Display form: Unicode'),
  zone: z.string().describe('The registrable domain'),
  record: z
    .object({ type: z.enum(['CNAME', 'ALIAS']), name: z.string() })
    .describe('The record to create in that zone'),
});

/** The type of `words` covers exactly the statuses of src/core/life/lifecycle.ts. */
export const domainStatus = explainedEnum('DomainStatus', 'Status of the domain', {
  pending: 'The DNS is not set up correctly or not checked yet',
  verified: 'The DNS is correct; the certificate is being issued',
  live: 'The certificate is stored and the edge serves the domain',
  drifted: 'It was live, but the DNS now points elsewhere',
  failed: 'The verification window ended before the DNS was correct',
} satisfies Readonly<Record<DomainStatus, string>>);

/** `ttl` is in seconds, and always 3,600. */
export const dnsRecord = component('DomainRecord', 'DNS record to create; it never changes', {
  type: z
    .enum(['CNAME', 'ALIAS'])
    .describe('`ALIAS` for an apex domain; some providers call it ANAME or CNAME flattening'),
  name: z.string().describe('Relative to the zone; `@` is the zone itself'),
  value: z.string().describe("The record's value"),
  ttl: z.literal(3_600n).register(wireTypes, { type: 'integer', const: 3_600 }),
});

/** Later versions add more codes. */
export const findingCode = explainedEnum('FindingCode', 'Code of a finding', meanings);

export const severity = explainedEnum('Severity', 'Severity of a finding', {
  blocks: 'It blocks the domain',
  warns: 'The domain works now, but will fail later',
  informs: 'Information only; no known problem',
} satisfies Readonly<Record<Severity, string>>);

// By their types, every key of both tables is a code.
const hintCodes = Object.keys({
  ...hintWords,
  ...caaHintWords,
}) as readonly ExplainedHint['code'][];

const hint = component('Hint', 'Likely mistake behind a finding', {
  code: z.enum(hintCodes),
  text: sentence('The likely mistake and its fix'),
});

/** Branch on the code; the texts may change. */
export const finding = component('Finding', "Finding about a domain's DNS", {
  code: findingCode,
  severity,
  actor,
  summary: sentence('The problem'),
  expected: sentence('The expected DNS state'),
  found: sentence('The actual DNS state'),
  action: sentence('How to fix it'),
  hints: z.array(hint).describe('Likely mistakes that caused it'),
});

/** Later versions add more causes. */
export const escalationCause = explainedEnum(
  'EscalationCause',
  'Why the certificate could not be issued or renewed',
  {
    dns_changed: 'The record is no longer right; a verified domain goes back to `pending`',
    caa_blocks: 'CAA records forbid each CA; a verified domain goes back to `pending`',
    dns_unsettled: 'Name servers disagree or DNSSEC signatures are bad, so no CA can issue',
    dns_unknown: 'Signpost could not check whether the DNS is still right',
    caa_unknown: 'CAA queries get no answer, which a CA must treat as a refusal',
    authority_rate_limited: 'The CA asked to wait, or one of its rate limits is reached',
    challenge_unreachable:
      'An address does not reach the edge on port 80 (443 for tls-alpn-01), or the CA did not see the challenge',
    secondary_validation:
      'The CA reached the name from its own network, but not from other regions: blocking by country, a firewall, or a name server of one region',
    authority_refused: 'The CA refused; its problem is in the evidence',
    certificate_not_shown: 'Another edge obtains the certificate, and an address does not show it',
    authority_unreachable: 'The CA does not answer, or has not finished',
    platform_fault: 'None of these: the order failed in Signpost',
  } satisfies Readonly<Record<EscalationCause, string>>,
);

/** The customer's view; EscalationCase is the operator's view. */
const escalation = component(
  'Escalation',
  'A problem that an operator needs to solve: the certificate could not be issued or renewed',
  {
    openedAt: time(),
    cause: escalationCause,
    summary: sentence('The cause and its evidence'),
    nextAction: sentence('What Signpost does next'),
  },
);

/** Recognized by the zone's name servers (src/core/diagnosis/providers.ts). */
export const provider = component('Provider', 'DNS provider, recognized by its name servers', {
  name: z.string(),
  apex: z
    .nullable(z.string())
    .describe("The provider's name for an ALIAS record; null if it has none or it is unknown"),
  where: sentence('Where to enter DNS records'),
  dnsUrl: z.nullable(z.string()).describe('Page with the records; null without a documented link'),
  siteUrl: z.nullable(z.string()).describe('Its start page; null if unknown'),
});

/** Readable texts for a page. A diagnosis has the individual answers. */
const serverShows = component('ServerShows', "One name server's answer", {
  server: sentence('Name of the server, or its address if configured by address'),
  address: z.nullable(z.string()).describe('The address that was queried'),
  verdict: z
    .enum(['right', 'wrong', 'unknown'])
    .describe('Whether the record is correct; `unknown` means no usable answer'),
  shows: sentence('Its answer for the host name'),
});

/** Null in a domain that was not checked yet. */
const observation = component('DomainObservation', 'Answers of each name server', {
  at: time().describe('When this was last observed in full; later checks found no change'),
  view: z
    .enum(['authoritative', 'recursive'])
    .describe("`authoritative`: the zone's own name servers; `recursive`: resolvers"),
  servers: z.array(serverShows),
});

const checks = component('Checks', 'DNS checks of a domain', {
  attempts: wholeNumber({ min: 0, max: 2_147_483_647 }).describe(
    'Number of checks since the domain was added or its verification restarted',
  ),
  lastCheckedAt: z.nullable(time()),
  nextCheckAt: z
    .nullable(time())
    .describe(
      'Time of the next DNS check; null while a certificate is due first, or if checks have ended',
    ),
  windowEndsAt: z
    .nullable(time())
    .describe('End of the verification window; null unless the domain is pending'),
});

// src/core/life/summary/ builds the values. The dashboard and the CLI show the same.

const tone = explainedEnum('Tone', 'How urgent it is', {
  ok: 'It works',
  wait: 'On its way',
  warn: 'Someone has to act',
  bad: 'Visitors are affected, or checks ended',
  idle: 'Not yet, or unknown',
} satisfies Readonly<Record<Tone, string>>);

const summary = component('Summary', 'How the domain stands, for people', {
  tone,
  badge: z.enum(badges).describe('Label of the state, for people'),
  headline: sentence('What to do, or that there is nothing to do'),
  text: sentence('Why'),
  brief: sentence('A few words, for a list'),
  path: z
    .array(z.object({ step: z.enum(pathSteps), tone }))
    .describe('The way of a request, as far as it is measured'),
  action: z.nullable(z.enum(summaryActions)).describe('What to offer first; null for nothing'),
  actor: z.nullable(actor).describe('Who needs to act; null if no action is needed'),
  line: sentence('Summary in one line, including the time'),
  now: sentence('Headline and text as sentences'),
  next: sentence('What Signpost does next; `nextAt` completes the sentence if it is a time'),
  nextAt: z.nullable(time()),
});

// src/core/diagnosis/changes/ builds the values.

const states = {
  to_do: 'On no name server',
  spreading: 'On some',
  done: 'On every one that answers',
  unknown: 'Not checked, or no usable answer',
} satisfies Readonly<Record<ChangeState, string>>;

const serverChange = component('ServerChange', 'One name server', {
  name: z.string().describe('Name, or address of a resolver'),
  state: z.enum(['done', 'to_do', 'unknown']),
  shows: sentence('What it has'),
});

/** A TTL has 31 bits (RFC 2181, section 8). */
const ttl = wholeNumber({ min: 0, max: 2_147_483_647 });

const dnsChange = component('DnsChange', 'What to do with one record', {
  verb: explainedEnum('ChangeVerb', 'What to do with the record', {
    add: 'Create it',
    change: 'Replace its value `was` by `value`',
    delete: 'Delete it',
    keep: 'Leave it as it is',
  } satisfies Readonly<Record<ChangeVerb, string>>),
  type: z.enum(changeTypes).describe('As the form of the DNS provider calls it'),
  name: z
    .string()
    .describe(
      'As the form of the DNS provider expects it: `docs`; `@` or empty for the zone itself; a full name with a final dot in another zone',
    ),
  value: z.string().describe("The record's value; CAA in presentation form"),
  was: z.string().optional().describe('The value to replace; only with `change`'),
  ttl: ttl.describe('TTL in seconds; of `delete` and `keep` as observed'),
  state: explainedEnum('ChangeState', 'Progress of the change', states),
  servers: z.array(serverChange).describe('Progress of each one'),
  note: sentence('Advice').optional(),
});

export const dnsChanges = z.array(dnsChange).describe('What to do at the DNS provider, in order');

/** A time that does not apply is null. */
export const domain = component('Domain', 'Host name attached to a project', {
  id: uuid().describe(
    'ID of this addition of the host name; removing and adding it again changes it',
  ),
  hostname: z.string().describe('DNS form: A-labels, lower case'),
  unicodeHostname: z.string().describe('Display form: Unicode'),
  projectId,
  status: domainStatus,
  summary,
  record: dnsRecord,
  zone: z.string().describe('The zone where the record is created'),
  provider: z.nullable(provider).describe('DNS provider of that zone; null if unknown'),
  changes: dnsChanges,
  findings: z.array(finding).describe('Findings, the most important first'),
  observation: z.nullable(observation).describe('Null until the first check completes'),
  checks,
  verifiedAt: z.nullable(time()),
  certificate,
  escalation: z.nullable(escalation),
  hsts: z.nullable(hsts).describe('Null if the header set by the deploy is passed through'),
  metadata,
  createdAt: time().describe('When the domain was added'),
});

export const domainList = z.array(domain);

const filters = {
  ...pageFields('domains'),
  status: domainStatus.optional().describe('Filter by status'),
  search: text({ min: 3, max: 253 })
    .optional()
    .describe(
      'Filter by part of the name, at least 3 characters; labels that are not ASCII must be complete',
    ),
  metadata: metadataFilter.optional(),
};

export const domainsQuery = z.strictObject(filters);

/** Of all projects. */
export const allDomainsQuery = z.strictObject({
  ...filters,
  hostname: hostname.optional().describe('Exactly this host name, in any spelling'),
});

/** What the API says of a domain, as schemas: domain-view.ts makes it, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { problemTypes } from '../../certificates/authority.ts';
import type { Actor, FindingCode, Severity } from '../../core/diagnosis/findings.ts';
import { caaHintWords, type ExplainedHint, hintWords } from '../../core/diagnosis/words-hints.ts';
import { nextActions } from '../../core/escalation.ts';
import type { DomainStatus } from '../../core/lifecycle.ts';
import { time, wholeNumber, wireTypes } from '../json.ts';
import { explainedEnum } from './common.ts';
import { projectId } from './projects.ts';

const hostname = z
  .string()
  .max(2_048, 'is too long')
  .meta({ description: 'The host name, in any spelling: Unicode, upper case, a pasted URL' });

export const newDomain = z
  .strictObject({ hostname })
  .meta({ id: 'NewDomain', description: 'A domain to be attached to a project' });

const domainStatus = explainedEnum('DomainStatus', 'Where the domain stands', {
  pending: 'The DNS is not right yet, or not looked at yet',
  verified: 'The DNS is right; the certificate is on its way',
  live: 'A certificate is stored; the edge serves the domain',
  drifted: 'It was live; the DNS points elsewhere now',
  failed: 'The window ended before the DNS was right',
} satisfies Readonly<Record<DomainStatus, string>>);

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

const findingCode = explainedEnum('FindingCode', 'What was found', {
  domain_unregistered: 'Nobody has registered the domain',
  name_servers_disagree: 'Some name servers have the record, others do not',
  proxied: "A proxy's addresses stand where the CNAME should show",
  conflicting_a: 'A records stand in the way',
  conflicting_aaaa: 'AAAA records stand in the way',
  cname_loop: 'The CNAME leads back to itself',
  cname_mismatch: "The CNAME's value is not the one shown",
  cname_at_apex: 'A CNAME at the apex, where none may be',
  apex_mixed: 'The apex shows foreign addresses beside ours',
  apex_elsewhere: 'The apex shows foreign addresses',
  record_missing: 'Nothing at the name points here',
  dnssec_bogus: 'Its DNSSEC is broken, so most of the world cannot see it',
  caa_blocks: 'A CAA record does not let our certificate authority issue',
  caa_unknown: 'A CAA question got no answer, so no authority may issue',
  held_elsewhere: 'Another project on this platform serves this apex',
  mail_at_name: 'Mail arrives at the name, which a CNAME would end',
  name_server_lame: 'A listed name server does not know the zone',
  name_server_unreachable: 'A listed name server cannot be reached',
  delegation_mismatch: 'The zone and the one above list different name servers',
  wildcard_answers: 'A wildcard shows the record, not one of its own',
  reserved_address: 'An address that nobody can reach',
  caa_warns: 'Our authority may issue, but by luck',
  apex_partial: 'The apex shows some of our addresses only',
  old_answer_cached: 'It is right; some resolvers remember what was before',
  dns_unknown: 'No server gave an answer that says anything; nothing is known to be wrong',
} satisfies Readonly<Record<FindingCode, string>>);

const severity = explainedEnum('Severity', 'How grave it is', {
  blocks: 'The domain cannot go on',
  warns: 'The domain goes on, but not for ever',
  informs: 'Nothing is known to be wrong',
} satisfies Readonly<Record<Severity, string>>);

const actor = explainedEnum('Actor', 'Who has to act', {
  customer: 'Whoever may edit the DNS of the domain',
  dns_provider: 'Who runs the name servers of the domain',
  platform: 'We',
} satisfies Readonly<Record<Actor, string>>);

const sentence = (description: string) => z.string().meta({ description });

// Every key of the two tables is a code, by their types.
const hintCodes = Object.keys({
  ...hintWords,
  ...caaHintWords,
}) as readonly ExplainedHint['code'][];

const hint = z
  .object({ code: z.enum(hintCodes), text: sentence('The slip and its repair') })
  .meta({ id: 'Hint', description: 'A likely slip behind a finding' });

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

export const problemType = z
  .enum(problemTypes)
  .meta({ id: 'ProblemType', description: 'Why a certificate authority said no (RFC 8555, 6.7)' });

const certificate = z
  .object({
    status: explainedEnum('CertificateStatus', 'How far the certificate is', {
      none: 'None was ordered yet',
      ordering: 'It is ordered',
      issued: 'It is stored, and has not ended',
      failed: 'The last order was refused',
    }),
    issuedAt: z.nullable(time()),
    expiresAt: z.nullable(time()),
    issuer: z.nullable(z.string()),
    nextAttemptAt: z.nullable(time()).meta({ description: 'When it is worked on next' }),
    problem: z
      .nullable(z.object({ type: problemType, detail: sentence("The authority's own words") }))
      .meta({ description: 'Why the newest order was refused' }),
  })
  .meta({ id: 'Certificate', description: 'The certificate of a domain' });

export const escalationCause = z
  .enum(Object.keys(nextActions))
  .meta({ id: 'EscalationCause', description: 'Why a verified domain has no certificate' });

const escalation = z
  .object({
    openedAt: time(),
    cause: escalationCause,
    nextAction: sentence('What happens next by itself'),
  })
  .meta({ id: 'Escalation', description: 'An open case for an operator' });

const checks = z
  .object({
    attempts: wholeNumber({ min: 0, max: 2_147_483_647 }).meta({ description: 'Looks so far' }),
    lastCheckedAt: z.nullable(time()),
    nextCheckAt: z.nullable(time()).meta({ description: 'Null unless the domain is pending' }),
    windowEndsAt: z.nullable(time()).meta({ description: 'Null unless the domain is pending' }),
  })
  .meta({ id: 'Checks', description: 'The looks at the DNS of a domain' });

export const domain = z
  .object({
    hostname: z.string().meta({ description: 'As in the DNS: A-labels, lower case' }),
    unicodeHostname: z.string().meta({ description: 'As people read it' }),
    projectId,
    status: domainStatus,
    record: dnsRecord,
    findings: z.array(finding).meta({ description: 'What is wrong, the headline first' }),
    checks,
    verifiedAt: z.nullable(time()),
    certificate,
    escalation: z.nullable(escalation),
    createdAt: time().meta({ description: 'When it was added, the last time' }),
  })
  .meta({ id: 'Domain', description: 'A host name attached to a project' });

export const domainList = z.array(domain);

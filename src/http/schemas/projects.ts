import { z } from 'zod';
import { readBundle } from '../../certificates/x509.ts';
import { DEFAULT_ACCOUNT_ID, deployStatuses, plans } from '../../core/records.ts';
import type { UpstreamWarning } from '../../net/upstream-check.ts';
import { nameText, time, uuid, wireTypes } from '../pipeline/json.ts';
import { pageFields, pageQuery } from '../pipeline/paging.ts';
import { accountId, givenId } from './accounts.ts';
import { component, explainedEnum, requestComponent, sentence } from './common.ts';
import { metadata, metadataChange, metadataFilter, newMetadata } from './metadata.ts';

/** The handler checks an ID in a path. */
export const projectId = uuid().describe('ID of the project');
const name = nameText({ max: 255 }).describe('Display name of the project');

const slug = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 of a-z, 0-9 and inner hyphens')
  .describe('Name of the project in URLs, unique in its account');

const plan = z
  .enum(plans)
  .meta({ id: 'Plan', description: 'Plan of the project; new domains require pro or higher' });

const deployStatus = z
  .enum(deployStatuses)
  .meta({ id: 'DeployStatus', description: 'Result of the deploy' });

/** Only its form is checked: storing it sends no request. */
const upstream = z
  .string()
  .max(2_048, 'must be at most 2048 characters')
  .refine(
    isUpstream,
    'must be a full http or https URL, such as https://app.internal.example, without user name, query or fragment',
  )
  .register(wireTypes, { type: 'string', format: 'uri', maxLength: 2_048 })
  .describe('Where the edge proxies requests to: an http or https URL');

/** About twenty CAs. A body has at most 64 KiB, and JSON doubles line breaks. */
const CA_MAX = 32_768;
const caWords = 'CA certificates in PEM to verify an https `upstream`; they replace the public CAs';

/** Stores only the certificates, each as Node.js serializes it. */
const upstreamCa = z
  .string()
  .max(CA_MAX, `must be at most ${CA_MAX} characters`)
  .transform((given, { addIssue }) => {
    const read = readBundle(given);
    if (read.ok) return read.pem;
    addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  })
  .register(wireTypes, { type: 'string', maxLength: CA_MAX })
  .describe(caWords);

export const newProject = requestComponent('NewProject', 'Project to create', {
  name,
  slug,
  plan: plan.default('free'),
  metadata: newMetadata.default({}),
  accountId: givenId()
    .optional()
    .describe(
      'Account that gets the project. Omit it for the account that you act for, or the default one',
    ),
});

export const projectQuery = z.strictObject({
  ...pageFields('projects'),
  hostname: z
    .string()
    .max(2_048, 'is too long')
    .optional()
    .describe('Only return projects with this host name attached, in any spelling'),
  metadata: metadataFilter.optional(),
});

export const deploysQuery = pageQuery('deploys');

/** Without `domains`, a project with live domains is not deleted. */
export const projectRemoval = z.strictObject({
  domains: z
    .enum(['remove'], { error: 'must be remove' })
    .optional()
    .describe('Use `remove` to also remove live and drifted domains'),
});

/** An empty object changes nothing. */
export const projectChange = requestComponent(
  'ProjectChange',
  'Fields to change; omitted fields keep their values',
  {
    accountId: givenId()
      .optional()
      .describe(
        'Account to move the project to, with everything that it has; for keys of the installation',
      ),
    name: name.optional(),
    plan: plan.optional(),
    metadata: metadataChange.optional(),
  },
);

export const newDeploy = z
  .strictObject({ status: deployStatus, upstream, upstreamCa: upstreamCa.optional() })
  .refine((deploy) => deploy.upstreamCa === undefined || /^https:/i.test(deploy.upstream), {
    path: ['upstreamCa'],
    error: 'requires an https upstream',
  })
  .meta({ id: 'NewDeploy', description: 'Deploy to report' });

const currentDeploy = component('CurrentDeploy', 'The deploy that serves visitors', {
  id: uuid().describe('ID of the deploy'),
  upstream,
  at: time().describe('When the deploy was reported'),
  upstreamCa: z
    .nullable(z.array(z.string()))
    .describe(
      'SHA-256 fingerprints of the CA certificates that verify the upstream; null if the public CAs are used',
    ),
});

export const project = component('Project', 'A project that domains are attached to', {
  id: projectId,
  accountId,
  name,
  slug,
  plan,
  deployedAt: z.nullable(time()).describe('Time of the last successful deploy; null if none'),
  deploy: z
    .nullable(currentDeploy)
    .describe('The deploy that serves visitors: the newest that succeeded; null if none'),
  metadata,
  createdAt: time(),
});

export const projectList = z.array(project);

export const deploy = component('Deploy', 'Deploy of a project', {
  id: uuid().describe('ID of the deploy'),
  projectId,
  status: deployStatus,
  upstream,
  upstreamCa: z.nullable(z.string()).describe(`${caWords}; null if the public CAs are used`),
  createdAt: time().describe('When the deploy was reported'),
});

export const deployList = z.array(deploy);

const upstreamWarning = component('UpstreamWarning', 'A likely problem of a deploy', {
  code: explainedEnum('UpstreamWarningCode', 'Why visitors could get an error page', {
    private_address: 'The name resolves to an address that is not public',
    no_address: 'The name has no address',
    lookup_failed: 'The name could not be resolved now',
  } satisfies Readonly<Record<UpstreamWarning['code'], string>>),
  message: sentence('What is wrong, and what to do'),
});

/** Only the response to its report has warnings: they are about the DNS of that moment. */
export const reportedDeploy = deploy
  .extend({
    warnings: z.array(upstreamWarning).describe('Likely problems; usually empty'),
  })
  .meta({ id: 'ReportedDeploy', description: 'Deploy as it was stored' });

/** The secret starts with `sigsec_`. */
export const signingSecret = component(
  'SigningSecret',
  'Secret that signs the `Signpost-Signature` header of requests to a deploy',
  {
    projectId,
    secret: z
      .nullable(z.string())
      .describe('The signing secret: `sigsec_` and base64; null if the response is replayed'),
    rotatedAt: z.nullable(time()).describe('When it was last rotated; null if never'),
    oldSecretEndsAt: z
      .nullable(time())
      .describe('Until when the previous secret also signs; null if there is none'),
  },
);

export const docsProject = {
  id: '0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11',
  accountId: DEFAULT_ACCOUNT_ID,
  name: 'Docs',
  slug: 'docs',
  plan: 'pro',
  deployedAt: '2026-11-20T12:00:00.000Z',
  deploy: {
    id: '0198c1f3-11aa-4d27-8f0e-5c1f9f2b7a30',
    upstream: 'https://docs.internal.example/',
    at: '2026-11-20T12:00:00.000Z',
    upstreamCa: null,
  },
  metadata: { customer: '42' },
  createdAt: '2026-11-20T11:58:00.000Z',
};
/** Well-formed, but unused. */
export const docsSigningSecret = {
  projectId: docsProject.id,
  secret: 'sigsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
  rotatedAt: null,
  oldSecretEndsAt: null,
};
export const docsDeploy = {
  id: docsProject.deploy.id,
  projectId: docsProject.id,
  status: 'succeeded',
  upstream: docsProject.deploy.upstream,
  upstreamCa: null,
  createdAt: '2026-11-20T12:00:00.000Z',
};

/** The visitor's path and query are appended, so it must not have a query. */
function isUpstream(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return ['http:', 'https:'].includes(protocol) && `${username}${password}${search}${hash}` === '';
}

/** Projects and their deploys as schemas: they validate, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { readBundle } from '../../certificates/x509.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import { deployStatuses, plans } from '../../core/records.ts';
import { nameText, text, time, uuid, wireTypes } from '../pipeline/json.ts';
import { pageFields } from '../pipeline/page.ts';
import { accountId, docsAccount } from './accounts.ts';

/** An id in a body or an answer; one in a path is text, which the handler checks. */
export const projectId = uuid().meta({ description: 'ID of the project' });
const said = { description: 'The name of the project, for people' };
const name = nameText({ max: 255 }).meta(said);
/** The name in an answer: it may have been stored before names were held to more than `text`. */
const storedName = text({ max: 255 }).meta(said);

const slug = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 of a-z, 0-9 and inner hyphens')
  .meta({
    description: 'The name of the project in URLs: no two projects of an account share one',
  });

const plan = z
  .enum(plans)
  .meta({ id: 'Plan', description: 'What the project pays for; custom domains need pro or above' });

const deployStatus = z
  .enum(deployStatuses)
  .meta({ id: 'DeployStatus', description: 'How the deploy ended' });

/** Checked by its form alone: nothing is fetched from it when it is stored. */
const upstream = z
  .string()
  .max(2_048, 'must be at most 2048 characters')
  .refine(isUpstream, 'must be an http or https URL without credentials, query or fragment')
  .register(wireTypes, { type: 'string', format: 'uri', maxLength: 2_048 })
  .meta({ description: "Where the edge sends the project's visitors: an http or https URL" });

/** Our choice: some twenty authorities; a body may have 64 KiB, and each line break in JSON is two characters. */
const CA_MAX = 32_768;
const caWords =
  'Certificates in PEM that the certificate of an https `upstream` must lead to, in the place of the public authorities';

/** What is stored is the certificates alone, each as Node writes it. */
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
  .meta({ description: caWords });

/** Body of `POST /v1/projects`. Without a plan, it is `free`. */
export const newProject = z
  .strictObject({
    name,
    slug,
    plan: plan.default('free'),
    accountId: accountId.optional().meta({
      description: 'Whose it is; missing: that of the key, or of `Signpost-Account`',
    }),
  })
  .meta({ id: 'NewProject', description: 'A project to be made' });

/** Query of `GET /v1/projects`. */
export const projectQuery = z.strictObject({
  ...pageFields('projects', isUuid),
  hostname: z
    .string()
    .max(2_048, 'is too long')
    .optional()
    .meta({ description: 'Only projects that this host name, in any spelling, is attached to' }),
});

/** Body of `PATCH /v1/projects/{projectId}`. An empty object changes nothing. */
export const projectChange = z
  .strictObject({ name: name.optional(), plan: plan.optional() })
  .meta({ id: 'ProjectChange', description: 'The fields to change; the others stay as they are' });

/** Body of `POST /v1/projects/{projectId}/deploys`. */
export const newDeploy = z
  .strictObject({ status: deployStatus, upstream, upstreamCa: upstreamCa.optional() })
  .refine((deploy) => deploy.upstreamCa === undefined || /^https:/i.test(deploy.upstream), {
    path: ['upstreamCa'],
    error: 'needs an upstream with https',
  })
  .meta({ id: 'NewDeploy', description: 'A deploy that has ended' });

/** Answer about one project. */
export const project = z
  .object({
    id: projectId,
    accountId,
    name: storedName,
    slug,
    plan,
    deployedAt: z
      .nullable(time())
      .meta({ description: 'When a deploy last succeeded; null until one has' }),
  })
  .meta({ id: 'Project', description: 'What domains are attached to' });

/** Answer of `GET /v1/projects`: all of them, the oldest first. */
export const projectList = z.array(project);

/** Answer of reporting a deploy. */
export const deploy = z
  .object({
    id: uuid().meta({ description: 'ID of the deploy' }),
    projectId,
    status: deployStatus,
    upstream,
    upstreamCa: z
      .nullable(z.string())
      .meta({ description: `${caWords}; null: the public authorities` }),
    createdAt: time().meta({ description: 'When it was reported' }),
  })
  .meta({ id: 'Deploy', description: 'One deploy of a project' });

/** Answer about what signs the requests to a project's deploys. The secret begins with `sigsec_`. */
export const signingSecret = z
  .object({
    projectId,
    secret: z.nullable(z.string()).meta({
      description: 'What signs: `sigsec_` and base64; null where the answer is replayed',
    }),
    rotatedAt: z.nullable(time()).meta({ description: 'When it was rotated; null: never' }),
    oldSecretEndsAt: z.nullable(time()).meta({
      description: 'Until when the secret of before signs, too; null where there is none',
    }),
  })
  .meta({
    id: 'SigningSecret',
    description: 'What `Signpost-Signature` of the requests to a deploy is made with',
  });

/** The example of a Project in the OpenAPI document. */
export const docsProject = {
  id: '0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11',
  accountId: docsAccount.id,
  name: 'Docs',
  slug: 'docs',
  plan: 'pro',
  deployedAt: '2026-11-20T12:00:00.000Z',
};
/** A secret of the right form that signs for nobody. */
export const docsSigningSecret = {
  projectId: docsProject.id,
  secret: 'sigsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
  rotatedAt: null,
  oldSecretEndsAt: null,
};
/** The deploy that made it publishable. */
export const docsDeploy = {
  id: '0198c1f3-11aa-4d27-8f0e-5c1f9f2b7a30',
  projectId: docsProject.id,
  status: 'succeeded',
  upstream: 'https://docs.internal.example/',
  upstreamCa: null,
  createdAt: '2026-11-20T12:00:00.000Z',
};

/**
 * Whether visitors' requests can go there. Their paths and queries are appended to it, so it must not bring its own query.
 */
function isUpstream(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return ['http:', 'https:'].includes(protocol) && `${username}${password}${search}${hash}` === '';
}

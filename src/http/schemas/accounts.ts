/** Accounts as schemas: they validate, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { type AccountLimits, type LimitName, limitNames } from '../../core/accounts/limits.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import { nameText, time, uuid, wholeNumber } from '../pipeline/json.ts';
import { pageFields } from '../pipeline/page.ts';

/** An id in a body or an answer; one in a path is text, which the handler checks. */
export const accountId = uuid().meta({ description: 'ID of the account' });
const name = nameText({ max: 255 }).meta({ description: 'The name of the account, for people' });

/** Our choice: no limit that is one is higher. */
const LIMIT_MAX = 1_000_000_000;

/** How many of something there are, or may be. */
const counted = () => wholeNumber({ min: 0, max: 2_147_483_647 });

/** What each limit counts. */
export const limitWords: Readonly<Record<LimitName, string>> = {
  domains: 'Domains that are attached at once',
  additionsPerHour: 'Domains that are added in an hour',
  projects: 'Projects',
  keys: 'Keys that are accepted',
  webhooks: 'Webhooks',
  streams: 'Streams of events that are open at once, in each process of the API',
  diagnoses: 'Diagnoses under way at once, in each process of the API',
  requestsPerMinute: 'Requests in a minute',
};

const limit = z.nullable(wholeNumber({ min: 0, max: LIMIT_MAX }));

/** One field for each limit; null: no limit. */
function limitFields<Field extends z.ZodType>(field: (words: string) => Field) {
  return Object.fromEntries(limitNames.map((one) => [one, field(limitWords[one])])) as {
    [Name in LimitName]: Field;
  };
}

const limits = z.object(limitFields((words) => limit.meta({ description: words }))).meta({
  id: 'AccountLimits',
  description: 'What an account may have; null: as much as it likes',
});

const limitOverrides = z
  .strictObject(limitFields((words) => limit.optional().meta({ description: words })))
  .meta({
    id: 'LimitOverrides',
    description:
      'Limits of this account alone: null is no limit; what is left out follows the configuration',
  });

/** Body of `POST /v1/accounts`. */
export const newAccount = z
  .strictObject({ name, limits: limitOverrides.optional() })
  .meta({ id: 'NewAccount', description: 'An account to be made' });

/** Body of `PATCH /v1/accounts/{accountId}`. An empty object changes nothing. */
export const accountChange = z
  .strictObject({ name: name.optional(), limits: limitOverrides.optional() })
  .meta({
    id: 'AccountChange',
    description:
      'The fields to change; the others stay as they are. `limits` takes the place of all limits of its own',
  });

/** Answer about one account. */
export const account = z
  .object({
    id: accountId,
    name,
    limits,
    createdAt: time().meta({ description: 'When it was made' }),
    closedAt: z
      .nullable(time())
      .meta({ description: 'When it was closed: its keys are refused; null: it is open' }),
  })
  .meta({ id: 'Account', description: 'A customer of the platform: owns projects and keys' });

const most = z.nullable(counted()).meta({ description: 'The limit; null: none' });
const used = (words: string) => counted().meta({ description: words });

/** Answer of `GET /v1/accounts/{accountId}/usage`. */
export const accountUsage = z
  .object({
    ...limitFields((words) => z.object({ used: used(words), limit: most })),
    additionsPerHour: z.object({
      used: used('Domains that were added in the last hour, removed ones too'),
      limit: most,
      nextAt: z.nullable(time()).meta({ description: 'When the next one can be added; null: now' }),
    }),
    requestsPerMinute: z.object({
      used: z
        .nullable(counted())
        .meta({ description: 'Requests in this minute; null: they are not counted' }),
      limit: most,
      resetAt: z
        .nullable(time())
        .meta({ description: 'When the minute ends; null: none has begun' }),
    }),
  })
  .meta({ id: 'AccountUsage', description: 'What an account has of what its limits count' });

/** Query of `GET /v1/accounts`. */
export const accountQuery = z.strictObject(pageFields('accounts', isUuid));

/** Answer of `GET /v1/accounts`: the oldest first. */
export const accountList = z.array(account);

const docsLimits: AccountLimits = {
  domains: 5_000,
  additionsPerHour: 300,
  projects: 100,
  keys: 100,
  webhooks: 100,
  streams: 100,
  diagnoses: 2,
  requestsPerMinute: 1_200,
};
/** The example of an Account in the OpenAPI document. */
export const docsAccount = {
  id: '0198c1e0-4b1d-4f0a-8c2e-6a9d3e5f7b21',
  name: 'Example Shop',
  limits: docsLimits,
  createdAt: '2026-11-20T11:00:00.000Z',
  closedAt: null,
};

/** The example of an AccountUsage in the OpenAPI document. */
export const docsUsage = {
  domains: { used: 1_204, limit: docsLimits.domains },
  additionsPerHour: {
    used: 300,
    limit: docsLimits.additionsPerHour,
    nextAt: '2026-11-20T12:41:00.000Z',
  },
  projects: { used: 3, limit: docsLimits.projects },
  keys: { used: 5, limit: docsLimits.keys },
  webhooks: { used: 3, limit: docsLimits.webhooks },
  streams: { used: 2, limit: docsLimits.streams },
  diagnoses: { used: 0, limit: docsLimits.diagnoses },
  requestsPerMinute: {
    used: 41,
    limit: docsLimits.requestsPerMinute,
    resetAt: '2026-11-20T12:31:00.000Z',
  },
};

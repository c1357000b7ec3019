/** Sessions of the dashboard as schemas: the OpenAPI document is made from them. */
import { z } from 'zod';
import { isUuid } from '../../core/operations/jobs.ts';
import { time, uuid } from '../pipeline/json.ts';
import { pageFields } from '../pipeline/page.ts';
import { accountId } from './accounts.ts';

/** Answer about one session. */
export const session = z
  .object({
    id: uuid().meta({ description: 'ID of the session' }),
    keyId: z.string().meta({ description: 'The key that was signed in with' }),
    keyName: z.string().meta({ description: 'What that key is for' }),
    accountId: z
      .nullable(accountId)
      .meta({ description: 'The account that the key is of; null: the installation' }),
    actingFor: z.nullable(accountId).meta({
      description:
        'The account that a key of the installation has chosen; null: all of them, or the key’s own',
    }),
    createdAt: time().meta({ description: 'When somebody signed in' }),
    lastUsedAt: time().meta({ description: 'When it was last used, a minute late at most' }),
    expiresAt: time().meta({ description: 'When it ends by itself' }),
    userAgent: z
      .string()
      .meta({ description: 'What the browser calls itself; empty: it said nothing' }),
    address: z.string().meta({
      description: 'Where somebody signed in: an IPv4 address, or the /64 of an IPv6 one',
    }),
  })
  .meta({ id: 'Session', description: 'Somebody who is signed in to the dashboard' });

/** Query of `GET /v1/sessions`. */
export const sessionQuery = z.strictObject(pageFields('sessions', isUuid));

/** Answer of `GET /v1/sessions`: the newest first. */
export const sessionList = z
  .array(session)
  .meta({ id: 'Sessions', description: 'Sessions that are open, the newest first' });

/** The example of a Session in the OpenAPI document. */
export const docsSession = {
  id: '0198c1e0-5a2c-4d3b-9e1f-7b8a2c4d6e90',
  keyId: 'x7Gk2mPq9LwZ',
  keyName: 'the shop’s back office',
  accountId: null,
  actingFor: null,
  createdAt: '2026-11-21T08:00:00.000Z',
  lastUsedAt: '2026-11-21T08:30:12.345Z',
  expiresAt: '2026-11-21T20:00:00.000Z',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  address: '192.0.2.7',
} as const;

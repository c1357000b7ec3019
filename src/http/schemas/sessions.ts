import { z } from 'zod';
import { textOfCursor } from '../pipeline/cursor.ts';
import { time } from '../pipeline/json.ts';
import { cursorOf, limitOf } from '../pipeline/paging.ts';
import { component } from './common.ts';

export const session = component('Session', 'A sign-in to the dashboard', {
  id: z.uuid().describe('ID of the session'),
  keyId: z.string().describe('ID of the key that signed in'),
  keyName: z.string().describe('Label of the key'),
  createdAt: time().describe('When the key signed in'),
  endsAt: time().describe(
    'When the session ends: 12 hours later, or with its key if that is sooner',
  ),
  address: z.string().describe("The client's address"),
  userAgent: z.string().describe('What the browser calls itself'),
});

/** `cursor` is parsed to the position that the page starts after. */
export const sessionsQuery = z.strictObject({
  limit: limitOf('sessions'),
  cursor: cursorOf(textOfCursor),
});

export const sessionList = z
  .array(session)
  .meta({ id: 'Sessions', description: 'Sessions, newest first' });

export const sessionExample = {
  id: '0198c1f5-4d2b-4b8e-9a6f-3e7d1c5b9f20',
  keyId: 'x7Gk2mPq9LwZ',
  keyName: 'the shop’s back office',
  createdAt: '2026-11-20T12:00:00.000Z',
  endsAt: '2026-11-21T00:00:00.000Z',
  address: '192.0.2.17',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
} as const;

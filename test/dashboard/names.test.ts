/** Pages must not show names that reorder the surrounding text. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pages, startPages } from './support/pages.ts';

const turning = 'Docs\u202etxt.evil';

let pages: Pages;
beforeAll(async () => {
  pages = await startPages();
  await pages.signIn(await pages.keyWith('domains:read', 'domains:write'));
  await pages.show('GET /projects');
});
afterAll(() => pages?.close());

describe('A project name with a bidirectional override', () => {
  it('is rejected by the form with a reason', async () => {
    const form = { name: turning, slug: 'turned', plan: 'pro' };
    const refused = await pages.show('POST /projects', { form });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('without control characters or direction marks');
  });
});

/** Names that would reorder the text around them: pages show none as it is, and the form says why it takes none. */
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

describe('a name that turns around what follows', () => {
  it('is shown as it is written, where it was stored before such names were refused', async () => {
    const form = { name: 'Docs', slug: '', plan: 'pro' };
    const made = await pages.show('POST /projects', { form });
    const path = made.headers['location']?.replace(/\/domains$/, '');
    await pages.prisma.project.updateMany({ data: { name: turning } });
    for (const shown of ['/projects', `${path}/domains`, `${path}/settings`]) {
      const { text } = await pages.show(`GET ${shown}`);
      expect(text, shown).toContain('Docs\\u{202e}txt.evil');
      expect(text, shown).not.toContain('\u202e');
    }
  });

  it('is refused by the form, which says why', async () => {
    const form = { name: turning, slug: 'turned', plan: 'pro' };
    const refused = await pages.show('POST /projects', { form });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('without control characters or direction marks');
  });
});

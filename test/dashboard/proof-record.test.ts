/** The TXT record beside the ALIAS, with why: as the API has it, and on the page of the domain. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callApi } from '../http/support.ts';
import { type Pages, startPages } from './support/pages.ts';

let pages: Pages;
let key: string;
let project: string;
beforeAll(async () => {
  pages = await startPages();
  key = await pages.keyWith('domains:read', 'domains:write');
  await pages.signIn(key);
  await pages.show('GET /projects');
  const form = { name: 'Proofs', slug: '', plan: 'pro' };
  const made = await pages.show('POST /projects', { form });
  project = (made.headers['location'] ?? '').replace(/\/domains$/, '');
  await pages.show(`POST ${project}/deploys`, { form: { upstream: 'https://deploy.example/' } });
});
afterAll(() => pages?.close());

let count = 0;

/** The page and the API's answer about an apex whose last check has left these findings. */
async function apexWith(findingsFor: (hostname: string) => readonly object[]) {
  count += 1;
  const hostname = `apex-${count}.test`;
  const added = await pages.show(`POST ${project}/domains`, { form: { hostname } });
  const path = added.headers['location'] ?? '';
  const findings = [...findingsFor(hostname)];
  await pages.prisma.domain.updateMany({ where: { hostname }, data: { findings } });
  const { body } = await callApi(pages.api, `GET /v1${path}`, { key });
  return { body, hostname, text: (await pages.show(`GET ${path}`)).text };
}

const value = 'signpost-domain-verification=abc';
const proofOf = (hostname: string) => {
  const record = { type: 'TXT', name: '_signpost', fullName: `_signpost.${hostname}`, value };
  return { record, seen: 'missing', found: [] };
};

describe('an apex', () => {
  it('has one record before a check has said that it needs another', async () => {
    const { body, text } = await apexWith(() => []);
    expect(body).toMatchObject({ record: { type: 'ALIAS' }, proofRecord: null });
    expect(text).toContain('DNS record</h2>');
    expect(text).not.toContain('<code>TXT</code>');
  });

  it.each([
    ['held_elsewhere', 'contested', 'Another project has added'],
    ['proof_required', 'already_here', 'led here already when it was added'],
    ['proof_required', 'held_before', 'has led here for another project'],
    ['proof_required', 'lapsed', 'until its certificate had expired'],
  ])('has both and why: %s, %s', async (code, reason, words) => {
    const { body, hostname, text } = await apexWith((hostname) => [
      { code, hostname, proof: proofOf(hostname), ...(code === 'proof_required' && { reason }) },
    ]);
    expect(body).toMatchObject({
      record: { type: 'ALIAS', name: '@' },
      proofRecord: { type: 'TXT', name: '_signpost', value, ttl: 3600n, reason },
    });
    const { why } = (body as { proofRecord: { why: string } }).proofRecord;
    expect(why).toContain(words);
    expect(why).toContain(hostname);
    expect(text).toContain('DNS records</h2>');
    expect(text).toContain(`${why} The TXT record says that it is this project’s`);
    expect(text).toMatch(
      /<code>ALIAS<\/code>[\s\S]*<code>TXT<\/code>[\s\S]*data-copy="_signpost"[\s\S]*data-copy="signpost-domain-verification=abc"/,
    );
  });

  it('with a finding of before there was a record has none', async () => {
    const { body } = await apexWith((hostname) => [{ code: 'held_elsewhere', hostname }]);
    expect(body).toMatchObject({ proofRecord: null });
  });
});

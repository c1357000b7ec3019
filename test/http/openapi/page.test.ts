import { describe, expect, it, test } from 'vitest';
import { noAccess } from '../../../src/core/access.ts';
import { buildDocument } from '../../../src/http/openapi/document.ts';
import type { OpenApiDocument } from '../../../src/http/openapi/model.ts';
import { renderPages } from '../../../src/http/openapi/page/page.ts';
import { prose } from '../../../src/http/openapi/page/schema-section.ts';
import type { ApiResponse } from '../../../src/http/pipeline/errors.ts';
import { html, joined } from '../../../src/net/html.ts';
import { everyRoute } from '../../support/every-route.ts';

const routes = everyRoute();

async function get(path: string): Promise<ApiResponse> {
  const literal = routes.find((one) => one.path === path);
  const [, section = ''] = /^\/docs\/([^/]+)$/.exec(path) ?? [];
  const route = literal ?? routes.find((one) => one.path === '/docs/:section');
  const params = literal === undefined ? { section } : {};
  const request = {
    params,
    query: {},
    headers: {},
    body: undefined,
    key: null,
    access: noAccess,
    requestId: '',
  };
  const prepared = route?.prepare(request);
  return prepared?.ok ? prepared.run() : expect.fail(`there is no ${path}`);
}

const document = buildDocument(routes, { baseUrl: undefined, stagingUrl: undefined });
const sections = [...document.tags.map(({ name }) => name.toLowerCase()), 'errors', 'schemas'];
const paths = ['/docs', ...sections.map((name) => `/docs/${name}`)];
const pages = new Map<string, string>();
for (const path of paths) pages.set(path, (await get(path)).text ?? '');

const allOf = (text: string, expression: RegExp) =>
  [...text.matchAll(expression)].map(([, found = '']) => found);
const anchorsOf = (path: string) => allOf(pages.get(path) ?? '', / id="([^"]+)"/g);

/** The path and anchor of a link. */
function target(href: string, from: string) {
  const { pathname, hash } = new URL(href, `http://localhost${from}`);
  return { path: pathname, anchor: hash.slice(1) };
}

describe('The docs pages', () => {
  it('show every operation on the page of its tag and list it on every page', () => {
    for (const { operationId, tag, summary } of routes) {
      const own = `/docs/${tag.toLowerCase()}`;
      expect(anchorsOf(own)).toContain(operationId);
      for (const [path, page] of pages) {
        const links = allOf(page, / href="([^"]+)"/g).map((href) => target(href, path));
        expect(links, path).toContainEqual({ path: own, anchor: operationId });
        expect(page).toContain(`${summary}</`);
      }
    }
  });

  it('show every schema and every error code', () => {
    const { components } = document;
    const anchors = new Set(paths.flatMap(anchorsOf));
    for (const name of Object.keys(components.schemas)) expect(anchors).toContain(`schema-${name}`);
    for (const code of Object.keys(components.examples))
      expect(anchorsOf('/docs/errors')).toContain(code);
  });

  it('exist for tags, errors and schemas only', async () => {
    expect(await get('/docs/nothing')).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });
});

describe.each([...pages])('The docs page %s', (path, page) => {
  const all = (expression: RegExp) => allOf(page, expression);
  const base = path === '/docs' ? './' : '../';

  it('has no broken link and no duplicate id', () => {
    const anchors = anchorsOf(path);
    expect(anchors.filter((one, index) => anchors.indexOf(one) !== index)).toEqual([]);
    const links = all(/ href="([^"]*#[^"]+)"/g).filter((one) => !one.startsWith('data:'));
    const dead = links.filter((href) => {
      const { path: there, anchor } = target(href, path);
      return !anchorsOf(there).includes(anchor);
    });
    expect(dead).toEqual([]);
    const labels = all(/<label for="([^"]+)"/g);
    expect(labels.length).toBeGreaterThanOrEqual(1);
    expect(labels.filter((one) => !anchors.includes(one))).toEqual([]);
  });

  it('skips no heading level', () => {
    const levels = all(/<h([1-6])[ >]/g).map(Number);
    expect(levels[0]).toBe(1);
    const skips = levels.filter((level, index) => level > (levels[index - 1] ?? 1) + 1);
    expect(skips).toEqual([]);
  });

  it('loads nothing from elsewhere and has no inline script or style', () => {
    const asked = all(/ (?:href|src)="([^#][^"]*)"/g).filter((one) => !/docs[^.]*#/.test(one));
    expect(asked).toEqual([
      expect.stringMatching(/^data:image\/svg\+xml,/),
      `${base}docs/assets/style.css`,
      `${base}docs/assets/script.js`,
      `${base}openapi.json`,
    ]);
    expect(page).not.toMatch(
      /<style|style=|<script(?! type="module" src="[./]+docs\/assets\/script\.js")| on\w+=/,
    );
  });

  it('is smaller than 110 KB', () => {
    expect(Buffer.byteLength(page)).toBeLessThan(110_000);
  });

  it('is sent with a policy that blocks all other sources', async () => {
    const { headers } = await get(path);
    expect(headers).toEqual({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    });
  });
});

describe('The assets of the docs pages', () => {
  it('are smaller than 20 KB', async () => {
    const [style, script] = await Promise.all([
      get('/docs/assets/style.css'),
      get('/docs/assets/script.js'),
    ]);
    expect(Buffer.byteLength(`${style.text}${script.text}`)).toBeLessThan(20_000);
  });

  test.each([
    ['/docs/assets/style.css', 'text/css; charset=utf-8', /^:root \{/],
    ['/docs/assets/script.js', 'text/javascript; charset=utf-8', /addEventListener/],
  ])('include %s as %s', async (path, type, beginning) => {
    const { headers, text } = await get(path);
    expect(headers?.['content-type']).toBe(type);
    expect(text).toMatch(beginning);
    expect(text).not.toContain('sourceMappingURL');
  });

  it('write a call as a shell command', () => {
    expect(
      pages.get('/docs/pets'),
    ).toContain(`curl <span data-origin>http://localhost:3000</span>/v1/pets \\
  -X POST \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"' \\
  -d '{"name":"Rex","categoryId":7}'`);
    const target = 'target=k3jw5xqm2c7rtzna.edge.signpost.test';
    expect(pages.get('/docs/domains')).toContain(
      `/v1/diagnosis/docs.example.com?${target}' \\\n  -H "Auth`,
    );
  });
});

describe('Docs pages below another path', () => {
  const env = { BASE_URL: 'https://api.example/store/v1' };
  const addresses = { baseUrl: env.BASE_URL, stagingUrl: undefined };
  const published = [...renderPages(buildDocument(everyRoute(env), addresses)).values()].join();

  it('show the public address and call their own service', () => {
    expect(published).toContain('<code>curl https://api.example/store/v1/pets \\');
    expect(published).toContain('<code>curl https://api.example/store/healthz</code>');
    expect(published).toContain('data-path="../v1/pets"');
    expect(published).toContain('data-path="../healthz"');
  });
});

describe('Text in the docs pages', () => {
  const evil = `<script>alert("1")</script>'&`;

  it('is escaped between tags', () => {
    const escaped = `<p>&lt;script&gt;alert("1")&lt;/script&gt;'&amp;</p>`;
    expect(html`<p>${evil}</p>`.html).toBe(escaped);
    expect(html`<p title="x" class="y">${evil}</p>`.html).toBe(
      escaped.replace('<p', '<p title="x" class="y"'),
    );
    expect(joined([evil, evil], '<').html).toBe(
      `&lt;script&gt;alert("1")&lt;/script&gt;'&amp;&lt;&lt;script&gt;alert("1")&lt;/script&gt;'&amp;`,
    );
  });

  it('is escaped within a tag', () => {
    expect(html`<p title="${evil}" id="x-${evil}">`.html).toBe(
      `<p title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'&amp;" id="x-&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'&amp;">`,
    );
  });

  it('is escaped in every field of the document', () => {
    const marked = '<b>"x"</b>';
    const marking = buildDocument(
      routes.map((route) => ({
        ...route,
        summary: marked,
        description: `${marked} \`${marked}\` **${marked}**\n\n- ${marked}`,
        success: { ...route.success, description: marked },
      })),
      { baseUrl: undefined, stagingUrl: undefined },
    ) satisfies OpenApiDocument;
    expect([...renderPages(marking).values()].join()).not.toMatch(/<b>|="<|="[^"]*"x"/);
  });

  test.each([
    ['one\n\ntwo', '<p>one</p><p>two</p>'],
    ['- one\n- `two`', '<ul><li>one</li><li><code>two</code></li></ul>'],
    ['**a** and *b* of `*c*`', '<p><strong>a</strong> and <em>b</em> of <code>*c*</code></p>'],
    ['2 * 3 < 7', '<p>2 * 3 &lt; 7</p>'],
  ])('renders the prose %j', (text, written) => {
    expect(prose(text).html).toBe(written);
  });
});

/** The page at /docs as it is sent: whole, escaped, within itself, and of a size. */
import { describe, expect, it, test } from 'vitest';
import { buildDocument } from '../../../src/http/openapi/document.ts';
import type { OpenApiDocument } from '../../../src/http/openapi/model.ts';
import { html, joined } from '../../../src/http/openapi/page/html.ts';
import { renderPage } from '../../../src/http/openapi/page/page.ts';
import { prose } from '../../../src/http/openapi/page/prose.ts';
import type { ApiResponse } from '../../../src/http/route.ts';
import { everyRoute } from '../../support/every-route.ts';

const routes = everyRoute();

async function get(path: string): Promise<ApiResponse> {
  const route = routes.find((one) => one.path === path);
  const request = { params: {}, query: {}, headers: {}, body: undefined, key: null, requestId: '' };
  const prepared = route?.prepare(request);
  return prepared?.ok ? prepared.run() : expect.fail(`there is no ${path}`);
}

const page = (await get('/docs')).text ?? '';
const all = (expression: RegExp) => [...page.matchAll(expression)].map(([, found = '']) => found);

describe('the page', () => {
  it('shows every operation, every schema and every code', () => {
    const { components } = buildDocument(routes, { baseUrl: undefined, stagingUrl: undefined });
    const anchors = new Set(all(/ id="([^"]+)"/g));
    for (const { operationId, summary } of routes) {
      expect(anchors).toContain(operationId);
      expect(page).toContain(`<a href="#${operationId}">${summary}</a>`);
    }
    for (const name of Object.keys(components.schemas)) expect(anchors).toContain(`schema-${name}`);
    for (const code of Object.keys(components.examples))
      expect(page).toContain(`<code>${code}</code>`);
  });

  it('leads to nothing that is not there, and names nothing twice', () => {
    const anchors = all(/ id="([^"]+)"/g);
    expect(anchors.filter((one, index) => anchors.indexOf(one) !== index)).toEqual([]);
    const links = all(/ href="#([^"]+)"/g);
    expect(links.filter((one) => !anchors.includes(one))).toEqual([]);
    const labels = all(/<label for="([^"]+)"/g);
    expect(labels.length).toBeGreaterThan(30);
    expect(labels.filter((one) => !anchors.includes(one))).toEqual([]);
  });

  it('has headings that skip no level', () => {
    const levels = all(/<h([1-6])[ >]/g).map(Number);
    expect(levels[0]).toBe(1);
    const skips = levels.filter((level, index) => level > (levels[index - 1] ?? 1) + 1);
    expect(skips).toEqual([]);
  });

  it('asks for nothing from elsewhere, and has no script or style in line', () => {
    expect(all(/ (?:href|src)="([^#][^"]*)"/g)).toEqual([
      expect.stringMatching(/^data:image\/svg\+xml,/),
      'docs/style.css',
      'docs/script.js',
      'openapi.json',
    ]);
    expect(page).not.toMatch(
      /<style|style=|<script(?! type="module" src="docs\/script\.js")| on\w+=/,
    );
  });

  it('has less than 100 KB, its style and script 20 KB', async () => {
    expect(Buffer.byteLength(page)).toBeLessThan(100_000);
    const [style, script] = await Promise.all([get('/docs/style.css'), get('/docs/script.js')]);
    expect(Buffer.byteLength(`${style.text}${script.text}`)).toBeLessThan(20_000);
  });

  it('is sent with a policy that lets nothing else in', async () => {
    const { headers } = await get('/docs');
    expect(headers).toEqual({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    });
  });

  test.each([
    ['/docs/style.css', 'text/css; charset=utf-8', /^:root \{/],
    ['/docs/script.js', 'text/javascript; charset=utf-8', /addEventListener/],
  ])('%s is %s', async (path, type, beginning) => {
    const { headers, text } = await get(path);
    expect(headers?.['content-type']).toBe(type);
    expect(text).toMatch(beginning);
    expect(text).not.toContain('sourceMappingURL');
  });

  it('is asked for a call as a shell would make it', () => {
    expect(page).toContain(`curl <span data-origin>http://localhost:3000</span>/v1/pets \\
  -X POST \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"' \\
  -d '{"name":"Rex","categoryId":7}'`);
    const target = 'target=k3jw5xqm2c7rtzna.edge.signpost.test';
    expect(page).toContain(`/v1/diagnosis/docs.example.com?${target}' \\\n  -H "Auth`);
  });
});

describe('a page below another path', () => {
  const env = { BASE_URL: 'https://api.example/store/v1' };
  const document = buildDocument(everyRoute(env), { baseUrl: env.BASE_URL, stagingUrl: undefined });
  const published = renderPage(document);

  it('shows the address that clients call, and calls its own service', () => {
    expect(published).toContain('<code>curl https://api.example/store/v1/pets \\');
    expect(published).toContain('<code>curl https://api.example/store/healthz</code>');
    expect(published).toContain('data-path="./v1/pets"');
    expect(published).toContain('data-path="./healthz"');
  });
});

describe('what is written into the page', () => {
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

  it('is escaped wherever the document has it', () => {
    const marked = '<b>"x"</b>';
    const document = buildDocument(
      routes.map((route) => ({
        ...route,
        summary: marked,
        description: `${marked} \`${marked}\` **${marked}**\n\n- ${marked}`,
        success: { ...route.success, description: marked },
      })),
      { baseUrl: undefined, stagingUrl: undefined },
    ) satisfies OpenApiDocument;
    expect(renderPage(document)).not.toMatch(/<b>|="<|="[^"]*"x"/);
  });

  test.each([
    ['one\n\ntwo', '<p>one</p><p>two</p>'],
    ['- one\n- `two`', '<ul><li>one</li><li><code>two</code></li></ul>'],
    ['**a** and *b* of `*c*`', '<p><strong>a</strong> and <em>b</em> of <code>*c*</code></p>'],
    ['2 * 3 < 7', '<p>2 * 3 &lt; 7</p>'],
  ])('prose %j', (text, written) => {
    expect(prose(text).html).toBe(written);
  });
});

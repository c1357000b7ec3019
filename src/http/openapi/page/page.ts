/** Renders the API reference below `/docs`. The pages work without JavaScript. */

import { type Html, html, pageHead } from '../../../net/html.ts';
import { type OpenApiDocument, verbs } from '../model.ts';
import {
  brokenAtSlashes,
  type Listed,
  operationSection,
  parameterRow,
} from './operation-section.ts';
import { errorTable } from './responses-table.ts';
import { prose, referred, schemaSections, words } from './schema-section.ts';

/** HTML documents by path: the overview, one page per tag, the errors and the schemas. Deterministic. */
export function renderPages(document: OpenApiDocument): ReadonlyMap<string, string> {
  const operations = operationsOf(document);
  const sections = document.tags.map(({ name }) => ({
    path: sectionPath(name),
    text: page(document, operations, {
      title: `${name} · ${document.info.title} API`,
      base: '../',
      main: sectionMain(document, operations, name),
    }),
  }));
  const overview = page(document, operations, {
    title: `${document.info.title} API ${document.info.version}`,
    base: './',
    main: overviewMain(document, operations),
  });
  const more = [
    { name: 'Errors', main: errorsMain(document) },
    { name: 'Schemas', main: schemasMain(document, operations) },
  ].map(({ name, main }) => ({
    path: sectionPath(name),
    text: page(document, operations, {
      title: `${name} · ${document.info.title} API`,
      base: '../',
      main,
    }),
  }));
  return linked([{ path: OVERVIEW, text: overview }, ...sections, ...more]);
}

const OVERVIEW = '/docs';

function sectionPath(tag: string): string {
  return `${OVERVIEW}/${tag.toLowerCase()}`;
}

type PageParts = {
  readonly title: string;
  /** Relative path from the page to the root of the service. */
  readonly base: './' | '../';
  readonly main: Html;
};

function page(
  document: OpenApiDocument,
  operations: readonly Listed[],
  { title, base, main }: PageParts,
): string {
  const { info } = document;
  return html`${pageHead(title)}
<link rel="stylesheet" href="${base}docs/assets/style.css">
<script type="module" src="${base}docs/assets/script.js"></script>
</head>
<body spellcheck="false">
<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="name"><a href="#overview">${info.title} API</a> <small>${info.version}</small></p>
<form id="key-form" hidden><label for="key">API key</label> <input id="key" type="password" autocomplete="off"></form>
<p><a href="${base}openapi.json">openapi.json</a></p>
</header>
${navigation(document, operations)}
<main id="main">
${main}
</main>
</body>
</html>
`.html;
}

function overviewMain(document: OpenApiDocument, operations: readonly Listed[]): Html {
  const { info, components } = document;
  return html`<h1 id="overview">${info.title} API</h1>
<p class="lead">${info.summary}</p>
${prose(info.description)}
${document.tags.map(
  ({ name, description }) => html`<section aria-label="${name}">
<h2><a href="#tag-${name}">${name}</a></h2>
<p>${words(description)}</p>
<table>${ofTag(operations, name).map(overviewRow)}</table>
</section>
`,
)}
<section aria-labelledby="headers">
<h2 id="headers">Headers</h2>
<table>${Object.values(components.parameters).map(parameterRow)}</table>
</section>
`;
}

function schemasMain(document: OpenApiDocument, operations: readonly Listed[]): Html {
  return html`<h1 id="schemas">Schemas</h1>
<h2>All objects that operations and webhooks share</h2>
${schemaSections(shownAtTheEnd(document, operations))}`;
}

/** Errors link to their row. */
function errorsMain(document: OpenApiDocument): Html {
  return html`<h1 id="errors">Errors</h1>
<p class="lead">The body is always an <a href="#schema-Error">Error</a>. Any request can get the errors that no operation lists. <code>errors</code> lists each wrong field with a <a href="#schema-FieldErrorCode">code of its own</a>.</p>
${errorTable(document)}`;
}

function overviewRow({ verb, path, operation }: Listed): Html {
  const { operationId, summary } = operation;
  return html`<tr><th><b class="${verb}">${verb.toUpperCase()}</b> ${brokenAtSlashes(path)}<td><a href="#${operationId}">${summary}</a>
`;
}

function sectionMain(document: OpenApiDocument, operations: readonly Listed[], tag: string): Html {
  const own = ofTag(operations, tag);
  const description = document.tags.find(({ name }) => name === tag)?.description ?? '';
  return html`<h1 id="tag-${tag}">${tag}</h1>
<p class="lead">${words(description)}</p>
${own.map((listed, index) => operationSection(listed, own.slice(0, index), document))}`;
}

function ofTag(operations: readonly Listed[], tag: string): readonly Listed[] {
  return operations.filter(({ operation }) => operation.tags[0] === tag);
}

type LinkedPage = { readonly path: string; readonly text: string };

/** Prefixes links to anchors on other pages with the page's path. Broken links stay unchanged. */
function linked(pages: readonly LinkedPage[]): ReadonlyMap<string, string> {
  const anchors = pages.map(({ path, text }) => ({
    path,
    ids: new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
  }));
  return new Map(
    pages.map(({ path, text }) => {
      const base = path === OVERVIEW ? '.' : '..';
      const linkTo = (link: string, id: string) => {
        const has = ({ ids }: { readonly ids: ReadonlySet<string | undefined> }) => ids.has(id);
        const isHere = anchors.some((one) => one.path === path && has(one));
        const there = anchors.find(has);
        return isHere || there === undefined ? link : ` href="${base}${there.path}#${id}"`;
      };
      return [path, text.replace(/ href="#([^"]+)"/g, linkTo)];
    }),
  );
}

/** The same on every page. */
function navigation({ tags }: OpenApiDocument, operations: readonly Listed[]): Html {
  return html`<nav aria-label="Operations">
<ul>
${tags.map(
  ({ name }) => html`<li><a href="#tag-${name}">${name}</a>
<ul>${ofTag(operations, name).map(navigationItem)}</ul></li>
`,
)}
<li><a href="#headers">Headers</a></li>
<li><a href="#errors">Errors</a></li>
<li><a href="#schemas">Schemas</a></li>
</ul>
</nav>`;
}

function navigationItem({ verb, operation }: Listed): Html {
  const { operationId, summary, deprecated } = operation;
  const shown = deprecated ? html`<s>${summary}</s>` : summary;
  return html`<li><a href="#${operationId}"><b class="${verb}">${verb.toUpperCase()}</b> ${shown}</a>
`;
}

function operationsOf(document: OpenApiDocument): readonly Listed[] {
  return Object.entries(document.paths).flatMap(([path, item]) => {
    const [server = document.servers[0]] = item.servers ?? [];
    const url = (server?.url ?? '').replace(/\/$/, '');
    // Null for a relative server URL.
    const origin = /^https?:\/\/[^/]+/.exec(url)?.[0] ?? null;
    const base = origin === null ? url : url.slice(origin.length);
    return verbs.flatMap((verb) => {
      const operation = item[verb];
      // Relative to a tag's page. Paths outside `/v1` have their own slash, so one is removed.
      const local = `../${item.servers === undefined ? 'v1' : ''}${path}`.replace('..//', '../');
      return operation === undefined ? [] : [{ verb, path: base + path, local, origin, operation }];
    });
  });
}

/** Bodies are shown with their operation, codes in the table of errors. */
function shownAtTheEnd({ components }: OpenApiDocument, operations: readonly Listed[]) {
  const elsewhere = new Set(['ErrorCode']);
  for (const { operation } of operations) {
    const ref = operation.requestBody?.content['application/json'].schema.$ref;
    if (ref !== undefined) elsewhere.add(referred(ref));
  }
  return Object.fromEntries(
    Object.entries(components.schemas).filter(([name]) => !elsewhere.has(name)),
  );
}

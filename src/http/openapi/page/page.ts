/** The page at `/docs`: the OpenAPI document for people, rendered once. It reads without a script. */
import { type OpenApiDocument, verbs } from '../model.ts';
import { type Html, html } from './html.ts';
import { type Listed, operationSection, parameterRow } from './operation-section.ts';
import { prose, words } from './prose.ts';
import { errorTable } from './responses-table.ts';
import { referred, schemaSections } from './schema-section.ts';

/** A post with two signs. */
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230f766e' d='M7 0h2v2h5l2 2-2 2H9v1h4v4H9v5H7v-5H2L0 9l2-2h5V6H3V2h4z'/%3E%3C/svg%3E";

/** The whole page. Its style, its script and the calls it makes are at URLs relative to its own. */
export function renderPage(document: OpenApiDocument): string {
  const { info, components } = document;
  const operations = operationsOf(document);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} API ${info.version}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="docs/style.css">
<script type="module" src="docs/script.js"></script>
</head>
<body spellcheck="false">
<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="name">${info.title} API <small>${info.version}</small></p>
<form id="key-form" hidden><label for="key">API key</label> <input id="key" type="password" autocomplete="off"></form>
<p><a href="openapi.json">openapi.json</a></p>
</header>
${navigation(document, operations)}
<main id="main">
<h1>${info.title} API</h1>
<p class="lead">${info.summary}</p>
${prose(info.description)}
${document.tags.map(
  ({ name, description }) => html`<section aria-labelledby="tag-${name}">
<h2 id="tag-${name}">${name}</h2>
<p>${words(description)}</p>
${operations
  .filter(({ operation }) => operation.tags[0] === name)
  .map((listed) =>
    operationSection(listed, operations.slice(0, operations.indexOf(listed)), document),
  )}</section>
`,
)}
<section aria-labelledby="headers">
<h2 id="headers">Headers</h2>
<table>${Object.values(components.parameters).map(parameterRow)}</table>
</section>
<section aria-labelledby="errors">
<h2 id="errors">Errors</h2>
<p>The body is an <a href="#schema-Error">Error</a>, always. Those that no operation lists can happen to any request.</p>
${errorTable(document)}
</section>
<section aria-labelledby="schemas">
<h2 id="schemas">Schemas</h2>
${schemaSections(shownAtTheEnd(document, operations))}
</section>
</main>
</body>
</html>
`.html;
}

function navigation({ tags }: OpenApiDocument, operations: readonly Listed[]): Html {
  return html`<nav aria-label="Operations">
<ul>
${tags.map(
  ({ name }) => html`<li><a href="#tag-${name}">${name}</a>
<ul>${operations
    .filter(({ operation }) => operation.tags[0] === name)
    .map(navigationItem)}</ul></li>
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

/** In the order of the document. Paths are shown with the path of their server, as a client calls them. */
function operationsOf(document: OpenApiDocument): readonly Listed[] {
  return Object.entries(document.paths).flatMap(([path, item]) => {
    const [server = document.servers[0]] = item.servers ?? [];
    const url = (server?.url ?? '').replace(/\/$/, '');
    const origin = /^https?:\/\/[^/]+/.exec(url)?.[0] ?? null;
    const base = origin === null ? url : url.slice(origin.length);
    return verbs.flatMap((verb) => {
      const operation = item[verb];
      const local = `./${item.servers === undefined ? 'v1' : ''}${path}`.replace('.//', './');
      return operation === undefined ? [] : [{ verb, path: base + path, local, origin, operation }];
    });
  });
}

/** The others are shown where they are needed: bodies with their operation, codes in the table of errors. */
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

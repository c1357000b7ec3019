/** `/llms.txt` (https://llmstxt.org): what a coding agent needs before it reads the document. */
import { type OpenApiDocument, verbs } from './model.ts';

const rules = [
  'Send `Authorization: Bearer <key>`. Bodies are JSON. Unknown fields and query parameters are refused.',
  'Decide by `code` of an error, never by `message`. `errors` names each wrong field, and `docs` links to the code.',
  'Repeat a `POST` with the same `Idempotency-Key` until there is an answer: it takes effect once. After 429 and 503, wait for `Retry-After`.',
  'Follow the `Link` header of a list as it is. Filter by your own IDs: `?metadata[customer]=42`.',
  'Show `summary.line`, `record` and each finding’s `summary` and `action` to the customer: they are written for people who do not know DNS.',
  'Do not poll: create a webhook, verify its signature, and drop a `webhook-id` that you have seen.',
  'Adding a domain needs a project on a paid plan with a successful deploy. Several projects can have a host name; the DNS decides.',
];

/** Deterministic. Links are relative to the service. */
export function renderLlms(document: OpenApiDocument): string {
  const { title, summary } = document.info;
  return [
    `# ${title}\n`,
    `> ${summary}\n`,
    `Rules for clients:\n`,
    ...rules.map((rule) => `- ${rule}`),
    '\n## Reference\n',
    '- [OpenAPI document](/openapi.json): every operation, schema, error and webhook message',
    '- [API reference](/docs): the same for people',
    '- [Error codes](/docs/errors): what each one means',
    ...document.tags.flatMap(({ name, description }) => [
      `\n## ${name}\n\n${description}\n`,
      ...operationsOf(document, name),
    ]),
    '',
  ].join('\n');
}

function operationsOf({ paths }: OpenApiDocument, tag: string): readonly string[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const operation = item[verb];
      if (operation === undefined || operation.tags[0] !== tag) return [];
      const { operationId, summary } = operation;
      const address = item.servers === undefined ? `/v1${path}` : path;
      const link = `/docs/${tag.toLowerCase()}#${operationId}`;
      return [`- [${verb.toUpperCase()} ${address}](${link}): ${summary}`];
    }),
  );
}

/**
 * Parts of the documentation are made from the code. `npm run docs` writes them again; without UPDATE_DOCS this test says
 * which are out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { type VariableRow, variableGroups } from '../src/config/variables.ts';
import { type AuthorityLimit, authorityLimits, isShare } from '../src/core/certificates/budget.ts';
import { extendedErrorWords } from '../src/core/diagnosis/extended-errors.ts';
import { actors, type FindingCode, meanings, severities } from '../src/core/diagnosis/findings.ts';
import { providerRules } from '../src/core/diagnosis/providers.ts';
import { ladder, nextWaitMs, recheckWaits } from '../src/core/life/ladder.ts';
import { roleNames } from '../src/core/operations/roles.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../src/core/time.ts';
import { buildDocument } from '../src/http/openapi/document.ts';
import { errors } from '../src/http/pipeline/errors.ts';
import { createInstallationMetrics } from '../src/ops/metrics/installation.ts';
import { createProcessMetrics, createResolverHealth } from '../src/ops/metrics/metrics.ts';
import {
  createDnsMetrics,
  createEdgeMetrics,
  createHttpMetrics,
} from '../src/ops/metrics/traffic.ts';
import {
  createCheckMetrics,
  createJobMetrics,
  createOrderMetrics,
} from '../src/ops/metrics/work.ts';
import { everyRoute } from './support/every-route.ts';

/* The parts of the documentation that are made from the code. */

type Block = { readonly page: string; readonly name: string; readonly text: () => string };

const blocks: readonly Block[] = [
  { page: 'docs/run/configuration.md', name: 'variables', text: variables },
  { page: 'docs/run/configuration.md', name: 'shared-variables', text: sharedVariables },
  { page: 'docs/run/monitoring.md', name: 'metrics', text: metrics },
  { page: 'docs/understand/findings.md', name: 'findings', text: findings },
  { page: 'docs/understand/findings.md', name: 'apex-records', text: apexRecords },
  { page: 'docs/understand/findings.md', name: 'extended-errors', text: extendedErrors },
  { page: 'docs/understand/life-of-a-domain.md', name: 'schedule', text: schedule },
  { page: 'docs/understand/life-of-a-domain.md', name: 'rechecks', text: rechecks },
  { page: 'docs/understand/life-of-a-domain.md', name: 'events', text: events },
  { page: 'docs/understand/certificates.md', name: 'rate-limits', text: rateLimits },
  {
    page: 'docs/understand/certificates.md',
    name: 'causes',
    text: () => values('cause', 'EscalationCause'),
  },
  { page: 'docs/understand/queues.md', name: 'queues', text: () => values('queue', 'QueueName') },
  { page: 'docs/integrate/errors.md', name: 'codes', text: errorCodes },
  {
    page: 'docs/integrate/errors.md',
    name: 'field-codes',
    text: () => values('`errors[].code`', 'FieldErrorCode'),
  },
  { page: 'docs/integrate/keys.md', name: 'scopes', text: () => values('scope', 'Scope') },
];

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

const code = (text: string) => `\`${text}\``;

// --- Variables

const groups = Object.entries(
  variableGroups as Readonly<Record<string, Readonly<Record<string, VariableRow>>>>,
);

function variables(): string {
  const rows = groups.flatMap(([group, members]) => [
    [`**${group}**`, '', ''],
    ...Object.entries(members).map(([name, row]) => [code(name), defaultOf(row), row.help]),
  ]);
  return table(['variable', 'default', 'meaning'], rows);
}

function defaultOf({ default: text, without = '–' }: VariableRow): string {
  return text === undefined ? without : code(text).replaceAll(',', ', ');
}

function sharedVariables(): string {
  const rows = groups.flatMap(([, members]) =>
    Object.entries(members).flatMap(([name, { shared }]) =>
      shared === undefined
        ? []
        : [[code(name), shared.length === roleNames.length ? 'all' : shared.map(code).join(', ')]],
    ),
  );
  return table(['variable', 'processes that must agree'], rows);
}

function exampleFile(): string {
  const parts = groups.map(([group, members]) => {
    const lines = Object.entries(members).map(([name, row]) => {
      const without = row.without === undefined ? '' : ` Default: ${plain(row.without)}.`;
      return `# ${plain(row.help)}.${without}\n#${name}=${row.default ?? ''}\n`;
    });
    return `# --- ${group}\n${lines.join('')}`;
  });
  return [
    '# Made by npm run docs. Every variable of Signpost with its default; all are optional on a laptop (docs/run/configuration.md).\n# Copy this file to .env and remove the # in front of what you set. Variables that are set in the environment win.\n',
    ...parts,
    '# --- Only for docker-compose.yml\n# The password of its PostgreSQL.\n#POSTGRES_PASSWORD=\n',
  ].join('\n');
}

/** Markdown without links and code marks, as a sentence. */
function plain(text: string): string {
  const bare = text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll('`', '');
  return bare.charAt(0).toUpperCase() + bare.slice(1);
}

// --- Findings

function findings(): string {
  const rows = (Object.keys(severities) as FindingCode[]).map((one) => [
    code(one),
    severities[one],
    actors[one].replace('_', ' '),
    meanings[one],
  ]);
  return table(['code', 'severity', 'who acts', 'meaning'], rows);
}

function apexRecords(): string {
  const kinds = ['CNAME flattening', 'ALIAS', 'ANAME', null] as const;
  const rows = kinds.map((kind) => {
    const named = providerRules.filter(({ apex }) => apex === kind).map(({ name }) => name);
    const unique = [...new Set(named)].sort((a, b) => a.localeCompare(b, 'en'));
    return [unique.join(', '), kind ?? 'none that can point to another provider’s host name'];
  });
  return table(['provider', 'at an apex'], rows);
}

function extendedErrors(): string {
  return table(
    ['EDE', 'words'],
    extendedErrorWords.map((words, number) => [`${number}`, words]),
  );
}

// --- Waits

function inWords(ms: number): string {
  const units = [
    [DAY, 'days'],
    [HOUR, 'h'],
    [MINUTE, 'min'],
    [SECOND, 's'],
  ] as const;
  const [size, unit] = units.find(([one]) => ms % one === 0 && ms > one) ??
    units.find(([one]) => ms % one === 0) ?? [1, 'ms'];
  return `${ms / size} ${unit}`;
}

function schedule(): string {
  const waitAfter = (ms: number) => {
    const pendingSince = new Date(0);
    return nextWaitMs({ pendingSince, now: new Date(ms), timeScale: 1, eager: false, jitter: 0.5 });
  };
  const longest = ladder.waitMsMax / ladder.shareOfAge;
  const ages = [5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, longest];
  const rows = ages.map((age) => [
    age === longest ? `${inWords(age)} and more` : inWords(age),
    inWords(waitAfter(age)),
  ]);
  return table(['pending for', 'wait'], rows);
}

function rechecks(): string {
  const waits = recheckWaits;
  const spread = `± ${100 * ladder.jitterShare} %`;
  const { driftedMsMin: min, driftedMsMax: max } = waits;
  return table(
    ['state', 'next check'],
    [
      ['`live`', `${inWords(waits.liveMs)}, ${spread}`],
      ['`live`, after a first miss', `${inWords(waits.missedMs)} after it`],
      ['`live`, where that check could not tell', inWords(waits.unsureMs)],
      ['`live`, where an address does not show its certificate', inWords(waits.notServedMs)],
      [
        '`drifted`',
        `${100 * waits.driftedShare} % of the time since, from ${inWords(min)} to ${inWords(max)}, ${spread}`,
      ],
      ['`failed`', `${inWords(waits.failedMs)}, for ${inWords(waits.failedForMs)}; then no more`],
      ['any, where our own resolvers or network failed', `${inWords(waits.oursMs)}, or sooner`],
    ],
  );
}

const limitWords: { readonly [L in AuthorityLimit]: string } = {
  orders: 'new orders of the account',
  account_share: 'of these, for one account while others wait (Signpost’s own limit)',
  project_share: 'of these, for one project while others wait (Signpost’s own limit)',
  registrable_domain: 'certificates for a registrable domain and all names below it',
  same_names: 'certificates for the same name',
  failed_authorizations: 'failed authorizations of a name',
};

function rateLimits(): string {
  const rows = (Object.keys(authorityLimits) as AuthorityLimit[]).map((limit) => {
    const { tokens, windowMs } = authorityLimits[limit];
    const minutes = Math.round(windowMs / tokens / MINUTE);
    const every = minutes < 2 ? `${windowMs / tokens / SECOND} s` : `${minutes} min`;
    return [
      limitWords[limit],
      isShare(limit) ? 'a quarter of what is left' : `${tokens} in ${inWords(windowMs)}`,
      every,
    ];
  });
  return table(['limit', 'tokens', 'one more every'], rows);
}

// --- The OpenAPI document

type Schema = {
  readonly 'x-enumDescriptions'?: Readonly<Record<string, string>>;
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly const?: string;
};

function schemaOf(id: string): Schema {
  const document = buildDocument(everyRoute(), { baseUrl: undefined, stagingUrl: undefined });
  const { schemas } = document.components as { readonly schemas: Readonly<Record<string, Schema>> };
  const schema = schemas[id];
  if (schema === undefined) throw new Error(`the document has no schema ${id}`);
  return schema;
}

/** The values of an enumeration, as the API describes them. */
function values(what: string, id: string): string {
  const words = schemaOf(id)['x-enumDescriptions'] ?? {};
  return table(
    [what, 'meaning'],
    Object.entries(words).map(([value, text]) => [code(value), text]),
  );
}

function events(): string {
  const words = schemaOf('EventType')['x-enumDescriptions'] ?? {};
  const dataOf = (type: string) => {
    const own = schemaOf('Event').oneOf?.find((one) => one.properties?.['type']?.const === type);
    return Object.keys(own?.properties?.['data']?.properties ?? {});
  };
  const rows = Object.entries(words).map(([type, text]) => [
    code(type),
    text,
    dataOf(type).map(code).join(', '),
  ]);
  return table(['type', 'when', 'fields of `data`'], rows);
}

function errorCodes(): string {
  const rows = Object.entries(errors).map(([name, [status, message]]) => [
    code(name),
    `${status}`,
    message,
  ]);
  return table(['code', 'status', 'message'], rows);
}

// --- Metrics

type Declared = {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
};

function metrics(): string {
  const [ofProcess, ofInstallation] = [new Registry(), new Registry()];
  createHttpMetrics(ofProcess);
  createCheckMetrics(ofProcess);
  createResolverHealth(ofProcess);
  createDnsMetrics(ofProcess);
  createJobMetrics(ofProcess);
  createOrderMetrics(ofProcess);
  createEdgeMetrics(ofProcess);
  const own = createProcessMetrics(ofProcess, roleNames);
  own.watchPool({ totalCount: 0, idleCount: 0, waitingCount: 0 });
  own.watchReadiness(async () => ({ status: 'ready', dependencies: {}, missing: [] }));
  own.close();
  const never = () => Promise.reject(new Error('nothing is read here'));
  createInstallationMetrics(ofInstallation, { state: never, queues: never });
  const rowsOf = (registry: Registry, mark: string) =>
    (registry.getMetricsAsArray() as unknown as readonly Declared[]).map(
      ({ name, help, labelNames }) => [
        `${code(name)}${mark}`,
        labelNames.map(code).join(', ') || '–',
        help.replaceAll('|', '\\|'),
      ],
    );
  return table(
    ['metric', 'labels', 'meaning'],
    [...rowsOf(ofProcess, ''), ...rowsOf(ofInstallation, ' ‡')],
  );
}

const isUpdate = process.env['UPDATE_DOCS'] === '1';
const urlOf = (path: string) => new URL(`../${path}`, import.meta.url);

it('.env.example is made from src/config/variables.ts', () => {
  if (isUpdate) writeFileSync(urlOf('.env.example'), exampleFile());
  expect(readFileSync(urlOf('.env.example'), 'utf8'), 'out of date: npm run docs').toBe(
    exampleFile(),
  );
});

it.each(blocks)('$page has the block “$name” as the code states it', ({ page, name, text }) => {
  const [start, end] = [`<!-- ${name}: npm run docs -->\n\n`, `\n<!-- /${name} -->`];
  const before = readFileSync(urlOf(page), 'utf8');
  const [head, rest] = before.split(start);
  const [, tail] = rest?.split(end) ?? [];
  if (tail === undefined)
    throw new Error(`${page} needs the lines ${start.trim()} and ${end.trim()}`);
  const wanted = `${head}${start}${text()}\n${end}${tail}`;
  if (isUpdate && before !== wanted) writeFileSync(urlOf(page), wanted);
  expect(readFileSync(urlOf(page), 'utf8'), 'out of date: npm run docs').toBe(wanted);
});

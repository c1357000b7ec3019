/** Runs the cases with Redocly respect (https://redocly.com/docs/cli/commands/respect). */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Context } from './context.ts';
import { type Ask, type Case, contentType, titleOf } from './requests.ts';
import { launchTool } from './tool.ts';

/** Cases with the service and document to check them against. */
export type Held = {
  readonly document: string;
  readonly origin: string;
  readonly cases: readonly Case[];
  readonly context: Context;
};

/**
 * Arazzo 1.0.1 (https://spec.openapis.org/arazzo/v1.0.1). One workflow per case, so that a failure does not stop the
 * others.
 */
function describeCases(all: readonly Held[], fileOf: (document: string) => string) {
  const source = ({ document, origin }: Held, name: string, base: string) => ({
    name,
    type: 'openapi',
    url: fileOf(document),
    'x-serverUrl': `${origin}${base}`,
  });
  return {
    arazzo: '1.0.1',
    info: { title: 'Every operation and every answer of it', version: '1.0.0' },
    sourceDescriptions: all.flatMap((held, place) => [
      source(held, `versioned${place}`, '/v1'),
      source(held, `root${place}`, ''),
    ]),
    workflows: all.flatMap(({ cases, context }, place) =>
      cases.map((one, index) => ({
        workflowId: workflowId(place, index),
        steps: [{ stepId: 'only', ...stepOf(one, one.asking(context), place) }],
      })),
    ),
  };
}

/** The workflow id of a case, from its index and that of its list. */
function workflowId(place: number, index: number): string {
  return `case-${place}-${index}`;
}

function stepOf({ operation, status, code }: Case, ask: Ask, place: number) {
  const { params, query, headers, json, text } = ask;
  const payload = json ?? text;
  const parameters = [
    ...inPlace('path', params),
    ...inPlace('query', query),
    ...inPlace('header', headers),
  ];
  const source = `${operation.base === '/v1' ? 'versioned' : 'root'}${place}`;
  return {
    operationId: `$sourceDescriptions.${source}.${operation.operationId}`,
    ...(parameters.length > 0 && { parameters }),
    ...(payload !== undefined && {
      requestBody: { contentType: contentType({ json, text })['content-type'], payload },
    }),
    successCriteria: [
      { condition: `$statusCode == ${status}` },
      ...(code === null ? [] : [{ condition: `$response.body#/code == '${code}'` }]),
    ],
  };
}

function inPlace(place: string, values: Readonly<Record<string, string>> = {}) {
  return Object.entries(values).map(([name, value]) => ({ in: place, name, value }));
}

/** Sends the cases one by one. Returns the problems of each list; empty if all is documented. */
export async function respect(all: readonly Held[]): Promise<readonly (readonly string[])[]> {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-respect-'));
  const documents = [...new Set(all.map(({ document }) => document))];
  const fileOf = (document: string) => `openapi${documents.indexOf(document)}.json`;
  try {
    for (const one of documents) await writeFile(join(folder, fileOf(one)), one);
    const description = describeCases(all, fileOf);
    await writeFile(join(folder, 'contract.arazzo.json'), JSON.stringify(description));
    const args = ['respect', 'contract.arazzo.json', '--json-output=result.json'];
    const tool = launchTool('redocly', args, folder);
    const exitCode = await tool.ended;
    const result = await readFile(join(folder, 'result.json'), 'utf8').catch(() => {
      throw new Error(`respect wrote no result:\n${tool.output()}`);
    });
    const { files } = JSON.parse(result) as Result; // as respect writes it
    const runs = Object.values(files).flatMap(({ executedWorkflows }) => executedWorkflows);
    const byId = new Map(runs.map((run) => [run.workflowId, run]));
    const problems = all.map(({ cases }, place) => problemsOf(byId, cases, place));
    if (exitCode === 0 || problems.flat().length > 0) return problems;
    throw new Error(`respect ended with ${exitCode}:\n${stripVTControlCharacters(tool.output())}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The relevant part of its JSON output. */
type Result = {
  readonly files: Readonly<Record<string, { readonly executedWorkflows: readonly Run[] }>>;
};
type Run = { readonly workflowId: string; readonly executedSteps: readonly Step[] };
type Step = {
  readonly response?: { readonly statusCode: number; readonly body: unknown };
  readonly checks: readonly Check[];
};
type Check = {
  readonly name: string;
  readonly passed: boolean;
  readonly condition?: string;
  readonly message: string;
};

/** The check that applies to every response. */
const STATUS_CHECK = 'status code check';

function problemsOf(
  runs: ReadonlyMap<string, Run>,
  cases: readonly Case[],
  place: number,
): readonly string[] {
  return cases.flatMap((one, index) => {
    const steps = runs.get(workflowId(place, index))?.executedSteps ?? [];
    const failed = steps.flatMap(({ checks, response }) =>
      checks.filter(({ passed }) => !passed).map((check) => inWords(check, response)),
    );
    const isChecked = steps.some(({ checks }) => checks.some(({ name }) => name === STATUS_CHECK));
    const problems = isChecked || failed.length > 0 ? failed : ['was not checked'];
    return problems.map((problem) => `${titleOf(one)}: ${problem}`);
  });
}

function inWords({ name, condition, message }: Check, response: Step['response']): string {
  const detail = stripVTControlCharacters(condition ?? message).trim();
  const answer = response && `${response.statusCode} ${JSON.stringify(response.body)}`;
  return `${name}: ${detail}${answer === undefined ? '' : `\nwas answered ${answer}`}`;
}

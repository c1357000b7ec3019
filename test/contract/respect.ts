/** Redocly respect (https://redocly.com/docs/cli/commands/respect): the cases as an Arazzo description, run and judged. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describeCases, workflowId } from './arazzo.ts';
import type { Context } from './context.ts';
import { type Case, titleOf } from './requests.ts';
import { launchTool } from './tool.ts';

/** Sends the cases to a service one after the other. What is wrong, in words; nothing where all is as documented. */
export async function respect(
  document: string,
  origin: string,
  cases: readonly Case[],
  context: Context,
): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-respect-'));
  try {
    await writeFile(join(folder, 'openapi.json'), document);
    const description = describeCases(origin, cases, context);
    await writeFile(join(folder, 'contract.arazzo.json'), JSON.stringify(description));
    const args = ['respect', 'contract.arazzo.json', '--json-output=result.json'];
    const tool = launchTool('redocly', args, folder);
    const exitCode = await tool.ended;
    const result = await readFile(join(folder, 'result.json'), 'utf8').catch(() => {
      throw new Error(`respect wrote no result:\n${tool.output()}`);
    });
    const problems = problemsOf(JSON.parse(result) as Result, cases); // as respect writes it
    if (problems.length > 0 || exitCode === 0) return problems;
    return [`respect ended with ${exitCode}:\n${stripVTControlCharacters(tool.output())}`];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The part of its JSON output that is looked at. */
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

/** The check that every answer goes through. */
const STATUS_CHECK = 'status code check';

function problemsOf({ files }: Result, cases: readonly Case[]): readonly string[] {
  const runs = Object.values(files).flatMap(({ executedWorkflows }) => executedWorkflows);
  return cases.flatMap((one, index) => {
    const run = runs.find((each) => each.workflowId === workflowId(index));
    const steps = run?.executedSteps ?? [];
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

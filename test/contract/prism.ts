/** Stoplight Prism as a validating proxy (https://github.com/stoplightio/prism): what it says of requests and answers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from './context.ts';
import { type DocumentedOperation, operationsOf } from './document.ts';
import { type Answer, adding, type Case, send, titleOf } from './requests.ts';
import { FOR_PORT, startSwitch } from './switch.ts';
import { launchTool } from './tool.ts';

export type Prism = {
  /** Sends the cases to a service one after the other. What is wrong, in words; nothing where all is as documented. */
  judge(origin: string, cases: readonly Case[], context: Context): Promise<readonly string[]>;
  close(): Promise<void>;
};

type Base = DocumentedOperation['base'];

/** Starts Prism on a document. It forwards everything, and reports beside the answer what does not fit. */
export async function startPrism(document: string): Promise<Prism> {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-prism-'));
  await writeFile(join(folder, 'openapi.json'), document);
  const relay = await startSwitch();
  // Prism ignores the paths of `servers`, so there is one for each.
  const bases = new Set(operationsOf(document).map(({ base }) => base));
  const running = [...bases].map(
    (base) => [base, launchPrism(relay.origin + base, folder)] as const,
  );
  async function close() {
    await Promise.all(running.map(([, { kill }]) => kill()));
    await relay.close();
    await rm(folder, { recursive: true, force: true });
  }
  try {
    const urls = new Map<Base, string>();
    for (const [base, { url }] of running) urls.set(base, await url);
    return { judge: (origin, cases, context) => judge(urls, origin, cases, context), close };
  } catch (fault) {
    await close();
    throw fault;
  }
}

function launchPrism(upstream: string, folder: string) {
  const args = ['proxy', 'openapi.json', upstream, '--host', '127.0.0.1', '--port', '0'];
  const { printed, kill } = launchTool('prism', args, folder);
  const url = printed(/listening on (http:\/\/127\.0\.0\.1:\d+)/).then(([, found = '']) => found);
  url.catch(() => {}); // reported where it is awaited
  return { url, kill };
}

async function judge(
  urls: ReadonlyMap<Base, string>,
  origin: string,
  cases: readonly Case[],
  context: Context,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const one of cases) {
    const { operation, asking } = one;
    const ask = adding(asking(context), { [FOR_PORT]: new URL(origin).port });
    const answer = await send(urls.get(operation.base) ?? '', operation, ask);
    problems.push(...problemsOf(one, answer).map((problem) => `${titleOf(one)}: ${problem}`));
  }
  return problems;
}

type Violation = { readonly location: readonly string[]; readonly message: string };

function problemsOf({ status, code, fits }: Case, answer: Answer): readonly string[] {
  const violations = violationsOf(answer);
  const ofRequest = violations.filter(
    ({ location: [side], message }) => side === 'request' && message !== NO_ROUTE,
  );
  const others = violations.filter((one) => !ofRequest.includes(one));
  const isExpected =
    answer.status === status && (code === null || answer.text.includes(`"code":"${code}"`));
  return [
    ...(isExpected ? [] : [`was answered ${answer.status} ${answer.text}`]),
    ...(fits ? violations : others).map(inWords),
    ...(fits || ofRequest.length > 0 ? [] : ['the document allows this request']),
  ];
}

const NO_ROUTE = 'Selected route not found';

function violationsOf({ headers }: Answer): readonly Violation[] {
  const text = headers.get('sl-violations');
  if (text === null) return [];
  // A list that is too long for a header is cut off.
  if (!text.startsWith('[')) return [{ location: ['response'], message: text }];
  return JSON.parse(text) as readonly Violation[]; // as Prism writes it
}

function inWords({ location, message }: Violation): string {
  return `${location.join('.')}: ${message}`;
}

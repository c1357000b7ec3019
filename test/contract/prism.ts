/** Runs Stoplight Prism (https://github.com/stoplightio/prism) as a validating proxy. */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from './context.ts';
import { WRONG, withWholePaths } from './document.ts';
import { type Answer, adding, type Case, send, titleOf } from './requests.ts';
import { launchTool } from './tool.ts';

/* A relay to several services by request header, because Prism has a single upstream. */

/** The request header with the local port. */
const FOR_PORT = 'x-for-port';

type Switch = { readonly origin: string; close(): Promise<void> };

/** Forwards requests and responses unchanged, each on its own connection. */
async function startSwitch(): Promise<Switch> {
  const server = createServer((req, res) => {
    const { method, url = '/', headers } = req;
    const path = url.startsWith(`${WRONG}/`) ? url.slice(WRONG.length) : url;
    const port = Number(headers[FOR_PORT]);
    const onward = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
    onward.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    onward.on('error', (fault) => {
      if (!res.headersSent) res.writeHead(502).end(fault.message);
    });
    req.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

export type Prism = {
  /** Sends the cases one by one. Returns the problems; empty if all is documented. */
  readonly verify: Verify;
  /** The same with the wrong document. */
  readonly verifyWrongly: Verify;
  close(): Promise<void>;
};

type Verify = (
  origin: string,
  cases: readonly Case[],
  context: Context,
) => Promise<readonly string[]>;

/** Prism forwards everything and reports mismatches in a header. */
export async function startPrism(document: string, wrong: string): Promise<Prism> {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-prism-'));
  // Prism ignores the paths of `servers`.
  await writeFile(join(folder, 'openapi.json'), withWholePaths(document, wrong));
  const relay = await startSwitch();
  const args = ['proxy', 'openapi.json', relay.origin, '--host', '127.0.0.1', '--port', '0'];
  const { printed, kill } = launchTool('prism', args, folder);
  async function close() {
    await kill();
    await relay.close();
    await rm(folder, { recursive: true, force: true });
  }
  try {
    const [, url = ''] = await printed(/listening on (http:\/\/127\.0\.0\.1:\d+)/);
    return {
      verify: (...asked) => verify(url, ...asked),
      verifyWrongly: (...asked) => verify(url + WRONG, ...asked),
      close,
    };
  } catch (fault) {
    await close();
    throw fault;
  }
}

async function verify(
  url: string,
  origin: string,
  cases: readonly Case[],
  context: Context,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const one of cases) {
    const { operation, asking } = one;
    const ask = adding(asking(context), { [FOR_PORT]: new URL(origin).port });
    const answer = await send(url + operation.base, operation, ask);
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
  // A list too long for a header is truncated.
  if (!text.startsWith('[')) return [{ location: ['response'], message: text }];
  return JSON.parse(text) as readonly Violation[]; // as Prism writes it
}

function inWords({ location, message }: Violation): string {
  return `${location.join('.')}: ${message}`;
}

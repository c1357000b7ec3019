/** A real HTTPS server in front of Pebble that records requests and injects faults. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { localhostCertificate } from './localhost-certificate.ts';
import type { Pebble } from './pebble.ts';

/** Pebble's own paths. */
const steps = {
  directory: '/dir',
  newNonce: '/nonce-plz',
  newAccount: '/sign-me-up',
  account: '/my-account/',
  orders: '/list-orderz/',
  newOrder: '/order-plz',
  order: '/my-order/',
  authorization: '/authZ/',
  challenge: '/chalZ/',
  finalize: '/finalize-order/',
  certificate: '/certZ/',
  renewalInfo: '/renewal-info/', // Pebble 2.4 has none
} as const;
export type AcmeStep = keyof typeof steps;
const stepNames = Object.keys(steps) as AcmeStep[]; // the object has no other keys

export type FrontRequest = {
  readonly step: AcmeStep;
  readonly path: string;
  /** The signed payload; null for a POST-as-GET and for unsigned requests. */
  readonly payload: unknown;
  /** Of the signed request. Unused for Pebble if it never receives it. */
  readonly nonce: string | null;
  /** Whether the client still waits for the response. */
  readonly isAwaited: () => boolean;
  /** Null until answered. */
  status: number | null;
};

export type Said = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

type Meddled = Said | 'hang up' | undefined;
export type Meddling = {
  /** Its response replaces the request to Pebble. */
  readonly before?: (request: FrontRequest) => Meddled | Promise<Meddled>;
  /** Runs after Pebble; undefined keeps Pebble's response. */
  readonly after?: (request: FrontRequest, said: Said) => Meddled;
};

type Leading = Pick<Pebble, 'directoryUrl' | 'caFile'>;
/** The current Pebble with keep-alive connections, because handshakes are slow. */
type Behind = { readonly directoryUrl: string; readonly agent: Agent };

function behindOf({ directoryUrl, caFile }: Leading): Behind {
  return { directoryUrl, agent: new Agent({ keepAlive: true, ca: readFileSync(caFile) }) };
}

export type AcmeFront = Awaited<ReturnType<typeof startAcmeFront>>;

export async function startAcmeFront(pebble: Leading) {
  const directory = await mkdtemp(join(tmpdir(), 'acme-front-'));
  const { chain, key, root } = await localhostCertificate();
  const caFile = join(directory, 'ca.pem');
  await writeFile(caFile, root);
  const requests: FrontRequest[] = [];
  let [behind, meddling]: [Behind, Meddling] = [behindOf(pebble), {}];

  async function answer(request: IncomingMessage, body: string): Promise<Meddled> {
    const one = parseRequest(request.url ?? '', body, () => !request.socket.destroyed);
    requests.push(one);
    const said = (await meddling.before?.(one)) ?? (await passOn(behind, request, body));
    if (said === 'hang up') return said;
    const final = meddling.after?.(one, said) ?? said;
    if (final !== 'hang up') one.status = final.status;
    return final;
  }

  const server = createServer({ cert: chain, key }, (request, response) => {
    text(request)
      .then((body) => answer(request, body))
      .catch(() => 'hang up' as const)
      .then((said) => say(response, said));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    base: `https://localhost:${port}`,
    directoryUrl: `https://localhost:${port}/dir`,
    caFile,
    /** Everything since the start or `forget`, oldest first. */
    requests: requests as readonly FrontRequest[],
    /** Placed orders, even if the response was lost. */
    placed: () => requests.filter(({ step, status }) => step === 'newOrder' && status === 201),
    forget: () => void requests.splice(0),
    meddle(next: Meddling) {
      meddling = next;
    },
    /** Switches to another Pebble: a restarted one. */
    leadTo(next: Leading) {
      behind.agent.destroy();
      behind = behindOf(next);
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      behind.agent.destroy();
      await closed;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function parseRequest(path: string, body: string, isAwaited: () => boolean): FrontRequest {
  const step = stepNames.find((name) => path.startsWith(steps[name]));
  if (step === undefined) throw new Error(`Pebble has no ${path}`);
  const jws = body === '' ? { payload: '', protected: '' } : (JSON.parse(body) as Jws);
  const [payload, header] = [parse(jws.payload), parse(jws.protected)];
  const nonce = header === null ? null : String((header as { nonce?: unknown }).nonce);
  return { step, path, payload, nonce, isAwaited, status: null };
}

/** What RFC 8555, 6.2, requires the client to send. */
type Jws = { readonly payload: string; readonly protected: string };

function parse(encoded: string): unknown {
  const decoded = Buffer.from(encoded, 'base64url').toString();
  return decoded === '' ? null : JSON.parse(decoded);
}

/** Keeps the client's Host: Pebble builds and checks its URLs with it. */
function passOn({ directoryUrl, agent }: Behind, asked: IncomingMessage, body: string) {
  return new Promise<Said>((resolve, reject) => {
    const { host = '', 'content-type': type = 'text/plain' } = asked.headers;
    const request = httpsRequest(
      new URL(asked.url ?? '', directoryUrl),
      {
        method: asked.method,
        agent,
        headers: { host, 'content-type': type, 'user-agent': 'front' },
      },
      (response) => {
        const names = ['content-type', 'location', 'replay-nonce', 'retry-after'];
        const headers = names.flatMap((name) => {
          const value = response.headers[name];
          return typeof value === 'string' ? [[name, value] as const] : [];
        });
        text(response).then((said) => {
          const status = response.statusCode ?? 0;
          resolve({ status, headers: Object.fromEntries(headers), body: said });
        }, reject);
      },
    );
    request.on('error', reject).end(body);
  });
}

function say(response: ServerResponse, said: Meddled): void {
  if (said === undefined || said === 'hang up') response.destroy();
  else response.writeHead(said.status, said.headers).end(said.body);
}

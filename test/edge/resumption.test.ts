import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { connect, type SecureVersion } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HOUR } from '../../src/core/time.ts';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

const hostname = 'docs.acme.test';
const other = 'shop.acme.test';
/** Noon, so the next ticket keys are half a day away. */
let now = Date.UTC(2026, 10, 24, 12);
let edges: readonly [EdgeFixture, EdgeFixture];
let deploy: Awaited<ReturnType<typeof startDeploy>>;

const start = () => startEdgeFixture({}, { clock: () => new Date(now) });
beforeAll(async () => {
  edges = [await start(), await start()];
  deploy = await startDeploy((_request, response) => response.end('hello'));
});
beforeEach(async () => {
  const [first, second] = edges;
  for (const name of [hostname, other]) {
    await first.publish(name, deploy.url);
    copy(first.routes, second.routes);
    copy(first.certificates, second.certificates);
  }
});
afterAll(async () => {
  await Promise.all(edges.map((edge) => edge.close()));
  await deploy.close();
});

function copy<Value>(from: ReadonlyMap<string, Value>, to: Map<string, Value>): void {
  for (const [key, value] of from) to.set(key, value);
}

type Offer = {
  readonly session?: Buffer | undefined;
  readonly name?: string;
  /** If it differs from the handshake's. */
  readonly host?: string;
};

/** One visit on a separate connection. */
async function visit(edge: EdgeFixture, version: SecureVersion, offer: Offer = {}) {
  const { session, name = hostname, host = name } = offer;
  const lookups: unknown[] = [];
  const note = (asked: string) => void lookups.push(asked);
  edge.lookups.on('route', note);
  const socket = connect({
    host: '127.0.0.1',
    port: edge.ports.httpsPort,
    ca: edges[0].root,
    servername: name,
    minVersion: version,
    maxVersion: version,
    ...(session === undefined ? {} : { session }),
  });
  let kept: Buffer | undefined;
  // TLS 1.3 sends its session ticket after the handshake (RFC 8446, 4.6.1).
  socket.on('session', (offered: Buffer) => {
    kept = offered;
  });
  await once(socket, 'secureConnect').finally(() => edge.lookups.off('route', note));
  const isResumed = socket.isSessionReused();
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const answer = await text(socket);
  return { status: answer.slice(9, 12), isResumed, lookups, session: kept };
}

const versions = ['TLSv1.2', 'TLSv1.3'] as const;
describe.each(versions)('A visitor who returns with %s', (version) => {
  it('resumes the session at each edge after a look-up of the name', async () => {
    for (const one of edges) {
      const { session, isResumed } = await visit(one, version);
      expect(isResumed).toBe(false);
      for (const edge of edges) {
        const again = await visit(edge, version, { session });
        expect(again).toMatchObject({ status: '200', isResumed: true, lookups: [hostname] });
      }
    }
  });

  it('is refused in the handshake when the domain was removed', async () => {
    const { session } = await visit(edges[0], version);
    for (const edge of edges) {
      edge.routes.delete(hostname);
      await expect(visit(edge, version, { session })).rejects.toThrow(
        /handshake failure|ECONNRESET/i,
      );
    }
  });

  it.each([
    ['another project has the name', { projectId: 'other' }],
    ['the certificate has changed', { certificateId: 'renewed' }],
  ])('makes a full handshake when %s', async (_what, route) => {
    const { session } = await visit(edges[0], version);
    for (const edge of edges) {
      const before = edge.routes.get(hostname);
      const certificate = edge.certificates.get(hostname);
      if (before === undefined || certificate === undefined) throw new Error('not published');
      edge.routes.set(hostname, { ...before, ...route });
      edge.certificates.set('renewed', certificate);
      expect(await visit(edge, version, { session })).toMatchObject({
        status: '200',
        isResumed: false,
      });
    }
  });

  it('makes a full handshake for another name and gets its certificate', async () => {
    const { session } = await visit(edges[0], version);
    const again = await visit(edges[0], version, { session, name: other });
    expect(again).toMatchObject({ status: '200', isResumed: false, lookups: [other] });
  });

  it('can reach only the name of the handshake on a resumed connection', async () => {
    const { session } = await visit(edges[0], version);
    const again = await visit(edges[0], version, { session, host: other });
    expect(again).toMatchObject({ status: '421', isResumed: true });
  });

  it('makes one full handshake every half day', async () => {
    const { session: early } = await visit(edges[0], version);
    now += 11 * HOUR;
    expect(await visit(edges[1], version, { session: early })).toMatchObject({ isResumed: true });
    now += HOUR;
    const { isResumed, session } = await visit(edges[1], version, { session: early });
    expect(isResumed).toBe(false);
    expect(await visit(edges[0], version, { session })).toMatchObject({ isResumed: true });
    now += 12 * HOUR;
  });

  it('sends no early data, because no session allows it', async () => {
    const { session } = await visit(edges[0], version);
    // SSL_SESSION_ASN1 (OpenSSL, ssl/ssl_asn1.c): max_early_data is [15] and omitted if 0.
    expect(session?.includes(Buffer.from([0xaf, 0x03, 0x02]))).toBe(false);
  });
});

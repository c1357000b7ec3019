/** A resumed handshake names no host and asks for no certificate, so no removal could count in it: there is none. */
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { connect, type SecureVersion } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;
beforeAll(async () => {
  edge = await startEdgeFixture();
  deploy = await startDeploy((_request, response) => response.end('hello'));
});
afterAll(async () => {
  await edge.close();
  await deploy.close();
});

/** One visit on a connection of its own; offers an earlier visit's session where one is given. */
async function visit(hostname: string, version: SecureVersion, session?: Buffer) {
  const socket = connect({
    host: '127.0.0.1',
    port: edge.ports.httpsPort,
    ca: edge.root,
    servername: hostname,
    minVersion: version,
    maxVersion: version,
    ...(session === undefined ? {} : { session }),
  });
  let kept: Buffer | undefined;
  // With TLS 1.3 what can be resumed comes after the handshake (RFC 8446, 4.6.1).
  socket.on('session', (offered: Buffer) => {
    kept = offered;
  });
  await once(socket, 'secureConnect');
  const isResumed = socket.isSessionReused();
  socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
  const answer = await text(socket);
  return { answer, isResumed, session: kept ?? socket.getSession() };
}

describe.each<SecureVersion>(['TLSv1.2', 'TLSv1.3'])(
  'A visitor who comes back with %s',
  (version) => {
    const hostname = `${version.toLowerCase().replace('.', '-')}.acme.test`;

    it('is served after a whole handshake', async () => {
      await edge.publish(hostname, deploy.url);
      const { session } = await visit(hostname, version);
      expect(session).toBeInstanceOf(Buffer);
      const { answer, isResumed } = await visit(hostname, version, session);
      expect(isResumed).toBe(false);
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    });

    it('is refused in the handshake where the domain has been removed', async () => {
      await edge.publish(hostname, deploy.url);
      const { session } = await visit(hostname, version);
      edge.routes.delete(hostname);
      await expect(visit(hostname, version, session)).rejects.toThrow(
        /handshake failure|ECONNRESET/i,
      );
    });
  },
);

/** tls-alpn-01 (RFC 8737): a CA offers only `acme-tls/1`, and gets a certificate but no data. */
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import {
  createProofCertificates,
  type EdgeCertificate,
} from '../../certificates/served/proof-certificate.ts';
import type { EdgeLog, EdgeService } from '../edge-service.ts';
import type { EdgeLimits } from '../limits.ts';
import { canonicalHostname } from '../routes/redirect.ts';
import type { Routes } from '../routes/routes.ts';
import type { Divert } from './client-hello.ts';
import { tlsRules } from './secure-contexts.ts';

const PROTOCOL = 'acme-tls/1';

/** For CAs and our own probes, if a proof exists. Null if tls-alpn-01 is off. */
export function answerChallenges(
  { config, lookups, now }: Pick<EdgeService, 'config' | 'lookups' | 'now'>,
  log: EdgeLog,
  routes: Pick<Routes, 'find'>,
  { handshakeMs }: Pick<EdgeLimits, 'handshakeMs'>,
): Divert | null {
  if (config.acme.challenge !== 'tls-alpn-01') return null;
  const proofCertificate = createProofCertificates(lookups.findProof, now);
  return ({ serverName, protocols: [first, token = null, ...others] }) => {
    // Section 3: never with other protocols. A probe adds its token as a protocol (probe.ts).
    if (first !== PROTOCOL || others.length > 0) return null;
    const hostname = canonicalHostname(serverName ?? '');
    if (hostname === null) return null;
    return async (socket) => {
      try {
        // From memory, because anyone can request any name.
        // A probe's token is verified first.
        const mayAsk = token !== null || (await routes.find(hostname)) !== null;
        const certificate = mayAsk ? await proofCertificate(hostname, token) : null;
        // TLS does not know this protocol and refuses it
        if (certificate === null || socket.destroyed) return false;
        show(socket, certificate, handshakeMs, log);
        return true;
      } catch (err) {
        log.error({ err }, 'a challenge could not be answered');
        return false;
      }
    };
  };
}

/** A separate server per connection: they are few, and each has a different certificate. */
function show(
  socket: Socket,
  { chain, key }: EdgeCertificate,
  handshakeTimeout: number,
  log: EdgeLog,
): void {
  const once = createServer({
    ...tlsRules,
    cert: chain,
    key,
    ALPNProtocols: [PROTOCOL],
    handshakeTimeout,
  });
  once.on('secureConnection', (connection) => {
    connection.on('error', () => {}); // the client can disconnect once it has the certificate
    connection.destroySoon();
  });
  once.on('tlsClientError', (err) => log.debug({ err }, 'challenge handshake failed'));
  once.emit('connection', socket);
}

/**
 * tls-alpn-01 (RFC 8737): an authority that validates a name offers `acme-tls/1` and nothing else, and is shown a
 * certificate that carries the proof. Nothing is ever served over such a connection.
 */
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { EdgeCertificate } from '../../certificates/served/proof-certificate.ts';
import type { EdgeDeps, EdgeLimits } from '../deps.ts';
import { canonicalHostname } from '../routes/redirect.ts';
import type { Divert } from './client-hello.ts';
import { tlsRules } from './secure-contexts.ts';

const PROTOCOL = 'acme-tls/1';

/**
 * Takes the connections of authorities, and of our own probes, where there is a proof to show to them. Null where names
 * are not proved in this way.
 */
export function answerChallenges(
  {
    findChallengeCertificate,
    findRoute,
    log,
  }: Pick<EdgeDeps, 'findChallengeCertificate' | 'findRoute' | 'log'>,
  { handshakeMs }: Pick<EdgeLimits, 'handshakeMs'>,
): Divert | null {
  if (findChallengeCertificate === null) return null;
  return ({ serverName, protocols: [first, token = null, ...others] }) => {
    // Section 3: negotiated with nobody who offers something else, too. A probe brings its token along (probe.ts).
    if (first !== PROTOCOL || others.length > 0) return null;
    const hostname = canonicalHostname(serverName ?? '');
    if (hostname === null) return null;
    return async (socket) => {
      try {
        // From memory: anybody may ask for any name.
        const isHeld = (await findRoute(hostname)) !== null;
        const certificate = isHeld ? await findChallengeCertificate(hostname, token) : null;
        if (certificate === null || socket.destroyed) return false; // TLS knows no such protocol, and refuses it
        show(socket, certificate, handshakeMs, log);
        return true;
      } catch (err) {
        log.error({ err }, 'a challenge could not be answered');
        return false;
      }
    };
  };
}

/** A server for this connection alone: they are few, and each has another certificate. */
function show(
  socket: Socket,
  { chain, key }: EdgeCertificate,
  handshakeTimeout: number,
  log: EdgeDeps['log'],
): void {
  const once = createServer({
    ...tlsRules,
    cert: chain,
    key,
    ALPNProtocols: [PROTOCOL],
    handshakeTimeout,
  });
  once.on('secureConnection', (connection) => {
    connection.on('error', () => {}); // whoever has seen the certificate may leave as they like
    connection.destroySoon();
  });
  once.on('tlsClientError', (err) => log.debug({ err }, 'the handshake of a challenge failed'));
  once.emit('connection', socket);
}

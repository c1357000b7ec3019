/** `signpost ca`: prints the local CA's root, so that clients on a test machine can trust it. */
import { z } from 'zod';
import { connect } from './client.ts';
import { type CliExit, exitDone, exitFailed, type Io } from './command.ts';
import { understood } from './shown.ts';

const shownCa = z.object({
  certificate: z.nullable(z.string()),
  fingerprint: z.nullable(z.string()),
});

/** PEM on standard output. */
export async function printLocalCa(
  { url, json = false }: { readonly url?: string; readonly json?: boolean },
  io: Io,
): Promise<CliExit> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = understood(await connection.call('GET', '/v1/operations/local-ca'), shownCa);
  if (!answer.ok) return answer.refusal;
  const { certificate, fingerprint } = answer.value;
  if (certificate === null)
    return exitFailed(
      'the local CA has not signed anything yet: it does when the first domain is verified',
    );
  io.out(json ? `${answer.text}\n` : certificate);
  io.err(`SHA-256 ${fingerprint}. Trust it only on machines for tests.\n`);
  return exitDone;
}

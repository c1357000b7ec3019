/** The authorities that the configuration names, as the doctor asks whether they are there. */
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { Config } from '../../config/config.ts';
import { createTransport } from '../acme/transport.ts';
import { knownStatusPage } from '../authorities/status-page.ts';
import type { ReachedAuthority } from './reach.ts';

/** Nobody waits longer to hear that something is silent. Our choice. */
const TIMEOUT_MS = 4_000;

/** In the order of their use; the local one where no directory is configured. Throws where a file of roots cannot be read. */
export function reachedAuthorities({
  directoryUrl,
  caFile,
  statusUrl,
  fallback,
}: Config['acme']): readonly ReachedAuthority[] {
  const first = reached(directoryUrl, caFile, statusUrl);
  return fallback === undefined
    ? [first]
    : [first, reached(fallback.directoryUrl, fallback.caFile, undefined)];
}

function reached(
  directoryUrl: string | undefined,
  caFile: string | undefined,
  statusUrl: string | undefined,
): ReachedAuthority {
  const known = directoryUrl === undefined ? null : knownStatusPage(directoryUrl);
  return {
    directoryUrl: directoryUrl ?? null,
    transport: createTransport(trustOf(caFile), TIMEOUT_MS),
    statusUrl: statusUrl ?? known,
  };
}

/** A status page is elsewhere, and has a certificate that everybody trusts. */
function trustOf(caFile: string | undefined): string | null {
  return caFile === undefined
    ? null
    : [readFileSync(caFile, 'utf8'), ...rootCertificates].join('\n');
}

/** A CA's status page, in the format of Status.io's public API (kb.status.io, "Public Status API"). */
import { z } from 'zod';
import type { AuthorityReach } from '../../core/certificates/reach-words.ts';
import { printable } from '../../core/names/printable.ts';
import { parseJson } from '../../net/json.ts';
import type { AcmeTransport } from '../acme/transport.ts';

const OPERATIONAL = 100;
const STATUS_MAX = 80;

const page = z.object({
  result: z.object({
    status_overall: z.object({ status: z.string(), status_code: z.coerce.number() }),
  }),
});

/** letsencrypt.status.io by its ID at Status.io. */
const LETS_ENCRYPT = 'https://api.status.io/1.0/status/55957a99e800baa4470002da';

/** Null: none that we know. */
export function knownStatusPage(directoryUrl: string): string | null {
  return new URL(directoryUrl).hostname.endsWith('.letsencrypt.org') ? LETS_ENCRYPT : null;
}

/** Null without a usable answer. Network failures do not reject it. */
export async function readStatusPage(
  transport: AcmeTransport,
  url: string,
): Promise<AuthorityReach['statusPage']> {
  const reply = await transport({ method: 'GET', url }).catch(() => null);
  if (reply?.status !== 200) return null;
  const parsed = parseJson(Buffer.from(reply.body));
  const read = page.safeParse(parsed.ok ? parsed.value : null);
  if (!read.success) return null;
  const { status, status_code: code } = read.data.result.status_overall;
  return { url, status: printable(status, STATUS_MAX), isOperational: code === OPERATIONAL };
}

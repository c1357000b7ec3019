/** What a certificate authority's status page says of itself, as Status.io publishes it (kb.status.io, "Public status API"). */
import { z } from 'zod';
import { printable } from '../../core/names/printable.ts';
import { parseJson } from '../../net/json.ts';
import type { Transport } from '../acme/transport.ts';

/** `isOperational`: no maintenance, degradation or outage is announced. */
export type StatusPage = {
  readonly url: string;
  /** Its own words, such as `Operational` or `Partial Service Disruption`. */
  readonly status: string;
  readonly isOperational: boolean;
};

const OPERATIONAL = 100;
const STATUS_MAX = 80;

const page = z.object({
  result: z.object({
    status_overall: z.object({ status: z.string(), status_code: z.coerce.number() }),
  }),
});

/** Let's Encrypt's page (letsencrypt.status.io) by its number at Status.io. */
const LETS_ENCRYPT = 'https://api.status.io/1.0/status/55957a99e800baa4470002da';

/** The page of the authority with this directory that we know; null: none. */
export function knownStatusPage(directoryUrl: string): string | null {
  const host = new URL(directoryUrl).hostname;
  return host.endsWith('.letsencrypt.org') ? LETS_ENCRYPT : null;
}

/** Reads a page; null where there is no answer that says anything. Never rejects for what the network does. */
export async function readStatusPage(
  transport: Transport,
  url: string,
): Promise<StatusPage | null> {
  const reply = await transport({ method: 'GET', url }).catch(() => null);
  if (reply === null || reply.status !== 200) return null;
  const parsed = parseJson(Buffer.from(reply.body));
  const read = page.safeParse(parsed.ok ? parsed.value : null);
  if (!read.success) return null;
  const { status, status_code: code } = read.data.result.status_overall;
  return { url, status: printable(status, STATUS_MAX), isOperational: code === OPERATIONAL };
}

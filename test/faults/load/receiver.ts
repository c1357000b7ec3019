/** Receives every project's webhooks: one `webhook-id` must always have one body. */
import { startReceiver } from '../../support/receiver.ts';
import type { Endings } from '../endings.ts';

export type Messages = {
  readonly url: string;
  /** Number of distinct messages. */
  count(): number;
  /** Messages that came with a different body before. */
  readonly contradictions: readonly string[];
};

export async function receiveMessages(endings: Endings): Promise<Messages> {
  const receiver = await startReceiver();
  endings.push('the webhook receiver', receiver.close);
  const bodies = new Map<string, string>();
  const contradictions: string[] = [];
  const timer = setInterval(() => {
    for (const { headers, body } of receiver.received.splice(0)) {
      const id = headers['webhook-id'] ?? 'none';
      const before = bodies.get(id) ?? body;
      if (before !== body) contradictions.push(`webhook-id ${id}: ${before} and ${body}`);
      bodies.set(id, before);
    }
  }, 500);
  endings.push('its timer', async () => clearInterval(timer));
  return { url: receiver.url, count: () => bodies.size, contradictions };
}

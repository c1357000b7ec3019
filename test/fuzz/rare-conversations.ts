/** Rare conversations that even a short run includes. */
import { type Conversation, ID, type Message, message } from './conversation.ts';
import type { Known } from './known.ts';
import { headWith, refusedMessages, strangeRequests, wildMessages } from './odd-messages.ts';

/** Each odd message alone, and requests that depend on the previous one. */
export function rareConversations(known: Known): readonly Conversation[] {
  const head = headWith(known.keys.admin);
  const odd = [...strangeRequests(head), ...refusedMessages(head), ...wildMessages(head)];
  const unchanged = message(head('GET /v1/pets HTTP/1.1', 'If-None-Match: *'), 'answered');
  return [...odd.map((one) => [one]), inSequence(known), [tooLarge(known)], [unchanged]].map(
    (messages) => ({
      messages,
      delivery: { kind: 'whole' },
    }),
  );
}

function posting({ keys }: Known) {
  const head = headWith(keys.admin);
  return (path: string, body: string, ...fields: readonly string[]): Message => {
    const about = [`X-Request-Id: ${ID}`, 'Content-Type: application/json', ...fields];
    const length = `Content-Length: ${body.length}`;
    const octets = head(`POST ${path} HTTP/1.1`, ...about, length) + body;
    return message(octets, 'answered', { echoes: true });
  };
}

/** One key for two requests, and a domain that is added twice and verified. */
function inSequence(known: Known): readonly Message[] {
  const post = posting(known);
  const [projectId] = known.projectIds;
  const domains = `/v1/projects/${projectId}/domains`;
  const hostname = 'rare.example.com';
  const key = 'Idempotency-Key: "rare"';
  return [
    post('/v1/pets', '{"name":"Rex","categoryId":1}', key),
    post('/v1/pets', '{"name":"Tom","categoryId":1}', key),
    post(domains, `{"hostname":"${hostname}"}`),
    post(domains, `{"hostname":"${hostname}"}`),
    post(`${domains}/${hostname}/verify`, ''),
  ];
}

function tooLarge(known: Known): Message {
  return posting(known)('/v1/pets', `{"name":"${'x'.repeat(70_000)}","categoryId":1}`);
}

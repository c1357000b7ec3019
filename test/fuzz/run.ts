import fc from 'fast-check';
import type { Answer } from './answers.ts';
import { type Conversation, ID, type Message, message, octetsOf } from './conversation.ts';
import { conversations } from './conversations.ts';
import { hold, type Talk } from './hold.ts';
import type { Known } from './known.ts';
import { escaped } from './octets.ts';
import { headWith, refusedMessages, strangeRequests, wildMessages } from './odd-messages.ts';
import type { FuzzedService } from './service.ts';
import { verdictOn } from './verdict.ts';

/* Failure texts with the octets that were sent. */

/** The failing conversation after shrinking. */
function failureOf(details: fc.RunDetails<[Conversation]>): Error {
  const { counterexample, errorInstance, seed, numShrinks } = details;
  const problem = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  if (counterexample === null) return new Error(problem);
  const [smallest] = counterexample;
  const again = `SIGNPOST_FUZZ_SEED=${seed} says it again; after ${numShrinks} steps to a smaller one it is`;
  return new Error(`${problem}\n${again} this, ${inWords(smallest)}`, { cause: errorInstance });
}

/** The process crashed, so any recent conversation may be the cause. */
function deathOf(service: FuzzedService, recent: readonly Conversation[]): Error {
  const words = service.faults().slice(-20).join('\n');
  const sent = recent.map(inWords).join('\n');
  return new Error(`the service exited:\n${words}\nafter, among others,\n${sent}`);
}

/** One of them blocked the event loop. */
function blockOf(service: FuzzedService, recent: readonly Conversation[]): Error {
  const sent = recent.map(inWords).join('\n');
  return new Error(`${service.longTurn()}; after, among others,\n${sent}`);
}

function inWords(conversation: Conversation): string {
  const lines = conversation.messages.map(({ outcome }, index) => {
    return `  ${outcome}: ${escaped(octetsOf(conversation)[index] ?? '')}`;
  });
  return `delivered as ${JSON.stringify(conversation.delivery)}:\n${lines.join('\n')}`;
}

/* Rare conversations that even a short run includes. */

/** Each odd message alone, and requests that depend on the previous one. */
function rareConversations(known: Known): readonly Conversation[] {
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

export type Run = {
  /**
   * Continues until this many more requests were sent. Rejects with the smallest failing
   * conversation.
   */
  send(requests: number): Promise<void>;
  readonly counts: Counts;
};

/** `answers`: number of responses by status, or by `404 not_found` for those with a code. */
export type Counts = { sent: number; answered: number; readonly answers: Map<string, number> };

const CONNECTIONS = 12; // concurrent connections
const CHUNK = 40; // conversations per fast-check seed
const CHUNK_MS = 60_000; // mostly for shrinking
const STALL_MS = 1_000; // of the machine: a problem during one may not be the service's fault
const TRIES = 5;

/** The conversations come from the seeds `seed`, `seed + 1`, and so on. */
export function createRun(service: FuzzedService, known: Known, seed: number): Run {
  const any = conversations(known);
  const counts: Counts = { sent: 0, answered: 0, answers: new Map() };
  const recent: Conversation[] = [];
  let chunks = 0;
  let failing: number | null = null;
  let death: Error | null = null;

  /** Throws on a problem, and for every conversation once the service is dead. */
  async function holdOne(conversation: Conversation): Promise<void> {
    if (recent.push(conversation) > 2 * CONNECTIONS) recent.shift();
    const problem = await problemOf(service, conversation, counts);
    if (service.longTurn() !== null) death ??= blockOf(service, recent);
    if (death !== null) throw death;
    if (problem === null) return;
    if (!(await service.isAlive())) death = deathOf(service, recent);
    throw death ?? new Error(problem);
  }

  async function holdChunk(chunk: number, until: number): Promise<void> {
    const property = fc.asyncProperty(any, async (conversation) => {
      if (failing === null && counts.sent >= until) return;
      if (failing !== null && failing !== chunk) return; // leaves the service to the shrinking chunk
      try {
        await holdOne(conversation);
      } catch (problem) {
        failing ??= chunk;
        throw problem;
      }
    });
    const limits = { numRuns: CHUNK, interruptAfterTimeLimit: CHUNK_MS };
    const details = await fc.check(property, { ...limits, seed: seed + chunk });
    if (details.failed && failing === chunk) throw death ?? failureOf(details);
  }

  async function connection(until: number): Promise<void> {
    while (counts.sent < until && failing === null) {
      chunks += 1;
      await holdChunk(chunks - 1, until);
    }
  }

  /** Rare conversations run once, however few requests there are. */
  async function holdRare(): Promise<void> {
    const rare = rareConversations(known);
    for (let from = 0; from < rare.length; from += CONNECTIONS) {
      await Promise.all(rare.slice(from, from + CONNECTIONS).map(holdOne));
    }
  }

  return {
    async send(requests) {
      const until = counts.sent + requests;
      if (counts.sent === 0) await holdRare();
      const connections = await Promise.allSettled(
        Array.from({ length: CONNECTIONS }, () => connection(until)),
      );
      const failed = connections.find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    },
    counts,
  };
}

/** The problem, or null. Repeated if the machine stalled: the service's own fault happens again. */
async function problemOf(
  service: FuzzedService,
  conversation: Conversation,
  counts: Counts,
): Promise<string | null> {
  for (let attempt = 1; ; attempt += 1) {
    const talk = await hold(service.port, conversation);
    const verdict = verdictOn(conversation, talk);
    count(counts, conversation, talk, verdict.answers);
    const { problem } = verdict;
    if (problem === null) return null;
    const words = talk.fault === null ? problem : `${problem} (${talk.fault})`;
    if (attempt === TRIES || (await isItsOwn(service, talk))) return words;
  }
}

/** Whether it would have failed without any stall of the machine. */
async function isItsOwn(service: FuzzedService, { fault, span }: Talk): Promise<boolean> {
  // Closing after invalid input may drop unread responses (RFC 9112, 9.6).
  if (fault !== null) return false;
  const stallMs = await service.stalledWithin(span).catch(() => 0); // it is dead
  return stallMs < STALL_MS;
}

function count(
  counts: Counts,
  { messages }: Conversation,
  { sent }: Talk,
  answers: readonly Answer[],
): void {
  counts.sent += Math.min(sent, messages.length);
  counts.answered += Math.min(answers.length, messages.length);
  for (const { status, body } of answers) {
    const code = /^\{"code":"(\w+)"/.exec(body)?.[1];
    const name = code === undefined ? String(status) : `${status} ${code}`;
    counts.answers.set(name, (counts.answers.get(name) ?? 0) + 1);
  }
}

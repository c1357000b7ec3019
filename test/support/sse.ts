/** Reads server-sent events (HTML Living Standard, 9.2.6) from any source of text. */

type Received = {
  readonly event: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
};

export type Reading = {
  /** The next event, or null at the end of the stream. */
  next(): Promise<Received | null>;
  /** `count` events. Rejects if the stream ends before. */
  take(count: number): Promise<readonly Received[]>;
  /** The event numbers. */
  numbers(count: number): Promise<readonly number[]>;
  /** Comments read so far. */
  readonly comments: string[];
  /** The Last-Event-ID that the client would send now; initially empty. */
  lastEventId(): string;
};

export function readEvents(text: AsyncIterable<string>): Reading {
  const chunks = text[Symbol.asyncIterator]();
  const comments: string[] = [];
  let [rest, lastEventId] = ['', ''];

  /** A block ends with an empty line. */
  async function block(): Promise<readonly string[] | null> {
    for (;;) {
      const end = rest.indexOf('\n\n');
      if (end >= 0) {
        const lines = rest.slice(0, end).split('\n');
        rest = rest.slice(end + 2);
        return lines;
      }
      const chunk = await chunks.next();
      if (chunk.done) return null;
      rest += chunk.value;
    }
  }

  /** The event of a block, if any. */
  function eventOf(lines: readonly string[]): Received | null {
    const fields = new Map<string, string>();
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name === '') comments.push(value);
      else fields.set(name, value);
    }
    lastEventId = fields.get('id') ?? lastEventId;
    const data = fields.get('data');
    if (data === undefined) return null;
    const parsed = JSON.parse(data) as Received['data']; // always objects here
    return { event: fields.get('event') ?? 'message', id: lastEventId, data: parsed };
  }

  async function next(): Promise<Received | null> {
    for (;;) {
      const lines = await block();
      const event = lines === null ? null : eventOf(lines);
      if (lines === null || event !== null) return event;
    }
  }

  async function take(count: number): Promise<readonly Received[]> {
    const taken: Received[] = [];
    while (taken.length < count) {
      const one = await next();
      if (one === null)
        throw new Error(`the stream ended after ${taken.length} of ${count} events`);
      taken.push(one);
    }
    return taken;
  }

  return {
    next,
    take,
    numbers: async (count) => (await take(count)).map(({ id }) => Number(id)),
    comments,
    lastEventId: () => lastEventId,
  };
}

export async function* textOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    yield decoder.decode(read.value, { stream: true });
  }
}

/** Questions to the configured recursive servers, in their order, until one can tell. */
import { getServers } from 'node:dns';
import { isIP } from 'node:net';
import type { SocketAddress } from '../config.ts';
import type { Budget } from './budget.ts';
import { judgeRecursive, type Reply } from './reply.ts';
import type { RecordType } from './wire/records.ts';
import type { Wire } from './wire/wire.ts';

export type RecursiveAnswer = {
  /** The address of the server that answered, or of the first one that failed. */
  readonly server: string;
  readonly reply: Reply;
  /** One more question about the name, to the server that answered. */
  readonly askAgain: (type: RecordType) => Promise<Reply>;
};

/** Rejects with RangeError for a name that cannot be asked, never for what the network does. */
export type Recursive = {
  readonly ask: (name: string, type: RecordType, budget: Budget) => Promise<RecursiveAnswer>;
};

const DNS_PORT = 53;

/** Without `servers` the system's own are asked. */
export function createRecursive(wire: Wire, configured: readonly SocketAddress[]): Recursive {
  const servers = configured.length > 0 ? configured : systemServers(getServers());

  async function askOne(name: string, type: RecordType, server: SocketAddress, budget: Budget) {
    return judgeRecursive(
      await wire.ask({ name, type, recursionDesired: true }, server, { budget }),
    );
  }

  async function ask(name: string, type: RecordType, budget: Budget): Promise<RecursiveAnswer> {
    let failed: RecursiveAnswer | undefined;
    for (const server of servers) {
      const reply = await askOne(name, type, server, budget);
      const askAgain = (next: RecordType) => askOne(name, next, server, budget);
      const answer = { server: server.address, reply, askAgain };
      if (reply.kind === 'message') return answer;
      // The first server is the preferred one, so its failure is the one to tell of.
      failed ??= answer;
    }
    return failed ?? nobody;
  }

  return { ask };
}

/** Reads what node:dns says: `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. */
export function systemServers(texts: readonly string[]): readonly SocketAddress[] {
  return texts.flatMap((text) => {
    if (isIP(text) !== 0) return [{ address: text, port: DNS_PORT }];
    const [, address = '', port = ''] = /^\[?(.+?)\]?:(\d+)$/.exec(text) ?? [];
    return isIP(address) === 0 ? [] : [{ address, port: Number(port) }];
  });
}

/** A host without any name server. */
const nobody: RecursiveAnswer = {
  server: 'none',
  reply: { kind: 'servfail' },
  askAgain: () => Promise.resolve({ kind: 'servfail' }),
};

/** For throttle tests: a real server that holds its responses, and a fake DNS client. */
import { createSocket } from 'node:dgram';
import { EventEmitter, once } from 'node:events';
import { decode, encode } from 'dns-packet';
import type { SocketAddress } from '../../src/config/config.ts';
import { createThrottle, type ThrottleOptions } from '../../src/dns/servers/throttle.ts';
import { type QueryBudget, unlimited } from '../../src/dns/wire/budget.ts';
import type { WireAnswer } from '../../src/dns/wire/exchange.ts';
import type { Wire } from '../../src/dns/wire/wire.ts';

/** A name server on loopback that answers on demand. */
export type HoldingServer = SocketAddress & {
  readonly asked: readonly string[];
  readonly mostHeld: () => number;
  readonly holds: (count: number) => Promise<void>;
  /** Answers the oldest query with this RCODE, default 0. */
  readonly answerOne: (rcode?: number) => void;
  readonly close: () => void;
};

export async function openHoldingServer(address = '127.0.0.1'): Promise<HoldingServer> {
  const socket = createSocket('udp4');
  const events = new EventEmitter();
  const held: ((rcode: number) => void)[] = [];
  const asked: string[] = [];
  let most = 0;
  socket.on('message', (query, { port, address: from }) => {
    const { id = 0, questions = [] } = decode(query);
    // The case of a name may be randomized.
    asked.push(questions[0]?.name.toLowerCase() ?? '');
    held.push((rcode) =>
      socket.send(encode({ type: 'response', id, flags: 0x0400 | rcode, questions }), port, from),
    );
    most = Math.max(most, held.length);
    events.emit('held');
  });
  socket.bind(0, address);
  await once(socket, 'listening');
  return {
    address,
    port: socket.address().port,
    asked,
    mostHeld: () => most,
    async holds(count) {
      while (held.length < count) await once(events, 'held');
    },
    answerOne: (rcode = 0) => held.shift()?.(rcode),
    close: () => socket.close(),
  };
}

/** The shortest possible outcome. */
export const answered: WireAnswer = { kind: 'malformed' };

/** A fake DNS client whose queries end on demand; `end` for an unknown name throws. */
export type PlayedWire = Wire & {
  /** `name@address` of all queries sent, in order. */
  readonly sent: readonly string[];
  readonly end: (name: string, answer: WireAnswer | Error) => void;
};

function playWire(): PlayedWire {
  const sent: string[] = [];
  const underWay = new Map<string, (answer: WireAnswer | Error) => void>();
  return {
    sent,
    ask: ({ name }, { address }) =>
      new Promise((resolve, reject) => {
        sent.push(`${name}@${address}`);
        underWay.set(name, (answer) =>
          answer instanceof Error ? reject(answer) : resolve(answer),
        );
      }),
    end(name, answer) {
      const settle = underWay.get(name);
      if (settle === undefined) throw new Error(`not in flight: ${name}`);
      underWay.delete(name);
      settle(answer);
    },
    close: () => {},
  };
}

const operator = 'provider.test';

export const whose = { operator, zone: 'shop.test', serverName: 'ns1.provider.test' } as const;

/** A query for the address of a name at an authoritative server. */
export function about(name: string) {
  return { name, type: 'A', recursionDesired: false } as const;
}

/** A throttle on a fake DNS client. `ended` has the outcome of each query by name. */
export function playThrottle(options: ThrottleOptions = {}) {
  const wire = playWire();
  const throttle = createThrottle(wire, options);
  const ended: Record<string, string> = {};
  function ask(
    name: string,
    address: string,
    budget: QueryBudget = unlimited,
    more: Partial<Record<keyof typeof whose, string>> = {},
  ) {
    const how = { ...whose, serverName: `ns.${address}`, budget, ...more };
    throttle.ask(about(name), { address, port: 53 }, how).then(
      ({ kind }) => {
        ended[name] = kind;
      },
      () => {
        ended[name] = 'rejected';
      },
    );
  }
  return { wire, ended, ask };
}

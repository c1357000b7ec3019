import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { AUTHORITATIVE_ANSWER, decode, encode, RECURSION_AVAILABLE } from 'dns-packet';

export type LoopbackDns = { readonly address: string; readonly close: () => Promise<void> };

/** Answers A with 127.0.0.1 and everything else with NODATA. */
export async function startLoopbackDns(): Promise<LoopbackDns> {
  const socket = createSocket('udp4');
  socket.on('message', (message, { address, port }) => {
    const { id, questions = [] } = decode(message);
    const answers = questions.flatMap(({ name, type }) =>
      type === 'A' ? [{ type, name, ttl: 0, data: '127.0.0.1' } as const] : [],
    );
    const flags = AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE;
    const reply = encode({ type: 'response', id: id ?? 0, flags, questions, answers });
    socket.send(reply, port, address);
  });
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    async close() {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

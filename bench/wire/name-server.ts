/**
 * A minimal, fast name server: it repeats header and question, and adds one A record. Prints its port,
 * reports its number of queries to its parent on request, and ends with it.
 */
import { createSocket } from 'node:dgram';

/** A pointer to the question's name, A, IN, a TTL of 0 against caching, and 192.0.2.1. */
const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 1]);
const HEADER_OCTETS = 12;

const socket = createSocket({
  type: 'udp4',
  recvBufferSize: 1 << 20,
  lookup: (address, _options, done) => done(null, address, 4),
});
let questions = 0;
socket.on('message', (query, { port, address }) => {
  questions += 1;
  const end = query.indexOf(0, HEADER_OCTETS) + 5;
  const answer = Buffer.allocUnsafe(end + record.length);
  query.copy(answer, 0, 0, end);
  record.copy(answer, end);
  answer.writeUInt16BE(0x8400 | (answer.readUInt16BE(2) & 0x0100), 2);
  answer.writeUInt16BE(1, 6);
  answer.writeUInt32BE(0, 8);
  socket.send(answer, port, address);
});
socket.bind(0, '127.0.0.1', () => process.stdout.write(`${socket.address().port}\n`));
process.on('message', () => process.send?.(questions));
process.on('disconnect', () => process.exit(0));

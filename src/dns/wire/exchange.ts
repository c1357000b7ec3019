/** A question under way, and which bytes count as its answer (RFC 5452, 9.1). */
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { SocketAddress } from '../../config.ts';
import { MalformedMessage } from './malformed.ts';
import {
  decodeMessage,
  encodeQuestion,
  HEADER_OCTETS,
  type Message,
  type Question,
  questionEnd,
  rcodes,
} from './message.ts';

/** Whatever the network does is a value. `malformed`: the server answered our question with something unreadable. */
export type WireAnswer =
  | { readonly kind: 'response'; readonly message: Message; readonly via: 'udp' | 'tcp' }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'malformed' };

export type Exchange = {
  readonly id: number;
  readonly question: Question;
  readonly server: SocketAddress;
  /** As sent, with EDNS. */
  readonly encoded: Buffer;
  /** Where the question section ends in it. */
  readonly questionEnd: number;
};

/** Throws RangeError for a name that cannot be asked. */
export function newExchange(question: Question, server: SocketAddress, id: number): Exchange {
  const encoded = encodeQuestion(question, id, true);
  return { id, question, server: asSource(server), encoded, questionEnd: questionEnd(encoded) };
}

/** Whether a datagram comes from the very address and port that was asked. */
export function isFrom(source: SocketAddress, { server }: Exchange): boolean {
  return source.port === server.port && source.address === server.address;
}

/** Whether a response says that the server is too old for EDNS, or for this question (RFC 6891, 7). */
export function isFormatError(bytes: Buffer): boolean {
  return (bytes.readUInt8(3) & 0x0f) === rcodes.FORMERR;
}

/** Whether the rest of the response is to be fetched over TCP (RFC 1035, 4.1.1). */
export function isTruncated(bytes: Buffer): boolean {
  return (bytes.readUInt8(2) & 0x02) !== 0;
}

/** Whether these bytes are a response with the id and the question that were sent, in whatever case the name comes back. */
export function isAnswer(bytes: Buffer, { id, encoded, questionEnd: end }: Exchange): boolean {
  if (bytes.length < HEADER_OCTETS || bytes.readUInt16BE(0) !== id) return false;
  if ((bytes.readUInt8(2) & 0x80) === 0) return false;
  const questions = bytes.readUInt16BE(4);
  // Old servers say FORMERR with the header alone.
  if (questions === 0) return isFormatError(bytes);
  if (questions !== 1 || bytes.length < end) return false;
  // Byte by byte on the wire, so no two names can be confused. Only letters are folded, as length octets stay below 64.
  for (let at = HEADER_OCTETS; at < end; at++) {
    if (folded(bytes.readUInt8(at)) !== folded(encoded.readUInt8(at))) return false;
  }
  return true;
}

/** Decodes what `isAnswer` has accepted; what cannot be read is `malformed`. */
export function readAnswer(bytes: Buffer, via: 'udp' | 'tcp'): WireAnswer {
  try {
    return { kind: 'response', message: decodeMessage(bytes), via };
  } catch (error) {
    if (error instanceof MalformedMessage) return { kind: 'malformed' };
    throw error;
  }
}

/** As the operating system writes the source of an answer. */
function asSource(server: SocketAddress): SocketAddress {
  if (!isIPv6(server.address)) return server;
  return { address: ipaddr.parse(server.address).toString(), port: server.port };
}

function folded(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}

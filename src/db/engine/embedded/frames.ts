/** https://www.postgresql.org/docs/current/protocol-message-formats.html (version 3). Pure. */

/** `type`: the message's letter, or `startup` if it has none. */
export type MessageFrame = { readonly type: string; readonly bytes: Buffer };

/** The code after the length in a message without a letter: version 3.0, or one of two requests. */
const PROTOCOL_3 = 196_608;
const SSL_REQUEST = 80_877_103;
const CANCEL_REQUEST = 80_877_102;

/** `rest`: an incomplete message. All are views of `input`. Throws for other protocols. */
export function cutFrames(input: Buffer): { frames: MessageFrame[]; rest: Buffer } {
  const frames: MessageFrame[] = [];
  let offset = 0;
  for (;;) {
    const frame = frameAt(input, offset);
    if (frame === undefined) return { frames, rest: input.subarray(offset) };
    frames.push(frame);
    offset += frame.bytes.length;
  }
}

/** A letter, then an int32 that counts itself and the body. A startup message starts with 0. */
function frameAt(input: Buffer, offset: number): MessageFrame | undefined {
  if (input.length - offset < 5) return undefined;
  const untyped = input[offset] === 0;
  const length = input.readInt32BE(untyped ? offset : offset + 1) + (untyped ? 0 : 1);
  if (length < (untyped ? 8 : 5)) throw new Error('not a message of the PostgreSQL protocol');
  if (input.length - offset < length) return undefined;
  const type = untyped ? 'startup' : String.fromCharCode(input[offset] ?? 0);
  return { type, bytes: input.subarray(offset, offset + length) };
}

export function startupKind({ bytes }: MessageFrame): 'session' | 'encryption' | 'cancel' {
  const code = bytes.readInt32BE(4);
  if (code === SSL_REQUEST) return 'encryption';
  return code === CANCEL_REQUEST ? 'cancel' : 'session';
}

export function startupMessage(parameters: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`);
  const body = Buffer.from(`${pairs.join('')}\0`);
  const header = Buffer.alloc(8);
  header.writeInt32BE(header.length + body.length, 0);
  header.writeInt32BE(PROTOCOL_3, 4);
  return Buffer.concat([header, body]);
}

export function queryMessage(sql: string): Buffer {
  return typed('Q', Buffer.from(`${sql}\0`));
}

/** Ends the request of an interrupted client. */
export const syncMessage: Buffer = typed('S', Buffer.alloc(0));

export type Output = {
  /** Includes notifications. */
  readonly own: Buffer;
  /** For all other clients: LISTEN belongs to the one shared session. */
  readonly notifications: readonly Buffer[];
  /** ReadyForQuery: `I`dle, in a `T`ransaction, failed (`E`); null: incomplete response. */
  readonly status: 'I' | 'T' | 'E' | null;
};

/** `bytes`: whole messages. Returns views, not copies. */
export function readOutput(bytes: Uint8Array): Output {
  const own = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { frames } = cutFrames(own);
  const last = frames.at(-1);
  const status = last?.type === 'Z' ? String.fromCharCode(last.bytes[5] ?? 0) : null;
  return {
    own,
    notifications: frames.flatMap((frame) => (frame.type === 'A' ? [frame.bytes] : [])),
    status: status === 'I' || status === 'T' || status === 'E' ? status : null,
  };
}

/**
 * Prefixes names, for clients of a shared session. `parsed`: the name that the message prepares.
 */
export function renameStatement(
  frame: MessageFrame,
  prefix: string,
): { frame: MessageFrame; parsed: string | null } {
  const start = statementNameOffset(frame);
  if (start === undefined || frame.bytes[start] === 0) return { frame, parsed: null };
  const body = Buffer.concat([
    frame.bytes.subarray(5, start),
    Buffer.from(prefix),
    frame.bytes.subarray(start),
  ]);
  const end = frame.bytes.indexOf(0, start);
  const name = prefix + frame.bytes.toString('utf8', start, end);
  const renamed = { type: frame.type, bytes: typed(frame.type, body) };
  return { frame: renamed, parsed: frame.type === 'P' ? name : null };
}

/** In Parse, Bind, and Describe or Close of a statement. */
function statementNameOffset({ type, bytes }: MessageFrame): number | undefined {
  if (type === 'P') return 5;
  if (type === 'B') return bytes.indexOf(0, 5) + 1; // after the portal's name
  const describesStatement = (type === 'D' || type === 'C') && bytes[5] === 0x53;
  return describesStatement ? 6 : undefined;
}

function typed(type: string, body: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.write(type, 0, 'latin1');
  header.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
}

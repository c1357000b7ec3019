/** Thrown while reading a message that is not one; nothing else is ever thrown by the decoders here. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

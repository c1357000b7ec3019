/** What is said on one connection, and how. */

/**
 * What a message has to lead to, whatever stands in it. `answered`: one answer. `refused`: one answer, 4xx, and the connection
 * is closed. `spills`: one answer, and then whatever its surplus octets amount to. `wild`: nothing is known, and perhaps it
 * never ends.
 */
export type Outcome = 'answered' | 'refused' | 'spills' | 'wild';

export type Message = {
  /** Octets; `ID` in them stands for an X-Request-Id of its own. */
  readonly octets: string;
  readonly outcome: Outcome;
  readonly isHead: boolean;
  /** Whether its answer must have its X-Request-Id. */
  readonly echoes: boolean;
  /** Whether it asked for a `100 Continue`. */
  readonly mayContinue: boolean;
  /** Whether it would be dangerous to do what it says. */
  readonly isNeverDone: boolean;
};

/** Where octets are cut into pieces: places within the whole, modulo its length. */
export type Delivery =
  | { readonly kind: 'whole' }
  | { readonly kind: 'torn'; readonly cuts: readonly number[]; readonly turns: number }
  | { readonly kind: 'dribbled'; readonly step: number }
  | { readonly kind: 'half_closed' }
  | {
      readonly kind: 'aborted';
      readonly at: number;
      readonly turns: number;
      readonly isReset: boolean;
    };

export type Conversation = {
  /** None is `spills` or `wild` but the last. */
  readonly messages: readonly Message[];
  readonly delivery: Delivery;
};

/** What is replaced by the id of a message. */
export const ID = '@id@';
/** The id of a request within a body: only a server that mistakes where a body ends answers it. */
export const SMUGGLED_ID = 'smuggled';

/** The id of the message at an index. Damage to one does not make another of it. */
export function idOf(index: number): string {
  return `m${index}-${index}`;
}

const plain: Omit<Message, 'octets' | 'outcome'> = {
  isHead: false,
  echoes: false,
  mayContinue: false,
  isNeverDone: false,
};

/** A message of which nothing else is known. */
export function message(octets: string, outcome: Outcome, more: Partial<Message> = {}): Message {
  return { ...plain, ...more, octets, outcome };
}

/** Ends a conversation in which everything before it was understood: the server closes after it. */
export const farewell: Message = message(
  `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${ID}\r\nConnection: close\r\n\r\n`,
  'answered',
  { echoes: true },
);

/** The octets of each message, in their order; the farewell last. */
export function octetsOf({ messages }: Conversation): readonly string[] {
  return [...messages, farewell].map(({ octets }, index) => octets.replace(ID, idOf(index)));
}

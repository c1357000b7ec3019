/**
 * The expected result. `answered`: one response. `refused`: one response, 4xx, and the connection
 * is closed. `spills`: one response, then whatever the surplus octets mean. `wild`: unknown, and
 * perhaps endless.
 */
export type Outcome = 'answered' | 'refused' | 'spills' | 'wild';

export type Message = {
  /** Octets; `ID` in them stands for a unique X-Request-Id. */
  readonly octets: string;
  readonly outcome: Outcome;
  readonly isHead: boolean;
  /** Whether the response must have its X-Request-Id. */
  readonly echoes: boolean;
  /** Whether it requested a `100 Continue`. */
  readonly mayContinue: boolean;
  /** Whether executing it would be dangerous. */
  readonly isNeverDone: boolean;
};

/** Cuts are positions within the whole, modulo its length. */
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
  /** Only the last can be `spills` or `wild`. */
  readonly messages: readonly Message[];
  readonly delivery: Delivery;
};

/** Placeholder for the id of a message. */
export const ID = '@id@';
/** The request id within a body: only a server that misjudges the body's end answers it. */
export const SMUGGLED_ID = 'smuggled';

/** The id of the message at an index. Damage to one does not produce another. */
export function idOf(index: number): string {
  return `m${index}-${index}`;
}

const plain: Omit<Message, 'octets' | 'outcome'> = {
  isHead: false,
  echoes: false,
  mayContinue: false,
  isNeverDone: false,
};

export function message(octets: string, outcome: Outcome, more: Partial<Message> = {}): Message {
  return { ...plain, ...more, octets, outcome };
}

/** Ends a conversation that was understood: the server closes after it. */
export const farewell: Message = message(
  `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${ID}\r\nConnection: close\r\n\r\n`,
  'answered',
  { echoes: true },
);

/** The octets of each message in order; the farewell last. */
export function octetsOf({ messages }: Conversation): readonly string[] {
  return [...messages, farewell].map(({ octets }, index) => octets.replace(ID, idOf(index)));
}

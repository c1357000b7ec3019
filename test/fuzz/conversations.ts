import fc from 'fast-check';
import { conflicts, spilling } from './ambiguous.ts';
import { type Conversation, type Delivery, type Message, message } from './conversation.ts';
import type { Known } from './known.ts';
import { messages } from './messages.ts';
import { headWith, refusedMessages, strangeRequests, wildMessages } from './odd-messages.ts';

/** Any conversation; fast-check shrinks it. */
export function conversations(known: Known): fc.Arbitrary<Conversation> {
  const { before, last } = kinds(known);
  const said = (most: number, deliveries: fc.Arbitrary<Delivery>) =>
    fc
      .record({
        before: fc.array(before, { maxLength: most, size: 'max' }),
        end: fc.option(last, { freq: 20 }),
        delivery: deliveries,
      })
      .map(({ before, end, delivery }) => ({
        messages: end === null ? before : [...before, end],
        delivery,
      }));
  return fc.oneof(
    { weight: 5, arbitrary: said(24, heldOut) },
    { weight: 1, arbitrary: said(4, cutOff) }, // short, because much of it is never answered
  );
}

/** The messages within and at the end of a conversation. */
function kinds(known: Known) {
  const head = headWith(known.keys.admin);
  const request = messages(known);
  const strange = fc.constantFrom(...strangeRequests(head));
  const refused = fc.oneof(fc.constantFrom(...refusedMessages(head)), conflicts(head));
  return {
    before: fc.oneof(
      { weight: 300, arbitrary: request },
      // Rare, because they end the connection.
      { weight: 1, arbitrary: strange },
      { weight: 1, arbitrary: refused },
    ),
    last: fc.oneof(
      { weight: 5, arbitrary: request },
      { weight: 2, arbitrary: strange },
      { weight: 3, arbitrary: refused },
      { weight: 1, arbitrary: spilling(head) },
      { weight: 1, arbitrary: fc.constantFrom(...wildMessages(head)) },
      { weight: 2, arbitrary: damaged(fc.oneof(request, strange, refused)) },
    ),
  };
}

const place = fc.nat({ max: 0xffff });

const heldOut: fc.Arbitrary<Delivery> = fc.oneof(
  { withCrossShrink: true },
  { weight: 8, arbitrary: fc.constant({ kind: 'whole' } as const) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('torn' as const),
      cuts: fc.array(place, { minLength: 1, maxLength: 12 }),
      turns: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('dribbled' as const),
      step: fc.integer({ min: 1, max: 40 }),
    }),
  },
);

const cutOff: fc.Arbitrary<Delivery> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ kind: 'half_closed' } as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('aborted' as const),
      at: place,
      turns: fc.nat({ max: 6 }),
      isReset: fc.boolean(),
    }),
  },
);

const special = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\0',
  ' ',
  ':',
  ',',
  '\x7f',
  '\xff',
  '0',
  'chunked',
];

type Edit = { readonly at: number; readonly removed: number; readonly added: string };

const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.record({
    at: place,
    removed: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 100 })),
    added: fc.oneof(fc.constant(''), fc.constantFrom(...special)),
  }),
  { minLength: 1, maxLength: 4 },
);

/** A message with octets lost and added anywhere. */
function damaged(whole: fc.Arbitrary<Message>): fc.Arbitrary<Message> {
  return fc.tuple(whole, edits).map(([{ octets }, list]) => {
    // With a damaged id, a bodiless response could not be matched to a HEAD.
    const text = octets.replace(/^HEAD /, 'GET ');
    return message(list.reduce(edit, text), 'wild');
  });
}

function edit(text: string, { at, removed, added }: Edit): string {
  const start = at % (text.length + 1);
  return text.slice(0, start) + added + text.slice(start + removed);
}

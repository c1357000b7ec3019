/** src/core/diagnosis/changes/ builds the values. */
import { z } from 'zod';
import {
  type ChangeState,
  type ChangeVerb,
  changeTypes,
} from '../../core/diagnosis/changes/change.ts';
import { wholeNumber } from '../pipeline/json.ts';
import { explainedEnum, sentence } from './common.ts';

const states = {
  to_do: 'On no name server',
  spreading: 'On some',
  done: 'On every one that answers',
  unknown: 'Not checked, or no usable answer',
} satisfies Readonly<Record<ChangeState, string>>;

const serverChange = z
  .object({
    name: z.string().meta({ description: 'Name, or address of a resolver' }),
    state: z.enum(['done', 'to_do', 'unknown']),
    shows: sentence('What it has'),
  })
  .meta({ id: 'ServerChange', description: 'One name server' });

/** A TTL has 31 bits (RFC 2181, section 8). */
const ttl = wholeNumber({ min: 0, max: 2_147_483_647 });

const dnsChange = z
  .object({
    verb: explainedEnum('ChangeVerb', 'What to do with the record', {
      add: 'Create it',
      change: 'Replace its value `was` by `value`',
      delete: 'Delete it',
      keep: 'Leave it as it is',
    } satisfies Readonly<Record<ChangeVerb, string>>),
    type: z.enum(changeTypes).meta({ description: 'As the form of the DNS provider calls it' }),
    name: z.string().meta({
      description:
        'As the form of the DNS provider expects it: `docs`; `@` or empty for the zone itself; a full name with a final dot in another zone',
    }),
    value: z.string().meta({ description: "The record's value; CAA in presentation form" }),
    was: z.string().optional().meta({ description: 'The value to replace; only with `change`' }),
    ttl: ttl.meta({ description: 'TTL in seconds; of `delete` and `keep` as observed' }),
    state: explainedEnum('ChangeState', 'Progress of the change', states),
    servers: z.array(serverChange).meta({
      description: 'Progress of each one',
    }),
    note: sentence('Advice').optional(),
  })
  .meta({ id: 'DnsChange', description: 'What to do with one record' });

export const dnsChanges = z.array(dnsChange).meta({
  description: 'What to do at the DNS provider, in order',
});

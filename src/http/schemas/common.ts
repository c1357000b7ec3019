/** What schemas share: the Error of the interface document, and enumerations whose values are explained. */
import { z } from 'zod';
import type { Actor } from '../../core/diagnosis/findings.ts';
import { type ErrorCode, errors } from '../pipeline/errors.ts';
import { wholeNumber } from '../pipeline/json.ts';

// Every key of the table is a code, by its type.
const errorCodes = Object.keys(errors) as readonly ErrorCode[];

/** The body of every refusal and fault (interface document, part 2); its codes are those of errors.ts. */
export const error = z
  .object({
    code: z.enum(errorCodes).meta({
      id: 'ErrorCode',
      description: 'What happened, for a program to decide by',
      'x-enumDescriptions': Object.fromEntries(errorCodes.map((code) => [code, errors[code][1]])),
    }),
    message: z.string().meta({ description: 'What happened, for a person to read; may change' }),
    status: wholeNumber({ min: 400, max: 599 }).meta({ description: 'The HTTP status code' }),
  })
  .meta({ id: 'Error', description: 'Why a request was not done' });

/**
 * An enumeration of the keys of `words`, each with what it means. It becomes the component `id` of the document, and the
 * pages list its words. With `satisfies`, the words cover a type exactly.
 */
export function explainedEnum<const Words extends Readonly<Record<string, string>>>(
  id: string,
  description: string,
  words: Words,
) {
  // Object.keys forgets the names that the type of `words` has.
  const values = Object.keys(words) as readonly (keyof Words & string)[];
  return z.enum(values).meta({ id, description, 'x-enumDescriptions': words });
}

/** A text for people: show it, and decide nothing by it. */
export const sentence = (description: string) => z.string().meta({ description });

/** Whoever the next step depends on. `platform` is the operator of this installation. */
export const actor = explainedEnum('Actor', 'Who has to act', {
  customer: 'Whoever may edit the DNS of the domain',
  dns_provider: 'Who runs the name servers of the domain',
  platform: 'We',
} satisfies Readonly<Record<Actor, string>>);

/** src/core/life/summary/ builds the values. The dashboard and the CLI show the same. */
import { z } from 'zod';
import {
  badges,
  pathSteps,
  summaryActions,
  type Tone,
} from '../../core/life/summary/summary-types.ts';
import { time } from '../pipeline/json.ts';
import { actor, explainedEnum, sentence } from './common.ts';

const tone = explainedEnum('Tone', 'How urgent it is', {
  ok: 'It works',
  wait: 'On its way',
  warn: 'Someone has to act',
  bad: 'Visitors are affected, or checks ended',
  idle: 'Not yet, or unknown',
} satisfies Readonly<Record<Tone, string>>);

export const summary = z
  .object({
    tone,
    badge: z.enum(badges).meta({ description: 'Label of the state, for people' }),
    headline: sentence('What to do, or that there is nothing to do'),
    text: sentence('Why'),
    brief: sentence('A few words, for a list'),
    path: z.array(z.object({ step: z.enum(pathSteps), tone })).meta({
      description: 'The way of a request, as far as it is measured',
    }),
    action: z
      .nullable(z.enum(summaryActions))
      .meta({ description: 'What to offer first; null for nothing' }),
    actor: z.nullable(actor).meta({ description: 'Who needs to act; null if no action is needed' }),
    line: sentence('Summary in one line, including the time'),
    now: sentence('Headline and text as sentences'),
    next: sentence('What Signpost does next; `nextAt` completes the sentence if it is a time'),
    nextAt: z.nullable(time()),
  })
  .meta({
    id: 'Summary',
    description: 'How the domain stands, for people',
  });

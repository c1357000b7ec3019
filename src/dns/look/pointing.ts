/** Whether what was seen is right: it decides what else is worth asking, by the judgement that `diagnose` makes. */
import { pointingOf, pointingOfAll } from '../../core/diagnosis/pointing.ts';
import { recordFor } from '../../core/instructions.ts';
import type { Verdict } from '../../core/lifecycle.ts';
import type { ServerView } from '../../core/observation.ts';
import type { Look } from './context.ts';

/** What all views together come to. */
export function pointingOfViews(
  look: Look,
  views: readonly ServerView[],
  targetAddresses: readonly string[],
): Verdict {
  const record = recordFor(look);
  return pointingOfAll(views.map((view) => pointingOf(view, record, targetAddresses)));
}

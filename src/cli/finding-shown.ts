/** What the command line reads of a finding. A newer service may know more of them than we do; its words come with them. */
import { z } from 'zod';
import { finding } from '../http/schemas/domains.ts';

export const shownFinding = finding.extend({
  code: z.string(),
  hints: z.array(z.object({ text: z.string() })),
});

export type FindingShown = z.infer<typeof shownFinding>;

import type { FamilyOf } from './finding.ts';

export type PlanFinding = { readonly code: 'plan_required'; readonly hostname: string };

/** Produced when a check is saved (src/db/domains/transitions.ts), not by an observation. */
export const planFindings: FamilyOf<PlanFinding> = {
  plan_required: {
    meaning: 'The DNS is right, but the project is on the Free plan',
    severity: 'blocks',
    actor: 'customer',
    order: 155,
    check: null,
    explain: ({ hostname }) => ({
      summary: `The DNS of ${hostname} is right, but the project is on the Free plan.`,
      expected: 'A paid plan (Pro or higher).',
      found: 'The Free plan, which has no new domains.',
      action: 'Switch the project to a paid plan. Setup then continues at the next check.',
    }),
  },
};

/** Who has to act, wherever the API says so. */
import type { Actor } from '../../core/diagnosis/findings.ts';
import { explainedEnum } from './common.ts';

export const actor = explainedEnum('Actor', 'Who has to act', {
  customer: 'Whoever may edit the DNS of the domain',
  dns_provider: 'Who runs the name servers of the domain',
  platform: 'We',
} satisfies Readonly<Record<Actor, string>>);

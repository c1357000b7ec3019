/** One case as the doctor checks it, and again with few queries. */
import { splitAtZone } from '../../../src/core/names/zone.ts';
import { type Examined, examine as examineOne } from '../../../src/dns/examine.ts';
import { createObserver } from '../../../src/dns/observe/observe.ts';
import { createWire } from '../../../src/dns/wire/wire.ts';
import { authority, TARGET } from '../real/check.ts';
import { comparedWith } from '../test-lab.ts';
import type { Case } from './case.ts';
import type { Tree } from './tree.ts';

/** With an empty cache; `again`: what a second check with few queries finds. */
export async function examineCase(
  { resolver, sick }: Tree,
  { hostname, strict, ...given }: Case,
): Promise<Examined & { readonly again: 'unchanged' | 'observed' }> {
  const wire = createWire();
  try {
    const observer = createObserver({
      wire,
      platformAddresses: [],
      config: {
        servers: [given.resolver === undefined ? resolver : sick[given.resolver]],
        authoritative: true,
        authorityPort: resolver.port,
        allowPrivate: true,
      },
    });
    const authorities = async () => [authority];
    const parts = { observer, authorities, allowPrivate: strict !== true };
    const examined = await examineOne(parts, { hostname, target: TARGET });
    const { apex } = splitAtZone(hostname);
    const checked = { hostname, target: TARGET, apex };
    const { kind } = await observer.observeAgain(checked, comparedWith(examined.observation));
    return { ...examined, again: kind };
  } finally {
    wire.close();
  }
}

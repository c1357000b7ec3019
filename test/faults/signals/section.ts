/** The part of docs/measured/reliability.md that `npm run test:signals` writes. */
import { cpus } from 'node:os';

export const SECTION = '## What an operator sees';

export function sectionOf(table: readonly string[]): string {
  return [
    SECTION,
    `\`npm run test:signals\`, ${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores, Node ${process.version}: each fault alone, with the waits of`,
    'production. [Alerts](../run/monitoring.md#alerts) come after their `for`, 1 to 15 minutes later.',
    '',
    ...table,
  ].join('\n');
}

/** The page with the section, before the others. */
export function withSection(page: string, section: string): string {
  const others = page.split(/^(?=## )/m).filter((part) => !part.startsWith(SECTION));
  const [head = '', ...rest] = others;
  return `${[head.trimEnd(), section.trimEnd(), ...rest.map((part) => part.trimEnd())].join('\n\n')}\n`;
}

/** Of an earlier run; null if the page has none. */
export function findSection(page: string): string | null {
  return page.split(/^(?=## )/m).find((part) => part.startsWith(SECTION)) ?? null;
}

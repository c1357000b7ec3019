import { type Html, html } from '../../../net/html.ts';

/** Decorative: the numbers are beside it. `of` 0: empty. */
export function bar(part: number, of: number, tone: string): Html {
  const width = of === 0 ? 0 : (part / of) * 100;
  return html`<svg class="meter" data-tone="${tone}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="6"/><rect class="fill" width="${width}" height="6"/></svg>`;
}

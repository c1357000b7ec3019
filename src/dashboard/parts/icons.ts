/** Drawings that every page has once, and refers to. 16 × 16, in the color of their text. */
import { type Html, html } from '../../net/html.ts';

const filled = {
  ok: '<path fill-rule="evenodd" d="M8 1.25a6.75 6.75 0 1 0 0 13.5 6.75 6.75 0 0 0 0-13.5Zm3.35 5-3.9 4.4a.8.8 0 0 1-1.16.03L4.6 8.98a.8.8 0 1 1 1.13-1.13l1.1 1.1 3.33-3.76a.8.8 0 1 1 1.19 1.06Z"/>',
  warn: '<path fill-rule="evenodd" d="M6.87 2a1.3 1.3 0 0 1 2.26 0l5.6 9.9a1.3 1.3 0 0 1-1.13 1.95H2.4a1.3 1.3 0 0 1-1.13-1.95ZM8 5.2a.85.85 0 0 0-.85.9l.17 3.1a.68.68 0 0 0 1.36 0l.17-3.1A.85.85 0 0 0 8 5.2Zm0 5.35a.9.9 0 1 0 0 1.8.9.9 0 0 0 0-1.8Z"/>',
  bad: '<path fill-rule="evenodd" d="M5.4 1.25h5.2a1 1 0 0 1 .7.3l3.15 3.15a1 1 0 0 1 .3.7v5.2a1 1 0 0 1-.3.7l-3.15 3.15a1 1 0 0 1-.7.3H5.4a1 1 0 0 1-.7-.3L1.55 11.3a1 1 0 0 1-.3-.7V5.4a1 1 0 0 1 .3-.7L4.7 1.55a1 1 0 0 1 .7-.3Zm.7 3.7a.81.81 0 0 0-1.15 1.15L6.85 8l-1.9 1.9a.81.81 0 0 0 1.15 1.15L8 9.15l1.9 1.9a.81.81 0 0 0 1.15-1.15L9.15 8l1.9-1.9A.81.81 0 0 0 9.9 4.95L8 6.85Z"/>',
  wait: '<path fill-rule="evenodd" d="M8 1.25a6.75 6.75 0 1 0 0 13.5 6.75 6.75 0 0 0 0-13.5Zm0 1.6a5.15 5.15 0 1 1 0 10.3 5.15 5.15 0 0 1 0-10.3Z"/><path d="M8 4.4a3.6 3.6 0 0 1 0 7.2Z"/>',
  idle: '<path fill-rule="evenodd" d="M8 1.25a6.75 6.75 0 1 0 0 13.5 6.75 6.75 0 0 0 0-13.5Zm0 1.6a5.15 5.15 0 1 1 0 10.3 5.15 5.15 0 0 1 0-10.3Z"/>',
  dots: '<circle cx="3" cy="8" r="1.4"/><circle cx="8" cy="8" r="1.4"/><circle cx="13" cy="8" r="1.4"/>',
} as const;

const drawn = {
  out: '<path d="M5.5 3.5h7v7M12.5 3.5 4 12"/>',
  key: '<circle cx="5.25" cy="10.75" r="3"/><path d="m7.5 8.5 6-6M11 5l2 2"/>',
  search: '<circle cx="7" cy="7" r="4.5"/><path d="m10.4 10.4 3.35 3.35"/>',
} as const;

export type Icon = keyof typeof filled | keyof typeof drawn;

const LINES =
  'fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"';

const symbol = (name: string, more: string, content: string) =>
  `<symbol id="i-${name}" viewBox="0 0 16 16"${more}>${content}</symbol>`;

/** Once per page, before the first use. */
export const iconSheet: Html = {
  html: `<svg hidden>${[
    ...Object.entries(filled).map(([name, content]) => symbol(name, '', content)),
    ...Object.entries(drawn).map(([name, content]) => symbol(name, ` ${LINES}`, content)),
  ].join('')}</svg>`,
};

/** Decorative: words beside it say the same. */
export function icon(name: Icon): Html {
  return html`<svg class="i" aria-hidden="true"><use href="#i-${name}"/></svg>`;
}

/** The mark: a post with two signs. */
export const mark: Html = {
  html: '<svg viewBox="0 0 24 24" fill="currentColor" aria-hidden="true"><path class="post" d="M12 1.5a1 1 0 0 1 1 1v20a1 1 0 0 1-2 0v-20a1 1 0 0 1 1-1Z"/><path d="M5 4.25h11.3a1 1 0 0 1 .7.28l2.5 2.5a1 1 0 0 1 0 1.44l-2.5 2.5a1 1 0 0 1-.7.28H5a1 1 0 0 1-1-1v-5a1 1 0 0 1 1-1ZM19 13H7.7a1 1 0 0 0-.7.28l-2.5 2.5a1 1 0 0 0 0 1.44l2.5 2.5a1 1 0 0 0 .7.28H19a1 1 0 0 0 1-1v-5a1 1 0 0 0-1-1Z"/></svg>',
};

/** Descriptions as HTML: the little of Markdown that ours use (paragraphs, lists, code, strong and emphasised words). */
import { type Html, html, joined } from '../../../net/html.ts';

/** Blocks are parted by an empty line; a block whose lines begin with `- ` is a list. */
export function prose(text: string): Html {
  return joined(
    text.split(/\n{2,}/).map((block) => {
      const lines = block.split('\n');
      return lines.every((line) => line.startsWith('- '))
        ? html`<ul>${lines.map((line) => html`<li>${words(line.slice(2))}</li>`)}</ul>`
        : html`<p>${words(block)}</p>`;
    }),
  );
}

/** One line: `code`, **strong**, *emphasised*. */
export function words(text: string): Html {
  return joined(
    text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)/).map((part) => {
      if (/^`.+`$/s.test(part)) return html`<code>${part.slice(1, -1)}</code>`;
      if (/^\*\*.+\*\*$/s.test(part)) return html`<strong>${part.slice(2, -2)}</strong>`;
      if (/^\*.+\*$/s.test(part)) return html`<em>${part.slice(1, -1)}</em>`;
      return part;
    }),
  );
}

import { readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** The fenced blocks of this language in a document, in order. */
export function blocksOf(document: string, language: string): string[] {
  const text = readFileSync(new URL(document, root), 'utf8');
  const fenced = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...text.matchAll(fenced)].map(([, block = '']) => block);
}

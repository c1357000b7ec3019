/** The options of the commands that are about one domain. */
import { printable } from '../../core/names/printable.ts';
import { type Outcome, parseOptions } from '../command.ts';

const common = {
  project: { type: 'string' },
  url: { type: 'string' },
  json: { type: 'boolean' },
} as const;

type More = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

export type About =
  | {
      readonly ok: true;
      readonly hostname: string;
      readonly project: string | undefined;
      readonly url: string | undefined;
      readonly json: boolean;
      /** What is in `more`, where it was given. */
      readonly given: Readonly<Record<string, string | boolean | undefined>>;
    }
  | { readonly ok: false; readonly refusal: Outcome };

/** One host name, the options that all of them take, and `more`. */
export function parseAbout(args: readonly string[], more: More): About {
  const parsed = parseOptions<typeof common & More>(
    args,
    { ...more, ...common },
    {
      count: 1,
      tooFew: 'a host name is missing; signpost domains list shows which there are',
      tooMany: (word) => `“${printable(word, 50)}” is too much: one host name at a time`,
    },
  );
  if (!parsed.ok) return parsed;
  const { project, url, json = false } = parsed.values;
  const [hostname = ''] = parsed.positionals;
  return { ok: true, hostname, project, url, json, given: parsed.values };
}

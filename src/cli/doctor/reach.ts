/** What the addresses of a host name and the CAs answered, as lines. */
import { createExamineReach, type ReachReport } from '../../certificates/reach/examine-reach.ts';
import type { Config } from '../../config/config.ts';
import { plain, type TextLayout, titled, wrapped } from '../layout.ts';
import { marks } from '../lines.ts';
import type { Report } from '../shown.ts';

/**
 * This machine does not have the key of our probes, so it cannot recognize our edge. Throws if a CA file
 * cannot be read.
 */
export function reachFromHere(
  config: Pick<Config, 'acme' | 'dns'>,
  lookupAddresses: (hostname: string) => Promise<readonly string[]>,
  hostname: string,
): Promise<ReachReport> {
  const isAuthorityKnown = config.acme.directoryUrl !== undefined;
  const ownListeners = async () => []; // a person's machine
  const parts = { config, lookupAddresses, ownListeners, probes: null, isAuthorityKnown };
  return createExamineReach(parts)(hostname, null);
}

/** Empty without `--reach`. */
export function reachSections({ reach }: Report, page: TextLayout): readonly (readonly string[])[] {
  if (reach === undefined) return [];
  const { addresses, authorities } = reach;
  const none = ['  The name has no address.'];
  return [
    titled(
      'What the addresses answer',
      addresses.length === 0 ? none : addresses.flatMap((one) => marked(one, page)),
      page,
    ),
    titled(
      'Certificate authorities',
      authorities.length === 0
        ? [
            '  Not known here: another edge orders the certificates, or ACME_DIRECTORY_URL is not set.',
          ]
        : authorities.flatMap((one) => marked(one, page)),
      page,
    ),
  ];
}

function marked(
  { summary, isProblem }: { readonly summary: string; readonly isProblem: boolean },
  { columns, paint }: TextLayout,
): readonly string[] {
  const { sign, style } = isProblem ? marks.wrong : marks.right;
  const [first = '', ...rest] = wrapped(plain(summary), columns - 4);
  return [`  ${paint(style, sign)} ${first}`, ...rest.map((line) => `    ${line}`)];
}

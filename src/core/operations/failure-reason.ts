import { withoutSecrets } from '../secrets.ts';
import { isUuid } from '../uuid.ts';

const REASON_MAX = 300;

/**
 * Why a job failed, for operators: one line of at most 300 characters without credentials, keys and
 * long random text. Keeps the last paragraph: Prisma's messages start with source code.
 */
export function failureReason({ name, message }: Pick<Error, 'name' | 'message'>): string {
  const said =
    withoutTokens(withoutSecrets(message.slice(0, 10_000)))
      .trim()
      .split(/\n\s*\n/)
      .at(-1) ?? '';
  return `${name}: ${said.replace(/\s+/g, ' ')}`.slice(0, REASON_MAX);
}

/** IDs are not secrets. */
function withoutTokens(text: string): string {
  return text.replace(/[\w+/=-]{32,}/g, (part) => (isUuid(part) ? part : '…'));
}

import type { components } from './schema.ts';

type Code = components['schemas']['ErrorCode'];
export type FieldError = components['schemas']['FieldError'];

/** Discriminated by `code`. Later versions add codes. */
export type SignpostError = {
  [C in Code]: Omit<components['schemas']['Error'], 'code'> & { readonly code: C };
}[Code];

export type ErrorOf<C extends Code> = Extract<SignpostError, { readonly code: C }>;

/** Thrown by `unwrap`. `error.code` says what happened; `retryAfterSeconds` when to try again. */
export class SignpostRefusal extends Error {
  override readonly name = 'SignpostRefusal';
  readonly error: SignpostError;
  /** From `Retry-After`; null without it. */
  readonly retryAfterSeconds: number | null;

  constructor(error: SignpostError, retryAfterSeconds: number | null) {
    super(`${error.message} (${error.code}, request ${error.requestId ?? 'unknown'})`);
    this.error = error;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  is<C extends Code>(code: C): this is SignpostRefusal & { readonly error: ErrorOf<C> } {
    return this.error.code === code;
  }
}

type Answered<T> = {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
};

/** The body of a success; throws SignpostRefusal for an error of Signpost. */
export async function unwrap<T>(answered: Promise<Answered<T>>): Promise<T> {
  const { data, error, response } = await answered;
  if (response.ok) return data as T; // a 204 has no data, and its type is undefined
  if (!isError(error)) {
    throw new Error(`${response.url} is not a Signpost service (status ${response.status})`);
  }
  const seconds = response.headers.get('retry-after');
  throw new SignpostRefusal(error, seconds === null ? null : Number(seconds));
}

function isError(error: unknown): error is SignpostError {
  return typeof error === 'object' && error !== null && 'code' in error && 'message' in error;
}

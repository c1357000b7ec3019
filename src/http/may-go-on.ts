/** Whether a stream that is open may stay so. */
import { type Authenticate, allows } from './keys/auth.ts';
import { EVENTS_SCOPE } from './routes/events.ts';

/** True while the key that the stream was opened with is valid and has the scope that opening it takes. */
export function createMayGoOn(authenticate: Authenticate) {
  return async (authorization: string | undefined): Promise<boolean> => {
    const who = await authenticate(authorization);
    return who.kind === 'ok' && allows(who.key, EVENTS_SCOPE);
  };
}

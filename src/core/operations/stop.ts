import { SECOND } from '../time.ts';

/** Long enough for a running order to store its step, shorter than an orchestrator's 30 s. */
export const STOP_MS = 20 * SECOND;

import { z } from 'zod';
import { time, uuid, wholeNumber } from '../pipeline/json.ts';
import { explainedEnum, sentence } from './common.ts';

const setting = z.string().meta({ description: 'The variable' });

export const fleetProcess = z
  .object({
    id: uuid(),
    role: explainedEnum('ProcessRole', 'What the process does (ROLE)', {
      all: 'Everything',
      api: 'Serves the API and the dashboard',
      worker: 'Checks domains and obtains certificates',
      edge: "Serves customers' domains",
    }),
    host: z.string().meta({ description: 'Name of its machine or container' }),
    pid: wholeNumber({ min: 1, max: 2_147_483_647 }).meta({ description: 'Process ID there' }),
    version: z.string().meta({ description: 'With the commit, if it is known: `0.2.0+1a2b3c4`' }),
    state: explainedEnum('ProcessState', 'State of a process', {
      running: 'It reported within the last 30 seconds',
      gone: 'It ended without saying so, or cannot reach the database',
      refused: 'It did not start, because its configuration differs',
    }),
    startedAt: time(),
    seenAt: time().meta({ description: 'Time of its last report' }),
    problem: z.nullable(sentence('Why it was refused, or what is wrong while it runs')),
    differs: z
      .array(z.object({ setting, value: z.string(), current: z.string() }))
      .meta({ description: 'Settings in which it differs from the installation' }),
    settings: z
      .array(z.object({ setting, value: z.string() }))
      .meta({ description: 'What processes must set alike, without secrets' }),
  })
  .meta({ id: 'Process', description: 'A process of the installation' });

export const fleetProcesses = z
  .array(fleetProcess)
  .meta({ id: 'Processes', description: 'The last one started first' });

export const processExample = {
  id: '0d4c7d5e-1111-4c4f-8a88-0a4f0b1f2a3c',
  role: 'worker',
  host: 'worker-2',
  pid: 1,
  version: '0.2.0',
  state: 'refused',
  startedAt: '2026-11-20T12:00:00.000Z',
  seenAt: '2026-11-20T12:00:08.000Z',
  problem:
    'ACME_DIRECTORY_URL is local, but https://acme.example/directory in this installation. Set the same value. If the change is intended: signpost fleet accept.',
  differs: [],
  settings: [{ setting: 'ACME_DIRECTORY_URL', value: 'local' }],
} as const;

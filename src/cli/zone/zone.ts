/** `signpost zone`: the records that the platform has to publish for its own name. Asks nobody. */
import {
  doubtsAbout,
  inMasterFile,
  type PlatformZoneSettings,
  platformZone,
} from '../../core/names/platform-zone.ts';
import { done, type Io, type Outcome } from '../command.ts';
import { type Given, settingsFrom } from './settings.ts';

/** Prints the records; what may not have been meant goes to the other output, and does not keep them back. */
export async function runZone(
  { json = false, ...given }: Given & { readonly json?: boolean },
  io: Io,
): Promise<Outcome> {
  const read = settingsFrom(given, io.env);
  if (!read.ok) return read.refusal;
  io.out(json ? asJson(read.settings) : asText(read.settings));
  if (!json) for (const doubt of doubtsAbout(read.settings)) io.err(`signpost: ${doubt}\n`);
  return done;
}

function asText(settings: PlatformZoneSettings): string {
  return `; For the zone that ${settings.platformDomain} is in: signpost zone\n${inMasterFile(platformZone(settings))}`;
}

function asJson(settings: PlatformZoneSettings): string {
  const { platformDomain } = settings;
  const shown = { platformDomain, records: platformZone(settings), doubts: doubtsAbout(settings) };
  return `${JSON.stringify(shown, null, 2)}\n`;
}

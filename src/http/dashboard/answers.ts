/** What the API's answers hold, as the pages read them: the types are those of its schemas. */
import type { z } from 'zod';
import type { domainSettings } from '../schemas/domain-settings.ts';
import type { domain, finding, hostnameReading } from '../schemas/domains.ts';
import type { escalationList } from '../schemas/escalations.ts';
import type { event } from '../schemas/events.ts';
import type { key } from '../schemas/keys.ts';
import type { foundDomains, operationsOverview, watchedDomain } from '../schemas/operations.ts';
import type { project } from '../schemas/projects.ts';
import type { OnWire } from './client.ts';

export type Project = OnWire<z.infer<typeof project>>;
export type Domain = OnWire<z.infer<typeof domain>>;
export type Finding = OnWire<z.infer<typeof finding>>;
export type Settings = OnWire<z.infer<typeof domainSettings>>;
export type HostnameReading = OnWire<z.infer<typeof hostnameReading>>;
export type Event = OnWire<z.infer<typeof event>>;
export type OwnKey = OnWire<z.infer<typeof key>>;
export type Overview = OnWire<z.infer<typeof operationsOverview>>;
export type FoundDomains = OnWire<z.infer<typeof foundDomains>>;
export type WatchedDomain = OnWire<z.infer<typeof watchedDomain>>;
export type EscalationCases = OnWire<z.infer<typeof escalationList>>;

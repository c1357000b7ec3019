/** Every operation of the API. */
import type { ReadReadiness } from '../../ops/readiness.ts';
import { createOverview } from '../../service/overview.ts';
import type { Service } from '../../service/service.ts';
import type { Route } from '../pipeline/route.ts';
import { deleteProject } from './delete-project.ts';
import { deployRoutes } from './deploys.ts';
import { diagnoseHostname, readHostnameRoute } from './diagnosis.ts';
import { domainListRoutes } from './domain-lists.ts';
import { domainSettingsRoutes } from './domain-settings.ts';
import { type DropTraffic, domainRoutes } from './domains.ts';
import { escalationRoutes } from './escalations.ts';
import { streamEvents } from './events.ts';
import { fleetRoutes } from './fleet.ts';
import { getMetrics, healthRoutes } from './health.ts';
import { mayHaveCertificate } from './internal.ts';
import { type ForgetKey, keyRoutes } from './keys.ts';
import { getLocalCa } from './local-ca.ts';
import { openApiRoutes } from './openapi.ts';
import { operationsRoutes } from './operations.ts';
import { petRoutes } from './pets.ts';
import { projectRoutes } from './projects.ts';
import { signingRoutes } from './signing-secret.ts';
import type { OpenStream } from './streams.ts';
import { webhookRoutes } from './webhooks.ts';

/** What the process of the API adds to its service. */
export type ApiProcess = {
  readonly readiness: ReadReadiness;
  readonly dropTraffic: DropTraffic;
  readonly forgetKey: ForgetKey;
  readonly openStream: OpenStream;
};

/** In the order of the API reference. The last ones serve the OpenAPI document of the others. */
export function routesOf(service: Service, process: ApiProcess): readonly Route[] {
  const overview = createOverview(service);
  const routes = [
    ...petRoutes(service),
    ...projectRoutes(service),
    deleteProject(service, process.dropTraffic),
    ...deployRoutes(service),
    ...signingRoutes(service),
    ...domainListRoutes(service),
    ...domainRoutes(service, process.dropTraffic),
    readHostnameRoute(service),
    streamEvents(service, process.openStream),
    ...domainSettingsRoutes(service),
    diagnoseHostname(service),
    ...webhookRoutes(service),
    getLocalCa(service),
    ...keyRoutes(service, process.forgetKey),
    ...escalationRoutes(service, overview),
    ...fleetRoutes(service, overview),
    ...operationsRoutes(service, overview),
    mayHaveCertificate(service),
    ...healthRoutes(process.readiness),
    getMetrics(service),
  ];
  return [...routes, ...openApiRoutes(routes, service.config.api)];
}

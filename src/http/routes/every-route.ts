/** Every operation of the API. */
import type { ReadReadiness } from '../../ops/readiness.ts';
import { createOverview } from '../../service/overview.ts';
import type { Service } from '../../service/service.ts';
import type { ForgetCredential } from '../keys/auth.ts';
import type { Route } from '../pipeline/route.ts';
import { accountRoutes } from './accounts.ts';
import { auditRoute } from './audit.ts';
import { deleteProjectRoute } from './delete-project.ts';
import { deployRoutes } from './deploys.ts';
import { diagnosisRoute, hostnameRoute } from './diagnosis.ts';
import { domainListRoutes } from './domain-lists.ts';
import { domainSettingsRoutes } from './domain-settings.ts';
import { type DropTraffic, domainRoutes } from './domains.ts';
import { escalationRoutes } from './escalations.ts';
import { eventsRoute } from './events.ts';
import { healthRoutes, metricsRoute } from './health.ts';
import { tlsAskRoute } from './internal.ts';
import { keyRoutes } from './keys.ts';
import { localCaRoute } from './local-ca.ts';
import { openApiRoutes } from './openapi.ts';
import { fleetRoutes, operationsRoutes } from './operations.ts';
import { petRoutes } from './pets.ts';
import { projectRoutes } from './projects.ts';
import { sessionRoutes } from './sessions.ts';
import { signingRoutes } from './signing-secret.ts';
import type { OpenStream } from './streams.ts';
import { webhookRoutes } from './webhooks.ts';

/** What the role adds to its service. */
export type ApiRole = {
  readonly readiness: ReadReadiness;
  readonly dropTraffic: DropTraffic;
  readonly forget: ForgetCredential;
  readonly openStream: OpenStream;
};

/** In the order of the API reference. The last ones serve the OpenAPI document of the others. */
export function routesOf(service: Service, role: ApiRole): readonly Route[] {
  const overview = createOverview(service);
  const routes = [
    ...petRoutes(service),
    ...projectRoutes(service),
    deleteProjectRoute(service, role.dropTraffic),
    ...deployRoutes(service),
    ...signingRoutes(service),
    ...domainListRoutes(service),
    ...domainRoutes(service, role.dropTraffic),
    hostnameRoute(service),
    eventsRoute(service, role.openStream),
    ...domainSettingsRoutes(service),
    diagnosisRoute(service),
    ...webhookRoutes(service),
    localCaRoute(service),
    ...keyRoutes(service, role.forget),
    ...sessionRoutes(service, role.forget),
    ...accountRoutes(service, role),
    ...escalationRoutes(service, overview),
    ...fleetRoutes(service, overview),
    ...operationsRoutes(service, overview),
    tlsAskRoute(service),
    ...healthRoutes(role.readiness),
    metricsRoute(service),
  ];
  const documented = [...routes, auditRoute(service, routes)];
  return [...documented, ...openApiRoutes(documented, service.config.api)];
}

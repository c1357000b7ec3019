/** A project's primary domain and redirects, and a domain's HSTS policy. */
import { parseHostname } from '../../core/names/hostname.ts';
import { printable } from '../../core/names/printable.ts';
import type { DomainSettings } from '../../core/names/redirects.ts';
import { renderJson } from '../../net/json.ts';
import type { Service } from '../../service/service.ts';
import { type ErrorCode, type Refusal, refuse, refuseFields } from '../pipeline/errors.ts';
import { entityTagOf, mayChange } from '../pipeline/render.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import {
  docsDomainSettings,
  docsHsts,
  domainSettings,
  hsts,
  newDomainSettings,
  newHsts,
} from '../schemas/domain-settings.ts';
import { withName } from './domains.ts';
import { findProject } from './projects.ts';

export function domainSettingsRoutes(service: Service): readonly Route[] {
  return [getSettings, putSettings, putHsts, deleteHsts].map((make) => make(service));
}

const inCommon = { tag: 'Domains', stability: 'stable' } as const;
const settingsPath = '/v1/projects/:projectId/domain-settings';

function getSettings(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${settingsPath}`,
    scope: 'domains:read',
    operationId: 'getDomainSettings',
    summary: "Get a project's domain settings",
    description:
      'The primary domain, whose name the deploy sees in every request, and the domains that redirect to another.',
    success: success(200, 'Domain settings', domainSettings, docsDomainSettings),
    refusals: ['project_not_found'],
    handle: async ({ access, params }) => {
      const project = await findProject(service, access, params.projectId);
      if (project === null) return refuse('project_not_found');
      return { status: 200, body: bodyOf(await service.domainSettings.load(access, project.id)) };
    },
  });
}

/** All or nothing: one transaction includes the check of `If-Match` and `If-None-Match`. */
function putSettings(service: Service): Route {
  return route({
    ...inCommon,
    at: `PUT ${settingsPath}`,
    scope: 'domains:write',
    operationId: 'putDomainSettings',
    summary: "Replace a project's domain settings",
    description:
      'Replaces all settings. If an entry is invalid, nothing changes and the error names it. Each name must be a domain of the project, in any spelling and any status. Visitors follow at most one redirect. Changes apply within a second. Use `If-Match` to replace only a specific version.',
    takesPreconditions: true,
    body: newDomainSettings,
    bodyExample: docsDomainSettings,
    success: success(200, 'The stored settings', domainSettings, docsDomainSettings),
    refusals: [
      'project_not_found',
      'too_many_redirects',
      'redirect_status',
      'settings_unknown_host',
      'redirect_to_itself',
      'redirect_twice',
      'primary_redirects',
      'redirect_loop',
      'redirect_chain',
    ],
    handle: async ({ access, params, body, headers }) => {
      const project = await findProject(service, access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const domains = normalized(body.domains, service.config.platform.domain);
      const refusal = await service.domainSettings.replace(access, project.id, domains, (current) =>
        mayChange(headers, entityTagOf(renderJson(bodyOf(current)))),
      );
      return refusal === null ? { status: 200, body: bodyOf(domains) } : refuseSettings(refusal);
    },
  });
}

const hstsPath = '/v1/projects/:projectId/domains/:hostname/hsts';

function putHsts(service: Service): Route {
  return route({
    ...inCommon,
    at: `PUT ${hstsPath}`,
    scope: 'domains:write',
    operationId: 'putDomainHsts',
    summary: 'Set the HSTS policy of a domain',
    description:
      "Sends `Strict-Transport-Security` with every HTTPS response, instead of the deploy's header. The change applies within a second. Browsers keep the policy for `maxAge` seconds after their last visit, even if the domain is removed, so start with a short one. `includeSubdomains` also covers subdomains hosted elsewhere: those without HTTPS become unreachable. `preload` requires `includeSubdomains` and a `maxAge` of at least a year.",
    body: newHsts,
    bodyExample: docsHsts,
    success: success(200, 'The HSTS policy', hsts, docsHsts),
    refusals: ['project_not_found', 'domain_not_found'],
    handle: ({ access, params, body }) =>
      withName(service, access, params, async (projectId, hostname) =>
        (await service.domainSettings.putHsts(access, projectId, hostname, body))
          ? { status: 200, body }
          : refuse('domain_not_found'),
      ),
  });
}

/** Idempotent. A name that cannot be added answers 204 too. */
function deleteHsts(service: Service): Route {
  return route({
    ...inCommon,
    at: `DELETE ${hstsPath}`,
    scope: 'domains:write',
    operationId: 'deleteDomainHsts',
    summary: 'Remove the HSTS policy of a domain',
    description:
      "Passes the deploy's own `Strict-Transport-Security` through again. Browsers that stored the policy keep it until it expires. To make them forget it, first set `maxAge: 0` and keep that for as long as the previous `maxAge`. Also answers 204 if there is no policy or no such domain.",
    success: success(204, 'The domain has no HSTS policy'),
    refusals: ['project_not_found'],
    handle: async ({ access, params }) => {
      const project = await findProject(service, access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const parsed = parseHostname(params.hostname, service.config.platform.domain);
      if (parsed.ok) {
        await service.domainSettings.deleteHsts(access, project.id, parsed.hostname.ascii);
      }
      return { status: 204 };
    },
  });
}

/** A reason that starts with an entry, `domains.redirects[0]: …`, is about that field. */
function refuseSettings({
  code,
  reason,
}: {
  readonly code: ErrorCode;
  readonly reason?: string | undefined;
}): Refusal {
  const [, field, message] = /^(domains\.[^:\s]+): ([\s\S]*)$/.exec(reason ?? '') ?? [];
  if (reason === undefined || field === undefined || message === undefined) {
    return refuse(code, reason);
  }
  return refuseFields(code, reason, [{ field, code: 'invalid', message }]);
}

/** Its text determines the entity tag, so `PUT` compares the same text. */
function bodyOf(domains: DomainSettings) {
  return { domains };
}

/** Stored forms. Text that cannot be a domain becomes printable and is refused later. */
function normalized(
  { primary, redirects }: DomainSettings,
  platformDomain: string,
): DomainSettings {
  const nameOf = (text: string): string => {
    const parsed = parseHostname(text, platformDomain);
    return parsed.ok ? parsed.hostname.ascii : printable(text, 80);
  };
  return {
    primary: primary === null ? null : nameOf(primary),
    redirects: redirects.map(({ from, to, status }) => ({
      from: nameOf(from),
      to: nameOf(to),
      status,
    })),
  };
}

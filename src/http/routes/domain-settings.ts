/** Which of a project's domains is the main one, and which redirect to another; and HSTS of one domain. */
import { parseHostname } from '../../core/names/hostname.ts';
import { printable } from '../../core/names/printable.ts';
import type { DomainSettings } from '../../core/names/redirects.ts';
import type { Subject } from '../../core/operations/audit.ts';
import type { Project } from '../../core/records.ts';
import type { DomainSettingsStore } from '../../db/domains/domain-settings.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { renderJson } from '../../net/json.ts';
import { refuse } from '../pipeline/errors.ts';
import { entityTagOf, mayChange } from '../pipeline/render.ts';
import { type Route, route } from '../pipeline/route.ts';
import {
  docsDomainSettings,
  docsHsts,
  domainSettings,
  hsts,
  newDomainSettings,
  newHsts,
} from '../schemas/domain-settings.ts';
import { findProject, subjectOf } from './projects.ts';

/** The stores, and the domain whose names no project may use. */
export type DomainSettingsRoutesDeps = {
  readonly projects: ProjectStore;
  readonly settings: DomainSettingsStore;
  readonly platformDomain: string;
};

/** `GET` and `PUT` of a project's domain settings, `PUT` and `DELETE` of a domain's HSTS. */
export function domainSettingsRoutes(deps: DomainSettingsRoutesDeps): readonly Route[] {
  return [getSettings, putSettings, putHsts, deleteHsts].map((make) => make(deps));
}

const inCommon = { tag: 'Domains', stability: 'beta' } as const;
const settingsPath = '/v1/projects/:projectId/domain-settings';

/** A project that never had settings has no primary domain and no redirect. */
function getSettings({ projects, settings }: DomainSettingsRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: settingsPath,
    scope: 'domains:read',
    operationId: 'getDomainSettings',
    summary: "Get a project's domain settings",
    description:
      'The primary domain, which each request to the deploy names, and the domains that redirect to another.',
    success: {
      status: 200,
      description: 'The settings',
      schema: domainSettings,
      example: docsDomainSettings,
    },
    refusals: ['project_not_found'],
    handle: async ({ key, params }) => {
      const project = await findProject(projects, key.access, params.projectId);
      if (project === null) return refuse('project_not_found');
      return { status: 200, body: bodyOf(await settings.load(project.id)) };
    },
  });
}

/** Replaces all or nothing, in one transaction with the check of `If-Match` and `If-None-Match`. */
function putSettings({ projects, settings, platformDomain }: DomainSettingsRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'project',
    method: 'PUT',
    path: settingsPath,
    scope: 'domains:write',
    operationId: 'putDomainSettings',
    summary: "Replace a project's domain settings",
    description:
      'Puts these settings in the place of all others, or changes nothing and names the entry that does not fit. Every name is a domain of the project, in any spelling and any state; a visitor is sent on once at most. They count within a second. With `If-Match` they take the place of that version and of no other.',
    takesPreconditions: true,
    body: newDomainSettings,
    bodyExample: docsDomainSettings,
    success: {
      status: 200,
      description: 'The settings as they are stored',
      schema: domainSettings,
      example: docsDomainSettings,
    },
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
    handle: async ({ key, params, body, headers }) => {
      const project = await findProject(projects, key.access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const domains = normalised(body.domains, platformDomain);
      const refusal = await settings.replace(project.id, domains, (current) =>
        mayChange(headers, entityTagOf(renderJson(bodyOf(current)))),
      );
      return refusal === null
        ? { status: 200, body: bodyOf(domains), about: subjectOf(project) }
        : refuse(refusal.code, refusal.reason);
    },
  });
}

const hstsPath = '/v1/projects/:projectId/domains/:hostname/hsts';

/** Idempotent. */
function putHsts({ projects, settings, platformDomain }: DomainSettingsRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'domain',
    method: 'PUT',
    path: hstsPath,
    scope: 'domains:write',
    operationId: 'putDomainHsts',
    summary: 'Let browsers reach a domain over HTTPS alone',
    description:
      'Sends `Strict-Transport-Security` with every answer over HTTPS, in the place of what the deploy sends. It counts within a second, and browsers keep to it for `maxAge` seconds after their last visit, whatever becomes of the domain here: begin with a short one. `includeSubdomains` binds names below the domain that lead elsewhere, too, and those without HTTPS are lost to their visitors. `preload` needs `includeSubdomains` and a year.',
    body: newHsts,
    bodyExample: docsHsts,
    success: { status: 200, description: 'What is sent', schema: hsts, example: docsHsts },
    refusals: ['project_not_found', 'domain_not_found'],
    handle: async ({ key, params, body }) => {
      const project = await findProject(projects, key.access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const parsed = parseHostname(params.hostname, platformDomain);
      if (!parsed.ok) return refuse('domain_not_found');
      const { ascii } = parsed.hostname;
      const isStored = await settings.putHsts(project.id, ascii, body);
      return isStored
        ? { status: 200, body, about: domainOf(project, ascii) }
        : refuse('domain_not_found');
    },
  });
}

/** Idempotent: what could never be added has none either. */
function deleteHsts({ projects, settings, platformDomain }: DomainSettingsRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'domain',
    method: 'DELETE',
    path: hstsPath,
    scope: 'domains:write',
    operationId: 'deleteDomainHsts',
    summary: "Send nothing of one's own about HTTPS any more",
    description:
      "The deploy's own `Strict-Transport-Security` is passed on again. Browsers that have had ours keep to it until it ends: to have them forget it, put `maxAge: 0` first and leave that for as long as the one before was. Also 204 where there is none, or no such domain.",
    success: { status: 204, description: 'The domain has none' },
    refusals: ['project_not_found'],
    handle: async ({ key, params }) => {
      const project = await findProject(projects, key.access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const parsed = parseHostname(params.hostname, platformDomain);
      if (!parsed.ok) return { status: 204, about: null };
      const { ascii } = parsed.hostname;
      const wasThere = await settings.deleteHsts(project.id, ascii);
      return { status: 204, about: wasThere ? domainOf(project, ascii) : null };
    },
  });
}

function domainOf({ id: projectId }: Pick<Project, 'id'>, hostname: string): Subject {
  return { kind: 'domain', id: hostname, projectId };
}

/** The body of `GET`. Its text is what the entity tag is made of, so `PUT` compares with the same. */
function bodyOf(domains: DomainSettings) {
  return { domains };
}

/**
 * Names in the form in which domains are stored. A text that could be no domain stays as it was typed, made printable and
 * cut to 80 characters, and is refused as the name of no domain.
 */
function normalised(
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

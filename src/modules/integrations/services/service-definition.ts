import { createHash } from 'node:crypto';
import type { CityConfig, ServiceConfig } from '../../files/composition/city-config.js';
import { CONTRACTS, MAX_SERVICES } from '../../files/composition/compose/services.js';

/** What is stored of a service: all that its process, its access and its answers depend on. */
export interface ServiceDefinition {
  readonly kind: 'workflow' | 'proxy_process';
  readonly publishMode: 'private' | 'direct';
  readonly stateRoot: string;
  readonly visibility: 'private' | 'public' | 'tenant';
  /** Always one label. */
  readonly hostname: string;
  readonly allowWebsockets: boolean;
  readonly contract?: string;
  readonly command?: readonly string[];
  readonly healthPath?: string;
  /** The folder that it is started in, as `Issue.file` names it; the city without one. */
  readonly folder?: string;
}

export function servicesOf(config: CityConfig): ReadonlyMap<string, ServiceDefinition> {
  return new Map((config.service ?? []).slice(0, MAX_SERVICES).map((service) => [service.name, definitionOf(service)]));
}

function definitionOf({
  name,
  kind,
  publish_mode,
  state_root,
  publication,
  workflow,
  process,
  source_dir,
}: ServiceConfig): ServiceDefinition {
  return {
    kind,
    publishMode: publish_mode,
    stateRoot: state_root,
    visibility: publication?.visibility ?? (publish_mode === 'direct' ? 'public' : 'private'),
    hostname: publication?.hostname ?? labelOf(name),
    allowWebsockets: publication?.allow_websockets ?? false,
    ...(kind === 'workflow'
      ? { contract: workflow?.contract ?? '' }
      : { command: process?.command ?? [], ...(process?.health_path === undefined ? {} : { healthPath: process.health_path }) }),
    ...(source_dir === undefined ? {} : { folder: source_dir }),
  };
}

/** Names may be longer than labels, and have what these have not. */
function labelOf(name: string): string {
  const label = name.toLowerCase().replaceAll('_', '-').replace(/-+$/, '');
  if (label.length <= 63) return label;
  return `${label.slice(0, 54)}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** Whether a contract is one that is built in. */
export const isSupported = (contract: string | undefined): boolean => contract !== undefined && CONTRACTS.includes(contract);

/** The path below which a service is reached. */
export const mountPath = (city: string, service: string): string => `/v0/city/${encodeURIComponent(city)}/svc/${service}`;

import type { ServiceLogLine, Status } from './services.schemas.js';
import { mountPath } from './service-definition.js';
import type { LineRow } from './service-lines.repository.js';
import type { ServiceRow } from './service-row.js';
import type { ListedService } from './services.repository.js';

const NO_PLACE = { reason: 'no_place', detail: 'no worker has taken it: those that run have as many services as they may, or none runs' };

/** @param base where this process is reached; undefined where it does not know */
export function toStatus(city: string, row: ListedService, base: string | undefined): Status {
  const { definition } = row;
  const path = mountPath(city, row.name);
  const publication = publicationOf(row, base === undefined ? undefined : `${base}${path}`);
  const told = row.waits ? NO_PLACE : row;
  const reason = told.reason ?? publication.reason;
  return {
    service_name: row.name,
    kind: definition.kind,
    mount_path: path,
    publish_mode: definition.publishMode,
    state_root: definition.stateRoot,
    visibility: definition.visibility,
    hostname: definition.hostname,
    allow_websockets: definition.allowWebsockets,
    ...(definition.contract === undefined ? {} : { workflow_contract: definition.contract }),
    state: row.state,
    local_state: row.local_state,
    publication_state: publication.state,
    ...(reason === undefined ? {} : { reason }),
    ...(told.detail === null ? {} : { detail: told.detail }),
    ...(publication.url === undefined ? {} : { url: publication.url }),
    attempts: row.attempts,
    ...(row.retry_at === null ? {} : { retry_at: row.retry_at.toISOString() }),
    updated_at: row.updated_at.toISOString(),
  };
}

interface Publication {
  readonly state: 'private' | 'direct' | 'blocked';
  readonly reason?: string;
  readonly url?: string | undefined;
}

/** Nothing here publishes under names of their own: what wants that is told so. */
function publicationOf({ definition: { publishMode, visibility } }: ServiceRow, url: string | undefined): Publication {
  if (publishMode === 'direct') return { state: 'direct', url };
  return visibility === 'private' ? { state: 'private' } : { state: 'blocked', reason: 'publication_unavailable' };
}

export const toLine = ({ seq, at, attempt, text }: LineRow): ServiceLogLine => ({ seq, at: at.toISOString(), attempt, text });

import type { SessionRow } from '../session-store/session-row.js';
import { actingName } from './acting-name.js';
import type { Template } from './launch.js';
import type { Directories } from './work-dir.js';

export interface IdentityFacts {
  readonly city: string;
  readonly row: SessionRow;
  readonly template: Template;
  readonly directories: Directories;
  readonly runtimeDir: string;
  readonly deployment: string;
  readonly token: string | undefined;
  readonly apiUrl: string | undefined;
  readonly caCert: string | undefined;
}

const ORIGINS = { manual: 'manual', named: 'named', pool: 'ephemeral' } as const;

/**
 * Who a process is, in variables; values that it has not are empty, so that nothing inherited can stand in for them. What is
 * known of the caller only (the address, the token) is left out when it is not known.
 */
export function identityOf({
  city,
  row,
  template,
  directories,
  runtimeDir,
  deployment,
  token,
  apiUrl,
  caCert,
}: IdentityFacts): Record<string, string> {
  return {
    SVC_SESSION_ID: row.id,
    SVC_SESSION_NAME: row.session_name,
    SVC_ALIAS: row.alias,
    SVC_TEMPLATE: row.template,
    SVC_SESSION_ORIGIN: ORIGINS[row.origin],
    SVC_AGENT: actingName(row),
    SVC_GENERATION: String(row.generation),
    SVC_EPOCH: String(row.epoch),
    SVC_INSTANCE_TOKEN: row.instance_token ?? '',
    SVC_PROVIDER: template.provider,
    SVC_CITY: city,
    SVC_CITY_PATH: directories.city,
    SVC_CITY_RUNTIME_DIR: runtimeDir,
    SVC_RIG: template.rig,
    SVC_RIG_ROOT: directories.rigRoot ?? '',
    SVC_DIR: directories.workDir,
    SVC_DEPLOYMENT: deployment,
    SVC_TRIGGER_BEAD_ID: row.metadata.trigger_bead ?? '',
    ...(apiUrl === undefined ? {} : { SVC_API_URL: apiUrl }),
    ...(caCert === undefined ? {} : { SVC_CA_CERT: caCert }),
    ...(token === undefined ? {} : { SVC_SESSION_TOKEN: token }),
  };
}

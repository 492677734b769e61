import { createHash } from 'node:crypto';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { SessionRow } from '../session-store/session-row.js';
import { declaredEnvironment, upstreamEnvironment } from './environment.js';
import { fingerprintNow } from './place-fingerprint.js';
import { startupMs } from './startup.js';
import { templateOf } from './template.js';

/**
 * A digest of all that a start of the session would be made from: what a running process has to be started again for, and
 * what decides beside that whether a start succeeds, credentials included. Undefined when nothing says how it is started.
 */
export function startHash(config: CityConfig, row: Pick<SessionRow, 'kind' | 'template' | 'options'>): string | undefined {
  const process = fingerprintNow(config, row);
  if (process === undefined) return undefined;
  const template = templateOf(config, row.kind, row.template);
  const variables = [declaredEnvironment(config, template), upstreamEnvironment(config, template)].map((env) => Object.entries(env).sort());
  const parts = [process, variables, startupMs(config), template.spec];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

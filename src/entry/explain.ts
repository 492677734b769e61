import type { AppConfig } from '../platform/config/config.js';
import { DirectoryInUse } from '../platform/embedded/lock.js';

/** Why a start has failed, in words for an operator. */
export function explain(error: unknown, config: Pick<AppConfig, 'host' | 'port' | 'logLevel'>): string {
  if (error instanceof DirectoryInUse) return error.message;
  const code = (error as { code?: unknown } | null)?.code;
  if (code === 'EADDRINUSE') return `${config.host}:${config.port} is in use; choose another port with SVC_PORT`;
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL') return `cannot listen on ${config.host}:${config.port}: ${(error as Error).message}`;
  if (!(error instanceof Error)) return String(error);
  return config.logLevel === 'debug' || error.message === '' ? String(error.stack) : error.message;
}

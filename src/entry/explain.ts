import type { AppConfig } from '../platform/config/config.js';
import { isHeldByOthers } from '../platform/database/pg-errors.js';
import { DirectoryInUse } from '../platform/embedded/lock.js';

type Named = Pick<AppConfig, 'host' | 'port' | 'logLevel' | 'databaseUrl'> & Partial<Pick<AppConfig, 'databaseListenUrl'>>;

const DATABASE = 'the database of SVC_DATABASE_URL';
/** An error code of PostgreSQL. */
const SQLSTATE = /^[0-9A-Z]{5}$/;
/** A function, a table or a schema does not exist. */
const NO_SCHEMA = new Set(['42883', '42P01', '3F000']);

/** Why a start has failed, in words for an operator. */
export function explain(error: unknown, config: Named): string {
  if (error instanceof DirectoryInUse) return error.message;
  if (!(error instanceof Error)) return String(error);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return `${config.host}:${config.port} is in use; choose another port with SVC_PORT`;
  if (syscall === 'listen' || (syscall === 'getaddrinfo' && 'hostname' in error && error.hostname === config.host))
    return `cannot listen on ${config.host}:${config.port}: ${error.message}`;
  if (config.logLevel === 'debug') return String(error.stack);
  return (
    (config.databaseUrl === undefined ? undefined : ofDatabase(error, config.databaseListenUrl)) ??
    (error.message === '' ? String(error.stack) : error.message)
  );
}

/** In the error of a transaction pooler that is sent settings at the start of a connection. */
const POOLER = 'unsupported startup parameter';

/** Explains an error of the database. It is the only server that a start connects to, so all errors of connections are its. */
function ofDatabase(error: Error, listenUrl: string | undefined): string | undefined {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (NO_SCHEMA.has(code)) return `${DATABASE} has no schema of this release: run the migrate step first (${error.message})`;
  if (isHeldByOthers(error))
    return `others held what this start wanted of ${DATABASE}: run it again, at a quieter time where that does not help (${error.message})`;
  if (
    !(error instanceof AggregateError) &&
    syscall !== 'connect' &&
    syscall !== 'getaddrinfo' &&
    !(SQLSTATE.test(code) && 'severity' in error)
  )
    return undefined;
  const pooled = listenUrl === undefined && error.message.includes(POOLER);
  const mend = pooled ? '; behind PgBouncer set SVC_DATABASE_LISTEN_URL to the address of the server itself' : '';
  return `${DATABASE} cannot be used: ${reason(error)}${mend}`;
}

/** For a name with several addresses the error has a message for each of them, and none of its own. */
function reason(error: Error): string {
  return error instanceof AggregateError ? error.errors.map((each: Error) => each.message).join(', ') : error.message;
}

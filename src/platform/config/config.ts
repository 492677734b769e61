import { hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { z } from 'zod';
import { passedToAgents } from './agent-environment.js';
import { EnvSchema } from './environment.js';
import type { Target } from './target.js';
import { telemetryOf, withoutOthersTelemetry, type TelemetrySettings } from './telemetry.js';
import { wrongValue } from './wrong-value.js';
import { readWebhookSecrets, type WebhookSecrets } from './webhook-secrets.js';

const MB = 1024 * 1024;

/** PEM files of the certificate, with its chain, and of its key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export type Role = 'all' | 'api' | 'worker';

export interface Config {
  readonly role: Role;
  /** Processes that answer at the port, beside each other. */
  readonly processes: number | 'auto';
  /** As which of several at one port this one was started; absent: it is the only one. */
  readonly processName: string | undefined;
  readonly host: string;
  readonly port: number;
  /** Present: the port speaks TLS and nothing else. */
  readonly tls: TlsFiles | undefined;
  /** PEM file of the authority that agents have to trust to reach the API. */
  readonly caCert: string | undefined;
  readonly dataDir: string;
  readonly citiesRoot: string;
  /** Absent means embedded: the process starts its own PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** The server itself, where `databaseUrl` is a pooler that gives a connection to another client after each transaction. */
  readonly databaseListenUrl: string | undefined;
  /** Present means BullMQ on Redis, absent means BullMQ on Postgres. */
  readonly redisUrl: string | undefined;
  readonly logLevel: string;
  readonly heartbeatMs: number;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly auth: 'off' | 'keys';
  readonly providerCheck: 'enforce' | 'off';
  /** Where agents reach the API; absent means the process's own address, when it serves it. */
  readonly apiUrl: string | undefined;
  /** Milliseconds that sealed events are kept; undefined keeps them for ever. */
  readonly eventRetentionMs: number | undefined;
  /** Milliseconds that audit records are kept, and the most that are. */
  readonly auditRetentionMs: number;
  readonly auditRecords: number;
  /** Free bytes below which cities with maintenance say that their disk fills up, and those below which it is nearly full. */
  readonly diskWarnBytes: number;
  readonly diskFloorBytes: number;
  /** Targets of calls out that are allowed whatever their address is. */
  readonly allowedTargets: readonly Target[];
  /** Directories of the host at and below which rigs may lie, beside the cities root. */
  readonly allowedPaths: readonly string[];
  /** Sessions that this process runs at once, when it is a worker. */
  readonly runnerCapacity: number;
  /** Of these, those of one city; undefined: nine tenths. */
  readonly runnerCapacityPerCity: number | undefined;
  /** What isolates agents of this process from the rest of the host; `auto`: the best that can be had. */
  readonly isolation: 'auto' | 'bubblewrap' | 'users' | 'none';
  /** Operations that this process runs at once, when it is a worker. */
  readonly operationSlots: number;
  /** Of these, those of one city; undefined: half. */
  readonly operationSlotsPerCity: number | undefined;
  /** Requests to this process: of one key, and of all keys and sessions of a city. */
  readonly rateLimits: Ceilings<Rate>;
  /** Requests that this process works on at once. */
  readonly requestLimits: RequestLimits;
  /** Database connections of the pool of this process; absent: as many as a process has. */
  readonly poolSize: number | undefined;
  /** Database connections that a city has at once for its requests while it asks for much beside others. */
  readonly cityConnections: number;
  /** Streams open at this process, likewise. */
  readonly streamLimits: Ceilings<number>;
  /** What of this process's own environment the agents get that it starts. */
  readonly agentEnvironment: Readonly<Record<string, string>>;
  /** With what webhooks check who sends, by the names of the variables that hold it. */
  readonly webhookSecrets: WebhookSecrets;
  /** Where traces, metrics and logs are sent; absent: nowhere. */
  readonly telemetry: TelemetrySettings | undefined;
  /** Identifies this process in the database; unique a process, readable for an operator. */
  readonly processId: string;
  /** The database is this process's own: nobody else uses it as long as this one lives. */
  readonly alone?: boolean;
  /** Where the files of the database are, by their real path, when it is the deployment's own. */
  readonly ownDatabaseDir?: string | undefined;
}

/** A bucket of `burst` requests that `perSecond` fill again; 0 a second: no limit. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** How many requests are in work in all and of each caller, and how many of each may wait. */
export type RequestLimits = Ceilings<number> & { readonly total: number; readonly waiting: number };

/** What one key may have at the most, and what all may have together whose key, or session, is limited to a city. */
export interface Ceilings<T> {
  readonly key: T;
  readonly city: T;
}

/** Provider token and type at once: `constructor(private readonly config: AppConfig)`. */
export class AppConfig implements Config {
  readonly role!: Role;
  readonly processes!: number | 'auto';
  readonly processName: string | undefined;
  readonly host!: string;
  readonly port!: number;
  readonly tls: TlsFiles | undefined;
  readonly caCert: string | undefined;
  readonly dataDir!: string;
  readonly citiesRoot!: string;
  readonly databaseUrl: string | undefined;
  readonly databaseListenUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly logLevel!: string;
  readonly heartbeatMs!: number;
  readonly allowedHosts!: readonly string[];
  readonly allowedOrigins!: readonly string[];
  readonly auth!: 'off' | 'keys';
  readonly providerCheck!: 'enforce' | 'off';
  readonly apiUrl: string | undefined;
  readonly eventRetentionMs: number | undefined;
  readonly auditRetentionMs!: number;
  readonly auditRecords!: number;
  readonly diskWarnBytes!: number;
  readonly diskFloorBytes!: number;
  readonly allowedTargets!: readonly Target[];
  readonly allowedPaths!: readonly string[];
  readonly runnerCapacity!: number;
  readonly isolation!: 'auto' | 'bubblewrap' | 'users' | 'none';
  readonly runnerCapacityPerCity: number | undefined;
  readonly operationSlots!: number;
  readonly operationSlotsPerCity: number | undefined;
  readonly rateLimits!: Ceilings<Rate>;
  readonly requestLimits!: RequestLimits;
  readonly poolSize: number | undefined;
  readonly cityConnections!: number;
  readonly streamLimits!: Ceilings<number>;
  readonly agentEnvironment!: Readonly<Record<string, string>>;
  readonly webhookSecrets!: WebhookSecrets;
  readonly telemetry: TelemetrySettings | undefined;
  readonly processId!: string;
  readonly alone?: boolean;
  readonly ownDatabaseDir?: string | undefined;

  constructor(values: Config) {
    Object.assign(this, values);
    Object.freeze(this);
  }

  /** True when the HTTP server is reachable from this machine only. */
  get loopback(): boolean {
    return isLoopbackHost(this.host);
  }

  /** Mutations are refused: open to the network without keys. */
  get readOnly(): boolean {
    return !this.loopback && this.auth === 'off';
  }

  /** Of this process, as programs of this machine call it. */
  get ownHost(): string {
    return this.loopback ? this.host : '127.0.0.1';
  }

  /** The address of a port of this process, as it is called by `host`. */
  urlOf(host: string, port: number): string {
    return `${this.tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  with(overrides: Partial<Config>): AppConfig {
    return new AppConfig({ ...(this as Config), ...overrides });
  }
}

const isOurs = (name: string): boolean => name.startsWith('SVC_') || Object.hasOwn(EnvSchema.shape, name);

export class ConfigError extends Error {}

export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Reads and checks the environment. @throws ConfigError naming every wrong variable. */
export function loadConfig(env: Record<string, string | undefined>, cwd: string): AppConfig {
  const given = Object.fromEntries(Object.entries(env).filter(([k, v]) => isOurs(k) && v !== undefined && v.trim() !== ''));
  const parsed = EnvSchema.safeParse(withoutOthersTelemetry(given));
  const webhooks = readWebhookSecrets(given);
  if (!parsed.success || webhooks.wrong.length > 0) {
    const issues = parsed.error?.issues ?? [];
    const shape: Readonly<Record<string, z.ZodType>> = EnvSchema.shape;
    const line = (name: string, message: string): string => wrongValue(name, shape[name], message, given[name]);
    const names = [...new Set([...issues.map((i) => line(String(i.path[0]), i.message)), ...webhooks.wrong])];
    throw new ConfigError(`wrong configuration:\n  ${names.join('\n  ')}`);
  }
  const e = parsed.data;
  if (e.SVC_DATABASE_URL === undefined && e.SVC_ROLE !== 'all') {
    throw new ConfigError(
      `wrong configuration:\n  SVC_DATABASE_URL: required with SVC_ROLE=${e.SVC_ROLE} (embedded mode runs every role in one process)`,
    );
  }
  if (e.SVC_DATABASE_LISTEN_URL !== undefined && e.SVC_DATABASE_URL === undefined)
    throw new ConfigError('wrong configuration:\n  SVC_DATABASE_LISTEN_URL: needs SVC_DATABASE_URL, the pooler in front of it');
  if ((e.SVC_TLS_CERT === undefined) !== (e.SVC_TLS_KEY === undefined))
    throw new ConfigError('wrong configuration:\n  SVC_TLS_CERT, SVC_TLS_KEY: one needs the other');
  if (e.SVC_ROLE === 'worker' && typeof e.SVC_PROCESSES === 'number' && e.SVC_PROCESSES > 1)
    throw new ConfigError('wrong configuration:\n  SVC_PROCESSES: a worker is one process; start more of them');
  const absolute = (p: string): string => (isAbsolute(p) ? p : resolve(cwd, p));
  const dataDir = absolute(e.SVC_DATA_DIR);
  return new AppConfig({
    role: e.SVC_ROLE,
    processes: e.SVC_PROCESSES,
    processName: undefined,
    host: e.SVC_HOST,
    port: e.SVC_PORT,
    tls:
      e.SVC_TLS_CERT === undefined || e.SVC_TLS_KEY === undefined
        ? undefined
        : { cert: absolute(e.SVC_TLS_CERT), key: absolute(e.SVC_TLS_KEY) },
    caCert: e.SVC_CA_CERT === undefined ? undefined : absolute(e.SVC_CA_CERT),
    dataDir,
    citiesRoot: e.SVC_CITIES_ROOT === undefined ? join(dataDir, 'cities') : absolute(e.SVC_CITIES_ROOT),
    databaseUrl: e.SVC_DATABASE_URL,
    databaseListenUrl: e.SVC_DATABASE_LISTEN_URL,
    redisUrl: e.SVC_REDIS_URL,
    logLevel: e.SVC_LOG_LEVEL,
    heartbeatMs: e.SVC_HEARTBEAT_MS,
    allowedHosts: e.SVC_ALLOWED_HOSTS,
    allowedOrigins: e.SVC_ALLOWED_ORIGINS,
    auth: e.SVC_AUTH,
    providerCheck: e.SVC_PROVIDER_CHECK,
    apiUrl: e.SVC_API_URL?.replace(/\/+$/, ''),
    eventRetentionMs: e.SVC_EVENT_RETENTION,
    auditRetentionMs: e.SVC_AUDIT_RETENTION,
    auditRecords: e.SVC_AUDIT_RECORDS,
    diskWarnBytes: e.SVC_DISK_WARN_MB * MB,
    diskFloorBytes: e.SVC_DISK_FLOOR_MB * MB,
    allowedTargets: e.SVC_ALLOWED_TARGETS,
    allowedPaths: e.SVC_ALLOWED_PATHS,
    runnerCapacity: e.SVC_RUNNER_CAPACITY,
    isolation: e.SVC_RUNNER_ISOLATION,
    runnerCapacityPerCity: e.SVC_RUNNER_CAPACITY_PER_CITY,
    operationSlots: e.SVC_OPERATION_SLOTS,
    operationSlotsPerCity: e.SVC_OPERATION_SLOTS_PER_CITY,
    rateLimits: {
      key: { perSecond: e.SVC_RATE_LIMIT_KEY, burst: e.SVC_RATE_LIMIT_KEY_BURST },
      city: { perSecond: e.SVC_RATE_LIMIT_CITY, burst: e.SVC_RATE_LIMIT_CITY_BURST },
    },
    requestLimits: {
      total: e.SVC_REQUESTS_IN_WORK,
      key: e.SVC_REQUESTS_IN_WORK_PER_KEY,
      city: e.SVC_REQUESTS_IN_WORK_PER_CITY,
      waiting: e.SVC_REQUESTS_WAITING,
    },
    poolSize: undefined,
    cityConnections: e.SVC_DATABASE_CONNECTIONS_PER_CITY,
    streamLimits: { key: e.SVC_STREAMS_PER_KEY, city: e.SVC_STREAMS_PER_CITY },
    agentEnvironment: passedToAgents(env),
    webhookSecrets: webhooks.secrets,
    telemetry: telemetryOf(e),
    processId: `${hostname()}-${process.pid}-${Date.now().toString(36)}`,
  });
}

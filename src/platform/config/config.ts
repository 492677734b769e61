import { hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { passedToAgents } from './agent-environment.js';
import { parseTarget, type Target } from './target.js';
import { readWebhookSecrets, type WebhookSecrets } from './webhook-secrets.js';

/**
 * The environment, read once and frozen. Nothing else reads `process.env`.
 * A wrong value stops the start with one message that names every wrong variable and never prints a value.
 */
const port = z.coerce.number().int().min(0).max(65535);
const positiveMs = z.coerce.number().int().min(10).max(3_600_000);
const perSecond = z.coerce.number().min(0).max(1_000_000);
const ceiling = z.coerce.number().int().min(1).max(1_000_000);
const list = z
  .string()
  .default('')
  .transform((s) =>
    s
      .split(',')
      .map((x) => x.trim())
      .filter((x) => x !== ''),
  );
const targets = list.transform((entries, context) =>
  entries.flatMap((entry) => {
    const target = parseTarget(entry);
    if (target === undefined) context.addIssue({ code: 'custom', message: 'each entry has to be a host, host:port, an address or a CIDR' });
    return target ?? [];
  }),
);
const MB = 1024 * 1024;
const DURATION = /^(\d+)(s|m|h|d)$/;
const SECONDS = { s: 1, m: 60, h: 3600, d: 86400 } as const;
const duration = z
  .string()
  .regex(DURATION)
  .transform((s) => {
    const [, n, unit] = DURATION.exec(s)!;
    return Number(n) * SECONDS[unit as keyof typeof SECONDS] * 1000;
  });

const EnvSchema = z.object({
  SVC_HOST: z.string().min(1).default('127.0.0.1'),
  SVC_PORT: port.default(8372),
  SVC_ROLE: z.enum(['all', 'api', 'worker']).default('all'),
  SVC_TLS_CERT: z.string().min(1).optional(),
  SVC_TLS_KEY: z.string().min(1).optional(),
  // Clients that know no such authority refuse our certificate; agents have to be given it.
  SVC_CA_CERT: z.string().min(1).optional(),
  SVC_DATA_DIR: z.string().min(1).default('./.svc'),
  SVC_CITIES_ROOT: z.string().min(1).optional(),
  SVC_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  SVC_REDIS_URL: z.url({ protocol: /^rediss?$/ }).optional(),
  SVC_LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  SVC_HEARTBEAT_MS: positiveMs.default(15_000),
  SVC_ALLOWED_HOSTS: list,
  SVC_ALLOWED_ORIGINS: list,
  SVC_AUTH: z.enum(['off', 'keys']).default('off'),
  SVC_PROVIDER_CHECK: z.enum(['enforce', 'off']).default('enforce'),
  // Agents call back. A worker of a cluster does not serve the API itself and cannot know where it is reached.
  SVC_API_URL: z.url({ protocol: /^https?$/ }).optional(),
  // Without an age the log is kept for ever; an operator of a busy supervisor has to be able to bound the disk.
  SVC_EVENT_RETENTION: duration.optional(),
  // Who did what is asked for months later; the number keeps a busy supervisor's disk bounded.
  SVC_AUDIT_RETENTION: duration.prefault('90d'),
  SVC_AUDIT_RECORDS: z.coerce.number().int().min(1_000).max(20_000_000).default(2_000_000),
  // A full disk stops the database: whoever watches has to hear of it while there is time, and how much that is depends on the host.
  SVC_DISK_WARN_MB: z.coerce.number().int().min(1).max(1_000_000_000).default(5_120),
  SVC_DISK_FLOOR_MB: z.coerce.number().int().min(1).max(1_000_000_000).default(1_024),
  // Calls out refuse private addresses; whoever keeps packs or rigs on a server of their own network has to name it.
  SVC_ALLOWED_TARGETS: targets,
  // Without namespaces agents run as the service's user and can read what it can: only the operator may decide that.
  SVC_RUNNER_ISOLATION: z.enum(['auto', 'bubblewrap', 'users', 'none']).default('auto'),
  // Agent processes are as large as what they run; only the operator knows how many of them a host carries.
  SVC_RUNNER_CAPACITY: z.coerce.number().int().min(0).max(10_000).default(100),
  SVC_RUNNER_CAPACITY_PER_CITY: z.coerce.number().int().min(1).max(10_000).optional(),
  SVC_OPERATION_SLOTS: z.coerce.number().int().min(1).max(1_000).default(8),
  SVC_OPERATION_SLOTS_PER_CITY: z.coerce.number().int().min(1).max(1_000).optional(),
  // 0 a second: no limit.
  SVC_RATE_LIMIT_KEY: perSecond.default(1_000),
  SVC_RATE_LIMIT_KEY_BURST: ceiling.default(10_000),
  SVC_RATE_LIMIT_CITY: perSecond.default(2_000),
  SVC_RATE_LIMIT_CITY_BURST: ceiling.default(20_000),
  SVC_REQUESTS_IN_WORK: ceiling.default(256),
  SVC_REQUESTS_IN_WORK_PER_KEY: ceiling.default(192),
  SVC_REQUESTS_IN_WORK_PER_CITY: ceiling.default(128),
  SVC_REQUESTS_WAITING: ceiling.default(10_000),
  // How many cores Postgres has for one city beside others only the operator knows.
  SVC_DATABASE_CONNECTIONS_PER_CITY: z.coerce.number().int().min(1).max(100).default(1),
  SVC_STREAMS_PER_KEY: ceiling.default(5_000),
  SVC_STREAMS_PER_CITY: ceiling.default(10_000),
});

/** PEM files of the certificate, with its chain, and of its key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export type Role = 'all' | 'api' | 'worker';

export interface Config {
  readonly role: Role;
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
  /** Database connections that a city has at once for its requests while it asks for much beside others. */
  readonly cityConnections: number;
  /** Streams open at this process, likewise. */
  readonly streamLimits: Ceilings<number>;
  /** What of this process's own environment the agents get that it starts. */
  readonly agentEnvironment: Readonly<Record<string, string>>;
  /** With what webhooks check who sends, by the names of the variables that hold it. */
  readonly webhookSecrets: WebhookSecrets;
  /** Identifies this process in the database; unique a process, readable for an operator. */
  readonly processId: string;
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
  readonly host!: string;
  readonly port!: number;
  readonly tls: TlsFiles | undefined;
  readonly caCert: string | undefined;
  readonly dataDir!: string;
  readonly citiesRoot!: string;
  readonly databaseUrl: string | undefined;
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
  readonly runnerCapacity!: number;
  readonly isolation!: 'auto' | 'bubblewrap' | 'users' | 'none';
  readonly runnerCapacityPerCity: number | undefined;
  readonly operationSlots!: number;
  readonly operationSlotsPerCity: number | undefined;
  readonly rateLimits!: Ceilings<Rate>;
  readonly requestLimits!: RequestLimits;
  readonly cityConnections!: number;
  readonly streamLimits!: Ceilings<number>;
  readonly agentEnvironment!: Readonly<Record<string, string>>;
  readonly webhookSecrets!: WebhookSecrets;
  readonly processId!: string;

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

export class ConfigError extends Error {}

export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Reads and checks the environment. @throws ConfigError naming every wrong variable. */
export function loadConfig(env: Record<string, string | undefined>, cwd: string): AppConfig {
  const given = Object.fromEntries(Object.entries(env).filter(([k, v]) => k.startsWith('SVC_') && v !== undefined && v !== ''));
  const parsed = EnvSchema.safeParse(given);
  const webhooks = readWebhookSecrets(given);
  if (!parsed.success || webhooks.wrong.length > 0) {
    const issues = parsed.error?.issues ?? [];
    const names = [...new Set([...issues.map((i) => `${String(i.path[0])}: ${i.message}`), ...webhooks.wrong])];
    throw new ConfigError(`wrong configuration:\n  ${names.join('\n  ')}`);
  }
  const e = parsed.data;
  if (e.SVC_DATABASE_URL === undefined && e.SVC_ROLE !== 'all') {
    throw new ConfigError(
      `wrong configuration:\n  SVC_DATABASE_URL: required with SVC_ROLE=${e.SVC_ROLE} (embedded mode runs every role in one process)`,
    );
  }
  if ((e.SVC_TLS_CERT === undefined) !== (e.SVC_TLS_KEY === undefined))
    throw new ConfigError('wrong configuration:\n  SVC_TLS_CERT, SVC_TLS_KEY: one needs the other');
  const absolute = (p: string): string => (isAbsolute(p) ? p : resolve(cwd, p));
  const dataDir = absolute(e.SVC_DATA_DIR);
  return new AppConfig({
    role: e.SVC_ROLE,
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
    cityConnections: e.SVC_DATABASE_CONNECTIONS_PER_CITY,
    streamLimits: { key: e.SVC_STREAMS_PER_KEY, city: e.SVC_STREAMS_PER_CITY },
    agentEnvironment: passedToAgents(env),
    webhookSecrets: webhooks.secrets,
    processId: `${hostname()}-${process.pid}-${Date.now().toString(36)}`,
  });
}
